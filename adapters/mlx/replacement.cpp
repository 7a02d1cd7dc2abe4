// SPDX-License-Identifier: Apache-2.0
#include "replacement.h"

#include <cstdio>
#include <exception>

#include <dlfcn.h>

#include "hook_calls.h"
#include "leaf_scope.h"
#include "strandline/core/error.h"
#include "strandline/core/mutex.h"

namespace strandline::mlx_adapter {

namespace detail {
constinit std::atomic<ReplacingAllocator*> g_replacement{nullptr};
constinit std::atomic<bool> g_wanted{false};
}  // namespace detail

namespace {

using mx::allocator::Buffer;

constexpr std::uint64_t kPayloadAlignment = 64;

struct Asked {
  Mutex mutex;
  std::shared_ptr<alloc::Allocator> ours STRANDLINE_GUARDED_BY(mutex);
  std::string refused STRANDLINE_GUARDED_BY(mutex);
};

Asked& asked() noexcept {
  static Asked& instance = *new Asked;
  return instance;
}
// Made with the adapter: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const Asked& g_asked = asked();

// As MLX does before it takes memory out of its cache: tasks of its streams may still be running.
void synchronize_cpu_streams() {
  for (const mx::Stream& stream : mlx_functions().get_streams()) {
    if (stream.device.type == mx::Device::cpu) mlx_functions().synchronize(stream);
  }
}

// How far behind the buffer's pointer this MLX keeps the payload.
std::uint64_t header_bytes() {
  mx::allocator::Allocator& theirs = mlx_functions().allocator();
  Buffer probe = theirs.malloc(0);
  const auto payload = reinterpret_cast<std::uint64_t>(mlx_functions().raw_ptr(&probe));
  const std::uint64_t header = payload - reinterpret_cast<std::uint64_t>(probe.ptr());
  theirs.free(probe);
  return header;
}

bool libmlx_is_loaded() noexcept {
  void* library = dlopen("libmlx.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  dlclose(library);
  return true;
}

void check_unused(const alloc::Allocator& ours) {
  if (!libmlx_is_loaded()) return;
  const MlxFunctions& mlx = mlx_functions();
  const std::uint64_t active = mlx.get_active_memory();
  const std::uint64_t peak = mlx.get_peak_memory();
  const std::uint64_t cached = mlx.get_cache_memory();
  if (active == 0 && peak == 0 && cached == 0) return;
  throw InvalidArgument(error_message(
      "use_allocator", "MLX's memory",
      std::to_string(active) + " bytes active, " + std::to_string(cached) + " cached, a peak of " +
          std::to_string(peak) + " from its own allocator",
      "none yet: call it before the first array is made, best before mlx is imported, to have '" +
          std::string(ours.name()) + "'"));
}

}  // namespace

const void* empty_payload() noexcept {
  alignas(kPayloadAlignment) static constinit char nothing[kPayloadAlignment] = {};
  return nothing;
}

Buffer ReplacingAllocator::buffer_at(const void* payload) const noexcept {
  return Buffer(static_cast<char*>(const_cast<void*>(payload)) - header_bytes_);
}

Buffer ReplacingAllocator::malloc(std::size_t size) {
  count_call(Hook::malloc);
  if (size == 0) return buffer_at(empty_payload());
  return in_leaf_scope([&] { return buffer_at(ours_.malloc(size).ptr()); });
}

void ReplacingAllocator::free(Buffer buffer) {
  count_call(Hook::free);
  if (buffer.ptr() == nullptr) return;
  const std::uint64_t payload = payload_of(buffer);
  if (payload % kPayloadAlignment != 0) return mlx_functions().allocator().free(buffer);
  const auto* memory = reinterpret_cast<const void*>(payload);
  if (memory != empty_payload()) ours_.free(alloc::Buffer(memory, &ours_));
}

std::size_t ReplacingAllocator::size(Buffer buffer) const {
  if (buffer.ptr() == nullptr) return 0;
  const std::uint64_t payload = payload_of(buffer);
  if (payload % kPayloadAlignment != 0) return mlx_functions().allocator().size(buffer);
  const auto* memory = reinterpret_cast<const void*>(payload);
  return memory == empty_payload() ? 0 : ours_.size(alloc::Buffer(memory, &ours_));
}

std::size_t ReplacingAllocator::cache_memory() const {
  const alloc::Statistics now = ours_.statistics();
  return now.cached_bytes - now.spare_bytes;
}

std::size_t ReplacingAllocator::set_memory_limit(std::size_t bytes) {
  const alloc::LimitRule rule = ours_.limits().memory.rule;
  const std::size_t previous = ours_.set_memory_limit(bytes, rule).bytes;
  memory_limit_.store(bytes, std::memory_order_relaxed);
  return previous;
}

std::size_t ReplacingAllocator::set_cache_limit(std::size_t bytes) {
  synchronize_cpu_streams();
  return ours_.set_cache_limit(bytes);
}

void ReplacingAllocator::clear_cache() {
  if (cache_memory() == 0) return;
  synchronize_cpu_streams();
  ours_.empty_cache();
}

void replace_allocator(std::shared_ptr<alloc::Allocator> ours) {
  Asked& request = asked();
  const LockGuard guard(request.mutex);
  if (request.ours == ours) return;
  if (request.ours != nullptr) {
    throw InvalidArgument(error_message("use_allocator", "allocator",
                                        "'" + std::string(ours->name()) + "'",
                                        "the one that MLX's memory comes from since it was "
                                        "chosen, '" +
                                            std::string(request.ours->name()) + "'"));
  }
  check_unused(*ours);
  request.ours = std::move(ours);
  detail::g_wanted.store(true, std::memory_order_release);
}

alloc::Allocator* replaced_by() noexcept {
  Asked& request = asked();
  const LockGuard guard(request.mutex);
  return request.ours.get();
}

std::string replacement_refused() {
  Asked& request = asked();
  const LockGuard guard(request.mutex);
  return request.refused;
}

ReplacingAllocator* detail::begin_replacement() noexcept try {
  Asked& request = asked();
  const LockGuard guard(request.mutex);
  if (ReplacingAllocator* known = g_replacement.load(std::memory_order_acquire)) return known;
  if (!g_wanted.load(std::memory_order_acquire)) return nullptr;
  count_call(Hook::allocator);
  const std::uint64_t header = header_bytes();
  if (header % 16 != 8) {
    request.refused = "payload at pointer + " + std::to_string(header) + " bytes";
    request.ours = nullptr;
    g_wanted.store(false, std::memory_order_relaxed);
    return nullptr;
  }
  auto* made = new ReplacingAllocator(*request.ours, header);
  g_replacement.store(made, std::memory_order_release);
  return made;
} catch (const std::exception& fault) {
  std::fprintf(stderr, "strandline: MLX keeps its own allocator: %s\n", fault.what());
  g_wanted.store(false, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace strandline::mlx_adapter
