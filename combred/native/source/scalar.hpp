// The names of vector.hpp for one state at a time: in CUDA, each thread has its own.
#pragma once
#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define PART static __device__ __noinline__
#define TABLE static __device__ const
#define UNROLL _Pragma("unroll")
#else
#include <cmath>
#define INLINE static inline
#define PART static
#define TABLE constexpr
#define UNROLL
#endif

constexpr int WIDTH = 1;

typedef float Float;
typedef double Double;
typedef int32_t Int;
typedef bool Mask;

INLINE Float all_of(float x) { return x; }
INLINE Double all_of(double x) { return x; }

INLINE Float select(bool condition, Float x, Float y) { return condition ? x : y; }
INLINE Double select(bool condition, Double x, Double y) { return condition ? x : y; }

// The larger and the smaller of x and a bound; NaN where x is NaN, as torch's clamp.
INLINE Float at_least(Float x, Float bound) { return bound > x ? bound : x; }
INLINE Float at_most(Float x, Float bound) { return bound < x ? bound : x; }
INLINE Double at_least(Double x, Double bound) { return bound > x ? bound : x; }
INLINE Double at_most(Double x, Double bound) { return bound < x ? bound : x; }

INLINE Double to_double(Float x) { return x; }
INLINE Float to_float(Double x) { return (Float)x; }
INLINE Float to_float(Int x) { return (Float)x; }

#ifdef __CUDACC__
INLINE Int bits_of(Float x) { return __float_as_int(x); }
INLINE Float of_bits(Int x) { return __int_as_float(x); }
INLINE Float rounded(Float x) { return rintf(x); }
INLINE Float times_power_of_2(Float x, Float n) { return ldexpf(x, (int)n); }
INLINE double infinity() { return __longlong_as_double(0x7ff0000000000000); }
INLINE double not_a_number() { return __longlong_as_double(0x7ff8000000000000); }
#else
INLINE Int bits_of(Float x) {
  Int bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
INLINE Float of_bits(Int bits) {
  Float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
INLINE Float rounded(Float x) { return std::rint(x); }
INLINE Float times_power_of_2(Float x, Float n) {
  return std::ldexp(x, (int)at_most(at_least(n, -1000.0f), 1000.0f));
}
INLINE double infinity() { return HUGE_VAL; }
INLINE double not_a_number() { return NAN; }
#endif

INLINE Float absolute(Float x) { return x < 0.0f ? -x : x; }
INLINE Double absolute(Double x) { return x < 0.0 ? -x : x; }
INLINE Float reciprocal(Float x) { return 1.0f / x; }
INLINE Double reciprocal(Double x) { return 1.0 / x; }

INLINE bool any(Mask x) { return x; }
INLINE bool all(Mask x) { return x; }
INLINE double &lane_of(Double &x, int) { return x; }
INLINE float &lane_of(Float &x, int) { return x; }
