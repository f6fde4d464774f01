// Vectors with one state in each lane, of floats or of doubles. All arithmetic is that of the
// compiler's vector extensions (GCC, clang). COMBRED_BYTES 0 is one state at a time: for compilers
// without vectors, and for GPUs.
#pragma once
#ifdef __CUDACC_RTC__  // which has no headers
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
#else
#include <cstddef>
#include <cstdint>
#include <cstring>
#endif
#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifndef COMBRED_BYTES
#ifdef __AVX512F__
#define COMBRED_BYTES 64
#elif defined(__AVX__)
#define COMBRED_BYTES 32
#else
#define COMBRED_BYTES 16
#endif
#endif

// An intrinsic of x86 for vectors of this size.
#if COMBRED_BYTES == 64
#define COMBRED_X86(name) _mm512_##name
#elif COMBRED_BYTES == 32 && defined(__AVX__)
#define COMBRED_X86(name) _mm256_##name
#elif COMBRED_BYTES == 16 && defined(__SSE2__)
#define COMBRED_X86(name) _mm_##name
#endif

// APART, after a part of the elimination: entries of L are read from the matrix, in the first level
// of the cache, from then on; compilers would keep copies of them on the stack.
#undef INLINE
#undef PART
#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define PART static __device__ __noinline__
#define TABLE static __device__ const
#define APART
#elif COMBRED_BYTES == 0
#define INLINE static inline
#define PART static
#define TABLE constexpr
#define APART
#else
#define INLINE static inline __attribute__((always_inline))
#define PART static __attribute__((noinline))
#define TABLE constexpr
#define APART asm volatile("" ::: "memory");
#endif

namespace solver {

#if COMBRED_BYTES == 0
template <class R> struct Lanes;
template <> struct Lanes<float> {
  typedef float V;
  typedef uint32_t I;
  typedef bool B;
};
template <> struct Lanes<double> {
  typedef double V;
  typedef uint64_t I;
  typedef bool B;
};
template <class R> constexpr int WIDTH = 1;
#else
template <class R> struct Lanes;
template <> struct Lanes<float> {
  typedef float V __attribute__((vector_size(COMBRED_BYTES)));
  typedef int32_t I __attribute__((vector_size(COMBRED_BYTES)));
  typedef decltype(V{} < V{}) B;  // the result of a comparison: -1 where true
};
template <> struct Lanes<double> {
  typedef double V __attribute__((vector_size(COMBRED_BYTES)));
  typedef int64_t I __attribute__((vector_size(COMBRED_BYTES)));
  typedef decltype(V{} < V{}) B;
};
template <class R> constexpr int WIDTH = COMBRED_BYTES / sizeof(R);  // states of a block
#endif
template <class R> using Vector = typename Lanes<R>::V;
template <class R> using Integers = typename Lanes<R>::I;
template <class R> using Mask = typename Lanes<R>::B;
typedef Vector<float> Floats;
typedef Vector<double> Doubles;

template <class R> constexpr unsigned ALL_LANES = unsigned((uint64_t(1) << WIDTH<R>) - 1);

// x in all lanes; x - 0 is x for every x, 0 + x is not for -0: compilers leave the addition there.
template <class R> INLINE Vector<R> all_of(double x) { return R(x) - Vector<R>{}; }

#if COMBRED_BYTES == 0
template <class R> INLINE R &lane_of(R &x, int) { return x; }
INLINE bool no(bool x) { return !x; }
INLINE bool any(bool x) { return x; }
INLINE unsigned bits_of(bool x) { return x; }
INLINE int first_of(unsigned) { return 0; }
INLINE float select(bool m, float x, float y) { return m ? x : y; }
INLINE double select(bool m, double x, double y) { return m ? x : y; }
template <class R> INLINE bool lanes_of(unsigned bits) { return bits & 1; }
#else
INLINE float &lane_of(Floats &x, int i) { return reinterpret_cast<float *>(&x)[i]; }
INLINE double &lane_of(Doubles &x, int i) { return reinterpret_cast<double *>(&x)[i]; }
INLINE Mask<float> no(Mask<float> x) { return ~x; }
INLINE Mask<double> no(Mask<double> x) { return ~x; }
INLINE Floats select(Mask<float> m, Floats x, Floats y) { return m ? x : y; }
INLINE Doubles select(Mask<double> m, Doubles x, Doubles y) { return m ? x : y; }
// One bit for each lane, the first lane in the lowest.
#if COMBRED_BYTES == 64
INLINE unsigned bits_of(Mask<float> m) { return _mm512_movepi32_mask((__m512i)m); }
INLINE unsigned bits_of(Mask<double> m) { return _mm512_movepi64_mask((__m512i)m); }
#elif defined(COMBRED_X86)
INLINE unsigned bits_of(Mask<float> m) { return COMBRED_X86(movemask_ps)((Floats)m); }
INLINE unsigned bits_of(Mask<double> m) { return COMBRED_X86(movemask_pd)((Doubles)m); }
#else
template <class M> INLINE unsigned bits_of(M m) {
  unsigned bits = 0;
  for (int i = 0; i < int(sizeof(M) / sizeof(m[0])); i++) bits |= unsigned(m[i] & 1) << i;
  return bits;
}
#endif
INLINE int first_of(unsigned bits) { return __builtin_ctz(bits); }  // the lowest
template <class M> INLINE bool any(M m) { return bits_of(m) != 0; }
// The lanes whose bit is set.
template <class R> INLINE Mask<R> lanes_of(unsigned bits) {
  Integers<R> own{};
  for (int i = 0; i < WIDTH<R>; i++) own[i] = 1 << i;
  return (own & int(bits)) != 0;
}
#endif

// The lanes whose bit is set of K vectors x, one after another, to `to` and on, where each row of numbers has room
// for a whole vector. And back: numbers from `from` on, of rows of as many, in place of the lanes whose bit is set.
#if COMBRED_BYTES == 64
INLINE void compress(float *to, unsigned bits, Floats x) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, (__m512)x));
}
INLINE void compress(double *to, unsigned bits, Doubles x) {
  _mm512_storeu_pd(to, _mm512_maskz_compress_pd((__mmask8)bits, (__m512d)x));
}
INLINE void expand(Floats &x, unsigned bits, const float *from) {
  x = (Floats)_mm512_mask_expand_ps((__m512)x, (__mmask16)bits, _mm512_loadu_ps(from));
}
INLINE void expand(Doubles &x, unsigned bits, const double *from) {
  x = (Doubles)_mm512_mask_expand_pd((__m512d)x, (__mmask8)bits, _mm512_loadu_pd(from));
}
template <int ROOM, class R> INLINE void compress(R (*to)[ROOM], int at, unsigned bits, const Vector<R> *x, int size) {
  for (int k = 0; k < size; k++) compress(to[k] + at, bits, x[k]);
}
template <int ROOM, class R> INLINE void expand(Vector<R> *x, unsigned bits, const R (*from)[ROOM], int at, int size) {
  for (int k = 0; k < size; k++) expand(x[k], bits, from[k] + at);
}
#else
template <int ROOM, class R> INLINE void compress(R (*to)[ROOM], int at, unsigned bits, const Vector<R> *x, int size) {
  if (bits == ALL_LANES<R>)
    for (int k = 0; k < size; k++) memcpy(to[k] + at, x + k, sizeof(x[k]));
  else
    for (; bits; bits &= bits - 1, at++)
      for (int k = 0; k < size; k++) to[k][at] = reinterpret_cast<const R *>(x + k)[first_of(bits)];
}
template <int ROOM, class R> INLINE void expand(Vector<R> *x, unsigned bits, const R (*from)[ROOM], int at, int size) {
  for (; bits; bits &= bits - 1, at++)
    for (int k = 0; k < size; k++) lane_of(x[k], first_of(bits)) = from[k][at];
}
#endif
// The larger and the smaller of x and a bound; NaN where x is NaN.
#ifdef COMBRED_X86
INLINE Floats at_least(Floats x, Floats b) { return (Floats)COMBRED_X86(max_ps)(b, x); }
INLINE Floats at_most(Floats x, Floats b) { return (Floats)COMBRED_X86(min_ps)(b, x); }
INLINE Doubles at_least(Doubles x, Doubles b) { return (Doubles)COMBRED_X86(max_pd)(b, x); }
INLINE Doubles at_most(Doubles x, Doubles b) { return (Doubles)COMBRED_X86(min_pd)(b, x); }
#else
INLINE Floats at_least(Floats x, Floats b) { return select(b > x, b, x); }
INLINE Floats at_most(Floats x, Floats b) { return select(b < x, b, x); }
INLINE Doubles at_least(Doubles x, Doubles b) { return select(b > x, b, x); }
INLINE Doubles at_most(Doubles x, Doubles b) { return select(b < x, b, x); }
#endif
#if COMBRED_BYTES > 0
INLINE Floats at_least(Floats x, double b) { return at_least(x, all_of<float>(b)); }
INLINE Floats at_most(Floats x, double b) { return at_most(x, all_of<float>(b)); }
INLINE Doubles at_least(Doubles x, double b) { return at_least(x, all_of<double>(b)); }
INLINE Doubles at_most(Doubles x, double b) { return at_most(x, all_of<double>(b)); }
INLINE Floats absolute(Floats x) { return (Floats)((Integers<float>)x & 0x7fffffff); }
INLINE Doubles absolute(Doubles x) { return (Doubles)((Integers<double>)x & 0x7fffffffffffffff); }
#else
INLINE float at_least(float x, double b) { return at_least(x, (float)b); }
INLINE float at_most(float x, double b) { return at_most(x, (float)b); }
INLINE float absolute(float x) { return at_least(x, -x); }
INLINE double absolute(double x) { return at_least(x, -x); }
#endif
#ifdef __CUDACC__
INLINE double infinity() { return __longlong_as_double(0x7ff0000000000000); }
INLINE double root_of(double x) { return sqrt(x); }
#else
INLINE double infinity() { return __builtin_inf(); }
INLINE double root_of(double x) { return __builtin_sqrt(x); }
#endif

// The sum of N terms term(k), in four parts that do not wait for each other.
template <int N, class Term> INLINE auto sum_of(Term term) {
  decltype(term(0)) a{}, b{}, c{}, d{};
  int k = 0;
  for (; k + 4 <= N; k += 4) {
    a = a + term(k);
    b = b + term(k + 1);
    c = c + term(k + 2);
    d = d + term(k + 3);
  }
  for (; k < N; k++) a = a + term(k);
  return decltype(term(0))((a + b) + (c + d));
}

// -- between the two precisions: a block of floats is two of doubles ------------------------------
template <class R> constexpr int HALVES = WIDTH<R> / WIDTH<double>;
#if COMBRED_BYTES == 0
template <class R> INLINE double load_half(const R *from, int) { return *from; }
INLINE double half_of(float x, int) { return x; }
INLINE void set_half(float &to, int, double x) { to = (float)x; }
INLINE void set_half(double &to, int, double x) { to = x; }
#else
typedef float HalfFloats __attribute__((vector_size(COMBRED_BYTES / 2)));
// WIDTH<double> numbers from `from` on, or after them.
template <class R> INLINE Doubles load_half(const R *from, int half) {
  typedef R Half __attribute__((vector_size(sizeof(R) * WIDTH<double>)));
  Half part;
  memcpy(&part, from + half * WIDTH<double>, sizeof(part));
  return __builtin_convertvector(part, Doubles);
}
INLINE Doubles half_of(const Floats &x, int half) {
  return load_half(reinterpret_cast<const float *>(&x), half);
}
INLINE void set_half(Floats &to, int half, Doubles x) {
  const HalfFloats part = __builtin_convertvector(x, HalfFloats);
  memcpy(reinterpret_cast<char *>(&to) + half * sizeof(part), &part, sizeof(part));
}
INLINE void set_half(Doubles &to, int, Doubles x) { to = x; }
#endif

}  // namespace solver
