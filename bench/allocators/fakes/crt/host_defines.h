// SPDX-License-Identifier: Apache-2.0
// A fake of the header that only CUDA's compiler package brings: the words with which CUDA's other
// headers mark their declarations, for a host compiler, to which they mean nothing.
#pragma once

#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __managed__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define CUDARTAPI
#define CUDARTAPI_CDECL
