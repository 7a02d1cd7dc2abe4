// SPDX-License-Identifier: Apache-2.0

#include "event_input.h"

#include "strandline/core/error.h"

namespace strandline::python {

namespace nb = nanobind;

using record::Action;
using record::Dtype;
using snapshot::EventInput;

const EventInput& EventInputReader::read(std::size_t index, nb::handle event) {
  index_ = index;
  if (!nb::isinstance<nb::dict>(event)) {
    throw TypeMismatch(error_message("dump_snapshot", "events[" + std::to_string(index) + "]",
                                     nb::type_name(event.type()).c_str(), "a dict"));
  }
  event_ = event;
  texts_.clear();
  read_shape();
  read_frames("traceback", stack_);
  read_frames("forward_traceback", forward_);
  input_ = {.action = action(),
            .address = needed_number("address"),
            .size = needed_number("size"),
            .requested = number("requested_size"),
            .time_us = static_cast<std::int64_t>(number("time_us", INT64_MAX)),
            .stack = stack_,
            .forward = forward_,
            .op = text("op"),
            .label = text("label"),
            .owner = text("owner"),
            .shape = shape_,
            .dtype = dtype(),
            .stream = number("stream"),
            .thread = static_cast<std::uint16_t>(number("thread", UINT16_MAX)),
            .device = static_cast<std::uint8_t>(number("device", UINT8_MAX))};
  read_pool();
  return input_;
}

nb::object EventInputReader::get(const char* key) const {
  PyObject* found = PyDict_GetItemString(event_.ptr(), key);
  return found == nullptr ? nb::none() : nb::borrow(found);
}

std::uint64_t EventInputReader::number(const char* key, std::uint64_t maximum,
                                       nb::handle value) const {
  if (!PyLong_Check(value.ptr())) refuse_type(key, value, "an integer");
  const unsigned long long number = PyLong_AsUnsignedLongLong(value.ptr());
  const bool overflow = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (overflow || number > maximum) {
    refuse_value(key, value, ("at least 0 and at most " + std::to_string(maximum)).c_str());
  }
  return number;
}

std::uint64_t EventInputReader::number(const char* key, std::uint64_t maximum) const {
  const nb::object value = get(key);
  return value.is_none() ? 0 : number(key, maximum, value);
}

std::uint64_t EventInputReader::needed_number(const char* key) const {
  return number(key, UINT64_MAX, get(key));
}

std::string_view EventInputReader::text(const char* key, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) refuse_type(key, value, "a str");
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    refuse_value(key, value, "text that UTF-8 can encode");
  }
  // The str may be a value made on the fly by the dictionary's owner: keep a copy.
  return texts_.emplace_back(data, static_cast<std::size_t>(size));
}

std::string_view EventInputReader::text(const char* key) {
  const nb::object value = get(key);
  return value.is_none() ? std::string_view{} : text(key, value);
}

Action EventInputReader::action() {
  const nb::object value = get("action");
  const std::string_view name = text("action", value);
  for (std::size_t i = 1; i < record::kActionCount; ++i) {
    const auto candidate = static_cast<Action>(i);
    if (record::action_name(candidate) == name) return candidate;
  }
  refuse_value("action", value, "the name of an action");
}

Dtype EventInputReader::dtype() {
  const nb::object value = get("dtype");
  if (value.is_none()) return Dtype::unknown;
  const std::string_view name = text("dtype", value);
  for (int i = 0; i <= static_cast<int>(Dtype::complex128); ++i) {
    if (record::dtype_name(static_cast<Dtype>(i)) == name) return static_cast<Dtype>(i);
  }
  refuse_value("dtype", value, "the name of a dtype");
}

void EventInputReader::read_shape() {
  shape_.clear();
  const nb::object value = get("shape");
  if (value.is_none()) return;
  if (!nb::isinstance<nb::tuple>(value) && !nb::isinstance<nb::list>(value)) {
    refuse_type("shape", value, "a tuple of integers");
  }
  for (const nb::handle extent : value) {
    shape_.push_back(static_cast<std::int64_t>(number("shape", INT64_MAX, extent)));
  }
}

void EventInputReader::read_pool() {
  const nb::object value = get("pool");
  if (value.is_none()) return;
  if (!nb::isinstance<nb::tuple>(value) || nb::len(value) != 2) {
    refuse_type("pool", value, "a tuple of two integers");
  }
  input_.pool = {number("pool", UINT64_MAX, value[0]), number("pool", UINT64_MAX, value[1])};
}

void EventInputReader::read_frames(const char* key, Frames& frames) {
  frames.clear();
  const nb::object value = get(key);
  if (value.is_none()) return;
  if (!nb::isinstance<nb::list>(value)) refuse_type(key, value, "a list of frames");
  for (const nb::handle frame : value) {
    if (!nb::isinstance<nb::tuple>(frame) || nb::len(frame) != 3) {
      refuse_type(key, frame, "frames (filename, function, line)");
    }
    const std::string_view file = text(key, frame[0]);
    const std::string_view function = text(key, frame[1]);
    const auto line = static_cast<std::uint32_t>(number(key, UINT32_MAX, frame[2]));
    frames.push_back({.file = file, .function = function, .line = line});
  }
}

std::string EventInputReader::place(const char* key) const {
  return "events[" + std::to_string(index_) + "]['" + key + "']";
}

void EventInputReader::refuse_type(const char* key, nb::handle got, const char* expected) const {
  throw TypeMismatch(
      error_message("dump_snapshot", place(key), nb::type_name(got.type()).c_str(), expected));
}

void EventInputReader::refuse_value(const char* key, nb::handle got, const char* expected) const {
  throw InvalidArgument(
      error_message("dump_snapshot", place(key), nb::repr(got).c_str(), expected));
}

}  // namespace strandline::python
