// SPDX-License-Identifier: Apache-2.0
// What the recorder's fork handlers need of the rest of the room: every lock that a child may want.
// Held around a fork, so that a child never finds one taken by a thread it does not have. Private
// to the room.
#pragma once

#include "strandline/core/mutex.h"

namespace strandline::record {

void lock_providers_for_fork() noexcept;
void unlock_providers_after_fork() noexcept;

/// None of these is held while another lock is taken.
Mutex& adapter_list_mutex() noexcept;
Mutex& source_list_mutex() noexcept;
Mutex& symbol_mutex() noexcept;

}  // namespace strandline::record
