// SPDX-License-Identifier: Apache-2.0
// A fake of the header for CUDA's own compiler: what a host compiler needs of it.
#pragma once

#include <cuda_runtime_api.h>

// Named by headers on the way, never called.
cudaError_t cudaMallocHost(void** memory, size_t bytes, unsigned flags);
