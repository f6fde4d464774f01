// Rates and Jacobian of states, as a user sees them, in doubles.
#pragma once
#include "solver/integrate.hpp"

namespace solver {

// Net production rates dY/dt and destruction rates [1/s] of n states, (n, SPECIES) each.
INLINE void rates(Work<double> &w, size_t n, const double *states, double *net, double *destruction) {
  for (size_t first = 0; first < n; first += SQUARE) {
    size_t rows[SQUARE];
    for (size_t i = 0; i < SQUARE; i++) rows[i] = first + i < n ? first + i : n - 1;
    Doubles x[COLUMNS], moles[SPECIES], f[UNKNOWNS<double>], lost[SPECIES], cp;
    read_rows(states, rows, x);
    for (int k = 0; k < SPECIES; k++) moles[k] = x[2 + COLUMN[k]] * PER_WEIGHT[k];
    const Reactor<double> reactor = {x[1] * (1.0 / (GAS_CONSTANT * C0)), Doubles{}, false};
    evaluate<double, true>(w, reactor, x[0], moles, f, cp);
    destroyed(w.q, lost);
    for (size_t i = 0; i < SQUARE && first + i < n; i++)
      for (int k = 0; k < SPECIES; k++) {
        const size_t at = (first + i) * SPECIES + COLUMN[k];
        Doubles rate{}, loss = lost[k] * w.g.per_rho * WEIGHT[k];
        if (k < REACTIVE) rate = f[k] * WEIGHT[k];
        write(net + at, double(lane_of(rate, i)));
        write(destruction + at, double(lane_of(loss, i)));
      }
  }
}

// d(dT/dt, dY/dt) / d(T, Y) of one state at constant pressure or volume, (1 + SPECIES, 1 + SPECIES),
// every Y by itself. Read from the entries of the matrix before its elimination.
INLINE void jacobian(Work<double> &w, const double *state, bool volume, double *to) {
  Doubles n[SPECIES], f[UNKNOWNS<double>], cp, S{};
  for (int k = 0; k < SPECIES; k++) {
    n[k] = all_of<double>(state[2 + COLUMN[k]] / WEIGHT[k]);
    S = S + n[k];
  }
  const Doubles p = all_of<double>(state[1] / (GAS_CONSTANT * C0)), T = all_of<double>(state[0]);
  const Reactor<double> reactor = {p, p / (T * S), volume};
  evaluate<double, true>(w, reactor, T, n, f, cp);
  set_matrix(w.g, w.q, w.g0, w.a, w.w, w.of_C);
  finish_matrix(w.a, Doubles{});  // zeros where elimination would fill in
  production_T(w.q, w.fT);
  const int size = 1 + SPECIES;
  for (int i = 0; i < size * size; i++) to[i] = 0.0;
  Doubles slope{};
  for (int k = 0; k < SPECIES; k++) slope = slope + n[k] * w.g.slope[k];
  const Doubles rise = f[UNKNOWNS<double> - 1];
  for (int j = 0; j < size; j++) {  // the column of T, and then of the species COLUMN[j - 1]
    Doubles heat{}, capacity{};
    const int column = j ? 1 + COLUMN[j - 1] : 0;
    for (int i = 0; i < REACTIVE; i++) {
      Doubles d{};
      if (j == 0) d = w.g.per_T * w.g.per_rho * (volume ? w.fT[i] : Doubles(w.fT[i] - w.w[i]));
      else {
        d = volume ? w.of_C[i] : Doubles(-w.w[i] / w.g.C);
        const int at = place<double>(i, j - 1);
        if (at >= 0) d = d - w.a[at];
      }
      heat = heat + w.g.h[i] * d;
      if (j == 0) capacity = capacity + w.g.cp[i] * f[i];
      const double scale = WEIGHT[i] / (j ? WEIGHT[j - 1] : 1.0);
      to[(1 + COLUMN[i]) * size + column] = lane_of(d, 0) * scale;
    }
    const Doubles of_cp = j ? w.g.cp[j - 1] : slope;
    Doubles d = -(heat + capacity + rise * of_cp) / cp;
    to[column] = lane_of(d, 0) / (j ? WEIGHT[j - 1] : 1.0);
  }
}

}  // namespace solver
