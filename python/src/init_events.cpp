// SPDX-License-Identifier: Apache-2.0
// Topic: events as Python dictionaries, and tracebacks as Python lists.
// A million events are a million dictionaries; keys, names and tracebacks are shared between them.

#include <algorithm>
#include <array>
#include <string_view>

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "interpreter_lock.h"
#include "strandline/record/capture.h"
#include "strandline/record/event.h"
#include "strandline/record/layout.h"
#include "strandline/record/recorder.h"

namespace strandline::python {

nb::object text_object(const std::string& text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::none() : text_object(text);
}

nb::object TracebackReader::calling(TracebackId id) {
  return stack(tables_.tracebacks.calling(id));
}

nb::object TracebackReader::forward(TracebackId id) {
  return stack(tables_.tracebacks.forward(id));
}

nb::object TracebackReader::stack(TracebackId id) {
  if (!id) return nb::none();
  if (const auto found = stacks_.find(id); found != stacks_.end()) return found->second;
  const std::vector<record::RawFrame> raw = tables_.tracebacks.frames(id);
  nb::object result = nb::none();
  if (!raw.empty()) {
    nb::list frames;
    for (auto it = raw.rbegin(); it != raw.rend(); ++it) frames.append(frame(*it));
    result = frames;
  }
  stacks_.emplace(id, result);
  return result;
}

nb::object TracebackReader::frame(const record::RawFrame& raw) {
  auto& known = frames_[raw.code];
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const auto& entry) { return entry.first == raw; });
  if (found != known.end()) return found->second;
  const record::Frame resolved = record::resolve_frame(raw);
  nb::object made =
      nb::make_tuple(text_object(resolved.file), text_object(resolved.function), resolved.line);
  known.emplace_back(raw, made);
  return made;
}

namespace {

using record::Event;

/// Makes the dictionaries of one cut; texts and shapes are made once an id.
class EventReader {
 public:
  explicit EventReader(const record::Cut& cut)
      : cut_(cut), tables_(record::recorder().tables()), tracebacks_(tables_) {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const std::string_view name = record::action_name(static_cast<record::Action>(i));
      actions_[i] = nb::str(name.data(), name.size());
    }
  }

  nb::dict event(const Event& event) {
    nb::dict result;
    result["action"] = actions_[static_cast<std::size_t>(event.action)];
    result["device"] = event.device;
    result["stream"] = tables_.streams.handle(event.stream).first;
    result["address"] = event.address;
    result["size"] = event.size;
    result["requested_size"] = event.requested;
    result["time_us"] = cut_.clock.unix_us(event.ticks);
    result["op"] = name(tables_.ops, event.op);
    result["traceback"] = tracebacks_.calling(event.traceback);
    result["forward_traceback"] = tracebacks_.forward(event.traceback);
    const auto& [shape, dtype] = layout(event.layout);
    result["shape"] = shape;
    result["dtype"] = dtype;
    result["label"] = name(tables_.labels, event.label);
    result["thread"] = event.thread;
    const auto pool = tables_.pools.handle(event.pool);
    result["pool"] = nb::make_tuple(pool.first, pool.second);
    result["owner"] = name(tables_.owners, event.owner);
    return result;
  }

 private:
  template <typename IdType>
  nb::object name(const NameTable<IdType>& table, IdType id) {
    if (!id) return nb::none();
    auto& names = names_of(id);
    const auto found = names.find(id.value);
    if (found != names.end()) return found->second;
    return names.emplace(id.value, text_or_none(table.text(id))).first->second;
  }

  using Names = std::unordered_map<std::uint32_t, nb::object>;
  Names& names_of(OpId /*kind*/) { return ops_; }
  Names& names_of(LabelId /*kind*/) { return labels_; }
  Names& names_of(OwnerId /*kind*/) { return owners_; }

  const std::pair<nb::object, nb::object>& layout(LayoutId id) {
    const auto found = layouts_.find(id.value);
    if (found != layouts_.end()) return found->second;
    std::pair<nb::object, nb::object> made{nb::none(), nb::none()};
    if (const record::Layout layout = tables_.layouts.layout(id);
        layout.dtype != record::Dtype::unknown) {
      nb::list shape;
      for (const std::int64_t extent : layout.shape) shape.append(extent);
      const std::string_view dtype = record::dtype_name(layout.dtype);
      made = {nb::tuple(shape), nb::str(dtype.data(), dtype.size())};
    }
    return layouts_.emplace(id.value, std::move(made)).first->second;
  }

  const record::Cut& cut_;
  record::Tables& tables_;
  TracebackReader tracebacks_;
  std::array<nb::object, record::kActionCount> actions_;
  Names ops_;
  Names labels_;
  Names owners_;
  std::unordered_map<std::uint32_t, std::pair<nb::object, nb::object>> layouts_;
};

record::Cut cut_without_gil() {
  const ReleasedLock release;
  return record::recorder().cut();
}

nb::list events() {
  const record::Cut cut = cut_without_gil();
  EventReader reader(cut);
  nb::list result;
  for (const Event& event : cut.events) result.append(reader.event(event));
  return result;
}

nb::object traceback_of(std::uint64_t address) {
  record::Recorder& recorder = record::recorder();
  return TracebackReader(recorder.tables()).calling(recorder.traceback_of(address));
}

}  // namespace

void init_events(nb::module_& m) {
  m.def("events", &events, nb::sig("def events() -> list[dict[str, object]]"),
        "The events kept by the ring, oldest first, as dictionaries.");
  m.def("traceback_of", &traceback_of, nb::arg("address"),
        nb::sig("def traceback_of(address: int) -> list[tuple[str, str, int]] | None"),
        "Frames of the live block at `address`, outermost first.");
}

}  // namespace strandline::python
