// The closure of a prediction: elements, mass and enthalpy are conserved. combred/surrogate/closure
// and combred/chemistry/element_projection.
#pragma once
#include "thermo.hpp"

// Each pass of a loop over elements or species has constant indices once it is unrolled, and the
// products with zeros of ELEMENT vanish.
#define FOR_ELEMENTS(e) UNROLL for (int e = 0; e < ELEMENTS; e++)

// x of (sum_k E_ek slope_k E_fk) x_f = residual_e, scaled to a unit diagonal; by Gaussian
// elimination. A pivot below 1e-15, of an element that is absent, gives x = 0.
INLINE void solve(const Double (*jacobian)[ELEMENTS], const Double *residual, Double *x) {
  Double A[ELEMENTS][ELEMENTS + 1], scale[ELEMENTS];
  // Any factor serves that makes the diagonal nearly 1.
  FOR_ELEMENTS(e) scale[e] = to_double(reciprocal_root(to_float(jacobian[e][e]) + 1e-36f));
  FOR_ELEMENTS(e) {
    FOR_ELEMENTS(f) A[e][f] = jacobian[e < f ? e : f][e < f ? f : e] * scale[e] * scale[f];
    A[e][ELEMENTS] = residual[e] * scale[e];
  }
  FOR_ELEMENTS(i) {
    const Double pivot = A[i][i], one = all_of(1.0);
    const Mask regular = pivot > 1e-15;
    const Double inverse = select(regular, reciprocal(select(regular, pivot, one)), all_of(0.0));
    for (int c = i; c <= ELEMENTS; c++) A[i][c] = A[i][c] * inverse;
    FOR_ELEMENTS(j) {
      if (j == i) continue;
      const Double factor = A[j][i];
      for (int c = i; c <= ELEMENTS; c++) A[j][c] = A[j][c] - factor * A[i][c];
    }
  }
  FOR_ELEMENTS(e) x[e] = scale[e] * A[e][ELEMENTS];
}

// residual_e = mass_e - sum_k E_ek Y_k, and the Jacobian (upper half) of its fall with multipliers.
INLINE void element_balance(const Double *weight, const Double *Y_next, const Double *mass,
                            Double *residual, Double (*jacobian)[ELEMENTS]) {
  FOR_ELEMENTS(e) {
    residual[e] = mass[e];
    FOR_ELEMENTS(f) jacobian[e][f] = all_of(0.0);
  }
  for (int i = 0; i < REACTIVE; i++) {
    const int k = REACTIVE_SPECIES[i];
    const Double slope = Y_next[k] * weight[i];
    FOR_ELEMENTS(e) {
      if (ELEMENT[i][e] == 0.0) continue;
      residual[e] = residual[e] - ELEMENT[i][e] * Y_next[k];
      for (int f = e; f < ELEMENTS; f++)
        if (ELEMENT[i][f] != 0.0)
          jacobian[e][f] = jacobian[e][f] + ELEMENT[i][e] * ELEMENT[i][f] * slope;
    }
  }
}

// sum_e E_ek x_e of the reactive species i.
INLINE Double along(int i, const Double *x) {
  Double sum = all_of(0.0);
  FOR_ELEMENTS(e) if (ELEMENT[i][e] != 0.0) sum = sum + ELEMENT[i][e] * x[e];
  return sum;
}

// Y_next: `raw` projected onto the element masses of Y; inert species of Y. Returns the states
// for which this succeeds; Y_next is Y of the others.
//
// At most six steps of Newton's method, with exponentials in float, until the masses agree within
// 1e-6 of themselves; one more step, linear and in double, takes away the rest. A state that agrees
// does not change in between any more, so that its answer does not depend on its neighbours.
PART Mask project(const Double *raw, const Double *Y, Double *Y_next) {
  Double mass[ELEMENTS], multiplier[ELEMENTS], residual[ELEMENTS], step[ELEMENTS];
  Double jacobian[ELEMENTS][ELEMENTS], weight[REACTIVE], largest = all_of(1e-30);
  Mask near;
  FOR_ELEMENTS(e) mass[e] = multiplier[e] = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) Y_next[k] = Y[k];
  for (int i = 0; i < REACTIVE; i++) {
    const int k = REACTIVE_SPECIES[i];
    Y_next[k] = raw[k];
    weight[i] = absolute(raw[k] - Y[k]);
    largest = at_least(largest, weight[i]);
    FOR_ELEMENTS(e) if (ELEMENT[i][e] != 0.0) mass[e] = mass[e] + ELEMENT[i][e] * Y[k];
  }
  const Double share = reciprocal(largest);
  for (int i = 0; i < REACTIVE; i++) weight[i] = weight[i] * share + 1e-4;
  for (int iteration = 0; iteration <= 6; iteration++) {
    element_balance(weight, Y_next, mass, residual, jacobian);
    near = all_of(0.0) < 1.0;
    FOR_ELEMENTS(e) near = near & (absolute(residual[e]) <= 1e-6 * mass[e] + 1e-9);
    solve(jacobian, residual, step);
    if (all(near) || iteration == 6) break;
    FOR_ELEMENTS(e) multiplier[e] = select(near, multiplier[e], multiplier[e] + step[e]);
    for (int i = 0; i < REACTIVE; i++) {
      const int k = REACTIVE_SPECIES[i];
      const Float exponent = to_float(weight[i] * along(i, multiplier));
      const Float clipped = at_most(at_least(exponent, -3.0f), 3.0f);
      Y_next[k] = raw[k] + raw[k] * to_double(exp2_minus_1(clipped * (float)LOG2_E));
    }
  }
  for (int i = 0; i < REACTIVE; i++) {
    const int k = REACTIVE_SPECIES[i];
    const Double more = Y_next[k] * (weight[i] * along(i, step));
    Y_next[k] = at_least(Y_next[k] + more, 0.0);
  }
  for (int k = 0; k < SPECIES; k++) Y_next[k] = select(near, Y_next[k], Y[k]);
  return near;
}

// T_next and Y_next that conserve elements and enthalpy of T, Y, near the prediction; returns
// whether they do.
INLINE Mask close(Double T, const Double *Y, Double T_raw, const Double *raw, Double &T_next,
                  Double *Y_next) {
  const Mask conserves = project(raw, Y, Y_next);
  Double a[6], missing;
  mixture(T, Y, a);
  T_next = temperature(enthalpy_of(a, T), Y_next, T_raw, &missing);
  return conserves & (missing <= 1e-9);
}
