// The closure of a prediction: elements, mass and enthalpy are kept. combred/surrogates/model/closure and
// combred/surrogates/model/element_projection, in mole numbers: with multipliers x over molar masses the
// systems are the same.
#pragma once
#include "network/functions.hpp"
#include "network/numbers.hpp"
#include "solver/closure.hpp"

namespace network {

// n [kmol/kg] of the species that react: raw_k exp(w_k sum_e a_ek x_e), a_ek the atoms of e in k, with
// the elements of `before`, w_k = (d_k / max d + WEIGHT_FLOOR) / W_k, d the change of Y. Returns the
// states for which this succeeds.
//
// At most NEWTON_STEPS steps of Newton's method, until the elements agree within 1e-6; one more step, linear,
// takes away the rest. A state that agrees does not change in between any more, so that its answer
// does not depend on its neighbours.
PART Mask<double> project(const Doubles *raw, const Doubles *before, Doubles *n) {
  Doubles a[ELEMENTS][ELEMENTS + 1], x[ELEMENTS], all_x[ELEMENTS], all_of_e[ELEMENTS];
  Doubles w[REACTIVE], slope[REACTIVE], lost[REACTIVE], share[REACTIVE];
  Doubles largest = all_of<double>(LEAST_CHANGE);
  Mask<double> near;
  for (int k = 0; k < REACTIVE; k++) {
    n[k] = raw[k];
    w[k] = absolute(Doubles(raw[k] - before[k])) * WEIGHT[k];
    largest = at_least(largest, w[k]);
  }
  const Doubles per = reciprocal(largest);
  for (int k = 0; k < REACTIVE; k++) w[k] = (w[k] * per + WEIGHT_FLOOR) * PER_WEIGHT[k];
  set_element_balance(before, before, a);
  for (int e = 0; e < ELEMENTS; e++) {
    all_of_e[e] = a[e][ELEMENTS];
    all_x[e] = Doubles{};
  }
  for (int pass = 0;; pass++) {
    for (int k = 0; k < REACTIVE; k++) {
      slope[k] = n[k] * w[k];
      lost[k] = before[k] - n[k];
    }
    set_element_balance(slope, lost, a);
    near = Doubles{} < all_of<double>(1.0);
    for (int e = 0; e < ELEMENTS; e++)
      near = near & (absolute(a[e][ELEMENTS]) <= 1e-6 * all_of_e[e] + 1e-10);
    solve_elements(a, x);
    if (!any(no(near)) || pass == NEWTON_STEPS) break;
    for (int e = 0; e < ELEMENTS; e++) all_x[e] = select(near, all_x[e], Doubles(all_x[e] + x[e]));
    set_shares(all_x, share);
    for (int k = 0; k < REACTIVE; k++) {
      const Doubles above = at_least(Doubles(w[k] * share[k]), -LARGEST_EXPONENT);
      const Doubles exponent = at_most(above, LARGEST_EXPONENT);
      n[k] = raw[k] * exp2(Doubles(exponent * solver::LOG2_E));
    }
  }
  set_shares(x, share);
  for (int k = 0; k < REACTIVE; k++) n[k] = at_least(Doubles(n[k] + n[k] * w[k] * share[k]), 0.0);
  return near;
}

// The state after `state` near the prediction T_raw, Y_raw, with its elements and enthalpy; returns
// whether there is one.
INLINE Mask<double> close(const State &state, Doubles T_raw, const Doubles *Y_raw, State &after) {
  Doubles mixtures[2][SPECIES], raw[REACTIVE], S[2] = {};
  Doubles *before = mixtures[0], *n = mixtures[1];
  for (int k = 0; k < SPECIES; k++) n[k] = before[k] = state.Y[k] * PER_WEIGHT[k];
  for (int k = 0; k < REACTIVE; k++) raw[k] = Y_raw[k] * PER_WEIGHT[k];
  const Mask<double> conserves = project(raw, before, n);
  const Doubles guess = at_most(at_least(T_raw, double(T_LEAST)), double(T_MOST));
  after.T = temperature(state.T, mixtures, S, guess);
  after.p = state.p;
  for (int k = 0; k < SPECIES; k++) after.Y[k] = state.Y[k];
  for (int k = 0; k < REACTIVE; k++)
    after.Y[k] = at_least(Doubles(state.Y[k] + (n[k] - before[k]) * WEIGHT[k]), 0.0);
  const Mask<double> inside = (after.T >= all_of<double>(T_LEAST)) & (after.T <= all_of<double>(T_MOST));
  return conserves & inside;
}

}  // namespace network
