// SPDX-License-Identifier: Apache-2.0
// The op scope of memory that no primitive asks for: a leaf's, whose constructor has just taken the
// traceback.
#pragma once

#include "describe.h"
#include "quietly.h"
#include "strandline/record/capture.h"
#include "thread_work.h"

namespace strandline::mlx_adapter {

STRANDLINE_ALWAYS_INLINE void fill_leaf_context(record::OpContext& context) {
  const PendingLeaf& leaf = t_work.leaf;
  context.op = leaf_op();
  context.traceback = leaf.descriptor != nullptr ? leaf.traceback : record::recorder().capture();
  context.label = record::thread_state().label;
}

/// Runs `allocate`, in the scope of the leaf that is being made where no op's is open.
template <typename Allocate>
auto in_leaf_scope(Allocate&& allocate) {
  if (!recording() || record::thread_state().scope != nullptr) return allocate();
  record::OpContext leaf;
  bool is_known = false;
  quietly([&] {
    fill_leaf_context(leaf);
    is_known = true;
  });
  if (!is_known) return allocate();
  const record::OpScope scope(leaf);
  return allocate();
}

}  // namespace strandline::mlx_adapter
