// A steady flame: turns of Newton's method and, where it fails, of pseudo-time steps. The state of the solution stays in
// the workspace, so that a call may return and the next one goes on.
#pragma once
#include <ctime>

#include "flame/pseudo_time.hpp"

namespace flame {

constexpr double STANDS_STILL = 0.02;  // relative change of M in a turn of pseudo-time

enum Phase { NEWTON_START, NEWTON, PSEUDO_TIME };

struct Steady {
  Flame flame;
  combred_flame_options options;
  combred_flame_report report;
  Phase phase;
  Newton newton;
  PseudoTime time;
  double M_before;  // of a turn of pseudo-time
};

inline double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

inline void begin_pseudo_time(Steady &state) {
  state.phase = PSEUDO_TIME;
  state.time.steps = state.time.tries = 0;
  state.M_before = state.flame.x[state.flame.unknowns() - 1];
}

inline void begin(Steady &state) {
  state.report = {};
  state.time = {state.options.first_dt, LEAST_M * state.flame.x[state.flame.unknowns() - 1], 0, 0};
  state.phase = NEWTON_START;
  if (!state.options.newton_first) begin_pseudo_time(state);
}

// One unit of work. Where the tolerance is above 1, as on coarse grids, a flame that stands still is good enough.
inline Outcome work(Steady &state) {
  Flame &f = state.flame;
  if (state.phase == PSEUDO_TIME) {
    const Outcome outcome = advance(f, state.options, state.report, state.time);
    state.report.dt = state.time.dt;
    if (outcome != CONVERGED) return outcome;
    const double change = f.x[f.unknowns() - 1] / state.M_before - 1.0;
    state.phase = NEWTON_START;
    const bool still = std::fabs(change) < STANDS_STILL && state.time.dt > STEADY_DT;
    if (state.options.tolerance > 1.0 && still) return CONVERGED;
    return ++state.report.rounds < state.options.rounds ? RUNNING : FAILED;
  }
  Outcome outcome;
  if (state.phase == NEWTON_START) {
    state.phase = NEWTON;
    memcpy(f.before, f.x, sizeof(double) * f.unknowns());
    outcome = start(f, state.options, state.report, state.newton);
  } else {
    outcome = iterate(f, state.options, state.report, state.newton);
  }
  if (outcome != FAILED) return outcome;
  // Where the method fails, pseudo-time goes on from its first point.
  memcpy(f.x, f.before, sizeof(double) * f.unknowns());
  return begin_pseudo_time(state), RUNNING;
}

inline Outcome run(Steady &state) {
  const double until = seconds_now() + state.options.seconds;
  Outcome outcome;
  do outcome = work(state);
  while (outcome == RUNNING && seconds_now() < until);
  return outcome;
}

}  // namespace flame
