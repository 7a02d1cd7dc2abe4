// SPDX-License-Identifier: Apache-2.0
// The public face; everything is in the core.
#include "strandline/alloc/segment_allocator.h"

#include <utility>

#include "alloc/segment/segment_core.h"

namespace strandline::alloc {

SegmentAllocator::SegmentAllocator(device::Device& device, const SegmentAllocatorOptions& options)
    : SegmentAllocator(std::make_unique<SegmentCore>(device, options)) {}

// Braces: the core is named before it is moved from.
SegmentAllocator::SegmentAllocator(std::unique_ptr<SegmentCore> core)
    : SegmentAllocator{*core, std::move(core)} {}

SegmentAllocator::SegmentAllocator(SegmentCore& segments, std::unique_ptr<SegmentCore> core)
    : Allocator(std::move(core)), segments_(segments) {}

void SegmentAllocator::record_stream(Buffer buffer, StreamId stream) {
  segments_.record_stream(buffer, stream);
}

std::uint64_t SegmentAllocator::poll() {
  return segments_.poll_now();
}

SegmentSettings SegmentAllocator::settings() const {
  return segments_.settings();
}

SegmentSettings SegmentAllocator::set_settings(const SegmentSettings& settings) {
  return segments_.set_settings(settings);
}

double SegmentAllocator::set_memory_fraction(double fraction) {
  return segments_.set_memory_fraction(fraction);
}

double SegmentAllocator::memory_fraction() const {
  return segments_.memory_fraction();
}

Decisions SegmentAllocator::decisions() const noexcept {
  return segments_.decisions();
}

PoolId SegmentAllocator::create_pool(const PrivatePoolOptions& options) {
  return segments_.create_pool(options);
}

void SegmentAllocator::retain_pool(PoolId pool) {
  segments_.retain_pool(pool);
}

void SegmentAllocator::release_pool(PoolId pool) {
  segments_.release_pool(pool);
}

void SegmentAllocator::destroy_pool(PoolId pool) {
  segments_.destroy_pool(pool);
}

std::uint64_t SegmentAllocator::pool_uses(PoolId pool) const {
  return segments_.pool_uses(pool);
}

void SegmentAllocator::begin_pool(PoolId pool, ScopeFilter filter) {
  segments_.begin_pool(pool, std::move(filter));
}

void SegmentAllocator::end_pool(PoolId pool) {
  segments_.end_pool(pool);
}

std::uint64_t SegmentAllocator::empty_pool(PoolId pool) {
  return segments_.empty_pool(pool);
}

std::vector<record::SegmentState> SegmentAllocator::pool_segments(PoolId pool) const {
  return segments_.pool_segments(pool);
}

SegmentStatistics SegmentAllocator::segment_statistics() const {
  return segments_.segment_statistics();
}

void SegmentAllocator::reset_accumulated() noexcept {
  segments_.reset_accumulated();
}

CallbackId SegmentAllocator::add_free_memory_callback(FreeMemoryCallback callback) {
  return segments_.add_free_memory_callback(std::move(callback));
}

CallbackId SegmentAllocator::add_out_of_memory_observer(OutOfMemoryObserver observer) {
  return segments_.add_out_of_memory_observer(std::move(observer));
}

CallbackId SegmentAllocator::add_trace_tracker(TraceTracker tracker) {
  return segments_.add_trace_tracker(std::move(tracker));
}

void SegmentAllocator::remove_callback(CallbackId id) {
  segments_.remove_callback(id);
}

}  // namespace strandline::alloc
