// Powers, roots and differences of powers of vectors of floats, beyond those of solver/lanes.hpp. An
// exponent that is a whole number takes products alone: `whole` is it, or 0.
#pragma once
#include "solver/lanes.hpp"

namespace network {

using namespace solver;
using solver::any;  // not those of the global namespace
using solver::exp2;
using solver::log2;

constexpr float LN_2 = 0.69314718055994530942f, LOG2_10 = 3.32192809488736234787f;
constexpr float LOG10_2 = 1 / LOG2_10, SMALLEST = 1e-37f;

// 2^x - 1 with its full relative precision near 0; |x| below 126. (2^r - 1) / r for |r| <= 1/2 has the
// least relative error, 4.3e-7.
INLINE Floats exp2_minus_1(Floats x) {
  const Floats n = rounded(x), r = x - n, power = exp2(n);
  Floats p = r * 1.33335387e-03f + 9.66624548e-03f;
  p = p * r + 5.55050021e-02f;
  p = p * r + 2.40223513e-01f;
  p = p * r + 6.93147144e-01f;
  return power * (r * p) + (power - 1.0f);
}

// log2 of `sum` = 1 + x with its full relative precision near x = 0, where `sum` is rounded: what sum
// lacks, x - (sum - 1), is exact.
INLINE Floats log2_of_sum(Floats sum, Floats x) {
  const Floats lost = x - (sum - 1.0f);
  return log2(sum) + select(absolute(x) < all_of<float>(0.5), lost, Floats{}) * (1 / LN_2);
}

INLINE Floats root(Floats x) { return exp2(Floats(0.5f * log2(x))); }

// x^exponent, x >= 0.
template <int whole> INLINE Floats positive_power(Floats x, float exponent) {
  if constexpr (whole == 0) {
    const Floats found = exp2(Floats(exponent * log2(at_least(x, SMALLEST))));
    return select(x > all_of<float>(SMALLEST), found, x * 0.0f);
  } else if constexpr (whole == 1) return x;
  else if constexpr (whole % 2 == 0) return positive_power<whole / 2>(x * x, exponent);
  else return x * positive_power<whole - 1>(x, exponent);
}

// (1 + u)^exponent - 1 with its full relative precision near 0, u >= -1.
template <int whole> INLINE Floats power_less_1(Floats u, float exponent) {
  if constexpr (whole == 0) {
    const Floats x = at_least(u, 1e-7 - 1.0);
    return exp2_minus_1(Floats(exponent * log2_of_sum(Floats(1.0f + x), x)));
  } else if constexpr (whole == 1) return u;
  else if constexpr (whole % 2 == 0) {
    const Floats half = power_less_1<whole / 2>(u, exponent);
    return half * (2.0f + half);
  } else {
    const Floats less = power_less_1<whole - 1>(u, exponent);
    return less + u + less * u;
  }
}

// sign(x) |x|^power; NaN of NaN.
INLINE Floats signed_power(Floats x, float power) {
  const Floats found = positive_power<0>(absolute(x), power);
  return select(x < Floats{}, Floats(-found), found) + (x - x);
}

}  // namespace network
