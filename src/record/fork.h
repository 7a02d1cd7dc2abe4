// SPDX-License-Identifier: Apache-2.0
// What the recorder's fork handlers need of the registry of state providers. Held around a fork, so
// that a child never finds a lock taken by a thread it does not have. Private to the room.
#pragma once

namespace strandline::record {

void lock_providers_for_fork() noexcept;
void unlock_providers_after_fork() noexcept;

}  // namespace strandline::record
