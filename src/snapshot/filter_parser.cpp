// SPDX-License-Identifier: Apache-2.0
// The grammar of filters, by recursive descent.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strandline/core/error.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::snapshot {
namespace {

constexpr std::size_t kDeepestNesting = 100;

constexpr std::array<std::string_view, 11> kFields{"frame",  "op",      "label", "owner",
                                                   "phase",  "action",  "size",  "stream",
                                                   "device", "address", "pool"};
constexpr std::array<std::string_view, 8> kCompares{"=", "!=", "~", "!~", "<", "<=", ">", ">="};
constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};

bool is_text(FilterField field) noexcept {
  return field <= FilterField::action;
}

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Ends a word that stands without quotes.
bool ends_word(char c) noexcept {
  return is_space(c) || c == '(' || c == ')' || c == '"';
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> size_number(std::string_view text) {
  if (const auto exact = whole_number(text)) return exact;
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0 && number < 1e15)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::find(kUnits.begin(), kUnits.end(), unit.empty() ? "B" : unit);
  if (known == kUnits.end()) return std::nullopt;
  const double bytes = std::ldexp(number, static_cast<int>(10 * (known - kUnits.begin())));
  if (!(bytes < 0x1p63)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  if (const auto size = size_number(text)) return *size;
  throw InvalidArgument(
      error_message("parse_size", "size", in_quotes(text), "a number and B, KiB, MiB, GiB or TiB"));
}

class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  RowFilter run() {
    skip_spaces();
    if (at_ < text_.size()) {
      any();
      if (at_ < text_.size()) fail("\"and\", \"or\" or the end");
    }
    return std::move(filter_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const { fail_at(at_, expected); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& expected) const {
    std::string_view rest = text_.substr(at);
    std::size_t length = 0;
    while (length < std::min<std::size_t>(rest.size(), 24) && !is_space(rest[length])) ++length;
    const std::string got =
        rest.empty() ? "the end" : in_quotes(rest.substr(0, std::max<std::size_t>(length, 1)));
    throw InvalidArgument(error_message(
        "RowFilter::parse", fmt::format("filter, character {}", at + 1), got, expected));
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  /// A keyword stands here, by itself.
  bool word(std::string_view keyword) {
    if (!text_.substr(at_).starts_with(keyword)) return false;
    const std::size_t end = at_ + keyword.size();
    if (end < text_.size() && !ends_word(text_[end])) return false;
    at_ = end;
    skip_spaces();
    return true;
  }

  std::uint32_t add(RowFilter::Node node) {
    filter_.nodes_.push_back(node);
    return static_cast<std::uint32_t>(filter_.nodes_.size() - 1);
  }

  std::uint32_t any() {
    std::uint32_t left = all();
    while (word("or")) {
      const std::uint32_t right = all();
      left = add({RowFilter::Kind::either, left, right});
    }
    return left;
  }

  std::uint32_t all() {
    std::uint32_t left = one();
    for (;;) {
      const bool named = word("and");
      if (!named && !begins_one()) return left;
      const std::uint32_t right = one();
      left = add({RowFilter::Kind::both, left, right});
    }
  }

  bool begins_one() const {
    if (at_ >= text_.size() || text_[at_] == ')') return false;
    const std::string_view rest = text_.substr(at_);
    return !(rest.starts_with("or") && (rest.size() == 2 || ends_word(rest[2])));
  }

  std::uint32_t one() {
    if (++depth_ > kDeepestNesting)
      fail(fmt::format("at most {} brackets and \"not\"s", kDeepestNesting));
    std::uint32_t node = 0;
    if (word("not")) {
      node = one();
      node = add({RowFilter::Kind::negation, node, 0});
    } else if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      skip_spaces();
      node = any();
      if (at_ >= text_.size() || text_[at_] != ')') fail("\")\"");
      ++at_;
      skip_spaces();
    } else {
      node = test();
    }
    --depth_;
    return node;
  }

  std::uint32_t test() {
    FilterTest test;
    test.field = field();
    test.compare = compare(test.field);
    const std::size_t at = at_;
    test.text = value();
    read_number(test, at);
    filter_.tests_.push_back(std::move(test));
    return add({RowFilter::Kind::test, static_cast<std::uint32_t>(filter_.tests_.size() - 1), 0});
  }

  FilterField field() {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] >= 'a' && text_[end] <= 'z') ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    const auto known = std::find(kFields.begin(), kFields.end(), name);
    if (known == kFields.end()) fail(fmt::format("a field: {}", fmt::join(kFields, ", ")));
    at_ = end;
    skip_spaces();
    return static_cast<FilterField>(known - kFields.begin());
  }

  FilterCompare compare(FilterField field) {
    const std::string_view rest = text_.substr(at_);
    std::size_t best = kCompares.size();
    for (std::size_t i = 0; i < kCompares.size(); ++i) {
      const bool longer = best == kCompares.size() || kCompares[i].size() > kCompares[best].size();
      if (rest.starts_with(kCompares[i]) && longer) best = i;
    }
    const auto found = static_cast<FilterCompare>(best);
    const bool equals = found == FilterCompare::equal || found == FilterCompare::unequal;
    const bool looks_into = found == FilterCompare::contains || found == FilterCompare::lacks;
    if (best < kCompares.size() &&
        (equals || (is_text(field) && looks_into) ||
         (!is_text(field) && field != FilterField::pool && !looks_into))) {
      at_ += kCompares[best].size();
      skip_spaces();
      return found;
    }
    if (is_text(field)) fail("=, !=, ~ or !~");
    fail(field == FilterField::pool ? "= or !=" : "=, !=, <, <=, > or >=");
  }

  std::string value() {
    std::string out;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        out += text_[at_];
      }
      if (at_ >= text_.size()) fail("a closing quote");
      ++at_;
    } else {
      const std::size_t start = at_;
      while (at_ < text_.size() && !ends_word(text_[at_])) out += text_[at_++];
      if (at_ == start) fail("a value");
    }
    skip_spaces();
    return out;
  }

  void read_number(FilterTest& test, std::size_t at) const {
    if (is_text(test.field)) return;
    if (test.field == FilterField::pool) {
      const std::size_t colon = std::min(test.text.find(':'), test.text.size());
      const auto first = whole_number(std::string_view(test.text).substr(0, colon));
      const auto second =
          whole_number(std::string_view(test.text).substr(std::min(colon + 1, test.text.size())));
      if (!first || !second) fail_at(at, "a pool as 0:1");
      test.number = {*first, *second};
      return;
    }
    const auto number =
        test.field == FilterField::size ? size_number(test.text) : whole_number(test.text);
    if (!number) fail_at(at, test.field == FilterField::size ? "a size as 1MiB" : "a whole number");
    test.number.first = *number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  RowFilter filter_;
};

RowFilter RowFilter::parse(std::string_view text) {
  return FilterParser(text).run();
}

std::string RowFilter::text() const {
  std::vector<std::string> texts;
  for (const Node& node : nodes_) {
    switch (node.kind) {
      case Kind::test: {
        const FilterTest& test = tests_[node.left];
        texts.push_back(fmt::format("{}{}{}", kFields[static_cast<std::size_t>(test.field)],
                                    kCompares[static_cast<std::size_t>(test.compare)],
                                    in_quotes(test.text)));
        break;
      }
      case Kind::both:
        texts.push_back(fmt::format("({} and {})", texts[node.left], texts[node.right]));
        break;
      case Kind::either:
        texts.push_back(fmt::format("({} or {})", texts[node.left], texts[node.right]));
        break;
      case Kind::negation:
        texts.push_back(fmt::format("not {}", texts[node.left]));
        break;
    }
  }
  return texts.empty() ? std::string() : texts.back();
}

}  // namespace strandline::snapshot
