// SPDX-License-Identifier: Apache-2.0
// The text of an array, as NumPy's repr has it: columns aligned, lines of 75 characters, and of
// more than 1000 elements the three at both ends of each axis. Only what is shown is read.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "array_values.h"
#include "strandline/array/descriptor.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;

namespace {

constexpr std::uint64_t kLargest = 1000;  // elements that are shown in full
constexpr std::int64_t kEdge = 3;         // elements at each end of an axis that is cut
constexpr std::size_t kLineWidth = 75;
constexpr std::size_t kPrecision = 8;  // digits behind the point

// -- elements -------------------------------------------------------------------------------------

std::string digits(double value, std::chars_format format, int precision) {
  std::string text(400, '\0');
  const auto end =
      precision < 0
          ? std::to_chars(text.data(), text.data() + text.size(), value, format)
          : std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  return text;
}

double rounded(double value, Dtype dtype) {
  const auto narrow = static_cast<float>(value);
  return dtype == Dtype::float16 ? array::to_float(array::to_float16(narrow))
                                 : array::to_float(array::to_bfloat16(narrow));
}

// The fewest digits that read back as the same element.
std::string shortest(double value, Dtype dtype, std::chars_format format) {
  if (dtype == Dtype::float64) return digits(value, format, -1);
  if (dtype == Dtype::float32) {
    std::string text(64, '\0');
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value), format);
    text.resize(static_cast<std::size_t>(end.ptr - text.data()));
    return text;
  }
  for (int precision = 0;; ++precision) {
    const std::string text = digits(value, std::chars_format::scientific, precision);
    double read = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (rounded(read, dtype) == value || precision > 9) return digits(read, format, -1);
  }
}

/// A number in parts: -12 . 5 e +10.
struct Parts {
  std::string whole;
  std::string fraction;
  std::string exponent;  ///< with its sign, empty in positional notation
};

Parts split(std::string_view text) {
  Parts parts;
  const std::size_t exponent = text.find('e');
  if (exponent != std::string_view::npos) {
    parts.exponent = text.substr(exponent + 1);
    text = text.substr(0, exponent);
  }
  const std::size_t point = text.find('.');
  parts.whole = text.substr(0, point);
  if (point != std::string_view::npos) parts.fraction = text.substr(point + 1);
  return parts;
}

Parts parts_of(double value, Dtype dtype, std::chars_format format) {
  Parts parts = split(shortest(value, dtype, format));
  if (parts.fraction.size() > kPrecision) {
    parts = split(digits(value, format, static_cast<int>(kPrecision)));
    while (parts.fraction.ends_with('0')) parts.fraction.pop_back();
  }
  return parts;
}

bool wants_exponents(const std::vector<double>& values, Dtype dtype) {
  double largest = 0.0;
  double smallest = INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0.0) continue;
    largest = std::max(largest, std::fabs(value));
    smallest = std::min(smallest, std::fabs(value));
  }
  if (largest == 0.0) return false;
  // Ten to the power of the decimal digits that the dtype has, at most eight; bfloat16 as float32.
  const double limit = dtype == Dtype::float64 ? 1e8 : dtype == Dtype::float16 ? 1e3 : 1e6;
  // NumPy divides in the element's own type.
  const double ratio =
      dtype == Dtype::float32
          ? static_cast<double>(static_cast<float>(largest) / static_cast<float>(smallest))
      : dtype == Dtype::float64 ? largest / smallest
                                : rounded(largest / smallest, dtype);
  return largest >= limit || smallest < 0.0001 || ratio > 1000.0;
}

std::string special(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::vector<std::string> words_of_reals(const std::vector<double>& values, Dtype dtype) {
  const auto format =
      wants_exponents(values, dtype) ? std::chars_format::scientific : std::chars_format::fixed;
  std::vector<Parts> parts;
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t exponent = 0;
  std::size_t widest_special = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      parts.emplace_back();
      widest_special = std::max(widest_special, special(value).size());
      continue;
    }
    const Parts& added = parts.emplace_back(parts_of(value, dtype, format));
    left = std::max(left, added.whole.size());
    right = std::max(right, added.fraction.size());
    exponent = std::max(exponent, added.exponent.size());
  }
  // Behind the point: the fraction, and "e+10".
  const std::size_t behind = right + (exponent == 0 ? 0 : exponent + 1);
  left = std::max(left, widest_special - std::min(widest_special, behind + 1));
  std::vector<std::string> words;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Parts& part = parts[i];
    if (!std::isfinite(values[i])) {
      words.push_back(padded(special(values[i]), left + behind + 1));
      continue;
    }
    if (exponent != 0 && part.fraction.size() < right) {
      part = split(digits(values[i], format, static_cast<int>(right)));
    }
    std::string word = padded(part.whole, left) + "." + part.fraction;
    word.append(right - part.fraction.size(), ' ');
    if (exponent != 0) {
      part.exponent.insert(1, exponent - part.exponent.size(), '0');
      word += "e" + part.exponent;
    }
    words.push_back(std::move(word));
  }
  return words;
}

void align(std::vector<std::string>& words) {
  std::size_t widest = 0;
  for (const std::string& word : words) widest = std::max(widest, word.size());
  for (std::string& word : words) word = padded(word, widest);
}

// -- what is shown --------------------------------------------------------------------------------

bool is_cut(std::int64_t extent, bool summary) noexcept {
  return summary && extent > 2 * kEdge;
}

/// Where the elements that are shown lie, row by row, in elements from the first.
void offsets_shown(const array::Descriptor& node, bool summary, std::size_t axis,
                   std::int64_t offset, std::vector<std::int64_t>& offsets) {
  if (axis == node.shape.size()) {
    offsets.push_back(offset);
    return;
  }
  const std::int64_t extent = node.shape[axis];
  const bool cut = is_cut(extent, summary);
  for (std::int64_t i = 0; i < extent; ++i) {
    if (cut && i == kEdge) i = extent - kEdge;
    offsets_shown(node, summary, axis + 1, offset + i * node.strides[axis], offsets);
  }
}

template <typename T>
T loaded(const std::byte* at) noexcept {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

double real_at(const std::byte* at, Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float16:
      return array::to_float(loaded<array::Float16>(at));
    case Dtype::bfloat16:
      return array::to_float(loaded<array::BFloat16>(at));
    case Dtype::float32:
      return loaded<float>(at);
    default:
      return loaded<double>(at);
  }
}

std::int64_t integer_at(const std::byte* at, Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::uint32:
      return loaded<std::uint32_t>(at);
    case Dtype::int32:
      return loaded<std::int32_t>(at);
    case Dtype::int64:
      return loaded<std::int64_t>(at);
    default:
      return loaded<std::uint8_t>(at);
  }
}

std::vector<std::string> words_shown(const Array& array, bool summary) {
  const array::Descriptor& node = array.descriptor();
  const auto* const at = static_cast<const std::byte*>(array.read_data(node.dtype));
  const auto item = static_cast<std::int64_t>(array::dtype_size_bytes(node.dtype));
  std::vector<std::int64_t> offsets;
  offsets_shown(node, summary, 0, 0, offsets);
  if (array::is_floating(node.dtype)) {
    std::vector<double> values;
    values.reserve(offsets.size());
    for (const std::int64_t offset : offsets) {
      values.push_back(real_at(at + offset * item, node.dtype));
    }
    return words_of_reals(values, node.dtype);
  }
  std::vector<std::string> words;
  for (const std::int64_t offset : offsets) {
    const std::int64_t value = integer_at(at + offset * item, node.dtype);
    words.push_back(node.dtype == Dtype::bool_ ? (value != 0 ? "True" : "False")
                                               : std::to_string(value));
  }
  if (node.dtype != Dtype::bool_) {
    align(words);
  } else if (!node.shape.empty()) {
    for (std::string& word : words) word = padded(word, 5);
  }
  return words;
}

// -- lines ----------------------------------------------------------------------------------------

class Layout {
 public:
  Layout(const Shape& shape, bool summary, std::vector<std::string> words)
      : shape_(shape), summary_(summary), words_(std::move(words)) {}

  std::string text() { return axis_text(0, std::string(7, ' '), kLineWidth - 1); }

 private:
  // NumPy's rule: brackets indent what they hold by one, and take one off the width.
  std::string axis_text(std::size_t axis, const std::string& indent, std::size_t width) {
    if (axis == shape_.size()) return words_[next_++];
    const bool is_row = axis + 1 == shape_.size();
    const std::string text = is_row ? row_text(indent, width) : block_text(axis, indent, width);
    return "[" + text.substr(indent.size()) + "]";
  }

  // Calls `item(is_gap, is_last)` for what is shown along an axis.
  template <typename Item>
  void along(std::size_t axis, const Item& item) const {
    const std::int64_t extent = shape_[axis];
    const bool cut = is_cut(extent, summary_);
    for (std::int64_t i = 0; i < extent; ++i) {
      if (cut && i == kEdge) {
        item(true, false);
        i = extent - kEdge;
      }
      item(false, i + 1 == extent);
    }
  }

  std::string row_text(const std::string& indent, std::size_t width) {
    std::string done;
    std::string line = indent;
    along(shape_.size() - 1, [&](bool is_gap, bool is_last) {
      const std::string word = is_gap ? "..." : words_[next_++];
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        done += line + "\n";
        line = indent;
      }
      line += word;
      if (!is_last) line += ", ";
    });
    return done + line;
  }

  std::string block_text(std::size_t axis, const std::string& indent, std::size_t width) {
    const std::string separator = "," + std::string(shape_.size() - axis - 1, '\n');
    std::string text;
    along(axis, [&](bool is_gap, bool is_last) {
      text += indent + (is_gap ? "..." : axis_text(axis + 1, indent + " ", width - 1));
      if (!is_last) text += separator;
    });
    return text;
  }

  const Shape& shape_;
  bool summary_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

std::string text_of(const Array& given) {
  const Array array(given.node());  // while the lock is let go, the object may get another
  {
    const ReleasedForWait released;
    array.eval();
  }
  const bool summary = array.size() > kLargest;
  const std::string values =
      array.size() == 0 ? "[]" : Layout(array.shape(), summary, words_shown(array, summary)).text();
  std::string text = "array(" + values + ",";
  std::string rest = "dtype=" + std::string(array::dtype_name(array.dtype())) + ")";
  if (summary || (array.size() == 0 && array.ndim() > 1)) {
    rest = "shape=" + array::shape_text(array.shape()) + ", " + rest;
  }
  const std::size_t last_line = text.size() - (text.rfind('\n') + 1);
  text += last_line + rest.size() + 1 > kLineWidth ? "\n      " : " ";
  return text + rest;
}

}  // namespace strandline::python
