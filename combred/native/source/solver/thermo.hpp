// The gas of a block as reactions see it, and its thermodynamics, from NASA polynomials (of 7 or 9
// coefficients). Species are in the order of elimination: those that react, then the inert ones.
//
// Units: concentrations over C0 = 2^-20 kmol/m3, T / 1024 in its logarithm: typical values, so that
// logarithms are small. Energies are over the gas constant, in K. The contributions of the
// elements, which cancel in every reaction, are subtracted from Gibbs energies and enthalpies, so that
// their rounding in float is small.
#pragma once
#include "solver/multipliers.hpp"
#include "solver/single.hpp"

namespace solver {

// What a reactor keeps. volume: not the pressure; enthalpy: then not the internal energy; isothermal: T is given, and
// there is no balance of energy.
struct Kind {
  bool volume, enthalpy, isothermal;
};

template <class R> struct Gas {
  typedef Vector<R> V;
  V T, per_T, log2_T;
  V p;                 // over R C0, K: C = p / T
  V C, rho, per_rho;   // sum of c; density over C0, kg/m3
  V c[SPECIES];        // concentrations
  V M[COLLIDERS], log2_M[COLLIDERS], per_M[COLLIDERS];
  V hat[PRESSURES], hat_slope[PRESSURES];  // weights of the pressures of tables, and d / d log2 p
  V gibbs[SPECIES];    // log2 of exp(g / RT) / (p0 / RT C0)
  V h[SPECIES], cp[SPECIES];      // at constant volume: u and cv
  V u[SPECIES], slope[SPECIES];   // h / RT - 1; d cp / dT
  V fixed_C;           // C at constant pressure, 0 at constant volume
  V at_constant_p;     // 1 at constant pressure, 0 at constant volume
  // Of the beginning of a step, for `set_thermo_near`, and what has changed since: log2 T, log2 M.
  V T_0, per_T_0, log2_T_0, gibbs_0[SPECIES], h_0[SPECIES], cp_0[SPECIES];
  V moved_T, moved_M[COLLIDERS];
#ifdef COMBRED_MULTIPLIERS
  const R *factors;  // of the rate constants
#endif
};

// Whether an evaluation is that of a stage in floats, near the beginning of the step.
template <class R, bool D> constexpr bool STAGE = !D && !Matrix<R>::EXACT;

constexpr double LEAST = 1e-37;  // the smallest argument of a logarithm

// The coefficients of species k: of `region`, or where MIXED those of the region of T in each lane.
template <class R, bool MIXED, int N>
INLINE void choose(const R (*table)[SPECIES][N], int region, int k, Vector<R> T, Vector<R> *a) {
  for (int j = 0; j < N; j++) a[j] = all_of<R>(table[MIXED ? 0 : region][k][j]);
  for (int r = 1; MIXED && r < REGIONS; r++) {
    const Mask<R> above = T > all_of<R>(BREAK<R>[r - 1][k]);
    for (int j = 0; j < N; j++) a[j] = select(above, all_of<R>(table[r][k][j]), a[j]);
  }
}

// h / R and cp / R of a species with the coefficients a of HEAT, and d cp / dT.
template <class R> INLINE Vector<R> enthalpy_of(const Vector<R> *a, const Gas<R> &g) {
  const Vector<R> T = g.T;
  Vector<R> h = a[5] + T * (a[0] + T * (a[1] + T * (a[2] + T * (a[3] + T * a[4]))));
  if constexpr (NINE) h = h - a[6] * g.per_T + a[7] * g.log2_T;
  return h;
}
// Horner's scheme with its derivatives. Every sum here has a single product, so that a compiler fuses
// the same one wherever it is inlined: a state's answer does not depend on which code its block takes.
template <class R> INLINE Vector<R> cp_of(const Vector<R> *a, const Gas<R> &g) {
  typedef Vector<R> V;
  const V T = g.T, q3 = a[3] + T * a[4], q2 = a[2] + T * q3, q1 = a[1] + T * q2, q0 = a[0] + T * q1;
  const V r2 = q3 + T * a[4], r1 = q2 + T * r2, r0 = q1 + T * r1;
  V cp = q0 + T * r0;
  if constexpr (NINE) {
    const V square = g.per_T * g.per_T, first = g.per_T * R(LOG2_E);
    cp = cp + square * a[6];
    cp = cp + first * a[7];
  }
  return cp;
}
template <class R> INLINE Vector<R> slope_of(const Vector<R> *a, const Gas<R> &g) {
  typedef Vector<R> V;
  const V T = g.T, q3 = a[3] + T * a[4], q2 = a[2] + T * q3, q1 = a[1] + T * q2;
  const V r2 = q3 + T * a[4], r1 = q2 + T * r2, r0 = q1 + T * r1;
  const V s1 = r2 + T * a[4], s0 = r1 + T * s1;
  V slope = R(2) * V(r0 + T * s0);
  if constexpr (NINE) {
    const V square = g.per_T * g.per_T, cube = R(2) * g.per_T * square, first = square * R(LOG2_E);
    slope = slope - cube * a[6];
    slope = slope - first * a[7];
  }
  return slope;
}

template <class R, bool MIXED, bool D> PART void set_thermo(Gas<R> &g, int region) {
  typedef Vector<R> V;
  const V T = g.T;
  for (int k = 0; k < SPECIES; k++) {
    V a[GIBBS_TERMS], b[HEAT_TERMS];
    choose<R, MIXED>(GIBBS<R>, region, k, T, a);
    V gibbs = a[0] + T * (a[1] + T * (a[2] + T * (a[3] + T * a[4]))) + g.log2_T * a[5] + g.per_T * a[6];
    if constexpr (NINE) {
      const V square = g.per_T * g.per_T, first = g.per_T * g.log2_T;
      gibbs = gibbs + square * a[7];
      gibbs = gibbs + first * a[8];
    }
    g.gibbs[k] = gibbs;
    choose<R, MIXED>(HEAT<R>, region, k, T, b);
    g.h[k] = enthalpy_of<R>(b, g);
    g.cp[k] = cp_of<R>(b, g);
    if (D) {
      g.u[k] = g.h[k] * g.per_T - R(1);
      g.slope[k] = slope_of<R>(b, g);
      g.gibbs_0[k] = gibbs;
      g.h_0[k] = g.h[k];
      g.cp_0[k] = g.cp[k];
    }
  }
}

// The region in which T of all lanes lies for all species, or -1.
template <class R> INLINE int region_of(Vector<R> T) {
  for (int r = 0; r < REGIONS; r++) {
    const bool above = r == 0 || !any(T <= all_of<R>(HIGHEST_BREAK[r - 1]));
    const bool below = r == REGIONS - 1 || !any(T > all_of<R>(LOWEST_BREAK[r]));
    if (above && below) return r;
  }
  return -1;
}

// Sets what depends on T alone; D: also what derivatives need.
template <class R, bool D> INLINE void set_thermo(Gas<R> &g) {
  const int region = region_of<R>(g.T);
  if (region < 0) set_thermo<R, true, D>(g, 0);
  else set_thermo<R, false, D>(g, region);
}

// The same at a stage's T, by Taylor's series about the T of the last `set_thermo<R, true>`: cp to first
// order, h and g / RT from its integrals,
//     g / RT - (g / RT)_0 = -int_T0^T h / (R s^2) ds,
// and the T of p0 / RT.
template <class R> PART void set_thermo_near(Gas<R> &g) {
  typedef Vector<R> V;
  const V d = g.T - g.T_0, w = d * g.per_T, half = R(0.5) * d;
  g.moved_T = g.log2_T - g.log2_T_0;
  const V of_h = w * g.per_T_0 * R(LOG2_E), of_cp = g.moved_T - w * R(LOG2_E);
  const V of_slope = d * w * w * R(LOG2_E / 6);
  for (int k = 0; k < SPECIES; k++) {
    const V h = g.h_0[k], cp = g.cp_0[k], slope = g.slope[k];
    g.h[k] = h + d * (cp + half * slope);
    g.cp[k] = cp + d * slope;
    // The small terms first: what is left is one rounding.
    g.gibbs[k] = g.gibbs_0[k] + (g.moved_T - h * of_h - cp * of_cp - slope * of_slope);
  }
}

}  // namespace solver
