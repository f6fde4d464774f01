// Writes the network's step of each state whose error estimate is within the tolerance, and lists the
// others for the solver.
#pragma once
#include "network/step.hpp"
#include "solver/integrate.hpp"

namespace network {

// Reads a block; returns the lanes whose step the network may take.
INLINE unsigned read_block(Step &w, const Request &call, const size_t *rows) {
  unsigned valid = 0;
  for (int i = 0; i < WIDTH<float>; i++)
    lane_of(w.dt, i) = float(read<double>(call.dt + rows[i] * call.dt_stride));
  for (int half = 0; half < HALF; half++) {
    Doubles x[COLUMNS];
    read_rows(call.states, rows + half * SQUARE, x);
    State &state = w.state[half];
    valid |= bits_of(state_of(x, state)) << half * SQUARE;
    set_half(w.T, half, state.T);
    set_half(w.p, half, Doubles(state.p * (1.0 / (GAS_CONSTANT * C0))));
  }
  return valid & bits_of((w.dt >= all_of<float>(DT_SHORTEST)) & (w.dt <= all_of<float>(DT_LONGEST)));
}

// Writes the states after their step of the lanes that are accepted, at constant pressure.
INLINE void write_block(Step &w, const Request &call, const size_t *rows, unsigned accepted) {
  for (int half = 0; half < HALF; half++) {
    Doubles x[COLUMNS];
    x[0] = w.after[half].T;
    x[1] = w.after[half].p;
    for (int k = 0; k < SPECIES; k++) x[2 + COLUMN[k]] = w.after[half].Y[k];
    write_rows(call.states, rows + half * SQUARE, accepted >> half * SQUARE, x);
  }
}

// The first `count` rows of a block, the rest of which repeats one of them; returns the lanes that are
// done.
INLINE unsigned propose(Step &w, const Request &call, const size_t *rows, int count) {
  const unsigned asked = read_block(w, call, rows) & ((1u << count) - 1);
  Floats error = all_of<float>(infinity());
  if (asked) error = step(w);
  unsigned done = 0;
  for (int i = 0; i < count; i++) {
    const double ratio = asked >> i & 1 ? double(lane_of(error, i)) / call.tolerance : infinity();
    const bool taken = ratio <= 1.0;
    done |= unsigned(taken) << i;
    report(call, rows[i], taken ? ratio : infinity(), 0);
  }
  if (done) write_block(w, call, rows, done);
  return done;
}

#ifndef __CUDACC__
// The rows that nobody has taken yet, as long as call.deferred has room.
INLINE void propose(Step &w, const Request &call) {
  constexpr int BLOCK = WIDTH<float>;
  while (call.deferred->size <= Deferred::ROOM - BLOCK) {
    const size_t first = take(call.next, BLOCK);
    if (first >= call.n) return;
    size_t rows[BLOCK];
    const int count = call.n - first < BLOCK ? int(call.n - first) : BLOCK;
    for (int i = 0; i < BLOCK; i++) rows[i] = row_of(call, first + (i < count ? i : 0));
    const unsigned done = propose(w, call, rows, count);
    for (int i = 0; i < count; i++)
      if (!(done >> i & 1)) call.deferred->rows[call.deferred->size++] = rows[i];
  }
}
#endif

}  // namespace network
