// Lanes that are refilled as their states finish: rows are read, closed and written in full vectors.
#pragma once
#include "solver/supply.hpp"

namespace solver {

// Fills the empty queue with the next states; invalid states get an infinite error. Returns whether there
// were rows.
template <class R, class Method>
PART bool fetch(Solver<R, Method> &s, const Request &call) {
  typedef Vector<R> V;
  constexpr int BLOCK = WIDTH<R>;
  size_t rows[BLOCK];
  if (call.deferred && call.deferred->size > Deferred::ROOM - 2 * BLOCK) return false;
  const size_t first = take(call.next, BLOCK);
  if (first >= call.n) return false;
  V x[Solver<R, Method>::GIVEN];  // as in s.in
  V &T = x[SPECIES], &p = x[SPECIES + 1], &dt = x[SPECIES + 2], &until = x[SPECIES + 3];
  unsigned valid = 0;
  prefetch(call, first + BLOCK, BLOCK);
  for (int i = 0; i < BLOCK; i++) {
    rows[i] = row_of(call, first + i < call.n ? first + i : first);
    lane_of(dt, i) = R(read<double>(call.dt + rows[i] * call.dt_stride));
    lane_of(until, i) = R(call.until ? read<double>(call.until + rows[i]) : infinity());
    if (call.time) write(call.time + rows[i], infinity());
  }
  for (int half = 0; half < HALVES<R>; half++) {
    Doubles columns[COLUMNS];
    State state;
    read_rows(call.states, rows + half * SQUARE, columns);
    Mask<double> is_valid = state_of(columns, state);
    if constexpr (Method::SOURCES) {
      const Supply of = supply_of(call, rows + half * SQUARE);
      is_valid = is_valid & can_end(of, state, call.kind);
      for (int k = 0; k < ALL_SOURCES; k++) set_half(x[SPECIES + 4 + k], half, of.sources[k]);
    }
    valid |= bits_of(is_valid) << half * SQUARE;
    set_half(T, half, state.T);
    set_half(p, half, Doubles(state.p * (1.0 / (GAS_CONSTANT * C0))));
    for (int k = 0; k < SPECIES; k++) set_half(x[k], half, Doubles(state.Y[k] * PER_WEIGHT[k]));
  }
  s.in.first = s.in.size = 0;
  for (int i = 0; i < BLOCK && first + i < call.n; i++) {
    if (valid >> i & 1) s.in.rows[s.in.size++] = rows[i];
    else {
      report(call, rows[i], infinity(), 0);
      fail(call, rows[i]);
    }
  }
  compress(s.in.x, 0, valid, x, s.GIVEN);
  return true;
}

// Gives new states to the lanes whose bit is set, as long as there are some.
template <class R, class Method>
INLINE void refill(Solver<R, Method> &s, const Request &call, unsigned lanes) {
  typedef Vector<R> V;
  s.busy &= ~lanes;
  const unsigned wanted = lanes;
  while (lanes) {
    if (s.in.first == s.in.size) {
      if (!fetch(s, call)) break;
      continue;
    }
    unsigned taken = 0;
    int first = s.in.first;
    for (unsigned rest = lanes; rest && s.in.first < s.in.size; rest &= rest - 1) {
      s.rows[first_of(rest)] = s.in.rows[s.in.first++];
      taken |= rest & -rest;
    }
    expand(s.n, taken, s.in.x, first, SPECIES);
    expand(&s.T, taken, s.in.x + SPECIES, first, 1);
    expand(&s.reactor.p, taken, s.in.x + SPECIES + 1, first, 1);
    expand(&s.dt, taken, s.in.x + SPECIES + 2, first, 1);
    expand(&s.until, taken, s.in.x + SPECIES + 3, first, 1);
    if constexpr (Method::SOURCES) expand(s.s.added.of, taken, s.in.x + SPECIES + 4, first, ALL_SOURCES);
    lanes &= ~taken;
  }
  const Mask<R> fresh = lanes_of<R>(wanted & ~lanes);
  const V S = sum_of<SPECIES>([&](int k) { return s.n[k]; });
  for (int k = 0; k < REACTIVE; k++) s.total[k] = select(fresh, V{}, s.total[k]);
  s.reactor.rho = select(fresh, V(s.reactor.p * reciprocal(V(s.T * S))), s.reactor.rho);
  s.total_T = select(fresh, V{}, s.total_T);
  if constexpr (Method::SOURCES) s.s.added.work = select(fresh, V{}, s.s.added.work);
  s.t = select(fresh, V{}, s.t);
  s.h = select(fresh, s.dt, s.h);
  s.worst = select(fresh, V{}, s.worst);
  s.tried = select(fresh, V{}, s.tried);
  s.ideal = select(fresh, V{}, s.ideal);
  s.busy |= wanted & ~lanes;
}

// Closes and writes the first `size` states that wait for their end, at most a block. A state whose energy
// gives no T in the range has failed: it stays as it was.
template <class R, class Method>
PART void write_out(Solver<R, Method> &s, const Request &call, int size) {
  for (int half = 0; half < HALVES<R> && half * SQUARE < size; half++) {
    const int count = size - half * SQUARE;
    const unsigned bits = count < SQUARE ? (1u << count) - 1 : (1u << SQUARE) - 1;
    Doubles x[COLUMNS], dn[REACTIVE];
    State state;
    size_t rows[SQUARE];  // lanes beyond `size` repeat the first: other threads write other rows
    for (int i = 0; i < SQUARE; i++) rows[i] = s.out.rows[half * SQUARE + (i < count ? i : 0)];
    read_rows(call.states, rows, x);
    state_of(x, state);
    const Mask<double> own = lanes_of<double>(bits);  // the others would take the longest way
    const auto change = [&](int k) { return select(own, load_half<R>(s.out.x[k], half), Doubles{}); };
    for (int k = 0; k < REACTIVE; k++) dn[k] = change(k);
    if constexpr (Method::SOURCES)
      close(state, supply_of(call, rows), dn, change(REACTIVE), change(REACTIVE + 1), call.kind);
    else close(state, dn, change(REACTIVE), call.kind);
    const unsigned good = bits & bits_of((state.T >= all_of<double>(LOWEST_T)) & (state.T <= all_of<double>(HIGHEST_T)));
    x[0] = state.T;
    x[1] = state.p;
    for (int k = 0; k < SPECIES; k++) x[2 + COLUMN[k]] = state.Y[k];
    write_rows(call.states, rows, good, x);
    for (int i = 0; good != bits && i < SQUARE; i++)
      if ((bits & ~good) >> i & 1) fail(call, rows[i]);
  }
  const int rest = s.out.size - size;
  for (int i = 0; i < rest; i++) s.out.rows[i] = s.out.rows[size + i];
  for (int k = 0; rest > 0 && k < s.TAKEN; k++)
    memcpy(s.out.x[k], s.out.x[k] + size, WIDTH<R> * sizeof(R));
  s.out.size = rest;
}

// Puts the states of the lanes `done` to those that wait for their end, and reports their error and
// attempts and those of the lanes `failed`, whose states stay as they were, or are deferred to doubles.
template <class R, class Method>
INLINE void finish(Solver<R, Method> &s, const Request &call, unsigned done, unsigned failed) {
  const int at = s.out.size;
  for (unsigned rest = done | failed; rest; rest &= rest - 1) {
    const int i = first_of(rest);
    const bool is_done = done >> i & 1;
    const double error = is_done ? double(lane_of(s.worst, i)) : infinity();
    report(call, s.rows[i], error, int64_t(lane_of(s.tried, i)));
    if (is_done) s.out.rows[s.out.size++] = s.rows[i];
    else if (call.deferred) call.deferred->rows[call.deferred->size++] = s.rows[i];
    else fail(call, s.rows[i]);
  }
  compress(s.out.x, at, done, s.total, REACTIVE);
  compress(s.out.x + REACTIVE, at, done, &s.total_T, 1);
  if constexpr (Method::SOURCES) compress(s.out.x + REACTIVE + 1, at, done, &s.s.added.work, 1);
  if (s.out.size >= WIDTH<R>) write_out(s, call, WIDTH<R>);
}

}  // namespace solver
