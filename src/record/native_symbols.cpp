// SPDX-License-Identifier: Apache-2.0
// Names of native frames, told when a record is read. With libbacktrace files and lines come from
// the debug information; without, the names of functions from the table of dynamic symbols. What
// neither knows stays an offset into a module with its build id, which `strandline symbolize`
// resolves from an unstripped copy, on this machine or another:
//
//   function "libexample.so+0x1a2b"   file "libexample.so [build id 3f2a…]"   line 0
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "fork.h"
#include "native_walk.h"
#include "strandline/core/mutex.h"

#if STRANDLINE_HAVE_LIBBACKTRACE
#include <backtrace.h>
#endif

namespace strandline::record {
namespace {

// Held while an address is looked up, not for the cache alone: a fork waits for it, and so finds no
// thread in dl_iterate_phdr, whose lock the C library would leave to the child as it is.
constinit Mutex g_symbol_mutex;

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(name);
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

struct Module {
  std::uintptr_t address;  // to be found
  std::uintptr_t base = 0;
  std::string path{};
  std::string build_id{};
};

constexpr std::uintptr_t aligned(std::uintptr_t size) noexcept {
  return (size + 3) & ~3UL;
}

// A note is {size of the name, size of the text, type} and both, each padded to 4 bytes.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const std::size_t text_at = sizeof(header) + aligned(header.n_namesz);
    const std::size_t total = text_at + aligned(header.n_descsz);
    if (total > size) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof("GNU") &&
        std::memcmp(notes + sizeof(header), "GNU", sizeof("GNU")) == 0) {
      std::string text;
      for (std::size_t i = 0; i < header.n_descsz; ++i) {
        text += fmt::format("{:02x}", notes[text_at + i]);
      }
      return text;
    }
    notes += total;
    size -= total;
  }
  return {};
}

int visit(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& module = *static_cast<Module*>(data);
  bool is_inside = false;
  std::string build_id{};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && module.address - begin < segment.p_memsz) is_inside = true;
    if (segment.p_type == PT_NOTE && build_id.empty()) {
      build_id = build_id_in(reinterpret_cast<const unsigned char*>(begin), segment.p_memsz);
    }
  }
  if (!is_inside) return 0;
  module.base = info->dlpi_addr;
  module.path = info->dlpi_name;
  module.build_id = std::move(build_id);
  return 1;
}

std::string program_path() {
  const std::unique_ptr<char, decltype(&std::free)> path(realpath("/proc/self/exe", nullptr),
                                                         &std::free);
  return path != nullptr ? std::string(path.get()) : std::string("program");
}

Frame frame_by_module(std::uintptr_t address) {
  Module module{.address = address};
  if (dl_iterate_phdr(&visit, &module) == 0) {
    return {.file = "??", .function = fmt::format("{:#x}", address), .line = 0};
  }
  if (module.path.empty()) module.path = program_path();
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    return {.file = module.path, .function = demangled(info.dli_sname), .line = 0};
  }
  const std::string name = base_name(module.path);
  const std::string id = module.build_id.empty() ? "none" : module.build_id;
  return {.file = fmt::format("{} [build id {}]", name, id),
          .function = fmt::format("{}+{:#x}", name, address - module.base),
          .line = 0};
}

#if STRANDLINE_HAVE_LIBBACKTRACE

// How many modules have been loaded so far.
std::uint64_t modules_loaded() {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// libbacktrace looks at the modules once, when a state is first used; a state cannot be freed.
struct Symboliser {
  backtrace_state* state STRANDLINE_GUARDED_BY(g_symbol_mutex) = nullptr;
  std::uint64_t modules STRANDLINE_GUARDED_BY(g_symbol_mutex) = 0;

  enum class When : std::uint8_t { first, more_modules };
  // Null when there is nothing newer than what was asked before.
  backtrace_state* get(When when) STRANDLINE_REQUIRES(g_symbol_mutex) {
    const std::uint64_t loaded = modules_loaded();
    if (state != nullptr && (when == When::first || loaded == modules)) {
      return when == When::first ? state : nullptr;
    }
    modules = loaded;
    return state = backtrace_create_state(
               nullptr, 1, [](void*, const char*, int) {}, nullptr);
  }
};

constinit Symboliser g_symboliser;

// The first report for an address is the innermost inlined function; the others are left out.
int take_line(void* data, std::uintptr_t /*address*/, const char* file, int line,
              const char* function) {
  auto& frame = *static_cast<Frame*>(data);
  if (file != nullptr) frame.file = file;
  if (function != nullptr) frame.function = demangled(function);
  frame.line = line > 0 ? static_cast<std::uint32_t>(line) : 0;
  return 1;
}

void take_symbol(void* data, std::uintptr_t /*address*/, const char* name, std::uintptr_t,
                 std::uintptr_t) {
  if (name != nullptr) static_cast<Frame*>(data)->function = demangled(name);
}

Frame ask(backtrace_state* state, std::uintptr_t address) {
  Frame frame;
  const auto ignore = [](void*, const char*, int) {};
  backtrace_pcinfo(state, address, &take_line, ignore, &frame);
  if (frame.function.empty()) backtrace_syminfo(state, address, &take_symbol, ignore, &frame);
  return frame;
}

Frame frame_by_debug_information(std::uintptr_t address) STRANDLINE_REQUIRES(g_symbol_mutex) {
  backtrace_state* const state = g_symboliser.get(Symboliser::When::first);
  Frame frame = state != nullptr ? ask(state, address) : Frame{};
  if (!frame.function.empty()) return frame;
  backtrace_state* const newer = g_symboliser.get(Symboliser::When::more_modules);
  return newer != nullptr ? ask(newer, address) : frame;
}

#else

Frame frame_by_debug_information(std::uintptr_t) {
  return {};
}

#endif

Frame frame_of(std::uintptr_t return_address) STRANDLINE_REQUIRES(g_symbol_mutex) {
  const std::uintptr_t address = return_address - 1;  // in the call, not behind it
  Frame known = frame_by_debug_information(address);
  if (known.line != 0 && !known.file.empty() && !known.function.empty()) return known;
  Frame frame = frame_by_module(address);
  if (!known.function.empty()) {
    Module module{.address = address};
    dl_iterate_phdr(&visit, &module);
    frame.file = module.path.empty() ? program_path() : module.path;
    frame.function = std::move(known.function);
  }
  return frame;
}

}  // namespace

Mutex& symbol_mutex() noexcept {
  return g_symbol_mutex;
}

const char* native_symboliser() noexcept {
#if STRANDLINE_HAVE_LIBBACKTRACE
  return "libbacktrace";
#else
  return "symbol table";
#endif
}

Frame resolve_native(std::uintptr_t return_address) {
  struct Cache {
    std::unordered_map<std::uintptr_t, Frame> frames STRANDLINE_GUARDED_BY(g_symbol_mutex);
  };
  const LockGuard guard(g_symbol_mutex);
  static Cache& cache = *new Cache;  // made under the lock: a fork waits for that too
  const auto known = cache.frames.find(return_address);
  if (known != cache.frames.end()) return known->second;
  return cache.frames.emplace(return_address, frame_of(return_address)).first->second;
}

}  // namespace strandline::record
