// The Jacobian: blocks of the points, of their neighbours as diagonal matrices plus matrices of rank 4, and the column
// of M. Complete but for the derivatives of transport coefficients by composition (composition.hpp, krylov.hpp).
#pragma once
#include "flame/residual.hpp"

namespace flame {

// d J / d Y of an interval at one of its ends, diag(d) + u[0] w[0]^T + u[1] w[1]^T; places are those of a row of a
// block, of which the first is T's.
struct FluxSlope {
  alignas(64) double d[PADDED], u[2][PADDED], w[2][PADDED];
};
enum Side { LEFT_END = 0, RIGHT_END = 1 };

inline void set_flux_slope(const Flame &f, const double *x, int i, Side side, FluxSlope &target) {
  const int j = i + side;
  const bool by_mass = f.problem.transport == UNITY_LEWIS;
  const double per_dz = (side ? -1.0 : 1.0) / (f.problem.grid[i + 1] - f.problem.grid[i]);
  const double *D = f.diffusion + size_t(i) * SPECIES, *X = f.X + size_t(j) * SPECIES;
  const double *Y = x + size_t(i) * SIZE + 1, corrected = side ? 0.0 : f.correction[i];
  double mean = 0.0;
  for (int k = 0; k < SPECIES && !by_mass; k++) mean += D[k] * X[k];
  for (int k = 0; k < SPECIES; k++) {
    const double f_k = by_mass ? 1.0 : f.mean_weight[j] * solver::PER_WEIGHT[k];  // X_k = f_k Y_k
    target.d[1 + k] = D[k] * per_dz * f_k + corrected;
    target.u[0][1 + k] = by_mass ? 0.0 : -D[k] * per_dz * X[k], target.w[0][1 + k] = f_k;
    target.u[1][1 + k] = -Y[k], target.w[1][1 + k] = f_k * (D[k] - mean) * per_dz;
  }
}

// d J / dT of an interval at either end, which changes its transport, into row places of `to` [per T_SCALE].
inline void set_flux_slope_T(const Flame &f, const double *x, int i, double *target) {
  const double half_per_dz = 0.5 * T_SCALE / (f.problem.grid[i + 1] - f.problem.grid[i]);
  const double *a = driving(f, x, i), *b = driving(f, x, i + 1), *Y = x + size_t(i) * SIZE + 1;
  const double *slope = f.diffusion_slope + size_t(i) * SPECIES;
  double sum = 0.0;
  for (int k = 0; k < SPECIES; k++) target[1 + k] = slope[k] * (a[k] - b[k]) * half_per_dz;
  for (int k = 0; k < SPECIES; k++) sum -= target[1 + k];
  for (int k = 0; k < SPECIES; k++) target[1 + k] += sum * Y[k];
}

struct Slopes {  // of the fluxes of both intervals at a point
  FluxSlope left_far, left_near, right_near, right_far;
  alignas(64) double T[2][PADDED], e[PADDED];  // d J / dT; d h / dz of each species
};

inline double dot(const double *a, const double *b) {
  double sum = 0.0;
  for (int i = 0; i < PADDED; i++) sum += a[i] * b[i];
  return sum;
}

// The block of a neighbour, from the slope of the flux between. scale: of the flux in the rows of species; half:
// of its heat in the row of T.
inline void set_neighbour(const FluxSlope &slope, const double *T_slope, const double *e, double scale, double half,
                          OffDiagonal &target) {
  const double heat0 = dot(e, slope.u[0]), heat1 = dot(e, slope.u[1]);
  for (int i = 0; i < PADDED; i++) {
    target.d[i] = scale * slope.d[i];
    for (int r = 0; r < 2; r++) target.u[r][i] = scale * slope.u[r][i], target.w[r][i] = slope.w[r][i];
    target.u[2][i] = 0.0;
    target.w[2][i] = -half * (e[i] * slope.d[i] + heat0 * slope.w[0][i] + heat1 * slope.w[1][i]);
    target.u[3][i] = scale * T_slope[i], target.w[3][i] = 0.0;
  }
  target.u[2][0] = 1.0, target.w[3][0] = 1.0;
  target.u[3][0] = -half * dot(e, T_slope);
}

// The blocks of an inner point; per_dt [1/s]: of a pseudo-time step, 0 for Newton's method.
inline void set_inner(Flame &f, const double *x, const double *F, int j, double per_dt, Slopes &slopes) {
  const Spacing s = spacing(f, j);
  const double *a = x + size_t(j) * SIZE, *rates = f.rates + size_t(j) * SIZE, M = x[f.unknowns() - 1];
  const double *h = f.h + size_t(j) * SPECIES, *heat_capacity = f.heat_capacity + size_t(j) * SPECIES;
  const double *Jl = f.flux + size_t(j - 1) * SPECIES, *Jr = Jl + SPECIES;
  const double v = 1.0 / f.rho[j], v_cp = v / f.cp[j], inflow = v * M / s.left, scale = v * s.zeta;
  const double half = 0.5 * v_cp / T_SCALE, heat = heating(f, x, j);
  double *block = f.block(j), *column = f.column + size_t(j) * PADDED, *e = slopes.e;
  double own_cp = 0.0, left_cp = 0.0;
  for (int k = 0; k < SPECIES; k++) {
    const double phi = 0.5 * (Jl[k] + Jr[k]);
    e[1 + k] = (h[k] - h[k - SPECIES]) / s.left;
    own_cp += phi * heat_capacity[k], left_cp += phi * heat_capacity[k - SPECIES];
  }
  for (int i = 0; i < SIZE; i++) column[i] = -v * (a[i] - a[i - SIZE]) / s.left;
  set_flux_slope(f, x, j - 1, LEFT_END, slopes.left_far), set_flux_slope(f, x, j - 1, RIGHT_END, slopes.left_near);
  set_flux_slope(f, x, j, LEFT_END, slopes.right_near), set_flux_slope(f, x, j, RIGHT_END, slopes.right_far);
  for (int side = 0; side < 2; side++) set_flux_slope_T(f, x, j - 1 + side, slopes.T[side]);

  OffDiagonal &left = f.left[j], &right = f.right[j];
  set_neighbour(slopes.left_far, slopes.T[0], e, scale, half, left);
  set_neighbour(slopes.right_far, slopes.T[1], e, -scale, half, right);
  const double to_left = v_cp * s.zeta * f.conductivity[j - 1] / s.left;
  const double to_right = v_cp * s.zeta * f.conductivity[j] / s.right;
  for (int i = 1; i < SIZE; i++) left.d[i] += inflow;
  left.d[0] = inflow + to_left + v_cp * left_cp / s.left;
  right.d[0] = to_right;
  // Conductivities change with T of both ends of their intervals.
  const double of_left = 0.5 * T_SCALE * f.conductivity_slope[j - 1] * (a[0] - a[-SIZE]) / s.left;
  const double of_right = 0.5 * T_SCALE * f.conductivity_slope[j] * (a[SIZE] - a[0]) / s.right;
  left.u[3][0] -= v_cp * s.zeta * of_left, right.u[3][0] += v_cp * s.zeta * of_right;

  const FluxSlope &near_l = slopes.left_near, &near_r = slopes.right_near;
  const double *FY = F + size_t(j) * SIZE, *f_k = near_r.w[0], rest_T = FY[0] - rates[0] / T_SCALE;
  double heats[4];
  for (int r = 0; r < 2; r++) heats[r] = dot(e, near_l.u[r]), heats[2 + r] = dot(e, near_r.u[r]);
  block[0] += -inflow - to_left - to_right - v_cp * own_cp / s.left + rest_T / a[0] -
              v_cp * heat * f.cp_slope[j] / f.cp[j] - per_dt;
  for (int i = 1; i < SIZE; i++) {
    const double ranks = heats[0] * near_l.w[0][i] + heats[1] * near_l.w[1][i] + heats[2] * near_r.w[0][i] +
                         heats[3] * near_r.w[1][i];
    block[i] += rest_T * f.mean_weight[j] * solver::PER_WEIGHT[i - 1] -
                heat_capacity[i - 1] / f.cp[j] * v_cp * heat / T_SCALE -
                half * (e[i] * (near_l.d[i] + near_r.d[i]) + ranks);
  }
  alignas(64) double by_density[PADDED] = {};  // d ln (1 / rho) / d Y
  for (int k = 0; k < SPECIES; k++) by_density[1 + k] = f.mean_weight[j] * solver::PER_WEIGHT[k];
  for (int i = 1; i < SIZE; i++) {
    double *row = block + size_t(i) * PADDED;
    const double transported = FY[i] - rates[i];
    const double c0 = scale * near_l.u[0][i], c1 = scale * near_l.u[1][i];
    const double c2 = -scale * near_r.u[0][i], c3 = -scale * near_r.u[1][i];
    row[0] += transported / a[0];
    for (int c = 0; c < PADDED; c++)
      row[c] += (c0 + c2) * f_k[c] + transported * by_density[c] + c1 * near_l.w[1][c] + c3 * near_r.w[1][c];
    row[i] += scale * (near_l.d[i] - near_r.d[i]) - inflow - per_dt;
  }
  for (int i = 0; i < SIZE; i++) block[size_t(i) * PADDED] += left.u[3][i] + right.u[3][i];
}

inline void set_inlet(Flame &f, const double *x, Slopes &slopes) {
  FluxSlope &near = slopes.right_near, &far = slopes.right_far;
  const double *Y = x + 1, M = x[f.unknowns() - 1];
  double *block = f.block(0);
  const int abundant = 1 + most_abundant(Y);
  set_flux_slope(f, x, 0, LEFT_END, near), set_flux_slope(f, x, 0, RIGHT_END, far);
  set_flux_slope_T(f, x, 0, slopes.T[0]);
  OffDiagonal &right = f.right[0];
  block[0] = 1.0;
  for (int i = 1; i < SIZE; i++) {
    double *row = block + size_t(i) * PADDED;
    if (i == abundant) {
      for (int c = 1; c < SIZE; c++) row[c] = -1.0;
      continue;
    }
    for (int c = 1; c < SIZE; c++) row[c] = -near.u[0][i] * near.w[0][c] - near.u[1][i] * near.w[1][c];
    row[i] -= M + near.d[i];
    row[0] = -slopes.T[0][i];
    right.d[i] = -far.d[i], right.u[3][i] = -slopes.T[0][i];
    for (int r = 0; r < 2; r++) right.u[r][i] = -far.u[r][i];
    f.column[i] = f.problem.inlet_Y[i - 1] - Y[i - 1];
  }
  for (int r = 0; r < 2; r++) memcpy(right.w[r], far.w[r], sizeof far.w[r]);
  right.w[3][0] = 1.0;
}

inline void set_outlet(Flame &f, const double *x) {
  const int j = f.N - 1, abundant = 1 + most_abundant(x + size_t(j) * SIZE + 1);
  double *block = f.block(j);
  for (int i = 0; i < SIZE; i++) {
    double *row = block + size_t(i) * PADDED;
    for (int c = 1; c < SIZE && i == abundant; c++) row[c] = -1.0;
    if (i != abundant) row[i] = 1.0, f.left[j].d[i] = -1.0;
  }
}

// The residual F of x, and the Jacobian.
inline void linearize(Flame &f, const double *x, double *F, double per_dt) {
  set_chemistry<true>(f, x);
  set_transport(f, x);
  set_fluxes(f, x);
  set_residual(f, x, F);
  memset(f.column, 0, sizeof(double) * size_t(f.N) * PADDED);
  Slopes slopes;
  memset(&slopes, 0, sizeof slopes);
  for (const int end : {0, f.N - 1}) {
    memset(f.block(end), 0, sizeof(double) * PADDED * PADDED);
    memset(f.left + end, 0, sizeof(OffDiagonal)), memset(f.right + end, 0, sizeof(OffDiagonal));
  }
  set_inlet(f, x, slopes), set_outlet(f, x);
  for (int j = 1; j < f.N - 1; j++) set_inner(f, x, F, j, per_dt, slopes);
  for (int j = 0; j < f.N; j++)
    for (int i = SIZE; i < PADDED; i++) f.block(j)[size_t(i) * PADDED + i] = 1.0;
}

}  // namespace flame
