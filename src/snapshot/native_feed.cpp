// SPDX-License-Identifier: Apache-2.0
// The front door's choice of a format, and reading of native files from memory.
#include "snapshot/native_feed.h"

#include "snapshot/native_reader.h"

namespace strandline::snapshot {

void FormatFeed::write(std::string_view bytes) {
  if (is_pickle_) return pickle_.write(bytes);
  head_ += bytes;
  if (is_native_) return;
  if (is_native(head_)) {
    is_native_ = true;
  } else if (!native::kMagic.starts_with(head_)) {
    is_pickle_ = true;
    pickle_.write(head_);
    head_ = {};
  }
}

void FormatFeed::finish() {
  if (is_native_) return;
  if (!is_pickle_) pickle_.write(head_);
  pickle_.finish();
}

bool is_native(std::string_view bytes) noexcept {
  return bytes.starts_with(native::kMagic);
}

NativeFile read_native_bytes(std::string_view bytes) {
  return native::assemble(native::read_parts(bytes));
}

}  // namespace strandline::snapshot
