// SPDX-License-Identifier: Apache-2.0
// The topics of the submodule strandline._native.array, each in a source of its own.
#pragma once

#include <nanobind/nanobind.h>

#include "strandline/array/array.h"

namespace strandline::python {

using ArrayClass = nanobind::class_<array::Array>;

void init_array_devices(nanobind::module_& m);
void init_array_operators(ArrayClass& array);
// Functions, and methods of the same names.
void init_array_operations(nanobind::module_& m, ArrayClass& array);
void init_array_reductions(nanobind::module_& m, ArrayClass& array);
void init_array_shapes(nanobind::module_& m, ArrayClass& array);
void init_array_random(nanobind::module_& m);
void init_array_graph(nanobind::module_& m);
void def_array_indexing(ArrayClass& array);
void def_array_copies(ArrayClass& array);

}  // namespace strandline::python
