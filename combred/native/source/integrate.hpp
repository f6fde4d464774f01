// Step size control: combred/surrogate/surrogate (`integrate_piece`), state by state.
//
// The WIDTH lanes of a block hold one state each. A state that has finished is written back, and
// its lane takes the next one: blocks stay full, and no state waits for another.
#pragma once
#include "step.hpp"
#ifndef __CUDACC__
#include <cmath>
using std::ceil;
using std::fabs;
using std::sqrt;
#endif

constexpr double HIGHEST = 1.01 * DT_HIGH;  // the largest step, s

struct Lane {
  size_t row;
  bool busy;
  double dt, h, left, worst, least;
  double aim;      // the error, over the tolerance, to stay below
  double useless;  // that of a step cut in vain, over the root of its length
  int vain;        // cuts in vain, one after another
  int64_t steps;
};

struct Workspace {
  Step step;
  Double T, p, Y[SPECIES], h;
  Double whole;  // the time that steps are parts of, s: dt, or the largest step
  Double valid;  // 1, or 0 for a state that is not
  Lane lanes[WIDTH];
};

// The first row that nobody has taken yet; all threads of a call share it.
#ifdef __CUDACC__
typedef unsigned long long *Rows;
INLINE size_t take(Rows next) { return atomicAdd(next, 1ull); }
#else
typedef size_t *Rows;
INLINE size_t take(Rows next) { return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED); }
#endif

struct Request {
  size_t n;
  double *states;
  const double *dt;
  size_t dt_stride;
  double tolerance;
  int64_t max_steps;
  double *error;
  int64_t *evaluations;
  Rows next;
};

INLINE bool is_finite(double x) { return x - x == 0.0; }

// The states may lie at any address.
INLINE double read(const double *values, size_t i) {
  double value;
  memcpy(&value, reinterpret_cast<const char *>(values) + i * sizeof(value), sizeof(value));
  return value;
}
template <typename T>
INLINE void write(T *values, size_t i, T value) {
  memcpy(reinterpret_cast<char *>(values) + i * sizeof(value), &value, sizeof(value));
}

// Finite, T and p positive, no Y below -1e-6, sum Y within 1e-3 of 1.
INLINE Mask are_valid(Double T, Double p, const Double *Y) {
  Double sum = all_of(0.0), least = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) {
    sum = sum + Y[k];
    least = at_most(least, Y[k]);
  }
  const Mask finite = absolute(T + p + sum) < infinity(), positive = (T > 0.0) & (p > 0.0);
  return finite & positive & (least >= -1e-6) & (absolute(sum - 1.0) < 1e-3);
}

// Gives the lane i the state of a row.
INLINE void load(Workspace &w, const Request &call, int i, size_t row) {
  const size_t at = row * VARIABLES;
  lane_of(w.T, i) = read(call.states, at);
  lane_of(w.p, i) = read(call.states, at + 1);
  for (int k = 0; k < SPECIES; k++) lane_of(w.Y[k], i) = read(call.states, at + 2 + k);
  const double dt = read(call.dt, row * call.dt_stride);
  const double h = dt < HIGHEST ? dt : dt / ceil(dt / HIGHEST);
  lane_of(w.h, i) = h;
  const double whole = dt < HIGHEST ? dt : HIGHEST;
  lane_of(w.whole, i) = whole;
  w.lanes[i] = {row, true, dt, h, dt, 0.0, SMALLEST * whole, TARGET, infinity(), 0, 0};
}

// Writes T and Y of the lane i as the answer to its row, with this error estimate.
INLINE void store(Lane &lane, const Request &call, int i, Double &T, Double *Y, double error) {
  const size_t at = lane.row * VARIABLES;
  write(call.states, at, lane_of(T, i));
  for (int k = 0; k < SPECIES; k++) write(call.states, at + 2 + k, lane_of(Y[k], i));
  if (call.error) write(call.error, lane.row, error);
  if (call.evaluations) write(call.evaluations, lane.row, lane.steps);
  lane.busy = false;
}

INLINE void accept(Workspace &w, int i) {
  lane_of(w.T, i) = lane_of(w.step.T_next, i);
  for (int k = 0; k < SPECIES; k++) lane_of(w.Y[k], i) = lane_of(w.step.Y_next[k], i);
}

// Accepts or rejects the step of the lane i, and sets the next one; true if the state has finished.
INLINE bool finish_step(Workspace &w, const Request &call, int i) {
  Lane &lane = w.lanes[i];
  const double last = lane_of(w.step.error, i) / call.tolerance;
  lane.steps++;
  if (lane.steps == 1 && lane_of(w.valid, i) == 0.0) {
    store(lane, call, i, w.step.T_next, w.step.Y_next, infinity());
    return true;
  }
  const bool smallest = lane.h <= 1.001 * lane.least, low = lane.h <= 1.001 * DT_LOW;
  if (last > lane.aim) {
    lane.vain = last > lane.useless * sqrt(lane.h) ? lane.vain + 1 : 0;
    if (last <= 1.0 && (lane.vain >= 2 || low))
      lane.aim = last < 1.0 / SLACK ? SLACK * last : 1.0;
  }
  const bool accepted = last <= lane.aim || smallest;
  if (accepted) {
    lane.worst = last > lane.worst ? last : lane.worst;
    lane.left -= lane.h;
    if (lane.left <= 1e-6 * lane.dt || (smallest && !is_finite(last))) {
      store(lane, call, i, w.step.T_next, w.step.Y_next, lane.worst);
      return true;
    }
    accept(w, i);
  }
  if (call.max_steps > 0 && lane.steps >= call.max_steps) {
    store(lane, call, i, w.T, w.Y, infinity());
    return true;
  }
  double factor = SAFETY * sqrt(TARGET / (last > 1e-9 ? last : 1e-9));
  factor = factor < SHRINK ? SHRINK : factor > GROW ? GROW : factor;
  factor = accepted ? (factor < 1.0 ? 1.0 : factor) : (factor > 0.7 ? 0.7 : factor);
  double h = lane.h * factor;
  h = h < lane.least ? lane.least : h;
  h = h > HIGHEST ? HIGHEST : h;
  lane.useless = accepted ? infinity() : last / sqrt(lane.h);
  lane.h = lane.left / ceil(lane.left / h - 1e-9);
  lane_of(w.h, i) = lane.h;
  return false;
}

// Gives the lane i the next row; false if there is none.
INLINE bool load_next(Workspace &w, const Request &call, int i) {
  const size_t row = take(call.next);
  // A lane without a state of its own computes the first one, and nothing is written.
  load(w, call, i, row < call.n ? row : 0);
  w.lanes[i].busy = row < call.n;
  return w.lanes[i].busy;
}

// All states of a call that no other thread takes.
INLINE void integrate(Workspace &w, const Request &call) {
  int busy = 0;
  for (int i = 0; i < WIDTH; i++) busy += load_next(w, call, i);
  while (busy > 0) {
    step(w.step, w.T, w.p, w.Y, w.h, w.whole);
    w.valid = select(are_valid(w.T, w.p, w.Y), all_of(1.0), all_of(0.0));
    for (int i = 0; i < WIDTH; i++)
      if (w.lanes[i].busy && finish_step(w, call, i) && !load_next(w, call, i)) busy--;
  }
}
