// Rates, Jacobian, time scales and enthalpies of states, as a user sees them, in doubles.
#pragma once
#include "solver/integrate.hpp"

namespace solver {

constexpr double HIGHEST_GUESS = 3000.0;  // K: beyond, some polynomials have a negative cp

// The columns of the block of rows from `first` on, the last of which stands for those beyond n.
INLINE void read_block(size_t n, size_t first, const double *states, Doubles *x) {
  size_t rows[SQUARE];
  for (size_t i = 0; i < SQUARE; i++) rows[i] = first + i < n ? first + i : n - 1;
  read_rows(states, rows, x);
}

// Net production rates dY/dt and destruction rates [1/s] of n states, (n, SPECIES) each.
INLINE void rates(Work<double> &w, size_t n, const double *states, double *net, double *destruction) {
  for (size_t first = 0; first < n; first += SQUARE) {
    Doubles x[COLUMNS], moles[SPECIES], f[UNKNOWNS<double>], lost[SPECIES], cp;
    read_block(n, first, states, x);
    for (int k = 0; k < SPECIES; k++) moles[k] = x[2 + COLUMN[k]] * PER_WEIGHT[k];
    const Reactor<double> reactor = {x[1] * (1.0 / (GAS_CONSTANT * C0)), Doubles{}, {}};
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

// Chemical time scales [s] (n,) as in combred.h; NaN of states that are not valid.
INLINE void time_scales(Work<double> &w, size_t n, const double *states, double *seconds) {
  for (size_t first = 0; first < n; first += SQUARE) {
    Doubles x[COLUMNS], moles[SPECIES], f[UNKNOWNS<double>], cp;
    State state;
    read_block(n, first, states, x);
    const Mask<double> valid = state_of(x, state);
    for (int k = 0; k < SPECIES; k++) moles[k] = state.Y[k] * PER_WEIGHT[k];
    const Doubles T = select(valid, state.T, all_of<double>(1000.0));
    const Reactor<double> reactor = {state.p * (1.0 / (GAS_CONSTANT * C0)), Doubles{}, {}};
    evaluate<double, true>(w, reactor, T, moles, f, cp);
    const Doubles formed = sum_of<REACTIONS>([&](int i) { return w.q.F[i] * FORMED[i]; });
    const Doubles least = w.g.C * (LISTED / LONGEST_DT);
    Doubles found = w.g.C * double(LISTED) / at_least(formed, least);
    for (size_t i = 0; i < SQUARE && first + i < n; i++)
      write(seconds + first + i, bits_of(valid) >> i & 1 ? double(lane_of(found, i)) : __builtin_nan(""));
  }
}

// h / R [K kmol/kg] that the elements contribute, which `set_mixtures` leaves out.
INLINE Doubles enthalpy_of_elements(const Doubles *n) {
  return sum_of<SPECIES>([&](int k) { return n[k] * HEAT_OF_ELEMENTS<double>[k]; });
}

// Specific enthalpies [J/kg] (n,).
INLINE void enthalpies(size_t n, const double *states, double *h) {
  for (size_t first = 0; first < n; first += SQUARE) {
    Doubles x[COLUMNS], moles[SPECIES], b[1][HEAT_TERMS], found, cp;
    read_block(n, first, states, x);
    for (int k = 0; k < SPECIES; k++) moles[k] = x[2 + COLUMN[k]] * PER_WEIGHT[k];
    set_mixtures<1>(x[0], &moles, b);
    energy_of(b[0], x[0], Doubles{}, found, cp);
    found = (found + enthalpy_of_elements(moles)) * GAS_CONSTANT;
    for (size_t i = 0; i < SQUARE && first + i < n; i++) write(h + first + i, double(lane_of(found, i)));
  }
}

// Sets T of states by Newton's method from their own to the given enthalpies [J/kg] (n,); returns how
// many have none from 100 to 6000 K, and keep theirs.
INLINE size_t temperatures(size_t n, const double *h, double *states) {
  size_t lost = 0;
  for (size_t first = 0; first < n; first += SQUARE) {
    Doubles x[COLUMNS], moles[SPECIES], energy{};
    read_block(n, first, states, x);
    for (size_t i = 0; i < SQUARE; i++)
      lane_of(energy, i) = read<double>(h + (first + i < n ? first + i : n - 1)) / GAS_CONSTANT;
    for (int k = 0; k < SPECIES; k++) moles[k] = x[2 + COLUMN[k]] * PER_WEIGHT[k];
    energy = energy - enthalpy_of_elements(moles);
    const Doubles guess = at_most(at_least(x[0], LOWEST_T), HIGHEST_GUESS);
    Doubles T = temperature_of(energy, &moles, Doubles{}, guess);
    const Mask<double> good = (T >= all_of<double>(LOWEST_T)) & (T <= all_of<double>(HIGHEST_T));
    for (size_t i = 0; i < SQUARE && first + i < n; i++)
      if (bits_of(good) >> i & 1) write(states + (first + i) * COLUMNS, double(lane_of(T, i)));
      else lost++;
  }
  return lost;
}

// d(dT/dt, dY/dt) / d(T, Y) of one state at constant pressure or volume, (1 + SPECIES, 1 + SPECIES),
// every Y by itself. Read from the entries of the matrix before its elimination.
INLINE void jacobian(Work<double> &w, const double *state, Kind kind, double *to) {
  Doubles n[SPECIES], f[UNKNOWNS<double>], cp, S{};
  for (int k = 0; k < SPECIES; k++) {
    n[k] = all_of<double>(state[2 + COLUMN[k]] / WEIGHT[k]);
    S = S + n[k];
  }
  const Doubles p = all_of<double>(state[1] / (GAS_CONSTANT * C0)), T = all_of<double>(state[0]);
  const Reactor<double> reactor = {p, p / (T * S), kind};
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
      if (j == 0) d = w.g.per_T * w.g.per_rho * (kind.volume ? w.fT[i] : Doubles(w.fT[i] - w.w[i]));
      else {
        d = kind.volume ? w.of_C[i] : Doubles(-w.w[i] / w.g.C);
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
