// Elementary functions of vectors, to the base 2. Those of `Float` have a relative error of about
// 1e-7, those of `Double` of about 3e-16. They are faster here than libmvec.
#pragma once
#include "vector.hpp"

constexpr double LN_2 = 0.69314718055994530942;
constexpr double LOG2_E = 1.44269504088896340736;
constexpr double LOG2_10 = 3.32192809488736234787;
constexpr double LOG10_2 = 1 / LOG2_10;

// Adding this and subtracting it rounds to an integer, which is then in the low bits.
constexpr double ROUND_LONG = 6755399441055744.0;  // 1.5 2^52

// (2^r - 1) / r for |r| <= 1/2: least relative error, 1.1e-8.
INLINE Float exp2_over(Float r) {
  Float p = r * 1.54035123e-04f + 1.33907355e-03f;
  p = p * r + 9.61823750e-03f;
  p = p * r + 5.55035743e-02f;
  p = p * r + 2.40226498e-01f;
  return p * r + 6.93147188e-01f;
}

// log2(1 + f) / f for f between sqrt(1/2) - 1 and sqrt(2) - 1: least relative error, 2.6e-8.
INLINE Float log2_over(Float f) {
  Float p = f * 0.1258369f - 0.20726969f;
  p = p * f + 0.21571562f;
  p = p * f - 0.23894483f;
  p = p * f + 0.28791625f;
  p = p * f - 0.36070368f;
  p = p * f + 0.48091064f;
  p = p * f - 0.72134735f;
  return p * f + 1.442695f;
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
  const Int bits = (Int)x, exponent = (bits - 0x3f3504f3) >> 23;  // of x / sqrt(1/2)
  const Float f = (Float)(bits - (exponent << 23)) - 1.0f;
  return __builtin_convertvector(exponent, Float) + f * log2_over(f);
}

// log2(1 + x) with its full relative precision near 0; 1 + x as `log2` takes it.
INLINE Float log2_of_1_plus(Float x) {
  const Float sum = 1.0f + x;
  return log2(sum) + (x - (sum - 1.0f)) * reciprocal(sum) * (float)LOG2_E;
}

// sign(x) |x|^power; 0 where |x| is subnormal.
INLINE Float signed_power(Float x, float power) {
  const Float size = absolute(x);
  Float found = exp2(power * log2(at_least(size, 1e-37f)));
  found = select(size < 1e-37f, all_of(0.0f), found);
  return (Float)((Int)found | ((Int)x & INT32_MIN)) + (x - x);  // x - x: NaN of NaN
}

INLINE HalfDouble exp2(HalfDouble x) {
  const HalfDouble shifted = x + ROUND_LONG, r = (x - (shifted - ROUND_LONG)) * LN_2;
  HalfDouble p = r * (1.0 / 479001600) + 1.0 / 39916800;  // the series of exp
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  const HalfLong one = (HalfLong)(HalfDouble{} + 1.0);
  const HalfDouble power = (HalfDouble)(((HalfLong)shifted << 52) + one);
  return power + power * (p * r);
}

// 2^x; 2^-1022 below, infinite from 1023.5 on, NaN of NaN.
INLINE Double exp2(Double x) {
  x = at_most(at_least(x, -1022.0), 1024.0);
  return {exp2(x.a), exp2(x.b)};
}

INLINE HalfDouble log2(HalfDouble x) {
  const HalfLong bits = (HalfLong)x, exponent = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const HalfDouble m = (HalfDouble)(bits - (exponent << 52));
  // ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...)
  const HalfDouble s = (m - 1.0) / (m + 1.0), t = s * s;
  HalfDouble p = t * (2 * LOG2_E / 19) + 2 * LOG2_E / 17;
  p = p * t + 2 * LOG2_E / 15;
  p = p * t + 2 * LOG2_E / 13;
  p = p * t + 2 * LOG2_E / 11;
  p = p * t + 2 * LOG2_E / 9;
  p = p * t + 2 * LOG2_E / 7;
  p = p * t + 2 * LOG2_E / 5;
  p = p * t + 2 * LOG2_E / 3;
  p = p * t + 2 * LOG2_E;
  return __builtin_convertvector(exponent, HalfDouble) + p * s;
}

// log2 of x, which is positive, finite and not subnormal.
INLINE Double log2(Double x) { return {log2(x.a), log2(x.b)}; }

// The square root of x > 0, and its reciprocal, with a relative error of about 1e-6.
INLINE Float root(Float x) { return exp2(0.5f * log2(x)); }
INLINE Float reciprocal_root(Float x) { return exp2(-0.5f * log2(x)); }
