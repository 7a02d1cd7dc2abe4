// SPDX-License-Identifier: Apache-2.0
#include "watched_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cpython_frames.h"
#include "strandline/record/binding_call.h"
#include "strandline/record/recorder.h"

namespace strandline::python {
namespace {

// Distinct functions behind callables, of which nanobind has a handful: each gets a function of
// ours, so that a call need not look up what it goes on to.
constexpr std::size_t kMostFunctions = 16;

// Guarded by the interpreter lock.
std::array<vectorcallfunc, kMostFunctions> g_real{};

template <std::size_t Number>
PyObject* noting_call(PyObject* callable, PyObject* const* arguments, std::size_t count,
                      PyObject* names) {
  if (!record::recording()) return g_real[Number](callable, arguments, count, names);
  record::BindingCall& call = record::binding_call();
  const void* const* const outer_watched = call.watched;
  const void* const outer_expected = call.expected;
  call.watched = running_mark(holding_thread_state());
  call.expected = call.watched != nullptr ? *call.watched : nullptr;
  call.table = nullptr;
  PyObject* result = g_real[Number](callable, arguments, count, names);
  call.watched = outer_watched;
  call.expected = outer_expected;
  call.table = nullptr;  // the outer call gathers its stack again
  return result;
}

template <std::size_t... Number>
constexpr std::array<vectorcallfunc, kMostFunctions> make_noting(
    std::index_sequence<Number...>) noexcept {
  return {noting_call<Number>...};
}
constexpr std::array<vectorcallfunc, kMostFunctions> kNoting =
    make_noting(std::make_index_sequence<kMostFunctions>{});

bool is_function_of_nanobind(PyTypeObject* type) noexcept {
  const std::string_view name(type->tp_name);
  return name.ends_with("nb_func") || name.ends_with("nb_method");
}

}  // namespace

bool watch_call(PyObject* callable) noexcept {
  PyTypeObject* type = Py_TYPE(callable);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0 ||
      !is_function_of_nanobind(type)) {
    return false;
  }
  auto& function = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(callable) +
                                                      type->tp_vectorcall_offset);
  if (function == nullptr) return false;
  if (std::ranges::find(kNoting, function) != kNoting.end()) return true;
  for (std::size_t i = 0; i < kMostFunctions; ++i) {
    if (g_real[i] == nullptr) g_real[i] = function;
    if (g_real[i] != function) continue;
    function = kNoting[i];
    return true;
  }
  return false;
}

}  // namespace strandline::python
