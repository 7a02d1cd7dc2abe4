// SPDX-License-Identifier: Apache-2.0
// Calls into a framework's binding, told to the recorder: everything that one call makes has one
// stack, which is then gathered once. Needed because nothing else tells one call from the next: a
// frame that has been left and entered again, at the same line, looks like the one before.
//
// A callable of the vectorcall protocol (PEP 590) carries the address of its function, which is
// exchanged for one of ours that notes the call and goes on to the real one.
#pragma once

#include <Python.h>

namespace strandline::python {

/// Tells the recorder of every call of `callable` from now on; false where it is not a function of
/// nanobind. Twice is once. With the interpreter lock.
bool watch_call(PyObject* callable) noexcept;

}  // namespace strandline::python
