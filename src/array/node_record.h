// SPDX-License-Identifier: Apache-2.0
// What the recorder learns of nodes: one traceback each, taken by the node's constructor; whom the
// memory of an op or a leaf is for; who shares a block.
#pragma once

#include <string_view>
#include <vector>

#include "strandline/array/descriptor.h"
#include "strandline/record/recorder.h"

namespace strandline::array {

/// Of a node that is being made on this thread, `op` naming it. None while recording is off.
NodeRecord record_node(std::string_view op);

/// The scope of a leaf's memory.
record::OpContext leaf_context(const NodeRecord& record) noexcept;
/// The scope of a call's evaluation; `outputs` outlives it.
record::OpContext call_context(const Call& call, std::vector<Array>& outputs);

/// `array` owns or shares the memory of its data now.
void note_bound(const Array& array);
/// It no longer does.
void note_left(Descriptor& node) noexcept;

}  // namespace strandline::array
