// SPDX-License-Identifier: Apache-2.0
// The op scope of memory that no primitive asks for: a leaf's, whose constructor has just taken the
// traceback.
#pragma once

#include <optional>

#include "describe.h"
#include "quietly.h"
#include "strandline/record/capture.h"
#include "thread_work.h"

namespace strandline::mlx_adapter {

inline record::OpContext leaf_context() {
  const PendingLeaf& leaf = t_work.leaf;
  return {.op = leaf_op(),
          .traceback = leaf.descriptor != nullptr ? leaf.traceback : record::recorder().capture(),
          .label = record::thread_state().label};
}

/// Runs `allocate`, in the scope of the leaf that is being made where no op's is open.
template <typename Allocate>
auto in_leaf_scope(Allocate&& allocate) {
  if (!recording() || record::thread_state().scope != nullptr) return allocate();
  std::optional<record::OpContext> leaf;
  quietly([&] { leaf = leaf_context(); });
  if (!leaf) return allocate();
  const record::OpScope scope(*leaf);
  return allocate();
}

}  // namespace strandline::mlx_adapter
