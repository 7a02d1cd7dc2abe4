// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/adapter.h"

#include "fork.h"
#include "strandline/core/error.h"
#include "strandline/core/mutex.h"

namespace strandline::record {
namespace {

struct AdapterList {
  Mutex mutex;
  std::vector<Adapter*> adapters STRANDLINE_GUARDED_BY(mutex);
};

AdapterList& adapter_list() noexcept {
  static AdapterList& list = *new AdapterList;
  return list;
}

}  // namespace

Mutex& adapter_list_mutex() noexcept {
  return adapter_list().mutex;
}

void register_adapter(Adapter* adapter) {
  if (adapter == nullptr) {
    throw InvalidArgument(error_message("register_adapter", "adapter", "null", "an adapter"));
  }
  AdapterList& list = adapter_list();
  const LockGuard guard(list.mutex);
  list.adapters.push_back(adapter);
}

Adapter* find_adapter(std::string_view name) noexcept {
  AdapterList& list = adapter_list();
  const LockGuard guard(list.mutex);
  for (Adapter* adapter : list.adapters) {
    if (adapter->name() == name) return adapter;
  }
  return nullptr;
}

std::vector<Adapter*> adapters() {
  AdapterList& list = adapter_list();
  const LockGuard guard(list.mutex);
  return list.adapters;
}

}  // namespace strandline::record
