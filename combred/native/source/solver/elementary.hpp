// Rounding, reciprocals, powers and logarithms to the base 2 of vectors.
#pragma once
#include "solver/lanes.hpp"

namespace solver {

// x rounded to an integer; 1 / x of x that is neither 0 nor subnormal, of
// either sign: an estimate, and Newton's method.
#if COMBRED_BYTES == 64
INLINE Floats rounded(Floats x) { return (Floats)_mm512_roundscale_ps((__m512)x, 8); }
INLINE Doubles rounded(Doubles x) { return (Doubles)_mm512_roundscale_pd((__m512d)x, 8); }
INLINE Floats scaled(Floats x, Floats n) { return (Floats)_mm512_scalef_ps((__m512)x, (__m512)n); }
INLINE Doubles scaled(Doubles x, Doubles n) {
  return (Doubles)_mm512_scalef_pd((__m512d)x, (__m512d)n);
}
INLINE Floats reciprocal(Floats x) {
  const Floats r = (Floats)_mm512_rcp14_ps((__m512)x);
  return r + r * (1.0f - x * r);
}
INLINE Doubles reciprocal(Doubles x) {
  Doubles r = (Doubles)_mm512_rcp14_pd((__m512d)x);
  r = r + r * (1.0 - x * r);
  return r + r * (1.0 - x * r);
}
#else
template <class R> struct Bits;
template <> struct Bits<float> {  // the exponent's place; adding ROUND rounds
  static constexpr int SHIFT = 23;
  static constexpr float ROUND = 12582912.0f;  // 1.5 2^23: the integer is in the low bits
};
template <> struct Bits<double> {
  static constexpr int SHIFT = 52;
  static constexpr double ROUND = 6755399441055744.0;  // 1.5 2^52
};
template <class To, class From> INLINE To cast(From x) {
  To to;
  static_assert(sizeof(to) == sizeof(x), "");
  memcpy(&to, &x, sizeof(to));
  return to;
}
// x 2^n of an integer n in its range, which is in the low bits of n + ROUND.
template <class R> INLINE Vector<R> scaled(Vector<R> x, Vector<R> shifted) {
  return cast<Vector<R>>(Integers<R>(cast<Integers<R>>(x) + (cast<Integers<R>>(shifted) << Bits<R>::SHIFT)));
}
INLINE Floats rounded(Floats x) { return (x + Bits<float>::ROUND) - Bits<float>::ROUND; }
INLINE Doubles rounded(Doubles x) { return (x + Bits<double>::ROUND) - Bits<double>::ROUND; }
#if COMBRED_BYTES == 32 && defined(__AVX__)
INLINE Floats reciprocal(Floats x) {
  const Floats r = (Floats)_mm256_rcp_ps((__m256)x);
  return r + r * (1.0f - x * r);
}
#else
INLINE Floats reciprocal(Floats x) { return 1.0f / x; }
#endif
INLINE Doubles reciprocal(Doubles x) { return 1.0 / x; }
#endif

// 1 / x to four digits at least, for errors.
#if COMBRED_BYTES == 64
INLINE Floats estimate(Floats x) { return (Floats)_mm512_rcp14_ps((__m512)x); }
INLINE Doubles estimate(Doubles x) { return (Doubles)_mm512_rcp14_pd((__m512d)x); }
#else
template <class V> INLINE V estimate(V x) { return reciprocal(x); }
#endif

// 2^x: relative error 2e-7 in float, 4e-16 in double. Beyond the range 0 and infinity, or the smallest
// and the largest power of 2.
#if COMBRED_BYTES == 64
alignas(64) constexpr float POWERS[32] = {
    1.0f, 1.0218972f, 1.04427373f, 1.06714046f, 1.09050775f, 1.1143868f,
    1.13878858f, 1.1637249f, 1.18920708f, 1.21524739f, 1.24185777f, 1.26905096f,
    1.29683959f, 1.32523668f, 1.35425556f, 1.38390994f, 1.41421354f, 1.44518077f,
    1.47682619f, 1.50916445f, 1.54221082f, 1.5759809f, 1.61049032f, 1.64575553f,
    1.68179286f, 1.71861935f, 1.75625217f, 1.79470909f, 1.8340081f, 1.87416768f,
    1.91520655f, 1.95714414f};  // 2^(i / 32)
// x = n + r with n a multiple of 1/32, whose power of 2 is in a table; |r| <= 1/64.
INLINE Floats exp2(Floats x) {
  constexpr float ROUND = 393216.0f;  // 1.5 2^18: adding it rounds to 1/32
  const Floats shifted = x + ROUND, n = shifted - ROUND, r = x - n;
  const Floats power = (Floats)_mm512_permutex2var_ps(
      _mm512_load_ps(POWERS), (__m512i)shifted, _mm512_load_ps(POWERS + 16));
  return scaled(power + power * (r * (r * 0.240228683f + 0.693157339f)), n);
}
#else
INLINE Floats exp2(Floats x) {
  const Floats bounded = at_most(at_least(x, -126.0), 127.0);
  const Floats shifted = bounded + Bits<float>::ROUND, r = bounded - (shifted - Bits<float>::ROUND);
  Floats p = r * 1.33335387e-03f + 9.66624548e-03f;
  p = p * r + 5.55050021e-02f;
  p = p * r + 2.40223513e-01f;
  p = p * r + 6.93147144e-01f;
  return scaled<float>(1.0f + r * p, shifted);
}
#endif
#if COMBRED_BYTES == 64
alignas(64) constexpr double POWERS_16[16] = {
    1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
    1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927,
    1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543,
    1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474};  // 2^(i / 16)
INLINE Doubles exp2(Doubles x) {
  constexpr double ROUND = 422212465065984.0;  // 1.5 2^48: adding it rounds to 1/16
  const Doubles shifted = x + ROUND, n = shifted - ROUND, r = (x - n) * 0.69314718055994530942;
  const Doubles power = (Doubles)_mm512_permutex2var_pd(
      _mm512_load_pd(POWERS_16), (__m512i)shifted, _mm512_load_pd(POWERS_16 + 8));
  Doubles p = r * (1 / 720.0) + 1 / 120.0;
  p = p * r + 1 / 24.0;
  p = p * r + 1 / 6.0;
  p = p * r + 0.5;
  return scaled(power + power * (r + r * r * p), n);
}
#else
INLINE Doubles exp2(Doubles x) {
  const Doubles bounded = at_most(at_least(x, -1022.0), 1023.0);
  const Doubles shifted = bounded + Bits<double>::ROUND;
  const Doubles r = (bounded - (shifted - Bits<double>::ROUND)) * 0.69314718055994530942;
  Doubles p = r * (1 / 479001600.0) + 1 / 39916800.0;
  p = p * r + 1 / 3628800.0;
  p = p * r + 1 / 362880.0;
  p = p * r + 1 / 40320.0;
  p = p * r + 1 / 5040.0;
  p = p * r + 1 / 720.0;
  p = p * r + 1 / 120.0;
  p = p * r + 1 / 24.0;
  p = p * r + 1 / 6.0;
  p = p * r + 0.5;
  return scaled<double>(1.0 + (r + r * r * p), shifted);
}
#endif

// log2 of x, which is positive, finite and not subnormal.
#if COMBRED_BYTES == 0 && !defined(__CUDACC__)
INLINE double log2(double x) { return __builtin_log2(x); }
INLINE float log2(float x) { return __builtin_log2f(x); }
#elif defined(__CUDACC__)
INLINE double log2(double x) { return ::log2(x); }
INLINE float log2(float x) { return ::log2f(x); }
#else
INLINE Floats log2(Floats x) {
  const Integers<float> bits = (Integers<float>)x, e = (bits - 0x3f3504f3) >> 23;
  const Floats f = (Floats)(bits - (e << 23)) - 1.0f;
  Floats p = f * -0.145811705f + 0.234042398f;
  p = p * f - 0.24887687f;
  p = p * f + 0.287098697f;
  p = p * f - 0.360239639f;
  p = p * f + 0.480923242f;
  p = p * f - 0.721352788f;
  p = p * f + 1.44269496f;
  return __builtin_convertvector(e, Floats) + f * p;
}
// 2 artanh(f) = ln((1 + f) / (1 - f)) as its series, m between sqrt(1/2) and sqrt(2).
INLINE Doubles log2(Doubles x) {
  const Integers<double> bits = (Integers<double>)x, e = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const Doubles m = (Doubles)(bits - (e << 52)), f = (m - 1.0) / (m + 1.0), s = f * f;
  Doubles p = s * (1 / 21.0) + 1 / 19.0;
  p = p * s + 1 / 17.0;
  p = p * s + 1 / 15.0;
  p = p * s + 1 / 13.0;
  p = p * s + 1 / 11.0;
  p = p * s + 1 / 9.0;
  p = p * s + 1 / 7.0;
  p = p * s + 0.2;
  p = p * s + 1 / 3.0;
  p = p * s + 1.0;
  return __builtin_convertvector(e, Doubles) + f * p * (2 * 1.44269504088896340736);
}
#endif

}  // namespace solver
