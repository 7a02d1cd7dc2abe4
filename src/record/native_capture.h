// SPDX-License-Identifier: Apache-2.0
// Stacks of native frames, alone or merged with those of a language. Private to the room.
#pragma once

#include "strandline/record/capture.h"

namespace strandline::record {

/// The stack of the language that this thread also has.
struct LanguagePart {
  CaptureSource* source = nullptr;
  std::uint16_t index = 0;
  Fingerprint key{};
};

/// The stack outward of `frame`, entered into `table`; native frames alone when `language` is null.
TracebackId gather_native(TracebackTable& table, const LanguagePart* language,
                          const void* frame) noexcept;

}  // namespace strandline::record
