// What a step has: its unknowns, and with sources (sources.hpp) what these add.
#pragma once
#include "solver/evaluate.hpp"
#include "solver/methods.hpp"

namespace solver {

constexpr int INERT = SPECIES - REACTIVE;

// Sources of a block: S_k / W_k; then Q over R less what the elements contribute, s, dx/dt in the units of
// `Reactor`, and of a wall U over R C0 and T_wall.
enum Source { ENERGY = SPECIES, RATE, DRIFT, TRANSFER, T_WALL, ALL_SOURCES };

// The sources of a block, the work so far, and of the beginning of a step what the matrix of the reactions lacks.
template <class R, bool ANY> struct Added {};
template <class R> struct Added<R, true> {
  typedef Vector<R> V;
  V of[ALL_SOURCES];
  V work;
  V power, net, per_T, per_S, per_x;  // P, P - q, 1 / T, 1 / sum n, 1 / x
  V dx;                          // h dx/dt, which `integrate` sets
  V per;                         // 1 / (1 / (gamma h) + s)
  V heat[INERT + 1], row[INERT + 1];  // of inert species: h_k, and the entry in the row of T
  V of_x[REACTIVE];              // d f / dx of the reactions
};

// Unknowns of a step, species whose changes count, and the place of the unknown of a species.
template <class R, class Method> constexpr int ALL_UNKNOWNS = UNKNOWNS<R> + (Method::SOURCES ? INERT + 1 : 0);
template <class Method> constexpr int CHANGING = Method::SOURCES ? SPECIES : REACTIVE;
template <class R> INLINE constexpr int unknown(int k) { return k < REACTIVE ? k : UNKNOWNS<R> + k - REACTIVE; }

template <class R, class Method> struct Step {
  typedef Vector<R> V;
  static constexpr int SIZE = ALL_UNKNOWNS<R, Method>;
  Work<R> w;
  V K[Method::STAGES][SIZE];
  V f0[SIZE], f[SIZE];         // of the beginning and of the last stage
  V heat[REACTIVE], next[SPECIES];
  V change[SIZE];              // over the step
  V pivot;                     // the least reciprocal of a pivot
  Added<R, Method::SOURCES> added;
};

}  // namespace solver
