// SPDX-License-Identifier: Apache-2.0
// Before the interpreter's frames are trusted: a Python program whose stacks are told both by
// reading them and by the public API. It runs when the module is loaded and takes well under a
// millisecond.

#include <array>
#include <string>

#include "cpython_compat.h"
#include "fast_source.h"

namespace strandline::python {
namespace {

constexpr const char* kProgram = R"python(
def recursion(depth):
    return recursion(depth - 1) if depth else check('recursion')

def generator():
    yield check('generator')

async def inner():
    check('coroutine')

async def outer():
    await inner()

class Type:
    def __init__(self):
        check('constructor')
    @property
    def value(self):
        return check('property')
    def __getattr__(self, name):
        check('attribute')
    def __del__(self):
        check('finaliser')

def decorate(function):
    return lambda *arguments: function(*arguments)

@decorate
def decorated():
    check('decorator')

def run():
    for _ in range(20):
        Type().value
    Type().absent
    recursion(5)
    recursion(150)
    next(generator())
    coroutine = outer()
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    list(map(lambda _: check('call from C'), (0,)))
    [check('comprehension') for _ in (0,)]
    decorated()
    exec("check('exec')")

run()
)python";

/// What `check` in the program writes to; one run at a time, under the interpreter lock.
struct Comparison {
  std::string difference;
  std::size_t stacks = 0;
  StackMemo memo{};  // that has seen all stacks so far
};
Comparison* g_comparison = nullptr;

PyObject* check(PyObject* /*module*/, PyObject* what) {
  Comparison& comparison = *g_comparison;
  PyThreadState* thread = PyThreadState_Get();
  FrameList told;
  FrameList read;
  list_frames_by_api(thread, nullptr, 0, told);
  list_frames(thread, {}, 0, read);
  ++comparison.stacks;
  StackMemo fresh;
  const bool is_same = told == read && told.count > 1 &&
                       comparison.memo.key_of_stack(thread, {}) == fresh.key_of_stack(thread, {});
  if (!is_same && comparison.difference.empty()) {
    const char* name = PyUnicode_Check(what) ? PyUnicode_AsUTF8(what) : nullptr;
    comparison.difference = "frames read differ from those of the public API in the self-test, in ";
    comparison.difference += name != nullptr ? name : "an unnamed step";
  }
  Py_RETURN_NONE;
}

PyMethodDef g_check = {"check", check, METH_O, nullptr};

}  // namespace

std::string compare_frames_with_api() {
  constexpr std::size_t kStacks = 20 * 3 + 11;  // `check` calls of the program
  const PendingExceptionGuard pending;
  Comparison comparison;
  g_comparison = &comparison;
  PyObject* globals = PyDict_New();
  PyObject* function = PyCFunction_New(&g_check, nullptr);
  PyObject* result = nullptr;
  if (globals != nullptr && function != nullptr &&
      PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0 &&
      PyDict_SetItemString(globals, "check", function) == 0) {
    PyObject* code = Py_CompileString(kProgram, "<strandline self-test>", Py_file_input);
    if (code != nullptr) result = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(code);
  }
  if (globals != nullptr) PyDict_Clear(globals);  // functions and globals hold each other
  Py_XDECREF(function);
  Py_XDECREF(globals);
  g_comparison = nullptr;
  const bool ran = result != nullptr;
  Py_XDECREF(result);
  if (!ran) {
    PyErr_Clear();
    return "the self-test of reading frames could not run";
  }
  if (comparison.difference.empty() && comparison.stacks != kStacks) {
    return "the self-test of reading frames saw " + std::to_string(comparison.stacks) +
           " stacks, not " + std::to_string(kStacks);
  }
  return comparison.difference;
}

}  // namespace strandline::python
