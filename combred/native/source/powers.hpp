// Powers of vectors. An exponent that is a whole number takes products alone: `whole` is it, or 0.
#pragma once
#include "functions.hpp"

// x^exponent, x >= 0.
template <int whole>
INLINE Float positive_power(Float x, float exponent) {
  if constexpr (whole == 0) {
    const Float found = exp2(exponent * log2(at_least(x, 1e-37f)));
    return select(x > 1e-37f, found, x * 0.0f);
  } else if constexpr (whole == 1) return x;
  else if constexpr (whole % 2 == 0) return positive_power<whole / 2>(x * x, exponent);
  else return x * positive_power<whole - 1>(x, exponent);
}

// (1 + u)^exponent - 1 with its full relative precision near 0, u >= -1.
template <int whole>
INLINE Float power_less_1(Float u, float exponent) {
  if constexpr (whole == 0) {
    const Float bounded = at_least(u, 1e-7f - 1.0f);
    return exp2_minus_1(exponent * log2_of_1_plus(bounded));
  } else if constexpr (whole == 1) return u;
  else if constexpr (whole % 2 == 0) {
    const Float half = power_less_1<whole / 2>(u, exponent);
    return half * (2.0f + half);
  } else {
    const Float less = power_less_1<whole - 1>(u, exponent);
    return less + u + less * u;
  }
}
