// SPDX-License-Identifier: Apache-2.0
// Integers wrap; division of integers by 0 gives 0; NaN passes through maximum and minimum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "array/kernels/loops.h"

namespace strandline::array {
namespace {

// Integer arithmetic modulo 2^64, cut to T.
template <typename T>
constexpr std::uint64_t wide(T x) {
  return static_cast<std::uint64_t>(x);
}

#define STRANDLINE_ARITHMETIC(Name, symbol)            \
  struct Name {                                        \
    template <typename T>                              \
    T operator()(T a, T b) const {                     \
      if constexpr (std::is_integral_v<T>) {           \
        return static_cast<T>(wide(a) symbol wide(b)); \
      } else {                                         \
        return a symbol b;                             \
      }                                                \
    }                                                  \
  }
STRANDLINE_ARITHMETIC(Add, +);
STRANDLINE_ARITHMETIC(Subtract, -);
STRANDLINE_ARITHMETIC(Multiply, *);
#undef STRANDLINE_ARITHMETIC

struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

// Python's pair: a == b * (a // b) + a % b, and a % b has the sign of b.
struct FloorDivide {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else {
      if (b == T{0}) return T{0};
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return static_cast<T>(wide(T{0}) - wide(a));
        const T quotient = static_cast<T>(a / b);
        return static_cast<T>(quotient - static_cast<T>((a % b != 0) && ((a < 0) != (b < 0))));
      }
      return static_cast<T>(a / b);
    }
  }
};
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      if (rest == T{0}) return std::copysign(rest, b);
      return (rest < T{0}) != (b < T{0}) ? rest + b : rest;
    } else {
      if (b == T{0}) return T{0};
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return T{0};
        const T rest = static_cast<T>(a % b);
        return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
      }
      return static_cast<T>(a % b);
    }
  }
};
struct Power {
  template <typename T>
  T operator()(T base, T exponent) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(base, exponent);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (exponent < 0) {
          if (base == T{1}) return T{1};
          return base == T{-1} ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
        }
      }
      std::uint64_t result = 1;
      std::uint64_t factor = wide(base);
      for (std::uint64_t left = wide(exponent); left != 0; left >>= 1U) {
        if ((left & 1U) != 0) result *= factor;
        factor *= factor;
      }
      return static_cast<T>(result);
    }
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    // Of a NaN on the left neither holds, and it stays.
    return static_cast<bool>((b > a) | (b != b)) ? b : a;
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    // Of a NaN on the left neither holds, and it stays.
    return static_cast<bool>((b < a) | (b != b)) ? b : a;
  }
};
struct LogAddExp {
  template <typename T>
  T operator()(T a, T b) const {
    const T high = Maximum{}(a, b);
    const T low = Minimum{}(a, b);
    if (!std::isfinite(high)) return high;
    return high + std::log1p(std::exp(low - high));
  }
};

#define STRANDLINE_COMPARISON(Name, symbol)         \
  struct Name {                                     \
    template <typename T>                           \
    std::uint8_t operator()(T a, T b) const {       \
      return static_cast<std::uint8_t>(a symbol b); \
    }                                               \
  }
STRANDLINE_COMPARISON(Equal, ==);
STRANDLINE_COMPARISON(NotEqual, !=);
STRANDLINE_COMPARISON(Less, <);
STRANDLINE_COMPARISON(LessEqual, <=);
STRANDLINE_COMPARISON(Greater, >);
STRANDLINE_COMPARISON(GreaterEqual, >=);
#undef STRANDLINE_COMPARISON

struct LogicalAnd {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return static_cast<std::uint8_t>(static_cast<int>(a != T{0}) & static_cast<int>(b != T{0}));
  }
};
struct LogicalOr {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return static_cast<std::uint8_t>(static_cast<int>(a != T{0}) | static_cast<int>(b != T{0}));
  }
};

template <typename T, typename Function>
void loop(const void* left, const void* right, void* to, std::size_t count) {
  using Result = decltype(Function{}(T{}, T{}));
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  Result* out = static_cast<Result*>(to);
  const Function function;
  STRANDLINE_VECTORISE
  for (std::size_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
}

template <typename Function>
constexpr auto kLoopOf =
    []<typename T>(std::type_identity<T>) -> BinaryLoop { return loop<T, Function>; };
template <typename Function>
BinaryLoop of_any(Dtype compute) noexcept {
  return for_number(compute, kLoopOf<Function>);
}
template <typename Function>
BinaryLoop of_floats(Dtype compute) noexcept {
  return for_real(compute, kLoopOf<Function>);
}

// -- folds ----------------------------------------------------------------------------------------

// Lanes of their own let a sum be vectorised, and keep it more exact than one running total. There
// are as many as the compiler does not unroll into single steps.
template <typename T, typename Function>
void fold(const void* from, void* total, std::size_t count) {
  constexpr std::size_t kLanes = 32;
  const T* in = static_cast<const T*>(from);
  T& result = *static_cast<T*>(total);
  const Function function;
  std::size_t i = 0;
  if (count >= 2 * kLanes) {
    T lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = in[lane];
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      loop<T, Function>(lanes, in + i, lanes, kLanes);
    }
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        lanes[lane] = function(lanes[lane], lanes[lane + width]);
      }
    }
    result = function(result, lanes[0]);
  }
  for (; i < count; ++i) result = function(result, in[i]);
}

template <typename T, typename Function>
void fold_each(const void* from, void* totals, std::size_t count) {
  loop<T, Function>(totals, from, totals, count);
}

template <typename Function>
FoldLoop fold_of(Dtype compute) noexcept {
  return for_number(
      compute, []<typename T>(std::type_identity<T>) -> FoldLoop { return fold<T, Function>; });
}

template <typename Function>
FoldInto fold_each_of(Dtype compute) noexcept {
  return for_number(compute, []<typename T>(std::type_identity<T>) -> FoldInto {
    return fold_each<T, Function>;
  });
}

template <typename T>
T neutral_of(ReduceOp op) noexcept {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ReduceOp::sum:
      return T{0};
    case ReduceOp::product:
      return T{1};
    case ReduceOp::maximum:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    default:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
}

}  // namespace

BinaryLoop binary_loop(BinaryOp op, Dtype compute) noexcept {
  switch (op) {
    case BinaryOp::add:
      return of_any<Add>(compute);
    case BinaryOp::subtract:
      return of_any<Subtract>(compute);
    case BinaryOp::multiply:
      return of_any<Multiply>(compute);
    case BinaryOp::divide:
      return of_floats<Divide>(compute);
    case BinaryOp::floor_divide:
      return of_any<FloorDivide>(compute);
    case BinaryOp::remainder:
      return of_any<Remainder>(compute);
    case BinaryOp::power:
      return of_any<Power>(compute);
    case BinaryOp::maximum:
      return of_any<Maximum>(compute);
    case BinaryOp::minimum:
      return of_any<Minimum>(compute);
    case BinaryOp::logaddexp:
      return of_floats<LogAddExp>(compute);
    case BinaryOp::equal:
      return of_any<Equal>(compute);
    case BinaryOp::not_equal:
      return of_any<NotEqual>(compute);
    case BinaryOp::less:
      return of_any<Less>(compute);
    case BinaryOp::less_equal:
      return of_any<LessEqual>(compute);
    case BinaryOp::greater:
      return of_any<Greater>(compute);
    case BinaryOp::greater_equal:
      return of_any<GreaterEqual>(compute);
    case BinaryOp::logical_and:
      return of_any<LogicalAnd>(compute);
    case BinaryOp::logical_or:
      return of_any<LogicalOr>(compute);
  }
  return nullptr;
}

FoldLoop fold_loop(ReduceOp op, Dtype compute) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return fold_of<Add>(compute);
    case ReduceOp::product:
      return fold_of<Multiply>(compute);
    case ReduceOp::maximum:
      return fold_of<Maximum>(compute);
    case ReduceOp::minimum:
      return fold_of<Minimum>(compute);
  }
  return nullptr;
}

FoldInto fold_into(ReduceOp op, Dtype compute) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return fold_each_of<Add>(compute);
    case ReduceOp::product:
      return fold_each_of<Multiply>(compute);
    case ReduceOp::maximum:
      return fold_each_of<Maximum>(compute);
    case ReduceOp::minimum:
      return fold_each_of<Minimum>(compute);
  }
  return nullptr;
}

void write_neutral(ReduceOp op, Dtype compute, void* to, std::size_t count) noexcept {
  for_number(compute, [&]<typename T>(std::type_identity<T>) {
    std::fill_n(static_cast<T*>(to), count, neutral_of<T>(op));
  });
}

}  // namespace strandline::array
