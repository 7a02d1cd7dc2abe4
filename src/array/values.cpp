// SPDX-License-Identifier: Apache-2.0
// Arrays: waiting for values, and reading them.
#include <utility>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/waiting.h"
#include "strandline/array/array.h"
#include "strandline/array/eval.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

bool has_passed(const Completion& point) noexcept {
  try {
    return point.is_done();
  } catch (...) {  // the device will not say
    return false;
  }
}

[[noreturn]] void throw_unmade(const char* function, const Descriptor& node) {
  throw DeviceError(error_message(function, "values",
                                  fmt::format("an array {} {} whose work failed",
                                              shape_text(node.shape), dtype_name(node.dtype)),
                                  "one whose work ran: make it again"));
}

[[noreturn]] void throw_unscheduled() {
  throw InvalidArgument(error_message("wait", "array", "one that was never evaluated",
                                      "one given to eval or async_eval before"));
}

// `point` has passed: the array has its values now, or never will.
void arrive(Descriptor& node, const std::shared_ptr<Completion>& point)
    STRANDLINE_REQUIRES(graph_lock()) {
  if (point == nullptr || node.completion != point) return;
  if (has_values(node)) node.status.store(Status::available, std::memory_order_release);
  node.completion = nullptr;
}

}  // namespace

bool has_values(const Descriptor& node) noexcept {
  const Data& data = *node.data;
  return node.size == 0 || data.storage->written.load(std::memory_order_acquire) >= data.version;
}

void throw_if_unmade(const Array& array) {
  if (!has_values(array.descriptor())) throw_unmade("read", array.descriptor());
}

void wait_for_all(std::span<const Array> arrays) {
  std::exception_ptr first;
  const auto note_error = [&] {
    if (first == nullptr) first = std::current_exception();
  };
  for (; !arrays.empty(); arrays = arrays.subspan(1)) {
    Descriptor& node = arrays.front().descriptor();
    const Status status = arrays.front().status();
    if (status == Status::available) continue;
    const std::shared_ptr<Completion> point = node.completion;
    try {
      if (status == Status::unscheduled) throw_unscheduled();
      if (point == nullptr) throw_unmade("wait", node);
      point->wait();
    } catch (...) {
      note_error();
      // Work failed, and the wait is over; or the wait itself did, and may be tried again.
      if (point == nullptr || !has_passed(*point)) continue;
    }
    for (const Array& array : arrays) arrive(array.descriptor(), point);
    if (first == nullptr && node.completion == nullptr && node.status != Status::available) {
      try {
        throw_unmade("wait", node);
      } catch (...) {
        note_error();
      }
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

bool Array::is_available() const {
  if (status() != Status::evaluated) return status() == Status::available;
  std::shared_ptr<Completion> point;
  {
    const GraphGuard guard;
    point = node_->completion;
    if (point != nullptr) point->ensure_recorded();
  }
  if (point != nullptr && !point->is_done()) return false;
  wait();
  return true;
}

void Array::wait() const {
  if (status() == Status::available) return;
  const GraphGuard guard;
  wait_for_all({this, 1});
}

void Array::eval() const {
  if (status() == Status::unscheduled) {
    array::eval({*this});
  } else {
    wait();
  }
}

const void* Array::read_data(Dtype dtype) const {
  if (dtype != node_->dtype) {
    throw TypeMismatch(
        error_message("data", "element type", dtype_name(dtype), dtype_name(node_->dtype)));
  }
  eval();
  return bytes_of(*this);
}

void Array::read_values(void* to, Dtype dtype) const {
  const auto* from = static_cast<const std::byte*>(read_data(node_->dtype));
  const std::size_t from_bytes = dtype_size_bytes(node_->dtype);
  const std::size_t to_bytes = dtype_size_bytes(dtype);
  auto* out = static_cast<std::byte*>(to);
  std::vector<std::byte> row;
  for_each_row<1>(node_->shape, {node_->strides}, [&](const auto& at, const Row<1>& run) {
    const auto count = static_cast<std::size_t>(run.count);
    row.resize(count * from_bytes);
    gather(from_bytes, from + at[0] * static_cast<std::int64_t>(from_bytes), run.strides[0],
           row.data(), count);
    cast_elements(node_->dtype, row.data(), dtype, out, count);
    out += count * to_bytes;
  });
}

void Array::read_item(void* to, Dtype dtype) const {
  if (node_->size != 1) {
    throw InvalidArgument(
        error_message("item", "array", fmt::format("{} elements", node_->size), "one element"));
  }
  read_values(to, dtype);
}

}  // namespace strandline::array
