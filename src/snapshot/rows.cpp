// SPDX-License-Identifier: Apache-2.0
// Rows in and out of the columns.
#include "strandline/snapshot/rows.h"

namespace strandline::snapshot {

void EventColumns::reserve(std::size_t rows) {
  address.reserve(rows);
  size.reserve(rows);
  requested.reserve(rows);
  time_us.reserve(rows);
  stack.reserve(rows);
  forward.reserve(rows);
  op.reserve(rows);
  label.reserve(rows);
  owner.reserve(rows);
  layout.reserve(rows);
  stream.reserve(rows);
  pool.reserve(rows);
  thread.reserve(rows);
  device.reserve(rows);
  action.reserve(rows);
}

void EventColumns::push_back(const EventRow& row) {
  address.push_back(row.address);
  size.push_back(row.size);
  requested.push_back(row.requested);
  time_us.push_back(row.time_us);
  stack.push_back(row.stack);
  forward.push_back(row.forward);
  op.push_back(row.op);
  label.push_back(row.label);
  owner.push_back(row.owner);
  layout.push_back(row.layout);
  stream.push_back(row.stream);
  pool.push_back(row.pool);
  thread.push_back(row.thread);
  device.push_back(row.device);
  action.push_back(row.action);
}

EventRow EventColumns::row(std::size_t i) const {
  return {
      .address = address[i],
      .size = size[i],
      .requested = requested[i],
      .time_us = time_us[i],
      .stack = stack[i],
      .forward = forward[i],
      .op = op[i],
      .label = label[i],
      .owner = owner[i],
      .layout = layout[i],
      .stream = stream[i],
      .pool = pool[i],
      .thread = thread[i],
      .device = device[i],
      .action = action[i],
  };
}

void BlockColumns::push_back(const BlockRow& row) {
  address.push_back(row.address);
  size.push_back(row.size);
  requested.push_back(row.requested);
  view_bytes.push_back(row.view_bytes);
  view_offset.push_back(row.view_offset);
  alloc_sequence.push_back(row.alloc_sequence);
  alloc_time_us.push_back(row.alloc_time_us);
  stack.push_back(row.stack);
  forward.push_back(row.forward);
  op.push_back(row.op);
  label.push_back(row.label);
  owner.push_back(row.owner);
  layout.push_back(row.layout);
  stream.push_back(row.stream);
  pool.push_back(row.pool);
  thread.push_back(row.thread);
  device.push_back(row.device);
  action.push_back(row.action);
  use.push_back(row.use);
  hidden.push_back(row.hidden ? 1 : 0);
}

BlockRow BlockColumns::row(std::size_t i) const {
  return {
      .address = address[i],
      .size = size[i],
      .requested = requested[i],
      .view_bytes = view_bytes[i],
      .view_offset = view_offset[i],
      .alloc_sequence = alloc_sequence[i],
      .alloc_time_us = alloc_time_us[i],
      .stack = stack[i],
      .forward = forward[i],
      .op = op[i],
      .label = label[i],
      .owner = owner[i],
      .layout = layout[i],
      .stream = stream[i],
      .pool = pool[i],
      .thread = thread[i],
      .device = device[i],
      .action = action[i],
      .use = use[i],
      .hidden = hidden[i] != 0,
  };
}

void SegmentColumns::push_back(const SegmentRow& row) {
  address.push_back(row.address);
  size.push_back(row.size);
  stack.push_back(row.stack);
  stream.push_back(row.stream);
  pool.push_back(row.pool);
  device.push_back(row.device);
  is_small.push_back(row.is_small ? 1 : 0);
  is_expandable.push_back(row.is_expandable ? 1 : 0);
  first_block.push_back(row.first_block);
  block_count.push_back(row.block_count);
}

SegmentRow SegmentColumns::row(std::size_t i) const {
  return {
      .address = address[i],
      .size = size[i],
      .stack = stack[i],
      .stream = stream[i],
      .pool = pool[i],
      .device = device[i],
      .is_small = is_small[i] != 0,
      .is_expandable = is_expandable[i] != 0,
      .first_block = first_block[i],
      .block_count = block_count[i],
  };
}

}  // namespace strandline::snapshot
