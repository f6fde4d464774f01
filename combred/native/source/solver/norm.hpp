// The error of a step over the tolerance: the bounds of docs/solver.md.
#pragma once
#include "solver/block.hpp"

namespace solver {

// The error of a step is compared with tolerance times the change over the step plus these floors,
// which fall with the root of its share of dt: errors of many small steps add up.
constexpr double FLOOR_T = 1.0, FLOOR_Y = 1e-5;  // K; mass fraction
// And the error of each Y with tolerance times this multiple of it plus a floor: the changes of main
// species do not tell of intermediates that an ignition waits for.
constexpr double OF_SMALL = 100.0, FLOOR_SMALL = 1e-7;
// In floats, the same with smaller numbers for a species that grows by more than GROWING in a step in which
// no Y changes by QUIET_Y: radicals before an ignition. Where lambda h is near 1, a Rosenbrock step
// amplifies their growth too much, and the errors of some 20 steps, all of one sign, shift the delay.
constexpr double GROWING = 1.6, QUIET_Y = 1e-6, OF_GROWING = 5.0, FLOOR_GROWING = 3e-10;
constexpr double LOOSE = 16.0;  // times the tolerance: the share by which this bound is stricter
// A state takes f dt alone where that is below this part of each Y, or below LEAST_Y, and T changes
// by less than this part of a K. Relative to each Y: radicals that grow from nothing must do so
// exactly, or an ignition is late.
constexpr double FROZEN = 0.001, LEAST_Y = 1e-25;  // FROZEN: times the tolerance
// Added to the error of a step that is too long for a mode that grows: with a positive eigenvalue
// lambda of J and gamma h lambda > 1 a pivot is negative, and the step damps what grows.
constexpr double TOO_LONG = 1e4;
constexpr double NEGATIVE_Y = 10.0;  // weight of mass fractions below zero, as an error
template <class R> constexpr double ROUNDING = sizeof(R) == 4 ? 1e-8 : 1e-15;

// Sets the change over the step of `s.s`; its embedded error over the tolerance: the largest of the bounds of
// docs/solver.md; infinite where the change is not finite.
template <class R, class Method>
INLINE Vector<R> error_of(Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  Step<R, Method> &step = s.s;
  const V none{};
  V change_Y{}, error_Y{}, negative{}, sum{}, by_own{}, by_growing{};
  for (int k = 0; k < CHANGING<Method>; k++) {
    const int at = unknown<R>(k);
    const V change = with_stages<R, Method, OF_M, Method::STAGES>(none, step.K, at);
    const V own = absolute(V(with_stages<R, Method, OF_E, Method::STAGES>(none, step.K, at)));
    const V after = s.n[k] + change;
    step.change[at] = change;
    change_Y = at_least(V(absolute(change) * R(WEIGHT[k])), change_Y);
    error_Y = at_least(V(own * R(WEIGHT[k])), error_Y);
    V above = after;  // zero, but for what a sink takes: it may take more than there is
    if constexpr (Method::SOURCES) above = after - s.h * at_most(step.added.of[k], 0.0);
    negative = at_most(V(above * R(WEIGHT[k])), negative);
    sum = sum + change;
    const V size = at_least(s.n[k], after) * R(OF_SMALL) + R(FLOOR_SMALL / WEIGHT[k]);
    by_own = at_least(V(own * estimate(size)), by_own);
    if constexpr (sizeof(R) == 4) {
      const V of_growing = own * estimate(V(after * R(OF_GROWING) + R(FLOOR_GROWING / WEIGHT[k])));
      by_growing = at_least(select(after > s.n[k] * R(GROWING), of_growing, none), by_growing);
    }
  }
  constexpr int LAST = UNKNOWNS<R> - 1;
  const V change_T = with_stages<R, Method, OF_M, Method::STAGES>(none, step.K, LAST);
  const V error_T = absolute(V(with_stages<R, Method, OF_E, Method::STAGES>(none, step.K, LAST)));
  step.change[LAST] = change_T;
  if constexpr (Method::SOURCES)
    step.change[step.SIZE - 1] = with_stages<R, Method, OF_M, Method::STAGES>(none, step.K, step.SIZE - 1);
  const V part = s.h * reciprocal(s.dt);
  const V root = exp2(V(R(0.5) * log2(at_least(part, 1e-30))));
  const V scale_Y = R(tolerance) * (change_Y + R(FLOOR_Y) * root) + R(ROUNDING<R>);
  const V scale_T =
      R(tolerance) * (absolute(change_T) + R(FLOOR_T) * root) + R(ROUNDING<R>) * s.T;
  const V by_change = at_least(V(R(-NEGATIVE_Y) * negative), error_Y) * reciprocal(scale_Y);
  by_growing = by_growing * R(1.0 + LOOSE * tolerance);
  by_own = at_least(select(change_Y < all_of<R>(QUIET_Y), by_growing, none), by_own);
  V error = at_least(V(error_T * reciprocal(scale_T)), by_change);
  error = at_least(V(by_own * R(1 / tolerance)), error);
  const Mask<R> is_finite = absolute(V(sum + change_T)) < all_of<R>(infinity());
  error = select(is_finite, error, all_of<R>(infinity()));
  return select(step.pivot > V{}, error, V(error + R(TOO_LONG)));
}

// The states in which nothing happens over their whole dt: their change is f dt.
template <class R, class Method>
INLINE Mask<R> are_frozen(const Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  const R part = R(FROZEN * tolerance);
  V most{};
  for (int k = 0; k < CHANGING<Method>; k++)
    most = at_least(V(absolute(s.s.f0[unknown<R>(k)]) * s.h - part * s.n[k] - R(LEAST_Y / WEIGHT[k])), most);
  if constexpr (Method::SOURCES) {  // x that changes is no work there, and T does not tell of it
    const Kind kind = s.reactor.kind;
    const V x = kind.volume ? s.reactor.rho : s.reactor.p;
    if (kind.enthalpy || kind.isothermal) most = at_least(V(absolute(s.s.added.dx) - part * x), most);
  }
  return (most <= V{}) & (s.h >= s.dt) &
      (absolute(s.s.f0[UNKNOWNS<R> - 1]) * s.h < all_of<R>(part));
}

}  // namespace solver
