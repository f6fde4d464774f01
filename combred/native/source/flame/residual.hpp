// The equations of a flame, as finite volumes of Cantera's Flow1D: convection upwind, fluxes at the middles of intervals.
//
//     dT/dt   = w_T - v [M (T_j - T_{j-1}) / dl] + v / cp [zeta (q_{j-1} - q_j) - sum_k phi_k (h_k,j - h_k,j-1) / dl]
//     dY_k/dt = w_k - v [M (Y_k,j - Y_k,j-1) / dl + zeta (J_k,j - J_k,j-1)]
//
// with v = 1 / rho, dl and dr the lengths of the intervals on both sides, zeta = 2 / (dl + dr), q = -lambda dT/dz, phi the
// mean flux of both sides, and with the correction that makes the fluxes of an interval sum to zero,
//
//     J_k = D_k (X_k,i - X_k,i+1) / dz + Y_k,i s        s = -sum_k D_k (X_k,i - X_k,i+1) / dz
//
// (unity Lewis: Y in place of X). At the inlet T is known and M Y_k(inlet) = M Y_k + J_k; at the outlet nothing changes;
// at both the most abundant species follows from the sum of all. The row of M: T of the fixed point is fixed_T.
#pragma once
#include "flame/chemistry.hpp"
#include "flame/transport.hpp"

namespace flame {

// The lengths of the intervals beside an inner point.
struct Spacing {
  double left, right, zeta;
};
inline Spacing spacing(const Flame &f, int j) {
  const double *z = f.problem.grid + j;
  return {z[0] - z[-1], z[1] - z[0], 2.0 / (z[1] - z[-1])};
}

inline int most_abundant(const double *Y) {
  int abundant = 0;
  for (int k = 1; k < SPECIES; k++)
    if (Y[k] > Y[abundant]) abundant = k;
  return abundant;
}

// What fluxes are driven by, at point j: X, or Y itself.
inline const double *driving(const Flame &f, const double *x, int j) {
  return f.problem.transport == UNITY_LEWIS ? x + size_t(j) * SIZE + 1 : f.X + size_t(j) * SPECIES;
}

inline void set_fluxes(Flame &f, const double *x) {
  for (int i = 0; i < f.N - 1; i++) {
    const double per_dz = 1.0 / (f.problem.grid[i + 1] - f.problem.grid[i]);
    const double *a = driving(f, x, i), *b = driving(f, x, i + 1), *Y = x + size_t(i) * SIZE + 1;
    const double *D = f.diffusion + size_t(i) * SPECIES;
    double *J = f.flux + size_t(i) * SPECIES, sum = 0.0;
    for (int k = 0; k < SPECIES; k++) J[k] = D[k] * (a[k] - b[k]) * per_dz;
    for (int k = 0; k < SPECIES; k++) sum -= J[k];
    for (int k = 0; k < SPECIES; k++) J[k] += sum * Y[k];
    f.correction[i] = sum;
  }
}

// Heat of conduction and of diffusion at an inner point [W/m3].
inline double heating(const Flame &f, const double *x, int j) {
  const Spacing s = spacing(f, j);
  const double *T = x + size_t(j) * SIZE, *h = f.h + size_t(j) * SPECIES;
  const double *Jl = f.flux + size_t(j - 1) * SPECIES, *Jr = Jl + SPECIES;
  double heat = 0.0;
  for (int k = 0; k < SPECIES; k++) heat += 0.5 * (Jl[k] + Jr[k]) * (h[k] - h[k - SPECIES]);
  const double right = f.conductivity[j] * (T[SIZE] - T[0]) / s.right;
  const double left = f.conductivity[j - 1] * (T[0] - T[-SIZE]) / s.left;
  return T_SCALE * s.zeta * (right - left) - heat / s.left;
}

// The residual F (unknowns,) of x, from the properties that are set; rows of T over T_SCALE.
inline void set_residual(const Flame &f, const double *x, double *F) {
  const int N = f.N, last = N - 1;
  const double M = x[f.unknowns() - 1], *Y = x + 1, *inlet = f.problem.inlet_Y;
  F[0] = x[0] - f.problem.inlet_T / T_SCALE;
  double sum = 0.0;
  for (int k = 0; k < SPECIES; k++) F[1 + k] = M * (inlet[k] - Y[k]) - f.flux[k], sum += Y[k];
  F[1 + most_abundant(Y)] = 1.0 - sum;
  for (int j = 1; j < last; j++) {
    const Spacing s = spacing(f, j);
    const double *a = x + size_t(j) * SIZE, *rates = f.rates + size_t(j) * SIZE, v = 1.0 / f.rho[j];
    const double *Jl = f.flux + size_t(j - 1) * SPECIES, *Jr = Jl + SPECIES;
    double *row = F + size_t(j) * SIZE;
    const double inflow = M / s.left;
    row[0] = rates[0] / T_SCALE + v * (heating(f, x, j) / (f.cp[j] * T_SCALE) - inflow * (a[0] - a[-SIZE]));
    for (int k = 0; k < SPECIES; k++)
      row[1 + k] = rates[1 + k] - v * (inflow * (a[1 + k] - a[1 + k - SIZE]) + s.zeta * (Jr[k] - Jl[k]));
  }
  const double *a = x + size_t(last) * SIZE;
  double *row = F + size_t(last) * SIZE;
  for (int i = 0; i < SIZE; i++) row[i] = a[i] - a[i - SIZE];
  sum = 0.0;
  for (int k = 0; k < SPECIES; k++) sum += a[1 + k];
  row[1 + most_abundant(a + 1)] = 1.0 - sum;
  F[f.unknowns() - 1] = x[size_t(f.problem.fixed_point) * SIZE] - f.problem.fixed_T / T_SCALE;
}

// The residual of x with all properties; frozen: with the transport that is set.
inline void evaluate(Flame &f, const double *x, double *F, bool frozen = false) {
  set_chemistry<false>(f, x);
  if (!frozen) set_transport(f, x);
  set_fluxes(f, x);
  set_residual(f, x, F);
}

}  // namespace flame
