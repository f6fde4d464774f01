// Pseudo-time: linearly implicit Euler steps towards the steady flame, each with its own Jacobian. Only the size of the
// changes limits a step: the way there does not matter.
#pragma once
#include "flame/newton.hpp"

namespace flame {

constexpr double USUAL_T_CHANGE = 150.0, USUAL_Y_CHANGE = 0.05;  // K; of a step
constexpr double LARGEST_CHANGE = 1.5;     // over the usual one, of a step that is taken
constexpr double SHORTEST_DT = 1e-10, LONGEST_DT = 0.1;  // s
constexpr double STIFF_DT = 1e-4;          // s: from here on steps have the whole Jacobian
constexpr double STEADY_DT = 1e-3;         // s: a flame hardly changes over such a step
constexpr double LEAST_M = 0.01;           // of the first mass flux
constexpr int MOST_TRIES = 400, USUAL_TRIES = 60, STEPS = 8;  // of a turn

struct PseudoTime {
  double dt;       // s
  double least_M;  // kg/(m2 s)
  int steps, tries;
};

// The largest change of a step over the usual one; infinite where it is not finite.
inline double change_of(const Flame &f, const double *step) {
  double T = 0.0, Y = 0.0, sum = 0.0;
  for (int j = 0; j < f.N; j++) {
    const double *row = step + size_t(j) * SIZE;
    T = std::fmax(T, std::fabs(row[0])), sum += row[0];
    for (int i = 1; i < SIZE; i++) Y = std::fmax(Y, std::fabs(row[i])), sum += row[i];
  }
  if (!(std::fabs(sum) < 1e300)) return solver::infinity();
  return std::fmax(T * T_SCALE / USUAL_T_CHANGE, Y / USUAL_Y_CHANGE);
}

inline double least_Y(const Flame &f, const double *x, const double *step) {
  double lowest = 0.0;
  for (int j = 0; j < f.N; j++)
    for (int i = 1; i < SIZE; i++) {
      const size_t place = size_t(j) * SIZE + i;
      lowest = std::fmin(lowest, x[place] + (step ? step[place] : 0.0));
    }
  return lowest;
}

inline void drop_negative(Flame &f) {
  for (int j = 0; j < f.N; j++)
    for (int i = 1; i < SIZE; i++) f.x[size_t(j) * SIZE + i] = std::fmax(f.x[size_t(j) * SIZE + i], 0.0);
}

// One step, or one that is refused: CONVERGED after the steps of a turn.
inline Outcome advance(Flame &f, const combred_flame_options &options, combred_flame_report &report, PseudoTime &state) {
  if (state.tries == 0) drop_negative(f);
  if (++state.tries > MOST_TRIES || state.dt < SHORTEST_DT) return FAILED;
  if (state.tries > USUAL_TRIES && state.dt > STEADY_DT) return CONVERGED;
  linearize(f, f.x, f.F, 1.0 / state.dt);
  report.jacobians++, report.steps++;
  if (!eliminate(f)) return state.dt *= 0.3, RUNNING;
  set_step(f, f.F, f.step);
  report.solutions++;
  if (state.dt > STIFF_DT) {
    set_weights(f, options, f.x, f.weights);
    report.products += solve_whole<false>(f, f.x, f.weights, f.step, INEXACT);
  }
  // M follows from the heat at the fixed point at once, however short a step is, and may then have no sense for a
  // while: it falls to a part of itself, and not below a bound.
  const size_t last = f.unknowns() - 1;
  double &M = f.x[last], &M_step = f.step[last];
  if (!(M + M_step > LEAST_M_SHARE * M)) M_step = (LEAST_M_SHARE - 1.0) * M;
  if (M + M_step < state.least_M) M_step = state.least_M - M;
  const double change = change_of(f, f.step);
  const double bound = std::fmin(LEAST_Y, LARGEST_CHANGE * least_Y(f, f.x, nullptr));
  if (!(change < LARGEST_CHANGE) || least_Y(f, f.x, f.step) < bound) return state.dt *= 0.4, RUNNING;
  for (size_t i = 0; i <= last; i++) f.x[i] += f.step[i];
  drop_negative(f);
  state.dt *= change < 0.2 ? 3.0 : change < 0.5 ? 2.0 : change < 1.0 ? 1.2 : 0.8;
  state.dt = std::fmin(state.dt, LONGEST_DT);
  return ++state.steps == STEPS ? CONVERGED : RUNNING;
}

}  // namespace flame
