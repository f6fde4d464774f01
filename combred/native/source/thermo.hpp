// Ideal-gas thermodynamics of a block, in double, from NASA-7 polynomials:
// combred/chemistry/thermo.
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
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
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

template <bool MIXED>
INLINE void species_heats(const Polynomials low, const Polynomials high, Double T, Double per_cp,
                          Float *heat) {
  for (int k = 0; k < SPECIES; k++) {
    const Mask above = T > T_MID[k];
    Double a[6];
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++)
      a[j] = MIXED ? select(above, all_of(high[k][j]), all_of(low[k][j])) : all_of(low[k][j]);
    heat[k] = to_float(enthalpy_of(a, T) * per_cp);
  }
}

// The fall of T for each unit of Y that is produced, h_k / cp [K].
PART void heats(Double T, const Double *Y, Float *heat) {
  Double a[6];
  mixture(T, Y, a);
  const Double per_cp = 1.0 / cp_of(a, T);
  if (all_above(T)) species_heats<false>(NASA_HIGH, NASA_HIGH, T, per_cp, heat);
  else if (all_below(T)) species_heats<false>(NASA_LOW, NASA_LOW, T, per_cp, heat);
  else species_heats<true>(NASA_LOW, NASA_HIGH, T, per_cp, heat);
}

// T of the mixture Y at the enthalpy h [J/kg], by four steps of Newton's method from a guess;
// `missing`: the error of its enthalpy, over |h| + cp T.
PART Double temperature(Double h, const Double *Y, Double guess, Double *missing) {
  Double T = bounded_temperature(guess), a[6];
  mixture(T, Y, a);
  bool above = all_above(T), below = all_below(T);
  for (int i = 0; i <= 4; i++) {
    // The polynomials stay the same unless a state may have passed a T_MID.
    if (!(above && all_above(T)) && !(below && all_below(T))) {
      mixture(T, Y, a);
      above = all_above(T);
      below = all_below(T);
    }
    const Double error = enthalpy_of(a, T) - h, cp = cp_of(a, T);
    if (i == 4) *missing = absolute(error) / (absolute(h) + cp * T);
    else T = bounded_temperature(T - error / cp);
  }
  return T;
}
