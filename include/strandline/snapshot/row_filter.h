// SPDX-License-Identifier: Apache-2.0
// Which events or blocks an answer is about: one small grammar for all verbs, parsed once.
//
//   filter = all {"or" all}          all   = one {["and"] one}
//   one    = ["not"] (test | "(" filter ")")
//   test   = field compare value     value = word | "text in quotes", with \" and \\ in it
//
//   frame           any frame of the stack: ~ is in its file or function; = is its file, its
//                   function, or name and line as train.py:88
//   op label owner phase action      = != equal,  ~ !~ contained in it
//   size stream device address       = != < <= > >=, sizes as 1MiB, addresses as 0x7f00
//   pool            = != as 0:1
//
//   frame~train.py size>=1MiB not (label=optimiser or phase~warmup)
//
// Sizes are requested sizes, of segments their own. A block is in the phases that its alloc is in.
// Plain values; matching is O(1) a row after O(tables) of preparation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

enum class FilterField : std::uint8_t {
  frame,
  op,
  label,
  owner,
  phase,
  action,
  size,
  stream,
  device,
  address,
  pool,
};

enum class FilterCompare : std::uint8_t {
  equal,
  unequal,
  contains,
  lacks,
  less,
  at_most,
  more,
  at_least,
};

struct FilterTest {
  FilterField field = FilterField::frame;
  FilterCompare compare = FilterCompare::equal;
  std::string text{};                                    ///< as written
  std::pair<std::uint64_t, std::uint64_t> number{0, 0};  ///< of fields that are numbers
};

class STRANDLINE_API RowFilter {
 public:
  enum class Kind : std::uint8_t { test, both, either, negation };
  struct Node {
    Kind kind = Kind::test;
    std::uint32_t left = 0;   ///< of `nodes`; of a test: its number in `tests`
    std::uint32_t right = 0;  ///< of `nodes`
  };

  /// Nothing in it: everything matches. Throws InvalidArgument naming the place in the text, what
  /// stands there and what was expected.
  static RowFilter parse(std::string_view text);

  bool is_empty() const noexcept { return nodes_.empty(); }
  /// The same filter, every operator and bracket written out.
  std::string text() const;

  const std::vector<FilterTest>& tests() const noexcept { return tests_; }
  /// The last one is the root; those it stands on come before it.
  const std::vector<Node>& nodes() const noexcept { return nodes_; }

 private:
  friend class FilterParser;

  std::vector<FilterTest> tests_;
  std::vector<Node> nodes_;
};

/// "80GiB", "512 MiB", "1000": bytes; units are powers of 1024. Throws InvalidArgument.
STRANDLINE_API std::uint64_t parse_size(std::string_view text);

/// A filter made ready for one file, which must outlive it.
class STRANDLINE_API FilterMatcher {
 public:
  FilterMatcher(RowFilter filter, const SnapshotFile& file);

  bool event(std::size_t row) const;
  bool block(const BlockRow& block) const;

 private:
  /// What a test looks at.
  struct Subject {
    StackId stack{};
    StringId op{};
    StringId label{};
    StringId owner{};
    std::string_view action;
    std::uint64_t sequence = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;
    StreamId stream{};
    PoolId pool{};
    std::uint8_t device = 0;
  };
  using Spans = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  bool matches(const Subject& subject) const;
  bool test(std::size_t number, const Subject& subject) const;
  std::vector<bool> stacks_with(const FilterTest& test) const;
  std::vector<Spans> phases_with(const FilterTest& test) const;

  RowFilter filter_;
  const SnapshotFile& file_;
  std::vector<std::vector<bool>> stacks_;      // by test: stacks with such a frame
  std::vector<std::vector<Spans>> phases_;     // by test and device: [first, end) of sequences
  mutable std::vector<std::uint8_t> results_;  // by node
};

}  // namespace strandline::snapshot
