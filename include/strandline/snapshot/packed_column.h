// SPDX-License-Identifier: Apache-2.0
// A column of unsigned numbers or ids in the narrowest of 0, 1, 2, 4 or 8 bytes that holds its
// largest value: one whose values are all 0 (none) takes no memory at all. Values only widen it;
// what was added before is then copied once.
//
//   invariant: every value <= limit of width; bytes held >= width * size()
//
// Read like a const vector; written by push_back and set. A plain value, not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace strandline::snapshot {

template <typename T>
class PackedColumn {
 public:
  using value_type = T;
  /// A class would let `column[i] = x` pass and lose x, were it not const.
  using Read = std::conditional_t<std::is_class_v<T>, const T, T>;

  PackedColumn() = default;
  PackedColumn(const PackedColumn& other) { *this = other; }
  PackedColumn(PackedColumn&& other) noexcept { swap(other); }
  PackedColumn& operator=(const PackedColumn& other) {
    if (this == &other) return *this;
    PackedColumn copy;
    copy.width_ = other.width_;
    copy.limit_ = other.limit_;
    copy.reserve(other.count_);
    if (other.width_ != 0 && other.count_ != 0) {
      std::memcpy(copy.bytes_.get(), other.bytes_.get(), other.count_ * other.width_);
    }
    copy.count_ = other.count_;
    swap(copy);
    return *this;
  }
  PackedColumn& operator=(PackedColumn&& other) noexcept {
    PackedColumn taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~PackedColumn() = default;

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  /// Bytes a value takes now.
  std::size_t width() const noexcept { return width_; }

  Read operator[](std::size_t i) const noexcept { return of_bits(load(i)); }
  Read back() const noexcept { return (*this)[count_ - 1]; }

  void push_back(T value) {
    const std::uint64_t bits = to_bits(value);
    if (bits > limit_) widen(bits);
    if (width_ != 0) {
      if (count_ == capacity_) resize_room(capacity_ < 64 ? 64 : capacity_ * 2);
      store(count_, bits);
    }
    ++count_;
  }
  void set(std::size_t i, T value) {
    const std::uint64_t bits = to_bits(value);
    if (bits > limit_) widen(bits);
    if (width_ != 0) store(i, bits);
  }
  void reserve(std::size_t rows) {
    if (width_ != 0 && rows > capacity_) resize_room(rows);
  }
  void clear() noexcept { *this = PackedColumn(); }

  /// The values at their full width, in one piece, until the next change of the column; for those
  /// who hand out memory. T is an integer, an enum or an id.
  const T* spread() {
    if (width_ < sizeof(T)) widen_to(sizeof(T));
    return reinterpret_cast<const T*>(bytes_.get());
  }

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Read;

    Iterator() = default;
    Iterator(const PackedColumn* column, std::size_t i) : column_(column), i_(i) {}
    Read operator*() const { return (*column_)[i_]; }
    Read operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      i_ += static_cast<std::size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(Iterator a, Iterator b) {
      return static_cast<difference_type>(a.i_) - static_cast<difference_type>(b.i_);
    }
    bool operator==(const Iterator&) const = default;
    auto operator<=>(const Iterator& other) const { return i_ <=> other.i_; }

   private:
    const PackedColumn* column_ = nullptr;
    std::size_t i_ = 0;
  };
  Iterator begin() const noexcept { return {this, 0}; }
  Iterator end() const noexcept { return {this, count_}; }

  bool operator==(const PackedColumn& other) const {
    if (count_ != other.count_) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      if (load(i) != other.load(i)) return false;
    }
    return true;
  }
  friend bool operator==(const PackedColumn& column, const std::vector<T>& values) {
    if (column.count_ != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (column.load(i) != to_bits(values[i])) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(unsigned char* bytes) const noexcept { std::free(bytes); }
  };

  static std::uint64_t to_bits(T value) noexcept {
    if constexpr (std::is_class_v<T>) {
      return value.value;
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
  static T of_bits(std::uint64_t bits) noexcept {
    if constexpr (std::is_class_v<T>) {
      return T{static_cast<decltype(T::value)>(bits)};
    } else {
      return static_cast<T>(bits);
    }
  }

  template <typename Number>
  std::uint64_t load_as(std::size_t i) const noexcept {
    Number number;
    std::memcpy(&number, bytes_.get() + i * sizeof(Number), sizeof(Number));
    return number;
  }
  std::uint64_t load(std::size_t i) const noexcept {
    switch (width_) {
      case 0:
        return 0;
      case 1:
        return load_as<std::uint8_t>(i);
      case 2:
        return load_as<std::uint16_t>(i);
      case 4:
        return load_as<std::uint32_t>(i);
      default:
        return load_as<std::uint64_t>(i);
    }
  }
  template <typename Number>
  void store_as(std::size_t i, std::uint64_t bits) noexcept {
    const auto number = static_cast<Number>(bits);
    std::memcpy(bytes_.get() + i * sizeof(Number), &number, sizeof(Number));
  }
  void store(std::size_t i, std::uint64_t bits) noexcept {
    switch (width_) {
      case 1:
        return store_as<std::uint8_t>(i, bits);
      case 2:
        return store_as<std::uint16_t>(i, bits);
      case 4:
        return store_as<std::uint32_t>(i, bits);
      default:
        return store_as<std::uint64_t>(i, bits);
    }
  }

  /// realloc moves pages of large blocks instead of copying them: no moment holds both.
  void resize_room(std::size_t rows) {
    void* const room = std::realloc(bytes_.get(), rows * width_);
    if (room == nullptr) throw std::bad_alloc();
    static_cast<void>(bytes_.release());
    bytes_.reset(static_cast<unsigned char*>(room));
    capacity_ = rows;
  }

  void widen(std::uint64_t bits) {
    widen_to(bits <= UINT8_MAX ? 1 : bits <= UINT16_MAX ? 2 : bits <= UINT32_MAX ? 4 : 8);
  }
  void widen_to(std::size_t width) {
    PackedColumn wide;
    wide.width_ = width;
    wide.limit_ = width == 8 ? UINT64_MAX : (std::uint64_t{1} << (8 * width)) - 1;
    wide.resize_room(count_ < 64 ? 64 : count_ + count_ / 2);
    for (std::size_t i = 0; i < count_; ++i) wide.store(i, load(i));
    wide.count_ = count_;
    swap(wide);
  }

  void swap(PackedColumn& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(count_, other.count_);
    std::swap(capacity_, other.capacity_);
    std::swap(width_, other.width_);
    std::swap(limit_, other.limit_);
  }

  std::unique_ptr<unsigned char[], Free> bytes_;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;  // rows there is room for at the width of now
  std::size_t width_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace strandline::snapshot
