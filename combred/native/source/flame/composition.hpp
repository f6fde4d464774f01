// What the blocks lack: the derivatives of transport coefficients by composition, E, as products E v and E^T y.
//
// E would fill the blocks. Its product with a vector costs what the transport of a residual costs, so that GMRES, with
// the blocks as preconditioner, has the whole Jacobian.
#pragma once
#include "flame/blocks.hpp"

namespace flame {

// to_k = sum_{m != k} from_m / P_km of intervals.
PART void sum_over_pairs(const Flame &f, Doubles t, const Doubles *values, Doubles *result) {
  const double *a = f.problem.diffusion;
  for (int k = 0; k < SPECIES; k++) result[k] = Doubles{};
  for (int k = 0; k < SPECIES; k++) {
    Doubles sum = result[k];
    for (int m = k + 1; m < SPECIES; m++, a += TERMS) {
      const Doubles per = solver::reciprocal(Doubles(a[0] + t * (a[1] + t * (a[2] + t * (a[3] + t * a[4])))));
      sum = sum + values[m] * per, result[m] = result[m] + values[k] * per;
    }
    result[k] = sum;
  }
}

// The middles of as many intervals as lanes, for derivatives. by_X: d lambda / d X_k.
struct Middle {
  Doubles T, t, root, mean_weight, cp;
  Doubles by_X[SPECIES], species_cp[SPECIES];
};

PART void set_middle_slopes(Flame &f, const double *x, int first, Middle &middle) {
  set_middle(f, x, first, middle.T, middle.mean_weight);
  logarithm_and_root(middle.T, middle.t, middle.root);
  const Conductivity lambda = conductivity_of(f, f.transport->X, middle.T, middle.t, middle.root);
  const double *a = f.problem.conductivity;
  const Doubles per = 1.0 / (lambda.harmonic * lambda.harmonic);
  for (int k = 0; k < SPECIES; k++, a += TERMS) {
    const Doubles pure = middle.root * (a[0] + middle.t * (a[1] + middle.t * (a[2] + middle.t * (a[3] + middle.t * a[4]))));
    middle.by_X[k] = 0.5 * (pure - per / pure);
  }
  if (f.problem.transport != UNITY_LEWIS) return;
  solver::Gas<double> gas;
  gas.T = middle.T, gas.per_T = 1.0 / middle.T, gas.log2_T = Doubles{};
  middle.cp = Doubles{};
  for (int k = 0; k < SPECIES; k++) {
    Doubles b[solver::HEAT_TERMS];
    solver::choose<double, true>(solver::HEAT<double>, 0, k, middle.T, b);
    middle.species_cp[k] = solver::cp_of<double>(b, gas) * (solver::GAS_CONSTANT * solver::PER_WEIGHT[k]);
    middle.cp = middle.cp + f.transport->Y[k] * middle.species_cp[k];
  }
}

// rho D_k W_k / W over (1 - Y_k) / sum_{m != k} X_m / P_km, over W_k.
INLINE Doubles diffusion_scale(const Middle &middle) { return middle.root / solver::GAS_CONSTANT; }

// Lanes of an array of intervals (N, SPECIES).
INLINE Doubles lanes_of_intervals(const Flame &f, const double *values, int first, int k) {
  Doubles lanes;
  for (int l = 0; l < LANES; l++)
    lane_of(lanes, l) = values[size_t(first + l < f.N - 1 ? first + l : f.N - 2) * SPECIES + k];
  return lanes;
}

// Changes of the coefficients of the intervals from `first` on with v: of D (SPECIES), and of lambda.
PART void coefficient_changes(Flame &f, const double *x, const double *v, int first, Middle &middle, Doubles *D,
                              Doubles &lambda) {
  set_middle_slopes(f, x, first, middle);
  Doubles Y[SPECIES], X[SPECIES], sums[SPECIES], S{};
  for (int k = 0; k < SPECIES; k++) {
    for (int l = 0; l < LANES; l++) {
      const double *a = v + size_t(first + l < f.N - 1 ? first + l : f.N - 2) * SIZE + 1 + k;
      lane_of(Y[k], l) = 0.5 * (a[0] + a[SIZE]);
    }
    X[k] = middle.mean_weight * solver::PER_WEIGHT[k] * Y[k], S = S + X[k];
  }
  lambda = Doubles{};
  for (int k = 0; k < SPECIES; k++)
    X[k] = X[k] - f.transport->X[k] * S, lambda = lambda + middle.by_X[k] * X[k];
  if (f.problem.transport == UNITY_LEWIS) {
    Doubles change{};
    for (int k = 0; k < SPECIES; k++) change = change + middle.species_cp[k] * Y[k];
    const Doubles value = (lambda - lanes_of_intervals(f, f.diffusion, first, 0) * change) / middle.cp;
    for (int k = 0; k < SPECIES; k++) D[k] = value;
    return;
  }
  sum_over_pairs(f, middle.t, X, sums);
  for (int k = 0; k < SPECIES; k++) {
    const Doubles direct = diffusion_scale(middle) * solver::WEIGHT[k] * Y[k];
    D[k] = -(direct + lanes_of_intervals(f, f.diffusion, first, k) * sums[k]) /
           lanes_of_intervals(f, f.resistance, first, k);
  }
}

// The weights of the fluxes J_k (SPECIES) and of lambda of interval i in the rows of its ends, y of each.
struct IntervalWeights {
  double scale[2], heat[2], conduction[2];  // of the ends i and i + 1; 0 of boundaries
};
inline IntervalWeights interval_weights(const Flame &f, const double *x, int i) {
  IntervalWeights weights = {};
  const double *a = x + size_t(i) * SIZE;
  for (int side = 0; side < 2; side++) {
    const int j = i + side;
    if (j == 0 || j == f.N - 1) continue;
    const Spacing s = spacing(f, j);
    const double v = 1.0 / f.rho[j], sign = side ? 1.0 : -1.0;
    weights.scale[side] = sign * v * s.zeta;
    weights.heat[side] = -0.5 * v / (f.cp[j] * T_SCALE * s.left);
    weights.conduction[side] = -sign * v * s.zeta / f.cp[j] * (a[SIZE] - a[0]) / (side ? s.left : s.right);
  }
  return weights;
}

// to (unknowns,) = E v, after an evaluation of x.
PART void multiply_by_composition(Flame &f, const double *x, const double *v, double *result) {
  memset(result, 0, sizeof(double) * f.unknowns());
  const int abundant = most_abundant(x + 1);
  Middle middle;
  Doubles D[SPECIES], lambda;
  for (int first = 0; first < f.N - 1; first += LANES) {
    coefficient_changes(f, x, v, first, middle, D, lambda);
    for (int l = 0; l < LANES && first + l < f.N - 1; l++) {
      const int i = first + l;
      const double per_dz = 1.0 / (f.problem.grid[i + 1] - f.problem.grid[i]);
      const double *a = driving(f, x, i), *b = driving(f, x, i + 1), *Y = x + size_t(i) * SIZE + 1;
      double J[SPECIES], sum = 0.0;
      for (int k = 0; k < SPECIES; k++) J[k] = lane_of(D[k], l) * (a[k] - b[k]) * per_dz, sum -= J[k];
      for (int k = 0; k < SPECIES; k++) J[k] += sum * Y[k];
      const IntervalWeights weights = interval_weights(f, x, i);
      for (int side = 0; side < 2; side++) {
        const int j = i + side;
        double *row = result + size_t(j) * SIZE;
        const double *h = f.h + size_t(j) * SPECIES;
        for (int k = 0; k < SPECIES && j == 0; k++) row[1 + k] -= k == abundant ? 0.0 : J[k];
        if (j == 0 || j == f.N - 1) continue;
        double heat = 0.0;
        for (int k = 0; k < SPECIES; k++) row[1 + k] += weights.scale[side] * J[k], heat += J[k] * (h[k] - h[k - SPECIES]);
        row[0] += weights.heat[side] * heat + weights.conduction[side] * lane_of(lambda, l);
      }
    }
  }
}

// What the functional y of the residual changes by with the coefficients of interval i: of each D, and of lambda.
inline double coefficient_weights(const Flame &f, const double *x, const double *y, int i, double *D) {
  const IntervalWeights weights = interval_weights(f, x, i);
  const double per_dz = 1.0 / (f.problem.grid[i + 1] - f.problem.grid[i]);
  const double *a = driving(f, x, i), *b = driving(f, x, i + 1), *Y = x + size_t(i) * SIZE + 1;
  const int abundant = most_abundant(x + 1);
  double lambda = 0.0, mean = 0.0;
  for (int k = 0; k < SPECIES; k++) D[k] = 0.0;
  for (int side = 0; side < 2; side++) {
    const int j = i + side;
    const double *row = y + size_t(j) * SIZE, *h = f.h + size_t(j) * SPECIES;
    for (int k = 0; k < SPECIES && j == 0; k++) D[k] -= k == abundant ? 0.0 : row[1 + k];
    if (j == 0 || j == f.N - 1) continue;
    const double heat = weights.heat[side] * row[0];
    for (int k = 0; k < SPECIES; k++) D[k] += weights.scale[side] * row[1 + k] + heat * (h[k] - h[k - SPECIES]);
    lambda += weights.conduction[side] * row[0];
  }
  for (int k = 0; k < SPECIES; k++) mean += D[k] * Y[k];
  for (int k = 0; k < SPECIES; k++) D[k] = (D[k] - mean) * (a[k] - b[k]) * per_dz;
  return lambda;
}

// to (unknowns,) = E^T y, after an evaluation of x.
PART void multiply_by_composition_transposed(Flame &f, const double *x, const double *y, double *result) {
  memset(result, 0, sizeof(double) * f.unknowns());
  Middle middle;
  Doubles D[SPECIES], direct[SPECIES], by_X[SPECIES], lambda, mean{};
  for (int first = 0; first < f.N - 1; first += LANES) {
    set_middle_slopes(f, x, first, middle);
    for (int l = 0; l < LANES; l++) {
      double weights[SPECIES];
      lane_of(lambda, l) = coefficient_weights(f, x, y, first + l < f.N - 1 ? first + l : f.N - 2, weights);
      for (int k = 0; k < SPECIES; k++) lane_of(D[k], l) = weights[k];
    }
    if (f.problem.transport == UNITY_LEWIS) {
      Doubles sum{};
      for (int k = 0; k < SPECIES; k++) sum = sum + D[k];
      const Doubles by_cp = -sum * lanes_of_intervals(f, f.diffusion, first, 0) / middle.cp;
      lambda = lambda + sum / middle.cp;
      for (int k = 0; k < SPECIES; k++) direct[k] = by_cp * middle.species_cp[k], by_X[k] = Doubles{};
    } else {
      for (int k = 0; k < SPECIES; k++) {
        const Doubles share = D[k] / lanes_of_intervals(f, f.resistance, first, k);
        direct[k] = -share * diffusion_scale(middle) * solver::WEIGHT[k];
        D[k] = -share * lanes_of_intervals(f, f.diffusion, first, k);
      }
      sum_over_pairs(f, middle.t, D, by_X);
    }
    mean = Doubles{};
    for (int k = 0; k < SPECIES; k++) by_X[k] = by_X[k] + lambda * middle.by_X[k], mean = mean + by_X[k] * f.transport->X[k];
    for (int k = 0; k < SPECIES; k++) {
      Doubles value = 0.5 * (direct[k] + middle.mean_weight * solver::PER_WEIGHT[k] * (by_X[k] - mean));
      for (int l = 0; l < LANES && first + l < f.N - 1; l++) {
        double *row = result + size_t(first + l) * SIZE + 1 + k;
        row[0] += lane_of(value, l), row[SIZE] += lane_of(value, l);
      }
    }
  }
}

}  // namespace flame
