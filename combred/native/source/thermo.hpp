// Ideal-gas thermodynamics of a block from NASA-7 polynomials: combred/chemistry/thermo.
//
// Each species has two polynomials, below and above T_MID. Where all states of a block lie on one
// side, one of them is evaluated; else both.
#pragma once
#include "functions.hpp"

// Coefficients of h = a6 + T (a1 + T (a2 / 2 + T (a3 / 3 + T (a4 / 4 + T a5 / 5)))), in J/kg.
typedef double Polynomials[SPECIES][6];

// Whether all T lie above, or all below, every T_MID.
INLINE bool all_above(Double T) { return all(T > HIGHEST_T_MID); }
INLINE bool all_below(Double T) { return !any(T > LOWEST_T_MID); }

INLINE Double bounded_temperature(Double T) { return at_most(at_least(T, T_LEAST), T_MOST); }

INLINE Double enthalpy_of(const Double *a, Double T) {
  const Double q = T * (a[3] * 0.25 + T * (a[4] * 0.2));
  return a[5] + T * (a[0] + T * (a[1] * 0.5 + T * (a[2] * (1.0 / 3.0) + q)));
}
INLINE Double cp_of(const Double *a, Double T) {
  return a[0] + T * (a[1] + T * (a[2] + T * (a[3] + T * a[4])));
}

// The coefficients a (6) of a mixture; `low` and `high` are the same table unless MIXED.
template <bool MIXED>
INLINE void sum_coefficients(const Polynomials low, const Polynomials high, Double T,
                             const Double *Y, Double *a) {
  for (int j = 0; j < 6; j++) a[j] = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) {
    const Mask above = T > T_MID[k];
    UNROLL for (int j = 0; j < 6; j++) {
      if (MIXED) a[j] = a[j] + Y[k] * select(above, all_of(high[k][j]), all_of(low[k][j]));
      else a[j] = a[j] + Y[k] * low[k][j];
    }
  }
}

// The coefficients a (6) of the mixture Y at T.
PART void mixture(Double T, const Double *Y, Double *a) {
  if (all_above(T)) sum_coefficients<false>(NASA_HIGH, NASA_HIGH, T, Y, a);
  else if (all_below(T)) sum_coefficients<false>(NASA_LOW, NASA_LOW, T, Y, a);
  else sum_coefficients<true>(NASA_LOW, NASA_HIGH, T, Y, a);
}

// The N coefficients a of one species, of the polynomial above or below its T_MID; `low` and `high`
// are the same unless MIXED.
template <bool MIXED, int N>
INLINE void choose(Int above, const float *low, const float *high, Float *a) {
  UNROLL for (int j = 0; j < N; j++)
    a[j] = MIXED ? select(above, all_of(high[j]), all_of(low[j])) : all_of(low[j]);
}

template <bool MIXED>
INLINE void species_heats(const float (*low)[6], const float (*high)[6], Double at, const Float *Y,
                          Float *heat) {
  const Float T = to_float(at);
  Float cp[5] = {};
  for (int k = 0; k < SPECIES; k++) {
    Float a[6];
    choose<MIXED, 6>(T > all_of((float)T_MID[k]), low[k], high[k], a);
    const Float q = T * (a[3] * 0.25f + T * (a[4] * 0.2f));
    heat[k] = a[5] + T * (a[0] + T * (a[1] * 0.5f + T * (a[2] * (1 / 3.0f) + q)));
    UNROLL for (int j = 0; j < 5; j++) cp[j] = cp[j] + Y[k] * a[j];
  }
  const Float per_cp =
      reciprocal(cp[0] + T * (cp[1] + T * (cp[2] + T * (cp[3] + T * cp[4]))));
  for (int k = 0; k < SPECIES; k++) heat[k] = heat[k] * per_cp;
}

// The fall of T for each unit of Y that is produced, h_k / cp [K].
PART void heats(Double T, const Float *Y, Float *heat) {
  if (all_above(T)) species_heats<false>(HEAT_HIGH, HEAT_HIGH, T, Y, heat);
  else if (all_below(T)) species_heats<false>(HEAT_LOW, HEAT_LOW, T, Y, heat);
  else species_heats<true>(HEAT_LOW, HEAT_HIGH, T, Y, heat);
}

// T of the mixture Y at the enthalpy h [J/kg], by at most four steps of Newton's method from a
// guess; `missing`: the error of its enthalpy, over |h| + cp T. A state that has converged does not
// change any more, so that its answer does not depend on its neighbours.
PART Double temperature(Double h, const Double *Y, Double guess, Double *missing) {
  Double T = bounded_temperature(guess), a[6];
  mixture(T, Y, a);
  bool above = all_above(T), below = all_below(T);
  Mask converged = all_of(1.0) < 0.0;
  for (int i = 0; i <= 4; i++) {
    // The polynomials stay the same unless a state may have passed a T_MID.
    if (!(above && all_above(T)) && !(below && all_below(T))) {
      mixture(T, Y, a);
      above = all_above(T);
      below = all_below(T);
    }
    const Double error = enthalpy_of(a, T) - h, cp = cp_of(a, T), size = absolute(h) + cp * T;
    *missing = absolute(error) * reciprocal(size);
    converged = converged | (*missing < 1e-12);
    if (i == 4 || all(converged)) break;
    T = select(converged, T, bounded_temperature(T - error * reciprocal(cp)));
  }
  return T;
}
