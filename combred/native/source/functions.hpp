// Elementary functions, to the base 2, with a relative error of about 2e-7. They are faster here
// than libmvec, and the same on every processor.
#pragma once
#include "vector.hpp"

constexpr double LN_2 = 0.69314718055994530942;
constexpr double LOG2_E = 1.44269504088896340736;
constexpr double LOG2_10 = 3.32192809488736234787;
constexpr double LOG10_2 = 1 / LOG2_10;

// (2^r - 1) / r for |r| <= 1/2: least relative error, 4.3e-7, and 1.8e-7 of 2^r.
INLINE Float exp2_over(Float r) {
  Float p = r * 1.33335387e-03f + 9.66624548e-03f;
  p = p * r + 5.55050021e-02f;
  p = p * r + 2.40223513e-01f;
  return p * r + 6.93147144e-01f;
}

// log2(1 + f) / f for f between sqrt(1/2) - 1 and sqrt(2) - 1: least relative error, 1.7e-7.
INLINE Float log2_over(Float f) {
  Float p = f * -0.145811705f + 0.234042398f;
  p = p * f - 0.24887687f;
  p = p * f + 0.287098697f;
  p = p * f - 0.360239639f;
  p = p * f + 0.480923242f;
  p = p * f - 0.721352788f;
  return p * f + 1.44269496f;
}

// 2^x of finite x; 0 or the smallest normal number below -126, very large from 128 on.
INLINE Float exp2(Float x) {
  const Float n = rounded(x), r = x - n;
  return times_power_of_2(1.0f + r * exp2_over(r), n);
}

// 2^x - 1 with its full relative precision near 0; x below 127.
INLINE Float exp2_minus_1(Float x) {
  const Float n = rounded(x), r = x - n, power = times_power_of_2(all_of(1.0f), n);
  return power * (r * exp2_over(r)) + (power - 1.0f);
}

// log2 of x, which is positive, finite and not subnormal.
INLINE Float log2(Float x) {
  const Int bits = bits_of(x), exponent = (bits - 0x3f3504f3) >> 23;  // of x / sqrt(1/2)
  const Float f = of_bits(bits - (exponent << 23)) - 1.0f;
  return to_float(exponent) + f * log2_over(f);
}

// The same of sum = 1 + x, with its full relative precision near x = 0, where `sum` is rounded.
INLINE Float log2_of_sum(Float sum, Float x) {
  const Int bits = bits_of(sum), exponent = (bits - 0x3f3504f3) >> 23;
  const Float rest = of_bits(bits - (exponent << 23)) - 1.0f;
  const Float f = select(exponent == 0, x, rest);
  return to_float(exponent) + f * log2_over(f);
}
INLINE Float log2_of_1_plus(Float x) { return log2_of_sum(1.0f + x, x); }

// sign(x) |x|^power; 0 where |x| is subnormal.
INLINE Float signed_power(Float x, float power) {
  const Float size = absolute(x);
  Float found = exp2(power * log2(at_least(size, 1e-37f)));
  found = select(size < 1e-37f, all_of(0.0f), found);
  return of_bits(bits_of(found) | (bits_of(x) & INT32_MIN)) + (x - x);  // x - x: NaN of NaN
}

// The square root of x > 0, and its reciprocal, with a relative error of about 1e-6.
INLINE Float root(Float x) { return exp2(0.5f * log2(x)); }
INLINE Float reciprocal_root(Float x) { return exp2(-0.5f * log2(x)); }
