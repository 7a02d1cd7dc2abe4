// SPDX-License-Identifier: Apache-2.0
// Topic: the simulated device, the submodule strandline._native.sim: its options, memory, faults,
// findings, counters and clock. Its streams stand in init_sim_streams.cpp.
// The interpreter lock is held but where queued work runs (init_sim_streams.cpp).

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "memory_buffer.h"
#include "named.h"
#include "sim_machine.h"

namespace strandline::python {
namespace {

using device::Call;

constexpr NameTable<sim::StreamOrder, 2> kOrders{
    {{"by_stream", sim::StreamOrder::by_stream}, {"by_buffer", sim::StreamOrder::by_buffer}}};
constexpr NameTable<sim::Interleaving, 3> kInterleavings{
    {{"oldest_first", sim::Interleaving::oldest_first},
     {"newest_first", sim::Interleaving::newest_first},
     {"seeded", sim::Interleaving::seeded}}};
constexpr NameTable<sim::RunAt, 2> kRunAts{
    {{"wait", sim::RunAt::wait}, {"submit", sim::RunAt::submit}}};
constexpr NameTable<sim::AddressReuse, 2> kReuses{
    {{"at_once", sim::AddressReuse::at_once}, {"never", sim::AddressReuse::never}}};
constexpr NameTable<sim::Deallocation, 2> kDeallocations{
    {{"at_once", sim::Deallocation::at_once},
     {"waits_for_device", sim::Deallocation::waits_for_device}}};
constexpr NameTable<sim::HostAccess, 2> kHostAccesses{
    {{"reaches_device", sim::HostAccess::reaches_device},
     {"own_memory_only", sim::HostAccess::own_memory_only}}};
constexpr NameTable<sim::FaultRepeat, 2> kRepeats{
    {{"once", sim::FaultRepeat::once}, {"from_then_on", sim::FaultRepeat::from_then_on}}};
constexpr NameTable<sim::FaultError, 3> kErrors{{{"fitting", sim::FaultError::fitting},
                                                 {"out_of_memory", sim::FaultError::out_of_memory},
                                                 {"device_error", sim::FaultError::device_error}}};

constexpr NameTable<sim::FindingKind, 5> kFindings{
    {{"read_of_freed", sim::FindingKind::read_of_freed},
     {"write_to_freed", sim::FindingKind::write_to_freed},
     {"read_of_unwritten", sim::FindingKind::read_of_unwritten},
     {"no_access", sim::FindingKind::no_access},
     {"unordered", sim::FindingKind::unordered}}};

Call call_named(std::string_view name) {
  return by_name<Call>("call", name, device::kCallCount, device::call_name);
}

std::uint64_t number(const nb::dict& options, const char* name) {
  return nb::cast<std::uint64_t>(options[name]);
}

template <typename Enum, std::size_t N>
Enum choice(const nb::dict& options, const char* name, const NameTable<Enum, N>& table) {
  return by_name(name, nb::cast<std::string>(options[name]), table);
}

sim::DeviceOptions device_options(const nb::dict& options) {
  return {.name = nb::cast<std::string>(options["name"]),
          .capacity_bytes = number(options, "capacity"),
          .max_allocation_bytes = number(options, "max_allocation"),
          .allocation_granularity = number(options, "granularity"),
          .page_bytes = number(options, "page"),
          .no_copy_alignment = 4096,
          .max_buffers = number(options, "max_buffers"),
          .max_pinned_bytes = number(options, "max_pinned"),
          .working_set_bytes = number(options, "working_set")};
}

sim::MachineOptions machine_options(const nb::dict& options) {
  sim::MachineOptions made{
      .devices = {device_options(options)},
      .order = choice(options, "order", kOrders),
      .interleaving = choice(options, "interleaving", kInterleavings),
      .seed = number(options, "seed"),
      .run_at = choice(options, "run_at", kRunAts),
      .reuse = choice(options, "reuse", kReuses),
      .deallocation = choice(options, "deallocation", kDeallocations),
      .host_access = choice(options, "host_access", kHostAccesses),
      .poison = static_cast<std::byte>(number(options, "poison")),
  };
  made.costs.bytes_per_ns = number(options, "bytes_per_ns");
  for (const auto& [call, cost] : nb::cast<nb::dict>(options["costs_ns"])) {
    const Call known = call_named(nb::cast<std::string>(call));
    made.costs.call_ns[static_cast<std::size_t>(known)] = nb::cast<std::uint64_t>(cost);
  }
  return made;
}

MemoryBuffer* allocate(const SimMachine& self, std::uint64_t bytes, std::uint64_t alignment,
                       const std::string& placement) {
  device::Device& device = self->device();
  const device::AllocateOptions options{
      .placement = by_name<device::Placement>("placement", placement, device::kPlacementCount,
                                              device::placement_name),
      .alignment = alignment};
  const device::Allocation held = device.memory().allocate(bytes, options);
  const bool is_reachable =
      options.placement != device::Placement::device || device.facts().supports.host_reads_device;
  try {
    return new MemoryBuffer({.owner = self.machine,
                             .slice = held.slice(),
                             .requested = bytes,
                             .told = &device.memory(),
                             .is_reachable = is_reachable,
                             .release = [&device, address = held.address] {
                               return device.memory().deallocate(address);
                             }});
  } catch (...) {
    device.memory().deallocate(held.address);
    throw;
  }
}

nb::typed<nb::dict, nb::str, int> call_counters(const SimMachine& machine) {
  const device::CallCounts counts = machine->device().counts();
  nb::typed<nb::dict, nb::str, int> result;
  for (std::size_t i = 0; i < device::kCallCount; ++i) {
    if (counts.made[i] != 0) {
      result[text_object(std::string(device::call_name(static_cast<Call>(i))))] = counts.made[i];
    }
  }
  result["waits"] = counts.waits();
  result["refused_frees"] = counts.refused_frees;
  result["errors_lost"] = counts.errors_lost;
  return result;
}

void add_fault(const SimMachine& machine, const std::string& call, std::uint64_t nth,
               const std::string& repeat, const std::string& error) {
  machine->add_fault({.call = call_named(call),
                      .nth = nth,
                      .repeat = by_name("repeat", repeat, kRepeats),
                      .error = by_name("error", error, kErrors)});
}

void def_findings(nb::module_& m) {
  using sim::Finding;
  nb::class_<Finding>(m, "Finding", "What work did that a real device would answer with garbage.")
      .def_prop_ro(
          "kind", [](const Finding& f) { return nb::str(name_of(f.kind, kFindings).data()); },
          nb::sig("def kind(self) -> str"))
      .def_ro("operation", &Finding::operation)
      .def_ro("other", &Finding::other, "The operation it is unordered with.")
      .def_ro("address", &Finding::address, "The first byte concerned.")
      .def_ro("size", &Finding::size)
      .def(
          "__repr__", [](const Finding& f) { return text_object(sim::describe(f)); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

void init_sim(nb::module_& m) {
  nb::module_ sim = m.def_submodule("sim", "A simulated device.");
  def_findings(sim);
  nb::class_<SimMachine> machine(sim, "Machine", "A machine with one simulated device.");
  machine
      .def(
          "__init__",
          [](SimMachine* self, const nb::typed<nb::dict, nb::str, nb::object>& options) {
            new (self) SimMachine{std::make_shared<sim::Machine>(machine_options(options))};
          },
          nb::arg("options"))
      .def("allocate", &allocate, nb::arg("bytes"), nb::arg("alignment"), nb::arg("placement"),
           "Memory of the device.")
      .def_prop_ro("free_bytes",
                   [](const SimMachine& s) { return s->device().memory().info().free_bytes; })
      .def_prop_ro("total_bytes",
                   [](const SimMachine& s) { return s->device().facts().total_bytes; })
      .def_prop_ro(
          "base", [](const SimMachine& s) { return s->base(); }, "Where the address space starts.")
      .def_prop_ro("poisoned_bytes", [](const SimMachine& s) { return s->poisoned_bytes(); })
      .def_prop_ro(
          "now_ns", [](const SimMachine& s) { return s->now_ns(); }, "The host's virtual time.")
      .def("counters", &call_counters, "Calls made by kind, waits, refused frees, lost errors.")
      .def("add_fault", &add_fault, nb::arg("call"), nb::arg("nth"), nb::arg("repeat"),
           nb::arg("error"), "The n-th call of a kind from now on fails.")
      .def("clear_faults", [](const SimMachine& s) { s->clear_faults(); })
      .def(
          "findings", [](const SimMachine& s) { return s->findings(); },
          "In the order they were found.")
      .def("clear_findings", [](const SimMachine& s) { s->clear_findings(); });
  def_sim_streams(machine);
}

}  // namespace strandline::python
