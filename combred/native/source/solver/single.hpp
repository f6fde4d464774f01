// One state by itself: its numbers are floats, not vectors, so that the lanes of vectors are left for its
// reactions and for the rows of its matrix (across.hpp). All else is the code of states in lanes.
#pragma once
#include "solver/elementary.hpp"

#if COMBRED_BYTES > 0
namespace solver {

// Stands for the type of a number, as float and double do. Each level of a library has its own: a linker
// would keep one for all.
namespace {
struct Single {
  float x;
  constexpr explicit Single(double value) : x((float)value) {}
  constexpr operator float() const { return x; }
};
}  // namespace
template <> struct Lanes<Single> {
  typedef float V;
  typedef int32_t I;
  typedef bool B;
};
template <> constexpr int WIDTH<Single> = 1;

INLINE float &lane_of(float &x, int) { return x; }
INLINE bool no(bool x) { return !x; }
INLINE bool any(bool x) { return x; }
INLINE unsigned bits_of(bool x) { return x; }
INLINE float select(bool m, float x, float y) { return m ? x : y; }
INLINE float at_least(float x, float b) { return b > x ? b : x; }
INLINE float at_most(float x, float b) { return b < x ? b : x; }
INLINE float at_least(float x, double b) { return at_least(x, (float)b); }
INLINE float at_most(float x, double b) { return at_most(x, (float)b); }
INLINE float absolute(float x) { return __builtin_fabsf(x); }

// Functions of vectors, of one number.
#define COMBRED_OF_ONE(name) \
  INLINE float name(float x) { return name(all_of<float>(x))[0]; }
COMBRED_OF_ONE(rounded)
COMBRED_OF_ONE(reciprocal)
COMBRED_OF_ONE(estimate)
COMBRED_OF_ONE(exp2_below)
COMBRED_OF_ONE(exp2)
COMBRED_OF_ONE(log2)
#undef COMBRED_OF_ONE

}  // namespace solver
#endif
