// Vectors: one value of each of the WIDTH states of a block, in float (`Float`) and double
// (`Double`). All arithmetic is that of the compiler's vector extensions (GCC, clang). WIDTH 1, of
// scalar.hpp, is for compilers without vectors, and for GPUs.
//
// A `Double` is two vectors of the size of a `Float`: compilers handle one vector that is wider
// than the registers badly.
#pragma once
#ifdef __CUDACC_RTC__  // which has no headers
typedef int int32_t;
typedef long long int64_t;
typedef unsigned uint32_t;
#define INT32_MIN (-2147483647 - 1)
#else
#include <cstdint>
#include <cstring>
#endif
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#ifndef COMBRED_WIDTH
#ifdef __AVX512F__
#define COMBRED_WIDTH 16
#elif defined(__AVX__)
#define COMBRED_WIDTH 8
#else
#define COMBRED_WIDTH 4
#endif
#endif
#if COMBRED_WIDTH == 1
#include "scalar.hpp"
#else
#define INLINE static inline __attribute__((always_inline))
#define PART static __attribute__((noinline))
#define TABLE constexpr
#define UNROLL _Pragma("GCC unroll 16")

constexpr int WIDTH = COMBRED_WIDTH;  // states of a block
constexpr int HALF = WIDTH / 2;

typedef float Float __attribute__((vector_size(4 * WIDTH)));
typedef int32_t Int __attribute__((vector_size(4 * WIDTH)));  // also the result of a comparison
typedef float HalfFloat __attribute__((vector_size(4 * HALF)));
typedef double HalfDouble __attribute__((vector_size(8 * HALF)));
typedef int64_t HalfLong __attribute__((vector_size(8 * HALF)));

struct Double {
  HalfDouble a, b;
};
struct Mask {  // the result of a comparison of `Double`: -1 where true
  HalfLong a, b;
};

// -- one value for all states ---------------------------------------------------------------------
INLINE Float all_of(float x) {
  return x - Float{};
}
INLINE Double all_of(double x) {
  return {x - HalfDouble{}, x - HalfDouble{}};
}

// -- arithmetic of doubles ------------------------------------------------------------------------
#define COMBRED_OPERATOR(op)                                                              \
  INLINE Double operator op(Double x, Double y) { return {x.a op y.a, x.b op y.b}; }      \
  INLINE Double operator op(Double x, double y) { return {x.a op y, x.b op y}; }          \
  INLINE Double operator op(double x, Double y) { return {x op y.a, x op y.b}; }
COMBRED_OPERATOR(+)
COMBRED_OPERATOR(-)
COMBRED_OPERATOR(*)
COMBRED_OPERATOR(/)
#undef COMBRED_OPERATOR
#define COMBRED_COMPARISON(op)                                                            \
  INLINE Mask operator op(Double x, Double y) { return {x.a op y.a, x.b op y.b}; }        \
  INLINE Mask operator op(Double x, double y) { return x op all_of(y); }
COMBRED_COMPARISON(<)
COMBRED_COMPARISON(>)
COMBRED_COMPARISON(<=)
COMBRED_COMPARISON(>=)
#undef COMBRED_COMPARISON
INLINE Double operator-(Double x) { return {-x.a, -x.b}; }
INLINE Mask operator&(Mask x, Mask y) { return {x.a & y.a, x.b & y.b}; }
INLINE Mask operator|(Mask x, Mask y) { return {x.a | y.a, x.b | y.b}; }
INLINE Mask operator~(Mask x) { return {~x.a, ~x.b}; }

// -- choices --------------------------------------------------------------------------------------
INLINE Float select(Int condition, Float x, Float y) { return condition ? x : y; }
INLINE Double select(Mask condition, Double x, Double y) {
  return {condition.a ? x.a : y.a, condition.b ? x.b : y.b};
}

// The larger and the smaller of x and a bound; NaN where x is NaN, as torch's clamp.
#if defined(__AVX512F__) && COMBRED_WIDTH == 16
INLINE Float at_least(Float x, Float bound) {
  return (Float)_mm512_max_ps((__m512)bound, (__m512)x);
}
INLINE Float at_most(Float x, Float bound) {
  return (Float)_mm512_min_ps((__m512)bound, (__m512)x);
}
INLINE Double at_least(Double x, Double bound) {
  return {(HalfDouble)_mm512_max_pd((__m512d)bound.a, (__m512d)x.a),
          (HalfDouble)_mm512_max_pd((__m512d)bound.b, (__m512d)x.b)};
}
INLINE Double at_most(Double x, Double bound) {
  return {(HalfDouble)_mm512_min_pd((__m512d)bound.a, (__m512d)x.a),
          (HalfDouble)_mm512_min_pd((__m512d)bound.b, (__m512d)x.b)};
}
#else
INLINE Float at_least(Float x, Float bound) { return bound > x ? bound : x; }
INLINE Float at_most(Float x, Float bound) { return bound < x ? bound : x; }
INLINE Double at_least(Double x, Double bound) { return select(bound > x, bound, x); }
INLINE Double at_most(Double x, Double bound) { return select(bound < x, bound, x); }
#endif
INLINE Float at_least(Float x, float bound) { return at_least(x, all_of(bound)); }
INLINE Float at_most(Float x, float bound) { return at_most(x, all_of(bound)); }
INLINE Double at_least(Double x, double bound) { return at_least(x, all_of(bound)); }
INLINE Double at_most(Double x, double bound) { return at_most(x, all_of(bound)); }

INLINE Int bits_of(Float x) { return (Int)x; }
INLINE Float of_bits(Int x) { return (Float)x; }
INLINE Float absolute(Float x) { return of_bits(bits_of(x) & 0x7fffffff); }
INLINE Double absolute(Double x) {
  const int64_t magnitude = 0x7fffffffffffffff;
  return {(HalfDouble)((HalfLong)x.a & magnitude), (HalfDouble)((HalfLong)x.b & magnitude)};
}

// -- conversion -----------------------------------------------------------------------------------
INLINE Float to_float(Int x) { return __builtin_convertvector(x, Float); }
#if defined(__AVX512F__) && defined(__AVX512DQ__) && COMBRED_WIDTH == 16
INLINE Double to_double(Float x) {
  return {(HalfDouble)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x)),
          (HalfDouble)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1))};
}
INLINE Float to_float(Double x) {
  const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)x.a));
  return (Float)_mm512_insertf32x8(low, _mm512_cvtpd_ps((__m512d)x.b), 1);
}
#else
INLINE Double to_double(Float x) {
  HalfFloat half[2];
  memcpy(half, &x, sizeof(x));
  return {__builtin_convertvector(half[0], HalfDouble),
          __builtin_convertvector(half[1], HalfDouble)};
}
INLINE Float to_float(Double x) {
  const HalfFloat half[2] = {__builtin_convertvector(x.a, HalfFloat),
                             __builtin_convertvector(x.b, HalfFloat)};
  Float joined;
  memcpy(&joined, half, sizeof(joined));
  return joined;
}
#endif

// -- powers of 2, reciprocals ---------------------------------------------------------------------
#if defined(__AVX512F__) && COMBRED_WIDTH == 16
// x rounded to an integer.
INLINE Float rounded(Float x) { return (Float)_mm512_roundscale_ps((__m512)x, 8); }
// x 2^n for an integer n.
INLINE Float times_power_of_2(Float x, Float n) {
  return (Float)_mm512_scalef_ps((__m512)x, (__m512)n);
}
// 1 / x for x > 0 that is neither subnormal nor infinite: an estimate, and Newton's method.
INLINE Float reciprocal(Float x) {
  const Float r = (Float)_mm512_rcp14_ps((__m512)x);
  return r + r * (1.0f - x * r);
}
INLINE HalfDouble reciprocal(HalfDouble x) {
  HalfDouble r = (HalfDouble)_mm512_rcp14_pd((__m512d)x);
  r = r + r * (1.0 - x * r);
  return r + r * (1.0 - x * r);
}
#else
constexpr float ROUND = 12582912.0f;  // 1.5 2^23: adding it rounds; the integer is in the low bits
INLINE Float rounded(Float x) { return (x + ROUND) - ROUND; }
INLINE Float times_power_of_2(Float x, Float n) {
  const Int bits = (Int)(at_most(at_least(n, -126.0f), 127.0f) + ROUND);
  return x * (Float)((bits << 23) + 0x3f800000);
}
INLINE Float reciprocal(Float x) { return 1.0f / x; }
INLINE HalfDouble reciprocal(HalfDouble x) { return 1.0 / x; }
#endif
INLINE Double reciprocal(Double x) { return {reciprocal(x.a), reciprocal(x.b)}; }

// -- single states --------------------------------------------------------------------------------
INLINE bool any(Mask x) {
  const HalfLong both = x.a | x.b;
#if defined(__AVX512F__) && COMBRED_WIDTH == 16
  return _mm512_test_epi64_mask((__m512i)both, (__m512i)both) != 0;
#else
  int64_t found = 0;
  for (int i = 0; i < HALF; i++) found |= both[i];
  return found != 0;
#endif
}
INLINE bool all(Mask x) { return !any(~x); }

INLINE double &lane_of(Double &x, int i) { return reinterpret_cast<double *>(&x)[i]; }
INLINE float &lane_of(Float &x, int i) { return reinterpret_cast<float *>(&x)[i]; }
INLINE double infinity() { return __builtin_inf(); }
INLINE double not_a_number() { return __builtin_nan(""); }
#endif
