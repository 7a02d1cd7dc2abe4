// SPDX-License-Identifier: Apache-2.0
// What an array points to, for those who build on the graph: tools that draw it, primitives,
// tests. A descriptor and the call that makes it hold each other only one way: arrays hold their
// call, a call knows its outputs weakly. So siblings are no cycle, and nothing leaks when a graph
// is dropped unevaluated.
//
//   Array ─▶ Descriptor ─▶ Call ─▶ Primitive
//                │           └───▶ inputs: Array, Array, …
//                └▶ Data ─▶ Storage: the buffer; views share Data, queued work holds Storage
//
// What other threads may change meanwhile is read under the lock of graphs; graph_lock.h says what.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::array {

struct Completion;
struct Storage;

/// The memory of one array and its views, as one stretch of its life: a donated buffer starts
/// another. `version` counts the stretches of a storage.
struct Data {
  std::shared_ptr<Storage> storage;
  std::uint32_t version = 0;
};

/// What the recorder is told of a node; none while it is off.
struct NodeRecord {
  TracebackId traceback{};
  OpId op{};
  LabelId label{};
};

/// An application of a primitive.
struct STRANDLINE_API Call {
  std::shared_ptr<Primitive> primitive;
  std::vector<Array> inputs;
  // Empty for a call of one output, which is the array that holds the call.
  std::vector<std::pair<Shape, Dtype>> layouts;    ///< of the outputs
  std::vector<std::weak_ptr<Descriptor>> outputs;  ///< in order; those that died have expired
  NodeRecord record;
  /// Gives the outputs memory at the moment, in a primitive that waits or evaluates.
  std::thread::id encoder;

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// Without recursion, however deep the graph.
  ~Call();
};

struct STRANDLINE_API Descriptor {
  Shape shape;
  Strides strides;  ///< in elements
  std::uint64_t size = 0;
  Dtype dtype = Dtype::unknown;
  /// Storing `evaluated` makes data and layout known to who loads it.
  std::atomic<Status> status = Status::unscheduled;
  bool is_tracer = false;
  bool is_row_contiguous = true;
  /// All of `data_size` elements, in some order of the axes, without gaps: what an elementwise
  /// kernel may run over from end to end.
  bool is_dense = true;
  bool is_bound = false;  ///< known to the recorder as a sharer of its block
  std::uint32_t position = 0;
  /// Whose memory it lies in or will, known from the start; null for placeholders. Compared only.
  const device::Device* port = nullptr;
  std::shared_ptr<Call> call;  ///< null for leaves and what has been detached
  std::shared_ptr<Data> data;
  std::uint64_t offset_bytes = 0;  ///< from the start of the storage
  std::uint64_t data_size = 0;     ///< elements of memory it spans
  std::shared_ptr<Completion> completion;
  NodeRecord record;

  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  std::uint64_t nbytes() const noexcept { return size * dtype_size_bytes(dtype); }
};

/// What makes `array`, null for leaves and what has been evaluated.
STRANDLINE_API std::shared_ptr<Call> call_of(const Array& array) noexcept;
/// All outputs of the call that makes `array`, in order; those that died are made again. Empty for
/// leaves.
STRANDLINE_API std::vector<Array> outputs_of(const Array& array);
/// The others of them that are alive.
STRANDLINE_API std::vector<Array> siblings_of(const Array& array);
/// Bytes of the buffer it lies in, 0 without one.
STRANDLINE_API std::uint64_t buffer_size_of(const Array& array) noexcept;
/// Where its buffer starts, as the record has it; 0 without one.
STRANDLINE_API std::uint64_t buffer_address_of(const Array& array) noexcept;
/// Whether it is followed for a gradient now: made from a tracer, while a transform runs.
STRANDLINE_API bool is_followed(const Array& array) noexcept;
/// The device whose memory it lies in or will.
STRANDLINE_API Device device_of(const Array& array);

}  // namespace strandline::array
