// Damped Newton's method (Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3): a step is taken where the
// next one, with the same Jacobian, is smaller. Steps are measured in the norm of `set_weights`.
#pragma once
#include "flame/krylov.hpp"

namespace flame {

constexpr double HIGHEST_T = 5000.0, LOWEST_T_SHARE = 0.8;  // K; of the inlet's T
constexpr double LEAST_Y = -1e-4;        // coarse grids have mass fractions below 0
constexpr double LEAST_M_SHARE = 0.2;    // of the mass flux before a step
constexpr double SMALLEST_SHARE = 1e-6;  // of a step that stays in these bounds
constexpr int MOST_HALVINGS = 6, MOST_ITERATIONS = 25;
constexpr double FAST = 0.1;   // a Jacobian is kept while steps fall by this factor
constexpr double SLOW = 0.3;   // where a full step falls by less, the whole Jacobian is needed
constexpr double INEXACT = 0.05;  // tolerance of GMRES

enum Outcome { RUNNING, CONVERGED, FAILED };

struct Newton {
  double norm;     // of the step that is next
  int age;         // steps of this Jacobian
  int iterations;
  bool whole;      // steps have the derivatives of transport by composition
};

// The weights (SIZE + 1,) of a step: rtol times the mean of |x|, plus atol; of M in the last place.
inline void set_weights(const Flame &f, const combred_flame_options &options, const double *x, double *weights) {
  for (int i = 0; i <= SIZE; i++) weights[i] = 0.0;
  for (int j = 0; j < f.N; j++)
    for (int i = 0; i < SIZE; i++) weights[i] += std::fabs(x[size_t(j) * SIZE + i]);
  for (int i = 0; i < SIZE; i++)
    weights[i] = options.rtol * weights[i] / f.N + options.atol * (i ? 1.0 : 1.0 / T_SCALE);
  weights[SIZE] = options.rtol * std::fabs(x[f.unknowns() - 1]) / std::sqrt(double(f.N)) + 1e-300;
}

// The root mean square of a step over its weights; infinite for one that is not finite.
inline double norm_of(const Flame &f, const double *weights, const double *step) {
  double sum = 0.0;
  for (int i = 0; i < SIZE; i++) {
    double squares = 0.0;
    for (int j = 0; j < f.N; j++) squares += step[size_t(j) * SIZE + i] * step[size_t(j) * SIZE + i];
    sum += squares / (weights[i] * weights[i]);
  }
  const double of_M = step[f.unknowns() - 1] / weights[SIZE];
  const double norm = std::sqrt((sum + of_M * of_M) / (double(f.N) * (SIZE + 1)));
  return norm == norm ? norm : solver::infinity();
}

// The largest share of a step, at most 1, that stays in the bounds of T, Y and M.
inline double share_in_bounds(const Flame &f, const double *x, const double *step) {
  const double low = LOWEST_T_SHARE * f.problem.inlet_T / T_SCALE, high = HIGHEST_T / T_SCALE;
  double share = 1.0;
  const auto limit = [&](double value, double change, double bound) {
    const double limited = (bound - value) / change;
    if (limited < share) share = limited > 0.0 ? limited : 0.0;
  };
  for (int j = 0; j < f.N; j++) {
    const double *row = x + size_t(j) * SIZE, *change = step + size_t(j) * SIZE;
    if (row[0] + change[0] > high) limit(row[0], change[0], high);
    if (row[0] + change[0] < low) limit(row[0], change[0], low);
    for (int i = 1; i < SIZE; i++)
      if (change[i] < 0.0 && row[i] + change[i] < LEAST_Y) limit(row[i], change[i], LEAST_Y);
  }
  const double M = x[f.unknowns() - 1], change = step[f.unknowns() - 1];
  if (M + change < LEAST_M_SHARE * M) limit(M, change, LEAST_M_SHARE * M);
  return share;
}

// step = -J0^-1 F.
inline void set_step(Flame &f, const double *F, double *step) {
  for (size_t i = 0; i < f.unknowns(); i++) step[i] = -F[i];
  solve(f, step);
}

// The Jacobian of f.x, and the step.
inline bool renew(Flame &f, const combred_flame_options &options, combred_flame_report &report, Newton &newton) {
  linearize(f, f.x, f.F, 0.0);
  report.jacobians++;
  if (!eliminate(f)) return false;
  set_step(f, f.F, f.step);
  report.solutions++;
  set_weights(f, options, f.x, f.weights);
  newton.norm = norm_of(f, f.weights, f.step);
  newton.age = 0;
  if (newton.whole) report.products += solve_whole<false>(f, f.x, f.weights, f.step, INEXACT);
  return newton.norm < solver::infinity();
}

inline Outcome start(Flame &f, const combred_flame_options &options, combred_flame_report &report, Newton &newton) {
  newton = {};
  return renew(f, options, report, newton) ? RUNNING : FAILED;
}

// One step of Newton's method, damped where it has to be.
inline Outcome iterate(Flame &f, const combred_flame_options &options, combred_flame_report &report, Newton &newton) {
  const size_t n = f.unknowns();
  if (newton.iterations++ == MOST_ITERATIONS) return FAILED;
  double share = share_in_bounds(f, f.x, f.step), norm = 0.0;
  if (!(share > SMALLEST_SHARE)) return FAILED;
  bool smaller = false;
  for (int halving = 0; halving < MOST_HALVINGS && !smaller; halving++, share *= smaller ? 1.0 : 0.5) {
    for (size_t i = 0; i < n; i++) f.trial[i] = f.x[i] + share * f.step[i];
    evaluate(f, f.trial, f.trial_F);
    set_step(f, f.trial_F, f.trial_step);
    report.residuals++, report.solutions++;
    set_weights(f, options, f.trial, f.weights);
    norm = norm_of(f, f.weights, f.trial_step);
    smaller = norm < newton.norm || norm < options.tolerance;
  }
  if (smaller) {
    report.norm = norm;
    memcpy(f.x, f.trial, sizeof(double) * n);
    if (norm < options.tolerance) {
      for (size_t i = 0; i < n; i++) f.x[i] += f.trial_step[i];
      return CONVERGED;
    }
    if (share == 1.0 && norm > SLOW * newton.norm && newton.age == 0) newton.whole = true;
    memcpy(f.step, f.trial_step, sizeof(double) * n);
    newton.age++;
    const bool fast = share == 1.0 && norm < FAST * newton.norm;
    newton.norm = norm;
    if (fast) return RUNNING;
  } else if (newton.age == 0) {
    if (newton.whole) return FAILED;
    newton.whole = true;
  }
  return renew(f, options, report, newton) ? RUNNING : FAILED;
}

}  // namespace flame
