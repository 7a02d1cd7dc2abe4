// SPDX-License-Identifier: Apache-2.0
#include "strandline/alloc/framework.h"

namespace strandline::alloc {

// Here, so that adapters and callers in other libraries share one type.
Framework::~Framework() = default;

}  // namespace strandline::alloc
