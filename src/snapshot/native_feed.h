// SPDX-License-Identifier: Apache-2.0
// Which format unpacked bytes are of, by their first ones: a pickle is handed on piece by piece, a
// native file is gathered.
#pragma once

#include <string>
#include <string_view>

#include "snapshot/pickle_feed.h"

namespace strandline::snapshot {

class FormatFeed final : public ByteSink {
 public:
  explicit FormatFeed(ByteSink& pickle) : pickle_(pickle) {}
  void write(std::string_view bytes) override;
  void finish() override;

  /// All of a native file; null when it was none.
  const std::string* native_bytes() const noexcept { return is_native_ ? &head_ : nullptr; }

 private:
  ByteSink& pickle_;
  std::string head_;  // until the format is known; all bytes of a native file
  bool is_native_ = false;
  bool is_pickle_ = false;
};

}  // namespace strandline::snapshot
