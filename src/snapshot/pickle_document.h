// SPDX-License-Identifier: Apache-2.0
// The dictionary of a snapshot as a pickle, with all six keys, whatever its parts come from: a
// record of ours or a file that was read. What differs between the two is left to who derives from
// it.
#pragma once

#include <span>
#include <string>

#include "snapshot/byte_output.h"
#include "snapshot/pickle_parts.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

class PickleDocument {
 public:
  PickleDocument(const Snapshot& snapshot, ByteOutput& output)
      : snapshot_(snapshot), encoder_(output), parts_(encoder_, snapshot) {}
  virtual ~PickleDocument() = default;
  PickleDocument(const PickleDocument&) = delete;
  PickleDocument& operator=(const PickleDocument&) = delete;

  void write();

 protected:
  /// One list of events a device.
  virtual void write_traces() = 0;
  virtual void write_settings() = 0;
  /// Empty lists for a record: its host memory is no PyTorch's.
  virtual void write_host_segments() { encoder_.empty_list(); }
  virtual void write_host_traces() { encoder_.empty_list(); }

  const Snapshot& snapshot_;
  PickleEncoder encoder_;
  PickleParts parts_;
  std::span<const Annotation> annotations_;

 private:
  void write_annotations();
};

/// As `Document(source, output)` has it, into a file that appears as a whole.
template <typename Document, typename Source>
void write_document(const Source& source, const std::string& path) {
  FileOutput output(path);
  Document(source, output).write();
  output.commit();
}

/// The same in memory.
template <typename Document, typename Source>
std::string document_bytes(const Source& source) {
  std::string bytes;
  StringOutput output(bytes);
  Document(source, output).write();
  return bytes;
}

}  // namespace strandline::snapshot
