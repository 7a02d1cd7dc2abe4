// SPDX-License-Identifier: Apache-2.0
// Texts in a pickle.
#include "snapshot/pickle_encoder.h"

#include "snapshot/utf8.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {

void PickleEncoder::text(std::string_view utf8) {
  if (is_valid_utf8(utf8)) return raw_text(utf8);
  raw_text(repaired_utf8(utf8));
}

void PickleEncoder::raw_text(std::string_view utf8) {
  if (utf8.size() <= 0xFF) {
    char* to = room(2);
    to[0] = '\x8c';
    to[1] = static_cast<char>(utf8.size());
    at_ += 2;
  } else if (utf8.size() <= UINT32_MAX) {
    char* to = room(5);
    to[0] = 'X';
    little_endian(to + 1, static_cast<std::uint32_t>(utf8.size()));
    at_ += 5;
  } else {
    throw InvalidArgument(error_message("write_pickle", "a text is too long for the format",
                                        std::to_string(utf8.size()) + " bytes", "less than 4 GiB"));
  }
  if (utf8.size() <= kBufferBytes) return raw(utf8.data(), utf8.size());
  flush();
  output_.write(utf8);
}

}  // namespace strandline::snapshot
