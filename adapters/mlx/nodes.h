// SPDX-License-Identifier: Apache-2.0
// What is known of a node lies in the node: in bytes between the fields of MLX's descriptor that
// its layout leaves unused. No table is searched, no lock taken, nothing freed when the node dies.
//
//   … status TRACEBACK | event … | is_tracer STATE · · OP | data … | flags · · · LABEL | …
//      4      4                       1        1   2   4                1     3     4
//
// The constructors of a descriptor set its fields one by one and end in `init`, whose hook writes
// STATE; from then on a store to a field leaves the bytes beside it alone (C++'s memory model).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mlx_api.h"
#include "strandline/core/ids.h"

namespace strandline::mlx_adapter {

namespace detail {

// The descriptor's type is private; an explicit instantiation may name the member that points to
// one, and so its type.
template <auto Member>
struct GrantDescriptor {
  friend constexpr auto descriptor_member() { return Member; }
};
constexpr auto descriptor_member();
template struct GrantDescriptor<&mx::array::array_desc_>;

template <typename Pointed>
Pointed pointed_by(std::shared_ptr<Pointed> mx::array::*);
using Descriptor = decltype(pointed_by(descriptor_member()));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline constexpr std::size_t kIsTracer = offsetof(Descriptor, is_tracer);
inline constexpr std::size_t kTraceback = offsetof(Descriptor, status) + 4;
inline constexpr std::size_t kState = kIsTracer + 1;
inline constexpr std::size_t kOp = kIsTracer + 4;
inline constexpr std::size_t kLabel = offsetof(Descriptor, flags) + 4;
static_assert(sizeof(mx::array::Status) == 4 && sizeof(mx::array::Flags) == 1 &&
                  offsetof(Descriptor, status) % 8 == 0 && kIsTracer % 8 == 0 &&
                  offsetof(Descriptor, flags) % 8 == 0 &&
                  offsetof(Descriptor, event) >= kTraceback + 4 &&
                  offsetof(Descriptor, data) >= kOp + 4 &&
                  offsetof(Descriptor, inputs) >= kLabel + 4,
              "this MLX lays its descriptors out differently");
#pragma GCC diagnostic pop

}  // namespace detail

class Node {
 public:
  enum Flag : std::uint8_t {
    kKnown = 1,    ///< the ids below mean something
    kBound = 2,    ///< it may be a sharer of a block
    kCounted = 4,  ///< the entry of its primitive counts it, see traced_primitives.h
    kFused = 8,    ///< one of several outputs of a fused primitive, see `fused_calls`
  };

  explicit Node(const void* descriptor) noexcept
      : bytes_(static_cast<std::byte*>(const_cast<void*>(descriptor))) {}
  explicit Node(const mx::array& array) noexcept
      : Node(reinterpret_cast<const void*>(array.id())) {}

  const void* descriptor() const noexcept { return bytes_; }
  bool is_known() const noexcept { return state() != 0; }
  /// Flags are set: its death means something.
  bool is_more_than_known() const noexcept { return state() > kKnown; }
  bool has(Flag flag) const noexcept { return (state() & flag) != 0; }
  TracebackId traceback() const noexcept { return {word(detail::kTraceback)}; }
  OpId op() const noexcept { return {word(detail::kOp)}; }
  LabelId label() const noexcept { return {word(detail::kLabel)}; }
  /// Set on the inputs of a function that is being traced, and on what depends on them.
  bool is_tracer() const noexcept { return bytes_[detail::kIsTracer] != std::byte{0}; }

  /// A node just made: nothing is known of it.
  void reset() const noexcept { state() = 0; }
  void set(TracebackId traceback, OpId op, LabelId label) const noexcept {
    set_word(detail::kTraceback, traceback.value);
    set_word(detail::kOp, op.value);
    set_label(label);
    state() = kKnown;
  }
  /// May be called while another thread evaluates the node.
  void set_label(LabelId label) const noexcept { set_word(detail::kLabel, label.value); }
  void add(Flag flag) const noexcept {
    if (!is_known()) set({}, {}, {});
    state() = static_cast<std::uint8_t>(state() | flag);
  }
  void remove(Flag flag) const noexcept { state() = static_cast<std::uint8_t>(state() & ~flag); }

 private:
  std::uint8_t& state() const noexcept {
    return reinterpret_cast<std::uint8_t&>(bytes_[detail::kState]);
  }
  std::uint32_t word(std::size_t offset) const noexcept {
    return std::atomic_ref(reinterpret_cast<std::uint32_t&>(bytes_[offset]))
        .load(std::memory_order_relaxed);
  }
  void set_word(std::size_t offset, std::uint32_t value) const noexcept {
    std::atomic_ref(reinterpret_cast<std::uint32_t&>(bytes_[offset]))
        .store(value, std::memory_order_relaxed);
  }

  std::byte* bytes_;
};

}  // namespace strandline::mlx_adapter
