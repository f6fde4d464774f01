// Sources of rows in doubles, and the end of states that had them: elements, inert species and energy are known at
// the end but for the work, whatever the reactions did. Any of them, y, has dy/dt = S - s y, hence
//
//     y(dt) = exp(-s dt) y(0) + (1 - exp(-s dt)) / s S
#pragma once
#include "solver/block.hpp"

namespace solver {

// Sources of a block of rows, their dt, and what follows: exp(-s dt), and (1 - exp(-s dt)) / s.
struct Supply {
  Doubles sources[ALL_SOURCES];
  Doubles dt, kept, time;
};

// At the end, of what is `before` at the beginning.
INLINE Doubles later(const Supply &of, Doubles before, Doubles source) { return of.kept * before + of.time * source; }

// (1 - exp(-z)) / z: its series where z is small, to rounding.
INLINE Doubles mean_decay(Doubles z) {
  Doubles series = all_of<double>(1.0);
  for (int j = 16; j > 1; j--) series = 1.0 - z * series * (1.0 / j);
  const Mask<double> small = absolute(z) < all_of<double>(0.5);
  const Doubles one = all_of<double>(1.0);
  return select(small, series, Doubles((one - exp2(Doubles(z * -LOG2_E))) / select(small, one, z)));
}

// The supply of the rows of a block.
INLINE Supply supply_of(const Request &call, const size_t *rows) {
  Supply of;
  Doubles x[COLUMNS];
  read_rows(call.sources, rows, x);
  for (int i = 0; i < SQUARE; i++) lane_of(of.dt, i) = read<double>(call.dt + rows[i] * call.dt_stride);
  for (int k = 0; k < SPECIES; k++) of.sources[k] = x[2 + COLUMN[k]] * PER_WEIGHT[k];
  const Doubles of_elements = sum_of<SPECIES>([&](int k) { return of.sources[k] * HEAT_OF_ELEMENTS<double>[k]; });
  of.sources[ENERGY] = call.kind.isothermal ? x[0] : Doubles(x[0] * (1.0 / GAS_CONSTANT) - of_elements);
  of.sources[RATE] = sum_of<SPECIES>([&](int k) { return x[2 + k]; });
  of.sources[DRIFT] = x[1] * (call.kind.volume ? 1.0 / C0 : 1.0 / (GAS_CONSTANT * C0));
  of.sources[TRANSFER] = of.sources[T_WALL] = Doubles{};
  for (int i = 0; call.wall && !call.kind.isothermal && i < SQUARE; i++) {
    lane_of(of.sources[TRANSFER], i) = read<double>(call.wall + 2 * rows[i]) / (GAS_CONSTANT * C0);
    lane_of(of.sources[T_WALL], i) = read<double>(call.wall + 2 * rows[i] + 1);
  }
  of.time = of.dt * mean_decay(Doubles(of.sources[RATE] * of.dt));
  of.kept = at_least(Doubles(1.0 - of.sources[RATE] * of.time), 0.0);
  return of;
}

// Pressure over R C0, or at constant volume density over C0, at the beginning.
INLINE Doubles given_x(const State &state, bool volume) {
  const Doubles S = sum_of<SPECIES>([&](int k) { return state.Y[k] * PER_WEIGHT[k]; });
  const Doubles p = state.p * (1.0 / (GAS_CONSTANT * C0));
  return volume ? Doubles(p / (state.T * S)) : p;
}

// Where sources are finite, leave no inert species below zero, and pressure or density above.
INLINE Mask<double> can_end(const Supply &of, const State &state, Kind kind) {
  const Doubles x = given_x(state, kind.volume), end = x + of.sources[DRIFT] * of.dt;
  Doubles least{}, size{};
  for (int k = 0; k < ALL_SOURCES; k++) size = size + absolute(of.sources[k]);
  for (int k = REACTIVE; k < SPECIES; k++)
    least = at_most(Doubles(later(of, state.Y[k], of.sources[k] * WEIGHT[k])), least);
  const Mask<double> is_finite = size * of.time < all_of<double>(infinity());
  return is_finite & (end > Doubles{}) & (end < all_of<double>(HIGHEST_P)) & (least >= all_of<double>(LOWEST_Y));
}

// As `close` of closure.hpp, of a state with sources; work: over R.
INLINE void close(State &state, const Supply &of, const Doubles *dn, Doubles dT, Doubles work, Kind kind) {
  Doubles n[2][SPECIES], due[REACTIVE], S[2] = {}, none[2] = {}, x = given_x(state, kind.volume);
  for (int k = 0; k < SPECIES; k++) {
    n[0][k] = state.Y[k] * PER_WEIGHT[k];
    const Doubles mixed = later(of, n[0][k], of.sources[k]);
    if (k < REACTIVE) due[k] = mixed;  // whose elements are those of the end
    n[1][k] = at_least(k < REACTIVE ? Doubles(n[0][k] + dn[k]) : mixed, 0.0);
  }
  const Mask<double> kept = keep_elements(due, n[1]);
  for (int m = 0; kind.volume && m < 2; m++) S[m] = sum_of<SPECIES>([&](int k) { return n[m][k]; });
  const Doubles energy[] = {of.kept, of.time * of.sources[ENERGY] + work};
  const Mask<double> walled = no(of.sources[TRANSFER] == Doubles{});
  Doubles T = kind.isothermal ? Doubles(state.T + of.dt * of.sources[ENERGY]) : Doubles(state.T + dT);
  if (!kind.isothermal && any(no(walled)))
    T = select(walled, T, temperature(state.T, n, kind.enthalpy ? none : S, T, energy));
  const Doubles end = x + of.sources[DRIFT] * of.dt;
  state.p = state.p * (end / x);
  if (kind.volume) state.p = state.p * (T * S[1]) / (state.T * S[0]);
  state.T = select(kept, T, all_of<double>(infinity()));
  for (int k = 0; k < SPECIES; k++) state.Y[k] = n[1][k] * WEIGHT[k];
}

}  // namespace solver
