// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "array/kernels/loops.h"

namespace strandline::array {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Negate {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
    } else {
      return -x;
    }
  }
};
struct Abs {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return x;
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < T{0} ? Negate{}(x) : x;
  }
};
struct Sign {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return x;
    }
    return static_cast<T>(static_cast<int>(x > T{0}) - static_cast<int>(x < T{0}));
  }
};
struct Square {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    } else {
      return x * x;
    }
  }
};
struct LogicalNot {
  template <typename T>
  std::uint8_t operator()(T x) const {
    return static_cast<std::uint8_t>(x == T{0});
  }
};

#define STRANDLINE_REAL_FUNCTION(Name, expression) \
  struct Name {                                    \
    template <typename T>                          \
    T operator()(T x) const {                      \
      return expression;                           \
    }                                              \
  }
STRANDLINE_REAL_FUNCTION(Exp, std::exp(x));
STRANDLINE_REAL_FUNCTION(Log, std::log(x));
STRANDLINE_REAL_FUNCTION(Sqrt, std::sqrt(x));
STRANDLINE_REAL_FUNCTION(Rsqrt, T{1} / std::sqrt(x));
STRANDLINE_REAL_FUNCTION(Tanh, std::tanh(x));
STRANDLINE_REAL_FUNCTION(Erf, std::erf(x));
STRANDLINE_REAL_FUNCTION(Sin, std::sin(x));
STRANDLINE_REAL_FUNCTION(Cos, std::cos(x));
STRANDLINE_REAL_FUNCTION(Floor, std::floor(x));
STRANDLINE_REAL_FUNCTION(Ceil, std::ceil(x));
STRANDLINE_REAL_FUNCTION(Round, std::rint(x));
#undef STRANDLINE_REAL_FUNCTION

// Of -|x|, which cannot overflow.
struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    const T small = std::exp(-std::fabs(x));
    return (x < T{0} ? small : T{1}) / (T{1} + small);
  }
};

// The inverse error function after M. Giles, "Approximating the erfinv function" (2012), in single
// precision; in double its value is brought home by two Newton steps.
struct ErfInv {
  static float single(float x) {
    float w = -std::log((1.0F - x) * (1.0F + x));
    float p = 0;
    if (w < 5.0F) {
      w -= 2.5F;
      p = 2.81022636e-08F;
      for (const float c : {3.43273939e-07F, -3.5233877e-06F, -4.39150654e-06F, 0.00021858087F,
                            -0.00125372503F, -0.00417768164F, 0.246640727F, 1.50140941F}) {
        p = c + p * w;
      }
    } else {
      w = std::sqrt(w) - 3.0F;
      p = -0.000200214257F;
      for (const float c : {0.000100950558F, 0.00134934322F, -0.00367342844F, 0.00573950773F,
                            -0.0076224613F, 0.00943887047F, 1.00167406F, 2.83297682F}) {
        p = c + p * w;
      }
    }
    return p * x;
  }
  float operator()(float x) const {
    if (std::fabs(x) >= 1.0F) return edge(x);
    return single(x);
  }
  double operator()(double x) const {
    if (std::fabs(x) >= 1.0) return edge(x);
    double y = single(static_cast<float>(x));
    if (!std::isfinite(y)) y = x < 0 ? -5.8 : 5.8;
    constexpr double kHalfRootPi = 0.886226925452758;
    for (int i = 0; i < 3; ++i) y -= (std::erf(y) - x) * kHalfRootPi * std::exp(y * y);
    return y;
  }
  template <typename T>
  static T edge(T x) {
    if (x == T{1}) return std::numeric_limits<T>::infinity();
    if (x == T{-1}) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::quiet_NaN();
  }
};

template <typename T, typename Function>
void loop(const void* from, void* to, std::size_t count) {
  using Result = decltype(Function{}(T{}));
  const T* in = static_cast<const T*>(from);
  Result* out = static_cast<Result*>(to);
  const Function function;
  STRANDLINE_VECTORISE
  for (std::size_t i = 0; i < count; ++i) out[i] = function(in[i]);
}

template <typename Function>
constexpr auto kLoopOf =
    []<typename T>(std::type_identity<T>) -> UnaryLoop { return loop<T, Function>; };
template <typename Function>
UnaryLoop of_any(Dtype compute) noexcept {
  return for_number(compute, kLoopOf<Function>);
}
template <typename Function>
UnaryLoop of_floats(Dtype compute) noexcept {
  return for_real(compute, kLoopOf<Function>);
}

}  // namespace

UnaryLoop unary_loop(UnaryOp op, Dtype compute) noexcept {
  switch (op) {
    case UnaryOp::negate:
      return of_any<Negate>(compute);
    case UnaryOp::abs:
      return of_any<Abs>(compute);
    case UnaryOp::sign:
      return of_any<Sign>(compute);
    case UnaryOp::square:
      return of_any<Square>(compute);
    case UnaryOp::logical_not:
      return of_any<LogicalNot>(compute);
    case UnaryOp::exp:
      return of_floats<Exp>(compute);
    case UnaryOp::log:
      return of_floats<Log>(compute);
    case UnaryOp::sqrt:
      return of_floats<Sqrt>(compute);
    case UnaryOp::rsqrt:
      return of_floats<Rsqrt>(compute);
    case UnaryOp::tanh:
      return of_floats<Tanh>(compute);
    case UnaryOp::sigmoid:
      return of_floats<Sigmoid>(compute);
    case UnaryOp::erf:
      return of_floats<Erf>(compute);
    case UnaryOp::erf_inv:
      return of_floats<ErfInv>(compute);
    case UnaryOp::sin:
      return of_floats<Sin>(compute);
    case UnaryOp::cos:
      return of_floats<Cos>(compute);
    case UnaryOp::floor:
      return of_floats<Floor>(compute);
    case UnaryOp::ceil:
      return of_floats<Ceil>(compute);
    case UnaryOp::round:
      return of_floats<Round>(compute);
  }
  return nullptr;
}

}  // namespace strandline::array
