// The closure of a prediction: elements, mass and enthalpy are conserved. combred/surrogate/closure
// and combred/chemistry/element_projection.
#pragma once
#include "thermo.hpp"

// Each pass of a loop over elements or species has constant indices once it is unrolled, and the
// products with zeros of ELEMENT vanish.
#define FOR_ELEMENTS(e) _Pragma("GCC unroll 16") for (int e = 0; e < ELEMENTS; e++)

// x of (sum_k E_ek slope_k E_fk) x_f = residual_e, scaled to a unit diagonal; by Gaussian
// elimination. A pivot below 1e-15, of an element that is absent, gives x = 0.
INLINE void solve(const Double (*jacobian)[ELEMENTS], const Double *residual, Double *x) {
  Double A[ELEMENTS][ELEMENTS + 1], scale[ELEMENTS];
  FOR_ELEMENTS(e) scale[e] = reciprocal_root(jacobian[e][e] + 1e-60);
  FOR_ELEMENTS(e) {
    FOR_ELEMENTS(f) A[e][f] = jacobian[e < f ? e : f][e < f ? f : e] * scale[e] * scale[f];
    A[e][ELEMENTS] = residual[e] * scale[e];
  }
  FOR_ELEMENTS(i) {
    const Double pivot = A[i][i], one = all_of(1.0);
    const Mask regular = pivot > 1e-15;
    const Double inverse = select(regular, one / select(regular, pivot, one), all_of(0.0));
    for (int c = i; c <= ELEMENTS; c++) A[i][c] = A[i][c] * inverse;
    FOR_ELEMENTS(j) {
      if (j == i) continue;
      const Double factor = A[j][i];
      for (int c = i; c <= ELEMENTS; c++) A[j][c] = A[j][c] - factor * A[i][c];
    }
  }
  FOR_ELEMENTS(e) x[e] = scale[e] * A[e][ELEMENTS];
}

// Y_next: `raw` projected onto the element masses of Y; inert species of Y. Returns the states
// whose masses agree within 1e-9; Y_next is Y of the others. A state that has converged does not
// change any more, so that its answer does not depend on its neighbours.
PART Mask project(const Double *raw, const Double *Y, Double *Y_next) {
  Double mass[ELEMENTS], multiplier[ELEMENTS], exponent[REACTIVE];
  FOR_ELEMENTS(e) mass[e] = multiplier[e] = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) Y_next[k] = Y[k];
  for (int i = 0; i < REACTIVE; i++) {
    const int k = REACTIVE_SPECIES[i];
    exponent[i] = all_of(0.0);
    Y_next[k] = raw[k];
    FOR_ELEMENTS(e) if (ELEMENT[i][e] != 0.0) mass[e] = mass[e] + ELEMENT[i][e] * Y[k];
  }
  Mask converged = all_of(1.0) < 0.0;
  for (int iteration = 0; iteration < 6; iteration++) {
    Double residual[ELEMENTS], jacobian[ELEMENTS][ELEMENTS], step[ELEMENTS];
    FOR_ELEMENTS(e) {
      residual[e] = mass[e];
      FOR_ELEMENTS(f) jacobian[e][f] = all_of(0.0);
    }
    for (int i = 0; i < REACTIVE; i++) {
      const int k = REACTIVE_SPECIES[i];
      const Double slope = Y_next[k] * (raw[k] + 1e-8);
      FOR_ELEMENTS(e) {
        if (ELEMENT[i][e] == 0.0) continue;
        residual[e] = residual[e] - ELEMENT[i][e] * Y_next[k];
        for (int f = e; f < ELEMENTS; f++)
          if (ELEMENT[i][f] != 0.0)
            jacobian[e][f] = jacobian[e][f] + ELEMENT[i][e] * ELEMENT[i][f] * slope;
      }
    }
    solve(jacobian, residual, step);
    FOR_ELEMENTS(e) multiplier[e] = select(converged, multiplier[e], multiplier[e] + step[e]);
    Double largest = all_of(0.0);
    for (int i = 0; i < REACTIVE; i++) {
      const int k = REACTIVE_SPECIES[i];
      Double along = all_of(0.0);
      FOR_ELEMENTS(e) if (ELEMENT[i][e] != 0.0) along = along + ELEMENT[i][e] * multiplier[e];
      const Double before = exponent[i];
      exponent[i] = (raw[k] + 1e-8) * along;
      largest = at_least(absolute(exponent[i] - before), largest);
      const Double clipped = at_most(at_least(exponent[i], -3.0), 3.0);
      Y_next[k] = raw[k] * exp2(clipped * LOG2_E);
    }
    converged = converged | (largest < 1e-9);
    if (all(converged)) break;
  }
  Double off[ELEMENTS];
  FOR_ELEMENTS(e) off[e] = all_of(0.0);
  for (int i = 0; i < REACTIVE; i++) {
    const int k = REACTIVE_SPECIES[i];
    FOR_ELEMENTS(e)
      if (ELEMENT[i][e] != 0.0) off[e] = off[e] + ELEMENT[i][e] * (Y_next[k] - Y[k]);
  }
  Mask conserves = all_of(0.0) < 1.0;
  FOR_ELEMENTS(e) conserves = conserves & (absolute(off[e]) < 1e-9);
  for (int k = 0; k < SPECIES; k++) Y_next[k] = select(conserves, Y_next[k], Y[k]);
  return conserves;
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
