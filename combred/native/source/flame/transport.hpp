// Transport at the middles of intervals, at the mean T and Y of their ends, of as many intervals at once as a vector
// has lanes.
//
// Mixture-averaged (Kee, Coltrin & Glarborg, Chemically Reacting Flow, 2003, equations 12.118 and 12.178), with
// Cantera's polynomials P of t = ln T, of degree 4:
//
//     D_k = (1 - Y_k) / sum_{m != k} X_m / D_km        D_km = T^(3/2) P_km(t) / p
//     lambda = (sum_k X_k lambda_k + 1 / sum_k (X_k / lambda_k)) / 2        lambda_k = sqrt(T) P_k(t)
//
// Unity Lewis numbers: rho D_k = lambda / cp.
#pragma once
#include <cmath>

#include "flame/flame.hpp"

namespace flame {

constexpr int TERMS = 5;           // coefficients of a polynomial
constexpr double LEAST_X = 1e-20;  // the smallest mole fraction in the mixture rules, as in Cantera

// A polynomial and its derivative.
INLINE void polynomial(const double *a, Doubles t, Doubles &value, Doubles &slope) {
  const Doubles q3 = a[3] + t * a[4], q2 = a[2] + t * q3, q1 = a[1] + t * q2;
  const Doubles r2 = q3 + t * a[4], r1 = q2 + t * r2;
  value = a[0] + t * q1;
  slope = q1 + t * r1;
}

// The state at the middles of intervals: fills Y and X of the lanes, and gives T and the mean molar mass.
INLINE void set_middle(Flame &f, const double *x, int first, Doubles &T, Doubles &mean_weight) {
  TransportLanes &lanes = *f.transport;
  Doubles S{};
  for (int l = 0; l < LANES; l++) {  // the last interval stands for those beyond
    const double *a = x + size_t(first + l < f.N - 1 ? first + l : f.N - 2) * SIZE, *b = a + SIZE;
    lane_of(T, l) = 0.5 * T_SCALE * (a[0] + b[0]);
    for (int k = 0; k < SPECIES; k++) lane_of(lanes.Y[k], l) = 0.5 * (a[1 + k] + b[1 + k]);
  }
  for (int k = 0; k < SPECIES; k++) S = S + lanes.Y[k] * solver::PER_WEIGHT[k];
  mean_weight = 1.0 / S;
  for (int k = 0; k < SPECIES; k++)
    lanes.X[k] = solver::at_least(Doubles(lanes.Y[k] * mean_weight * solver::PER_WEIGHT[k]), LEAST_X);
}

struct Conductivity {
  Doubles value, slope;  // W/(m K), and by T at fixed X
  Doubles harmonic;      // sum_k (X_k / lambda_k)
};
INLINE Conductivity conductivity_of(const Flame &f, const Doubles *X, Doubles T, Doubles t, Doubles root) {
  Doubles sum{}, sum_slope{}, harmonic{}, harmonic_slope{};
  const double *a = f.problem.conductivity;
  const Doubles per_T = 1.0 / T;
  for (int k = 0; k < SPECIES; k++, a += TERMS) {
    Doubles value, slope;
    polynomial(a, t, value, slope);
    slope = root * per_T * (0.5 * value + slope), value = root * value;
    const Doubles share = X[k] / value;
    sum = sum + X[k] * value, sum_slope = sum_slope + X[k] * slope;
    harmonic = harmonic + share, harmonic_slope = harmonic_slope + share * slope / value;
  }
  const Doubles per = 1.0 / harmonic;
  return {0.5 * (sum + per), 0.5 * (sum_slope + per * per * harmonic_slope), harmonic};
}

INLINE void logarithm_and_root(Doubles T, Doubles &t, Doubles &root) {
  for (int l = 0; l < LANES; l++) lane_of(t, l) = std::log(lane_of(T, l)), lane_of(root, l) = std::sqrt(lane_of(T, l));
}

INLINE void store(const Flame &f, int first, int k, Doubles value, Doubles slope) {
  for (int l = 0; l < LANES && first + l < f.N - 1; l++) {
    f.diffusion[size_t(first + l) * SPECIES + k] = lane_of(value, l);
    f.diffusion_slope[size_t(first + l) * SPECIES + k] = lane_of(slope, l);
  }
}

PART void set_mixture_averaged(Flame &f, int first, Doubles T, Doubles mean_weight, Doubles t, Doubles root) {
  TransportLanes &lanes = *f.transport;
  const double R = solver::GAS_CONSTANT;
  for (int k = 0; k < SPECIES; k++) lanes.sum[k] = lanes.slope[k] = Doubles{};
  const double *a = f.problem.diffusion;
  for (int k = 0; k < SPECIES; k++) {
    Doubles sum = lanes.sum[k], sum_slope = lanes.slope[k];
    const Doubles X = lanes.X[k];
    for (int m = k + 1; m < SPECIES; m++, a += TERMS) {
      Doubles value, slope;
      polynomial(a, t, value, slope);
      const Doubles per = solver::reciprocal(value), fall = per * per * slope;
      sum = sum + lanes.X[m] * per, sum_slope = sum_slope - lanes.X[m] * fall;
      lanes.sum[m] = lanes.sum[m] + X * per, lanes.slope[m] = lanes.slope[m] - X * fall;
    }
    lanes.sum[k] = sum, lanes.slope[k] = sum_slope;
  }
  const Doubles rho = f.problem.p * mean_weight / (R * T), per_T = 1.0 / T;
  const Doubles scale = T * root / f.problem.p * rho / mean_weight;
  for (int k = 0; k < SPECIES; k++) {
    const Doubles per = 1.0 / lanes.sum[k];
    const Doubles D = scale * solver::WEIGHT[k] * (1.0 - lanes.X[k] * solver::WEIGHT[k] / mean_weight) * per;
    store(f, first, k, D, D * per_T * (0.5 - lanes.slope[k] * per));
    for (int l = 0; l < LANES && first + l < f.N - 1; l++)
      f.resistance[size_t(first + l) * SPECIES + k] = lane_of(lanes.sum[k], l);
  }
}

PART void set_unity_lewis(Flame &f, int first, Doubles T, const Conductivity &lambda) {
  Doubles n[1][SPECIES], b[1][solver::HEAT_TERMS], h, cp;
  for (int k = 0; k < SPECIES; k++) n[0][k] = f.transport->Y[k] * solver::PER_WEIGHT[k];
  solver::set_mixtures<1>(T, n, b);
  solver::energy_of(b[0], T, Doubles{}, h, cp);
  solver::Gas<double> gas;
  gas.T = T;
  if constexpr (solver::NINE) gas.per_T = 1.0 / T;
  const Doubles cp_slope = solver::slope_of<double>(b[0], gas), D = lambda.value / (cp * solver::GAS_CONSTANT);
  const Doubles slope = lambda.slope / (cp * solver::GAS_CONSTANT) - D * cp_slope / cp;
  for (int k = 0; k < SPECIES; k++) store(f, first, k, D, slope);
}

// Diffusion coefficients and conductivities of all intervals, with their derivatives by T.
PART void set_transport(Flame &f, const double *x) {
  for (int first = 0; first < f.N - 1; first += LANES) {
    Doubles T, mean_weight, t, root;
    set_middle(f, x, first, T, mean_weight);
    logarithm_and_root(T, t, root);
    const Conductivity lambda = conductivity_of(f, f.transport->X, T, t, root);
    for (int l = 0; l < LANES && first + l < f.N - 1; l++) {
      f.conductivity[first + l] = lane(lambda.value, l);
      f.conductivity_slope[first + l] = lane(lambda.slope, l);
    }
    if (f.problem.transport == UNITY_LEWIS) set_unity_lewis(f, first, T, lambda);
    else set_mixture_averaged(f, first, T, mean_weight, t, root);
  }
}

}  // namespace flame
