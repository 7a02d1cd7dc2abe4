// SPDX-License-Identifier: Apache-2.0
// The allocator that is meant when none is named: one for each device, changeable at any time.
// Buffers return to the allocator they came from, so one that was replaced is kept, with an empty
// cache, until reset_default_allocator of its device. Any thread.
#pragma once

#include <memory>

#include "strandline/alloc/allocator.h"
#include "strandline/core/export.h"

namespace strandline::alloc {

/// The process's host device; made on first use, never destroyed.
[[nodiscard]] STRANDLINE_API device::Device& host_device();

/// The default allocator of the host device; a HostAllocator until another is set.
[[nodiscard]] STRANDLINE_API Allocator& default_allocator();
/// The default allocator of `device`. InvalidArgument when none was set (host_device() has one).
[[nodiscard]] STRANDLINE_API Allocator& default_allocator(const device::Device& device);

/// Makes `allocator` the default of its device and returns the one before, null for none. Null is
/// refused with InvalidArgument.
STRANDLINE_API std::shared_ptr<Allocator> set_default_allocator(
    std::shared_ptr<Allocator> allocator);
/// Ends the device's default and lets go of those before it; returns it, null for none. To be
/// called before the device ends. The host device gets a HostAllocator again on the next use.
STRANDLINE_API std::shared_ptr<Allocator> reset_default_allocator(const device::Device& device);

}  // namespace strandline::alloc
