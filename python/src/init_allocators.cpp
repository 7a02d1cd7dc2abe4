// SPDX-License-Identifier: Apache-2.0
// Topic: allocators, their limits and statistics, and the default one that MLX's names of memory
// functions act on. The interpreter lock is held: what allocators ask of a device is short.

#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "allocator_handle.h"
#include "bindings.h"
#include "memory_buffer.h"
#include "named.h"
#include "sim_machine.h"
#include "strandline/alloc/default_allocator.h"
#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/memory.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/alloc/unified_allocator.h"

namespace strandline::python {
namespace {

using alloc::Allocator;
using Bytes = std::optional<std::uint64_t>;

struct Wanted {
  Bytes memory_limit;
  Bytes cache_limit;
  Bytes buffer_limit;
  std::uint64_t page = 0;
};

template <typename Options>
Options options_of(const Wanted& wanted) {
  Options options;
  options.memory_limit_bytes = wanted.memory_limit;
  options.cache_limit_bytes = wanted.cache_limit;
  options.buffer_limit = wanted.buffer_limit;
  options.page_bytes = wanted.page;
  return options;
}

std::unique_ptr<Allocator> make(const std::string& kind, device::Device& device,
                                const Wanted& wanted) {
  if (kind == "host") {
    auto options = options_of<alloc::HostAllocatorOptions>(wanted);
    // On a simulated device, memory that its capacity bounds and that the host reaches.
    if (&device != &alloc::host_device()) options.placement = device::Placement::managed;
    return std::make_unique<alloc::HostAllocator>(device, options);
  }
  if (kind == "unified") {
    auto options = options_of<alloc::UnifiedAllocatorOptions>(wanted);
    return std::make_unique<alloc::UnifiedAllocator>(device, options);
  }
  if (kind == "segment") {
    alloc::SegmentAllocatorOptions options;
    options.memory_limit_bytes = wanted.memory_limit;
    options.cache_limit_bytes = wanted.cache_limit;
    options.buffer_limit = wanted.buffer_limit;
    if (&device != &alloc::host_device()) options.placement = device::Placement::managed;
    return std::make_unique<alloc::SegmentAllocator>(device, options);
  }
  throw InvalidArgument(
      error_message("strandline", "allocator", "'" + kind + "'", "'host', 'unified' or 'segment'"));
}

AllocatorHandle make_allocator(const std::string& kind, const SimMachine* machine,
                               const Bytes& memory_limit, const Bytes& cache_limit,
                               const Bytes& buffer_limit, std::uint64_t page) {
  device::Device& device = machine != nullptr ? (*machine)->device() : alloc::host_device();
  std::unique_ptr<Allocator> made =
      make(kind, device, {memory_limit, cache_limit, buffer_limit, page});
  // The device outlives the allocator, whoever holds that last.
  std::shared_ptr<sim::Machine> kept = machine != nullptr ? machine->machine : nullptr;
  Allocator* allocator = made.release();
  return {{allocator, [kept = std::move(kept)](Allocator* gone) { delete gone; }}};
}

MemoryBuffer* malloc(const AllocatorHandle& self, std::uint64_t bytes, std::uint64_t alignment) {
  Allocator& allocator = *self.allocator;
  const alloc::Buffer held = allocator.malloc(bytes, {.alignment = alignment, .stream = {}});
  device::Slice slice{held.address(), 0, {}};
  if (held) slice = allocator.slice(held);
  try {
    return new MemoryBuffer({.owner = self.allocator,
                             .slice = slice,
                             .requested = bytes,
                             .told = held ? &allocator.device().memory() : nullptr,
                             .is_reachable = true,
                             .release = [&allocator, held] { return allocator.try_free(held); }});
  } catch (...) {
    allocator.free(held);
    throw;
  }
}

nb::typed<nb::dict, nb::str, int> statistics(const AllocatorHandle& self) {
  const alloc::Statistics now = self.allocator->statistics();
  nb::typed<nb::dict, nb::str, int> result;
  result["allocated_bytes"] = now.allocated_bytes;
  result["active_bytes"] = now.active_bytes;
  result["requested_bytes"] = now.requested_bytes;
  result["reserved_bytes"] = now.reserved_bytes;
  result["cached_bytes"] = now.cached_bytes;
  result["spare_bytes"] = now.spare_bytes;
  result["wired_bytes"] = now.wired_bytes;
  result["peak_active_bytes"] = now.peak_active_bytes;
  result["peak_reserved_bytes"] = now.peak_reserved_bytes;
  result["allocated_count"] = now.allocated_count;
  result["cached_count"] = now.cached_count;
  result["buffer_count"] = now.buffer_count;
  result["mallocs"] = now.mallocs;
  result["device_mallocs"] = now.device_mallocs;
  result["frees"] = now.frees;
  result["refused_frees"] = now.refused_frees;
  result["out_of_memory"] = now.out_of_memory;
  return result;
}

nb::typed<nb::dict, nb::str, int> limits(const AllocatorHandle& self) {
  const alloc::Limits now = self.allocator->limits();
  nb::typed<nb::dict, nb::str, int> result;
  result["memory"] = now.memory.bytes;
  result["gc"] = now.gc_bytes;
  result["cache"] = now.cache_bytes;
  result["wired"] = now.wired_bytes;
  result["buffers"] = now.buffers;
  return result;
}

std::uint64_t cached_bytes(const AllocatorHandle& self) {
  const alloc::Statistics now = self->statistics();
  return now.cached_bytes - now.spare_bytes;
}

constexpr NameTable<record::BlockUse, 3> kUses{{{"allocated", record::BlockUse::allocated},
                                                {"pending_free", record::BlockUse::pending_free},
                                                {"inactive", record::BlockUse::inactive}}};

nb::dict block_object(const record::BlockState& block) {
  nb::dict result;
  result["address"] = block.address;
  result["size"] = block.size;
  result["requested_size"] = block.requested;
  for (const auto& [name, use] : kUses) {
    if (use == block.use) result["state"] = text_object(std::string(name));
  }
  return result;
}

nb::list segments(const AllocatorHandle& self) {
  nb::list result;
  for (const record::SegmentState& segment : self.allocator->segments()) {
    nb::list blocks;
    for (const record::BlockState& block : segment.blocks) blocks.append(block_object(block));
    nb::dict one;
    one["address"] = segment.address;
    one["size"] = segment.size;
    one["is_small"] = segment.is_small;
    one["blocks"] = blocks;
    result.append(one);
  }
  return result;
}

// The default of a simulated device is Python's alone: in C++ it would outlive its machine's users.
std::optional<AllocatorHandle> set_default(const AllocatorHandle& self) {
  if (&self->device() != &alloc::host_device()) return std::nullopt;
  std::shared_ptr<Allocator> before = alloc::set_default_allocator(self.allocator);
  if (before == nullptr) return std::nullopt;
  return AllocatorHandle{std::move(before)};
}

std::uint64_t set_memory_limit(const AllocatorHandle& self, std::uint64_t bytes, bool hard) {
  const auto rule = hard ? alloc::LimitRule::hard : alloc::LimitRule::guideline;
  return self.allocator->set_memory_limit(bytes, rule).bytes;
}

// MLX's functions by its names, as methods of one allocator.
void def_memory_methods(nb::class_<AllocatorHandle>& allocator) {
  using Handle = AllocatorHandle;
  allocator.def("get_active_memory", [](const Handle& a) { return a->active_bytes(); })
      .def("get_peak_memory", [](const Handle& a) { return a->statistics().peak_active_bytes; })
      .def("reset_peak_memory", [](const Handle& a) { a->reset_peaks(alloc::PeakReset::to_zero); })
      .def("get_cache_memory", &cached_bytes)
      .def("get_memory_limit", [](const Handle& a) { return a->limits().memory.bytes; })
      .def("set_memory_limit", &set_memory_limit, nb::arg("bytes"), nb::arg("hard"))
      .def(
          "set_cache_limit",
          [](const Handle& a, std::uint64_t bytes) { return a->set_cache_limit(bytes); },
          nb::arg("bytes"))
      .def(
          "set_wired_limit",
          [](const Handle& a, std::uint64_t bytes) { return a->set_wired_limit(bytes); },
          nb::arg("bytes"))
      .def("clear_cache", [](const Handle& a) { a->empty_cache(); });
}

void def_allocator(nb::module_& m) {
  using Handle = AllocatorHandle;
  nb::class_<Handle> allocator(m, "Allocator", "An allocator over the host or a simulation.");
  allocator
      .def_prop_ro(
          "name", [](const Handle& a) { return text_object(std::string(a->name())); },
          nb::sig("def name(self) -> str"))
      .def_prop_ro(
          "device", [](const Handle& a) { return text_object(a->device().facts().name); },
          nb::sig("def device(self) -> str"), "The name of its device.")
      .def("malloc", &malloc, nb::arg("bytes"), nb::arg("alignment"), "Memory; of 0 bytes, none.")
      .def("statistics", &statistics, "What is held and what was done, at one moment.")
      .def("limits", &limits)
      .def("segments", &segments, nb::sig("def segments(self) -> list[dict[str, object]]"),
           "What is reserved now, with its blocks.")
      .def(
          "set_buffer_limit",
          [](const Handle& a, std::uint64_t count) { return a->set_buffer_limit(count); },
          nb::arg("count"), "The limit before.")
      .def("validate", [](const Handle& a) { a->validate(); })
      .def("set_default", &set_default,
           "Makes it the host's default if it is over the host; the one before.");
  def_memory_methods(allocator);
}

// The same as functions, of the host's default allocator.
void def_memory_functions(nb::module_& m) {
  m.def("get_active_memory", &alloc::get_active_memory, "Bytes handed out, by capacity.");
  m.def("get_peak_memory", &alloc::get_peak_memory, "The largest active since the reset.");
  m.def("reset_peak_memory", &alloc::reset_peak_memory, "0 until the next malloc.");
  m.def("get_cache_memory", &alloc::get_cache_memory, "Bytes kept for reuse.");
  m.def("get_memory_limit", &alloc::get_memory_limit, "In bytes.");
  m.def(
      "set_memory_limit",
      [](std::uint64_t bytes, bool hard) {
        return alloc::set_memory_limit(bytes,
                                       hard ? alloc::LimitRule::hard : alloc::LimitRule::guideline);
      },
      nb::arg("bytes"), nb::arg("hard"), "The limit before.");
  m.def("set_cache_limit", &alloc::set_cache_limit, nb::arg("bytes"), "The limit before.");
  m.def("set_wired_limit", &alloc::set_wired_limit, nb::arg("bytes"), "The limit before.");
  m.def("clear_cache", &alloc::clear_cache, "Gives what is cached back.");
}

}  // namespace

void init_allocators(nb::module_& m) {
  def_allocator(m);
  m.def("make_allocator", &make_allocator, nb::arg("kind"), nb::arg("machine").none(),
        nb::arg("memory_limit").none(), nb::arg("cache_limit").none(),
        nb::arg("buffer_limit").none(), nb::arg("page"),
        "An allocator of a kind, over the host or a simulated machine.");
  nb::module_ memory = m.def_submodule("memory", "MLX's functions, of the host's default.");
  def_memory_functions(memory);
}

}  // namespace strandline::python
