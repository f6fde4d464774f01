// Step size control.
//
// A step is ideal where its error is 1: h error^(-1 / q). The error is relative to the change over the
// step, so q is the order of the method less one. The next step is the ideal one times its growth
// since the accepted step before, times SAFETY, within limits: the predictive control of Gustafsson,
// ACM Trans. Math. Softw. 20 (1994), without its bound by the control that does not predict.
#pragma once
#include "solver/block.hpp"

namespace solver {

constexpr double SAFETY = 0.9, SMALLEST_FACTOR = 0.2, LARGEST_FACTOR = 5.0;
// After a rejection, with twice the exponent: where radicals grow from nothing, the error relative to
// the change hardly depends on h, until h is short enough.
constexpr double SMALLEST_AFTER_REJECTION = 0.1, LARGEST_AFTER_REJECTION = 0.7;
// The first step is dt where x = dt max |dY/dt| / (MUCH tolerance (Y + MUCH_Y)) is at most 1, else
// FIRST dt x^(-1/3).
constexpr double MUCH = 1000.0, MUCH_Y = 1e-5, FIRST = 0.2;
template <class R> constexpr double END = sizeof(R) == 4 ? 1e-6 : 1e-12;  // of dt, that may be left

// The first step of the states that have tried none, after `evaluate`.
template <class R, class Method>
INLINE void set_first_step(Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  const Mask<R> first = s.tried <= V{};
  if (!(bits_of(first) & s.busy)) return;
  V rise{};
  for (int k = 0; k < CHANGING<Method>; k++)
    rise = at_least(V(absolute(s.s.f0[unknown<R>(k)]) * estimate(V(s.n[k] + R(MUCH_Y / WEIGHT[k])))), rise);
  const V over = s.dt * rise * R(1 / (MUCH * tolerance));
  const V part = exp2(V(log2(at_least(over, 1.0)) * R(-1.0 / 3))) * R(FIRST);
  s.h = select(first & (over > all_of<R>(1.0)), V(s.dt * part), s.h);
}

// The next step over the one of each lane, whose error is `error`.
template <class R, class Method>
INLINE Vector<R> factor_of(Solver<R, Method> &s, Vector<R> error, Mask<R> good) {
  typedef Vector<R> V;
  const V logarithm = log2(at_least(at_most(error, 1e10), 1e-12));
  const V x = at_most(exp2(V(logarithm * R(-1.0 / (Method::ORDER - 1)))), LARGEST_FACTOR);
  const V ideal = s.h * x;
  const V growth = select(s.ideal > V{}, V(ideal * reciprocal(s.ideal)), all_of<R>(1.0));
  const V after = at_least(at_most(V(R(SAFETY) * x * growth), LARGEST_FACTOR), SMALLEST_FACTOR);
  V rejected = at_most(V(R(SAFETY) * x * x), LARGEST_AFTER_REJECTION);
  rejected = select(error < all_of<R>(1e10), rejected, V{});
  s.ideal = select(good, ideal, s.ideal);
  return select(good, after, at_least(rejected, SMALLEST_AFTER_REJECTION));
}

// The next step of what remains of dt: in equal steps of at most s.h, unless they are very many.
template <class R, class Method> INLINE Vector<R> next_step(const Solver<R, Method> &s, Vector<R> remaining) {
  typedef Vector<R> V;
  const V ratio = remaining * reciprocal(s.h), parts = rounded(V(at_most(ratio, 1e5) + R(0.499)));
  const V equal = select(ratio < all_of<R>(1e4), V(remaining * reciprocal(at_least(parts, 1.0))), s.h);
  return select(remaining <= s.h, at_least(remaining, V(s.dt * R(0.1 * END<R>))), equal);
}

}  // namespace solver
