// SPDX-License-Identifier: Apache-2.0
// A cut of the recorder as rows, with a resolver that outlives it: streams cut more than once.
#pragma once

#include "snapshot/resolver.h"

namespace strandline::snapshot {

/// Adds everything in `cut` to `snapshot`, whose tables `resolver` fills.
void read_cut(record::Cut& cut, Resolver& resolver, Snapshot& snapshot);

}  // namespace strandline::snapshot
