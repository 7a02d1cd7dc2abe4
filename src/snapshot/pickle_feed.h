// SPDX-License-Identifier: Apache-2.0
// Bytes on their way to the pickle machine: pieces joined where an opcode is cut, and what gzip or
// zstd packed, told by the first bytes, unpacked. Nothing is kept but the opcode that was cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "snapshot/pickle_machine.h"

namespace strandline::snapshot {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;
  /// No more comes. Throws FormatError when more had to.
  virtual void finish() = 0;
};

class PickleFeed final : public ByteSink {
 public:
  explicit PickleFeed(PickleMachine& machine) : machine_(machine) {}
  void write(std::string_view bytes) override;
  void finish() override;

 private:
  PickleMachine& machine_;
  std::string cut_;
};

/// Unpacks by the first bytes of what is written, or hands it on as it is.
class Unpacker final : public ByteSink {
 public:
  explicit Unpacker(ByteSink& target) : target_(target) {}
  void write(std::string_view bytes) override;
  void finish() override;

 private:
  void choose();

  ByteSink& target_;
  std::string head_;  // until the kind is known
  std::unique_ptr<ByteSink> packed_;
  bool chosen_ = false;
};

/// Each hands on what it unpacks; several members or frames in a row are one.
std::unique_ptr<ByteSink> gzip_reader(ByteSink& target);
std::unique_ptr<ByteSink> zstd_reader(ByteSink& target);

}  // namespace strandline::snapshot
