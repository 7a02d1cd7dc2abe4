// SPDX-License-Identifier: Apache-2.0
// Look-up of the functions behind the hooks. RTLD_NEXT finds nothing: Python loads libmlx with
// local scope, so the library is asked by its name.
#include "mlx_api.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace strandline::mlx_adapter {
namespace {

struct Lookup {
  void* library = nullptr;
  std::vector<std::string> missing;

  template <typename Function>
  void find(Function& function, const char* symbol) {
    void* address = library != nullptr ? dlsym(library, symbol) : nullptr;
    if (address == nullptr) missing.emplace_back(symbol);
    function = reinterpret_cast<Function>(address);
  }
};

void find_memory_functions(Lookup& lookup, MlxFunctions& f) {
  lookup.find(f.get_active_memory, "_ZN3mlx4core17get_active_memoryEv");
  lookup.find(f.get_peak_memory, "_ZN3mlx4core15get_peak_memoryEv");
  lookup.find(f.reset_peak_memory, "_ZN3mlx4core17reset_peak_memoryEv");
  lookup.find(f.get_cache_memory, "_ZN3mlx4core16get_cache_memoryEv");
  lookup.find(f.get_memory_limit, "_ZN3mlx4core16get_memory_limitEv");
  lookup.find(f.clear_cache, "_ZN3mlx4core11clear_cacheEv");
  lookup.find(f.set_cache_limit, "_ZN3mlx4core15set_cache_limitEm");
  lookup.find(f.set_memory_limit, "_ZN3mlx4core16set_memory_limitEm");
  lookup.find(f.set_wired_limit, "_ZN3mlx4core15set_wired_limitEm");
  lookup.find(f.device_info, "_ZN3mlx4core11device_infoB5cxx11ERKNS0_6DeviceE");
  lookup.find(f.get_streams, "_ZN3mlx4core11get_streamsEv");
  lookup.find(f.synchronize, "_ZN3mlx4core11synchronizeENS0_6StreamE");
}

Lookup look_up(MlxFunctions& f) {
  Lookup lookup;
  lookup.library = dlopen("libmlx.so", RTLD_NOW | RTLD_NOLOAD);
  find_memory_functions(lookup, f);
  lookup.find(f.allocator, "_ZN3mlx4core9allocator9allocatorEv");
  lookup.find(f.raw_ptr, "_ZN3mlx4core9allocator6Buffer7raw_ptrEv");
  lookup.find(f.desc_init, "_ZN3mlx4core5array9ArrayDesc4initEv");
  lookup.find(f.desc_destroy, "_ZN3mlx4core5array9ArrayDescD1Ev");
  lookup.find(f.set_data, "_ZN3mlx4core5array8set_dataENS0_9allocator4DataE");
  lookup.find(f.set_data_strided,
              "_ZN3mlx4core5array8set_dataENS0_9allocator4DataEmNS0_11SmallVectorIlLm10ESaIlEEENS1_"
              "5FlagsEl");
  lookup.find(f.copy_shared_buffer,
              "_ZN3mlx4core5array18copy_shared_bufferERKS1_RKNS0_11SmallVectorIlLm10ESaIlEEENS1_"
              "5FlagsEml");
  lookup.find(f.detach, "_ZN3mlx4core5array6detachEv");
  lookup.find(f.vjp, "_ZN3mlx4core3vjpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
  lookup.find(f.jvp, "_ZN3mlx4core3jvpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
  lookup.find(
      f.value_and_grad,
      "_ZN3mlx4core14value_and_gradERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EERKS2_"
      "IiSaIiEE");
  lookup.find(f.compile,
              "_ZN3mlx4core6detail7compileESt8functionIFSt4pairISt6vectorINS0_5arrayESaIS5_EESt10"
              "shared_ptrIvEERKS7_EEmbS4_ImSaImEE");
  lookup.find(f.enqueue, "_ZN3mlx4core9scheduler9Scheduler7enqueueENS0_6StreamESt8functionIFvvEE");
  return lookup;
}

}  // namespace

constinit std::atomic<const MlxFunctions*> detail::g_functions{nullptr};

const MlxFunctions& detail::look_up_functions() noexcept {
  static const MlxFunctions& functions = *[] {
    auto* found = new MlxFunctions;
    const Lookup lookup = look_up(*found);
    if (!lookup.missing.empty()) {
      std::fprintf(stderr, "strandline: libmlx %s; the adapter was built for MLX %d.%d.%d\n",
                   lookup.library == nullptr ? "is not loaded" : lookup.missing[0].c_str(),
                   MLX_VERSION_MAJOR, MLX_VERSION_MINOR, MLX_VERSION_PATCH);
      std::abort();
    }
    return found;
  }();
  g_functions.store(&functions, std::memory_order_release);
  return functions;
}

std::vector<std::string> missing_functions() {
  MlxFunctions functions;
  return look_up(functions).missing;
}

}  // namespace strandline::mlx_adapter
