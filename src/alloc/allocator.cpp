// SPDX-License-Identifier: Apache-2.0
// The public face; everything is in the core.
#include "strandline/alloc/allocator.h"

#include <cassert>

#include "alloc/core.h"

namespace strandline::alloc {

using device::FreeStatus;

Allocator::Allocator(std::unique_ptr<Core> core) : core_(std::move(core)) {
  core_->open(*this);
}

Allocator::~Allocator() {
  core_->close();
}

Buffer Allocator::malloc(std::uint64_t bytes, const MallocOptions& options) {
  return core_->malloc(bytes, options);
}

void Allocator::free(Buffer buffer) noexcept {
  [[maybe_unused]] const FreeStatus status = core_->try_free(buffer);
  assert(status != FreeStatus::unknown && "free of a buffer that is not the allocator's");
}

FreeStatus Allocator::try_free(Buffer buffer) noexcept {
  return core_->try_free(buffer);
}

std::uint64_t Allocator::size(Buffer buffer) const {
  return core_->slice(buffer).size;
}

device::Slice Allocator::slice(Buffer buffer) const {
  return core_->slice(buffer);
}

void* Allocator::raw_ptr(Buffer buffer) const {
  return core_->raw_ptr(buffer);
}
bool Allocator::hides_memory() const noexcept {
  return core_->hides_memory();
}

void Allocator::note_write(Buffer buffer, StreamId stream) {
  core_->note_write(buffer, stream);
}

Buffer Allocator::make_buffer(void* memory, std::uint64_t bytes) {
  return core_->make_buffer(memory, bytes);
}

Buffer Allocator::try_make_buffer(void* memory, std::uint64_t bytes) {
  const bool is_valid = memory != nullptr && bytes != 0;
  if (is_valid && !core_->can_wrap(memory, bytes)) return {};
  return core_->make_buffer(memory, bytes);
}

FreeStatus Allocator::release(Buffer buffer) noexcept {
  return core_->release(buffer);
}

Limits Allocator::limits() const {
  return core_->limits();
}

MemoryLimit Allocator::set_memory_limit(std::uint64_t bytes, LimitRule rule) {
  return core_->set_memory_limit(bytes, rule);
}

std::uint64_t Allocator::set_cache_limit(std::uint64_t bytes) {
  return core_->set_cache_limit(bytes);
}

std::uint64_t Allocator::set_wired_limit(std::uint64_t bytes) {
  return core_->set_wired_limit(bytes);
}

std::uint64_t Allocator::set_buffer_limit(std::uint64_t count) {
  return core_->set_buffer_limit(count);
}

Statistics Allocator::statistics() const {
  return core_->statistics();
}

std::uint64_t Allocator::active_bytes() const noexcept {
  return core_->active_bytes();
}

void Allocator::reset_peaks(PeakReset how) noexcept {
  core_->reset_peaks(how);
}

std::vector<record::SegmentState> Allocator::segments() const {
  return core_->segments();
}

std::uint64_t Allocator::empty_cache() noexcept {
  return core_->empty_cache();
}

std::string_view Allocator::name() const noexcept {
  return core_->name();
}

device::Device& Allocator::device() const noexcept {
  return core_->device();
}

void Allocator::validate() const {
  core_->validate();
}

}  // namespace strandline::alloc
