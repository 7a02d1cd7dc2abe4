// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/random.h"

#include <array>
#include <cmath>
#include <limits>

#include "array/primitives.h"
#include "array/threefry.h"
#include "strandline/core/error.h"

namespace strandline::array::random {
namespace {

RandomWords words_of(std::uint64_t seed) noexcept {
  return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
}

// Words, not an array: nothing of a device outlives it.
thread_local RandomWords t_key;

Array key_array(RandomWords words) {
  return Array({words.first, words.second}, {2});
}

// The half of a split that is used; the other half is what comes next.
Array next_key() {
  std::array<std::uint32_t, 4> words{};
  fill_random_bits(t_key, words);
  t_key = {words[0], words[1]};
  return key_array({words[2], words[3]});
}

Array key_or_next(const char* function, const Key& key) {
  if (!key) return next_key();
  if (key->dtype() != Dtype::uint32 || !(key->shape() == Shape{2})) {
    throw InvalidArgument(error_message(
        function, "key", shape_text(key->shape()) + " of " + std::string(dtype_name(key->dtype())),
        "(2,) of uint32, as key() gives it"));
  }
  return *key;
}

void check_floating(const char* function, Dtype dtype) {
  if (is_floating(dtype)) return;
  throw InvalidArgument(error_message(function, "dtype", dtype_name(dtype), "a float dtype"));
}

// The largest number below 1, so that what is drawn stays below it.
Array below_one(Dtype dtype) {
  if (dtype == Dtype::float16) return Array(1.0F - 0x1p-11F);
  if (dtype == Dtype::bfloat16) return Array(1.0F - 0x1p-8F);
  return Array(std::nextafter(1.0F, 0.0F));
}

}  // namespace

void seed(std::uint64_t seed) {
  t_key = words_of(seed);
}

Array key(std::uint64_t seed) {
  return key_array(words_of(seed));
}

Array split(const Array& key, int count) {
  if (count < 1) {
    throw InvalidArgument(error_message("split", "keys", std::to_string(count), "at least 1"));
  }
  return bits({count, 2}, key_or_next("split", key));
}

Array bits(const Shape& shape, const Key& key) {
  element_count("bits", shape);
  return make_node<RandomBits>(shape, Dtype::uint32, {key_or_next("bits", key)});
}

Array uniform(const Array& low, const Array& high, const Shape& shape, Dtype dtype,
              const Key& key) {
  check_floating("uniform", dtype);
  const Array from = astype(low, dtype);
  const Array range = subtract(astype(high, dtype), from);
  if (!(broadcast_shapes("uniform", range.shape(), shape) == shape)) {
    throw InvalidArgument(
        error_message("uniform", "shape", shape_text(shape),
                      "one that holds bounds of shape " + shape_text(range.shape())));
  }
  constexpr auto kMost = static_cast<float>(std::numeric_limits<std::uint32_t>::max());
  const Array drawn = divide(bits(shape, key), Array(kMost));
  const Array unit = astype(minimum(drawn, below_one(dtype)), dtype);
  return add(multiply(range, unit), from);
}

Array normal(const Shape& shape, Dtype dtype, double mean, double deviation, const Key& key) {
  check_floating("normal", dtype);
  // erfinv of what lies evenly in (-1, 1) is normal, but for its scale.
  const Array low = astype(Array(std::nextafter(-1.0F, 0.0F)), dtype);
  const Array drawn = uniform(low, scalar(1, dtype), shape, dtype, key);
  const Array standard = multiply(scalar(std::sqrt(2.0), dtype), erfinv(drawn));
  const Array scaled = deviation == 1 ? standard : multiply(scalar(deviation, dtype), standard);
  return mean == 0 ? scaled : add(scalar(mean, dtype), scaled);
}

Array randint(const Array& low, const Array& high, const Shape& shape, Dtype dtype,
              const Key& key) {
  if (is_floating(dtype) || dtype == Dtype::bool_) {
    throw InvalidArgument(error_message("randint", "dtype", dtype_name(dtype), "an integer dtype"));
  }
  // Of a wide range float32 has not every number, and rounds to its end.
  const Array drawn = floor(uniform(low, high, shape, Dtype::float32, key));
  const Array last = subtract(astype(high, dtype), scalar(1, dtype));
  // Where high is not above low it is low, as in MLX: their values are not known yet.
  return maximum(minimum(astype(drawn, dtype), last), astype(low, dtype));
}

Array categorical(const Array& logits, int axis, const Key& key) {
  const std::size_t along = normal_axis("categorical", axis, logits.ndim());
  if (logits.shape()[along] == 0) {
    throw InvalidArgument(error_message("categorical", "logits",
                                        "shape " + shape_text(logits.shape()),
                                        "elements along axis " + std::to_string(along)));
  }
  const Array drawn = uniform(Array(0.0F), Array(1.0F), logits.shape(), Dtype::float32, key);
  // The Gumbel trick: the largest of logits plus Gumbel noise is drawn by their softmax.
  const Array noise = negative(log(negative(log(drawn))));
  return argmax(add(noise, logits), static_cast<int>(along));
}

}  // namespace strandline::array::random
