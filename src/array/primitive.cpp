// SPDX-License-Identifier: Apache-2.0
// What an evaluation asks of the device: memory for outputs, and kernels as work of a stream.
#include "strandline/array/primitive.h"

#include <algorithm>
#include <string>
#include <utility>

#include "array/data.h"
#include "array/kernels/kernels.h"
#include "array/node_memory.h"
#include "array/waiting.h"
#include "strandline/core/error.h"

namespace strandline::array {

/// A kernel with what it uses. Runs once; whether it has run or was dropped, it gives back what it
/// kept before its device counts it as done.
struct Encoder::Task {
  struct Use {
    Storage* storage;
    std::uint32_t version;
  };

  explicit Task(std::shared_ptr<DeviceState> on) : device(std::move(on)) {
    device->queued_tasks.fetch_add(1, std::memory_order_relaxed);
  }
  ~Task() { finish(); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  void run() {
    struct Finish {
      Task& task;
      ~Finish() { task.finish(); }
    } at_end{*this};
    for (const Use& use : reads) {
      // What should have made the operand has failed, and its error is on its way.
      if (use.storage->written.load(std::memory_order_acquire) < use.version) return;
    }
    kernel();
    for (const Use& use : writes) {
      use.storage->written.store(use.version, std::memory_order_release);
    }
  }

  void finish() noexcept {
    if (device == nullptr) return;
    const std::shared_ptr<DeviceState> kept = std::move(device);
    device = nullptr;
    kernel = nullptr;
    storages.clear();
    kept->queued_tasks.fetch_sub(1, std::memory_order_release);
  }

  std::shared_ptr<DeviceState> device;
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Use> reads;
  std::vector<Use> writes;
  std::function<void()> kernel;
};

namespace {

Operand operand_of(const Array& array) {
  const Descriptor& node = array.descriptor();
  return {.at = bytes_of(array),
          .shape = node.shape,
          .strides = node.strides,
          .size = node.size,
          .data_size = node.data_size,
          .dtype = node.dtype,
          .is_row_contiguous = node.is_row_contiguous};
}

constexpr std::uint64_t kDonationSlackBytes = 16384;

// Whether nobody else has it, and what those who had it did with it is over. The count alone says
// only the first: letting go of one more share of it, in the order of the others', says both.
template <typename T>
bool is_sole(const std::shared_ptr<T>& held) noexcept {
  if (held.use_count() != 1) return false;
  std::shared_ptr<T> share = held;
  share.reset();
  return true;
}

}  // namespace

std::vector<Array> Primitive::vjp(const std::vector<Array>&, const std::vector<Array>&,
                                  const std::vector<std::size_t>&, const std::vector<Array>&) {
  throw InvalidArgument(error_message("vjp", "operation", name(), "one that has a gradient"));
}

struct Encoder::Pending {
  std::shared_ptr<Task> task;
  std::vector<device::Access> reads;
  std::vector<device::Access> writes;

  explicit Pending(const Stream& stream) : task(std::make_shared<Task>(stream.state()->device)) {}

  void keep(const std::shared_ptr<Storage>& storage, const Stream& stream) {
    storage->note_use(stream.id());
    task->storages.push_back(storage);
  }
};

Encoder::Encoder(const Stream& stream) : stream_(stream) {}

Encoder::~Encoder() = default;

void Encoder::allocate(Array& output) {
  const Descriptor& node = output.descriptor();
  auto data = make_node_part<Data>();
  data->storage = std::make_shared<Storage>(stream_.state()->device, node.nbytes(), stream_.id());
  data->version = data->storage->versions;
  set_data(output, std::move(data));
}

void Encoder::allocate(Array& output, const Strides& strides) {
  output.descriptor().strides = strides;
  const Descriptor& node = output.descriptor();
  auto data = make_node_part<Data>();
  data->storage = std::make_shared<Storage>(stream_.state()->device, node.nbytes(), stream_.id());
  data->version = data->storage->versions;
  set_data(output, std::move(data), strides, 0, node.size);
}

bool Encoder::try_donate(const Array& input, Array& output) {
  const Descriptor& from = input.descriptor();
  const Descriptor& to = output.descriptor();
  if (!may_donate_) return false;
  if (!is_sole(input.node()) || !is_sole(from.data) || is_followed(input) || is_followed(output)) {
    return false;
  }
  if (!from.is_dense || from.size != to.size || to.size == 0 ||
      dtype_size_bytes(from.dtype) != dtype_size_bytes(to.dtype)) {
    return false;
  }
  Storage& storage = *from.data->storage;
  if (storage.deleter || storage.slice.size > to.nbytes() + kDonationSlackBytes ||
      storage.device != stream_.state()->device || !storage.is_only_used_by(stream_.id())) {
    return false;
  }
  auto data = make_node_part<Data>();
  data->storage = from.data->storage;
  data->version = ++storage.versions;
  set_data(output, std::move(data), from.strides, from.offset_bytes, from.data_size);
  return true;
}

void Encoder::share(const Array& input, Array& output, const Strides& strides,
                    std::int64_t offset) {
  const Descriptor& from = input.descriptor();
  const Descriptor& to = output.descriptor();
  if (to.size == 0 || from.size == 0) {
    allocate(output);
    return;
  }
  const auto item = static_cast<std::int64_t>(dtype_size_bytes(to.dtype));
  std::uint64_t spans = 1;
  for (std::size_t i = 0; i < to.shape.size(); ++i) {
    spans +=
        static_cast<std::uint64_t>((to.shape[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]));
  }
  set_data(output, from.data, strides,
           static_cast<std::uint64_t>(static_cast<std::int64_t>(from.offset_bytes) + offset * item),
           spans);
}

void Encoder::copy_across(const Array& input, Array& output) {
  throw_if_unmade(input);
  allocate(output);
  const Descriptor& to = output.descriptor();
  if (to.size == 0) return;
  run_copy(operand_of(input), operand_of(output));
  to.data->storage->written.store(to.data->version, std::memory_order_release);
  stream_.state()->device->port->memory().note_host_write(slice_of(output));
}

Operand Encoder::read(const Array& input) {
  if (pending_ == nullptr) pending_ = std::make_unique<Pending>(stream_);
  const Descriptor& node = input.descriptor();
  if (node.size > 0) {
    pending_->keep(node.data->storage, stream_);
    pending_->task->reads.push_back({node.data->storage.get(), node.data->version});
    pending_->reads.push_back({slice_of(input), device::AccessMode::read});
  }
  return operand_of(input);
}

Operand Encoder::write(Array& output) {
  if (pending_ == nullptr) pending_ = std::make_unique<Pending>(stream_);
  const Descriptor& node = output.descriptor();
  if (node.size > 0) {
    pending_->keep(node.data->storage, stream_);
    pending_->task->writes.push_back({node.data->storage.get(), node.data->version});
    pending_->writes.push_back({slice_of(output), device::AccessMode::write});
  }
  return operand_of(output);
}

std::byte* Encoder::temporary(std::uint64_t bytes) {
  if (pending_ == nullptr) pending_ = std::make_unique<Pending>(stream_);
  const auto storage = std::make_shared<Storage>(stream_.state()->device, bytes, stream_.id());
  pending_->keep(storage, stream_);
  pending_->writes.push_back(
      {{storage->slice.address, bytes, storage->slice.buffer}, device::AccessMode::write});
  return storage->at();
}

void Encoder::run(std::function<void()> kernel) {
  if (pending_ == nullptr) pending_ = std::make_unique<Pending>(stream_);
  const std::unique_ptr<Pending> pending = std::move(pending_);
  has_run_ = true;
  std::shared_ptr<Task> task = std::move(pending->task);
  task->kernel = std::move(kernel);
  std::vector<device::Access> accesses = std::move(pending->reads);
  accesses.insert(accesses.end(), pending->writes.begin(), pending->writes.end());
  stream_.state()->tasks_since_point.fetch_add(1, std::memory_order_relaxed);
  stream_.state()->port().enqueue(stream_.id(),
                                  {.name = std::string(name_),
                                   .accesses = std::move(accesses),
                                   .binds = {},
                                   .body = [task = std::move(task)] { task->run(); }});
}

}  // namespace strandline::array
