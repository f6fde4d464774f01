// Thermodynamics and reactions of the points: rates, and their exact Jacobian, of as many points at once as a
// vector has lanes.
//
// At constant p the Jacobian of an adiabatic reactor, d(dT/dt, dY/dt) / d(T, Y), is what the reactions add to a
// block, as the equations of a flame are divided by rho, and that of T by cp, too.
#pragma once
#include "flame/flame.hpp"
#include "solver/rows.hpp"

namespace flame {

// Writes rows of lanes (SIZE,) to a row of each of `count` blocks, the first of which has it at `to`.
INLINE void write_rows(const Doubles *rows, int count, double *target) {
  constexpr size_t BLOCK = size_t(PADDED) * PADDED;
  for (int c = 0; c < SIZE; c += LANES) {
    Doubles square[LANES];
    for (int i = 0; i < LANES; i++) square[i] = c + i < SIZE ? rows[c + i] : Doubles{};
#if COMBRED_BYTES > 0
    solver::transpose(square);
#endif
    for (int l = 0; l < count; l++) solver::write(target + l * BLOCK + c, square[l]);
  }
}

// Sets the blocks of `count` points from `first` on to the Jacobian of the reactions. n: Y / W;
// g: their rates, and dT/dt as the last; cp: of the mixtures over R.
PART void set_reaction_blocks(Flame &f, int first, int count, const Doubles *n, const Doubles *g, Doubles cp) {
  typedef solver::Matrix<double> Places;
  solver::Work<double> &work = *f.chemistry;
  const solver::Gas<double> &gas = work.g;
  solver::set_matrix(work.g, work.q, work.g0, work.a, work.w, work.of_C);
  solver::finish_matrix(work.a, Doubles{});  // zeros where an elimination would fill in
  solver::production_T(work.q, work.fT);
  const double *W = solver::WEIGHT, *per_W = solver::PER_WEIGHT;
  const Doubles rise = g[solver::UNKNOWNS<double> - 1], per_C = 1.0 / gas.C, per_cp = 1.0 / cp;
  Doubles slope{}, heat_T{}, common{}, heat[SPECIES], row[SIZE];
  for (int k = 0; k < SPECIES; k++) slope = slope + n[k] * gas.slope[k];
  for (int l = 0; l < count; l++) f.cp_slope[first + l] = lane_of(slope, l) * solver::GAS_CONSTANT;
  double *block = f.block(first);
  memset(block, 0, sizeof(double) * PADDED * PADDED * count);
  for (int i = 0; i < solver::REACTIVE; i++) {
    const Doubles base = -work.w[i] * per_C, by_T = gas.per_T * gas.per_rho * (work.fT[i] - work.w[i]);
    common = common + gas.h[i] * base;
    heat_T = heat_T + gas.h[i] * by_T + gas.cp[i] * g[i];
  }
  for (int k = 0; k < SPECIES; k++) heat[k] = common;
  int inert = 0;  // entries of inert species, as those of a row stand together
  for (int i = 0; i < solver::REACTIVE; i++) {
    const Doubles base = -work.w[i] * per_C;
    for (int k = 0; k < SPECIES; k++) row[1 + k] = base;
    const auto subtract = [&](int k, int place) {
      row[1 + k] = row[1 + k] - work.a[place];
      heat[k] = heat[k] - gas.h[i] * work.a[place];
    };
    for (int place = Places::ROWS[i]; place < Places::ROWS[i + 1]; place++)
      if (Places::COLUMNS[place] < solver::REACTIVE) subtract(Places::COLUMNS[place], place);
    for (; inert < Places::INERT && Places::INERT_ROWS[inert] == i; inert++)
      subtract(Places::INERT_COLUMNS[inert], Places::ROWS[Places::UNKNOWNS] + inert);
    for (int k = 0; k < SPECIES; k++) row[1 + k] = row[1 + k] * (W[i] * per_W[k]);
    row[0] = gas.per_T * gas.per_rho * (work.fT[i] - work.w[i]) * (W[i] * T_SCALE);
    write_rows(row, count, block + (1 + i) * PADDED);
  }
  row[0] = -(heat_T + rise * slope) * per_cp;
  for (int k = 0; k < SPECIES; k++)
    row[1 + k] = -(heat[k] + rise * gas.cp[k]) * per_cp * (per_W[k] / T_SCALE);
  write_rows(row, count, block);
}

// Rates and thermodynamics of all points of x (N, SIZE); JACOBIAN: also the blocks of the reactions.
template <bool JACOBIAN> PART void set_chemistry(Flame &f, const double *x) {
  solver::Work<double> &work = *f.chemistry;
  const solver::Gas<double> &gas = work.g;
  const double R = solver::GAS_CONSTANT, *per_W = solver::PER_WEIGHT;
  for (int i = 0; i < solver::REACTIONS; i++)
    solver::MULTIPLIERS<double>[i] = f.problem.factors[solver::PLACE[i]];
  const solver::Reactor<double> reactor = {solver::all_of<double>(f.problem.p / (R * solver::C0)), Doubles{}, false,
                                           false};
  for (int first = 0; first < f.N; first += LANES) {
    const int count = first + LANES < f.N ? LANES : f.N - first;
    Doubles T, n[SPECIES], g[solver::UNKNOWNS<double>], cp, S{};
    for (int l = 0; l < LANES; l++) {  // the last point stands for those beyond
      const double *row = x + size_t(first + (l < count ? l : count - 1)) * SIZE;
      lane_of(T, l) = row[0] * T_SCALE;
      for (int k = 0; k < SPECIES; k++) lane_of(n[k], l) = row[1 + k] * per_W[k];
    }
    for (int k = 0; k < SPECIES; k++) S = S + n[k];
    solver::evaluate<double, JACOBIAN>(work, reactor, T, n, g, cp);
    for (int l = 0; l < count; l++) {
      const size_t j = first + l;
      f.mean_weight[j] = 1.0 / lane_of(S, l);
      f.rho[j] = f.problem.p * f.mean_weight[j] / (R * lane_of(T, l));
      f.cp[j] = lane_of(cp, l) * R;
      double *rates = f.rates + j * SIZE, *X = f.X + j * SPECIES, *h = f.h + j * SPECIES;
      double *heat_capacity = f.heat_capacity + j * SPECIES;
      rates[0] = lane_of(g[solver::UNKNOWNS<double> - 1], l);
      for (int k = 0; k < SPECIES; k++) {
        rates[1 + k] = k < solver::REACTIVE ? lane_of(g[k], l) * solver::WEIGHT[k] : 0.0;
        h[k] = lane(gas.h[k], l) * R * per_W[k];
        heat_capacity[k] = lane(gas.cp[k], l) * R * per_W[k];
        X[k] = lane_of(n[k], l) * f.mean_weight[j];
      }
    }
    if constexpr (JACOBIAN) set_reaction_blocks(f, first, count, n, g, cp);
  }
}

// Net rates of progress (N, reactions of the mechanism) [kmol/(m3 s)] of the points of the last evaluation of x.
PART void progress_of(Flame &f, const double *x, double *progress) {
  const double R = solver::GAS_CONSTANT;
  const solver::Reactor<double> reactor = {solver::all_of<double>(f.problem.p / (R * solver::C0)), Doubles{}, false,
                                           false};
  memset(progress, 0, sizeof(double) * size_t(f.N) * solver::LISTED);
  for (int i = 0; i < solver::REACTIONS; i++)
    solver::MULTIPLIERS<double>[i] = f.problem.factors[solver::PLACE[i]];
  for (int first = 0; first < f.N; first += LANES) {
    Doubles T, n[SPECIES], g[solver::UNKNOWNS<double>], cp;
    for (int l = 0; l < LANES; l++) {
      const double *row = x + size_t(first + l < f.N ? first + l : f.N - 1) * SIZE;
      lane_of(T, l) = row[0] * T_SCALE;
      for (int k = 0; k < SPECIES; k++) lane_of(n[k], l) = row[1 + k] * solver::PER_WEIGHT[k];
    }
    solver::evaluate<double, false>(*f.chemistry, reactor, T, n, g, cp);
    for (int l = 0; l < LANES && first + l < f.N; l++)
      for (int i = 0; i < solver::REACTIONS; i++)
        progress[size_t(first + l) * solver::LISTED + solver::PLACE[i]] = lane_of(f.chemistry->q.q[i], l) * solver::C0;
  }
}

}  // namespace flame
