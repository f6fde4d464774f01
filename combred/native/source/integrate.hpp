// Step size control: combred/surrogate/surrogate (`integrate_piece`), state by state.
//
// The WIDTH lanes of a block hold one state each. A state that has finished is written back, and
// its lane takes the next one: blocks stay full, and no state waits for another. Where all states of
// a block finish with their first step, as most do, the block is written back as a whole.
#pragma once
#include "rows.hpp"
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
  bool new_block;  // the lanes hold rows that follow one another, before their only step
};

// The first of the next rows that nobody has taken yet; all threads of a call share it.
#ifdef __CUDACC__
typedef unsigned long long *Rows;
INLINE size_t take(Rows next, int rows) { return atomicAdd(next, (unsigned long long)rows); }
#else
typedef size_t *Rows;
INLINE size_t take(Rows next, int rows) {
  return __atomic_fetch_add(next, (size_t)rows, __ATOMIC_RELAXED);
}
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

// Gives the lane i the row, all but its mass fractions.
INLINE void begin(Workspace &w, const Request &call, int i, size_t row) {
  lane_of(w.T, i) = read(call.states, row * VARIABLES);
  lane_of(w.p, i) = read(call.states, row * VARIABLES + 1);
  const double dt = read(call.dt, row * call.dt_stride);
  const double h = dt < HIGHEST ? dt : dt / ceil(dt / HIGHEST);
  lane_of(w.h, i) = h;
  const double whole = dt < HIGHEST ? dt : HIGHEST;
  lane_of(w.whole, i) = whole;
  w.lanes[i] = {row, true, dt, h, dt, 0.0, SMALLEST * whole, TARGET, infinity(), 0, 0};
}

// Writes T and Y of the lane i as the answer to its row, with this error estimate.
INLINE void store(Lane &lane, const Request &call, int i, Double &T, Double *Y, double error) {
  write(call.states, lane.row * VARIABLES, lane_of(T, i));
  write_row(call.states, lane.row, i, Y);
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
    if (last <= 1.0 && (lane.vain >= 2 || (low && last <= ENOUGH)))
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

// Gives the lane i a row; false if there is no such row.
INLINE bool load(Workspace &w, const Request &call, int i, size_t row) {
  // A lane without a state of its own computes the first one, and nothing is written.
  const size_t from = row < call.n ? row : 0;
  begin(w, call, i, from);
  read_row(call.states, from, i, w.Y);
  w.lanes[i].busy = row < call.n;
  return w.lanes[i].busy;
}

// Gives all lanes the next rows; returns how many have one.
INLINE int load_block(Workspace &w, const Request &call) {
  const size_t first = take(call.next, WIDTH);
  int busy = 0;
  w.new_block = first < call.n && call.n - first >= (size_t)WIDTH;
  if (w.new_block) {
    read_block(call.states, first, w.Y);
    for (int i = 0; i < WIDTH; i++) begin(w, call, i, first + i);
    w.new_block = all(w.h >= w.whole);
    return WIDTH;
  }
  for (int i = 0; i < WIDTH; i++) busy += load(w, call, i, first + i);
  return busy;
}

// Writes all states of a new block after their step.
INLINE void store_block(Workspace &w, const Request &call) {
  const size_t first = w.lanes[0].row;
  write_block(call.states, first, w.step.Y_next);
  for (int i = 0; i < WIDTH; i++) {
    write(call.states, (first + i) * VARIABLES, lane_of(w.step.T_next, i));
    if (call.error) write(call.error, first + i, lane_of(w.step.error, i) / call.tolerance);
    if (call.evaluations) write(call.evaluations, first + i, (int64_t)1);
  }
}

// All states of a call that no other thread takes.
INLINE void integrate(Workspace &w, const Request &call) {
  int busy = load_block(w, call);
  bool more = true;  // rows, perhaps
  while (busy > 0) {
    step(w.step, w.T, w.p, w.Y, w.h, w.whole);
    const Mask valid = are_valid(w.T, w.p, w.Y);
    if (w.new_block && all(valid & (w.step.error <= TARGET * call.tolerance))) {
      store_block(w, call);
      busy = load_block(w, call);
      continue;
    }
    w.new_block = false;
    w.valid = select(valid, all_of(1.0), all_of(0.0));
    for (int i = 0; i < WIDTH; i++)
      if (w.lanes[i].busy && finish_step(w, call, i)) busy--;
    if (busy == 0) busy = load_block(w, call);
    else
      for (int i = 0; i < WIDTH && more; i++)
        if (!w.lanes[i].busy) busy += more = load(w, call, i, take(call.next, 1));
  }
}
