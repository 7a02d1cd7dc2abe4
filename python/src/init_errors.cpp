// SPDX-License-Identifier: Apache-2.0
// C++ errors as Python exceptions, by the table in core/error.h. The three kinds that Python does
// not have are classes of strandline/errors.py, which are looked up when one is thrown.

#include <exception>

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

/// Sets the pending exception to strandline.errors.<name>(arguments...).
template <typename... Arguments>
void raise_ours(const char* name, const Arguments&... arguments) noexcept {
  try {
    const nb::object kind = nb::module_::import_("strandline.errors").attr(name);
    PyErr_SetObject(kind.ptr(), kind(arguments...).ptr());
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const OutOfMemory& e) {
    raise_ours("OutOfMemoryError", e.what(), e.requested, e.available, e.limit);
  } catch (const FormatError& e) {
    raise_ours("FormatError", e.what(), e.offset);
  } catch (const DeviceError& e) {
    raise_ours("DeviceError", e.what());
  } catch (const InvalidArgument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const OutOfRange& e) {
    PyErr_SetString(PyExc_IndexError, e.what());
  } catch (const TypeMismatch& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

}  // namespace

void init_errors(nb::module_& /*m*/) {
  nb::register_exception_translator(translate);
}

}  // namespace strandline::python
