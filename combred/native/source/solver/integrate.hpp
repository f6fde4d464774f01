// States over their time steps: step size control, and lanes that are refilled as they finish.
//
// A step is ideal where its error is 1: h error^(-1 / q). The error is relative to the change over the
// step, so q is the order of the method less one. The next step is the ideal one times its growth
// since the accepted step before, times SAFETY, within limits: the predictive control of Gustafsson,
// ACM Trans. Math. Softw. 20 (1994), without its bound by the control that does not predict.
#pragma once
#include "solver/closure.hpp"
#include "solver/step.hpp"

namespace solver {

constexpr double SAFETY = 0.9, SMALLEST_FACTOR = 0.2, LARGEST_FACTOR = 5.0;
// After a rejection, with twice the exponent: where radicals grow from nothing, the error relative to
// the change hardly depends on h, until h is short enough.
constexpr double SMALLEST_AFTER_REJECTION = 0.1, LARGEST_AFTER_REJECTION = 0.7;
// The first step is dt where x = dt max |dY/dt| / (MUCH tolerance (Y + MUCH_Y)) is at most 1, else
// FIRST dt x^(-1/3).
constexpr double MUCH = 1000.0, MUCH_Y = 1e-5, FIRST = 0.2;
// Attempts in floats, after which a state is done in doubles: near equilibrium, and where rates nearly
// balance at high pressure, their rounding may be above any tolerance.
constexpr int MOST_IN_FLOATS = 300;
constexpr double LEAST_FLOAT_TOLERANCE = 5e-4;  // below it, doubles take less time
// Of dt: at 256 K n-dodecane's radicals react with rates of 1e30 1/s.
constexpr double SMALLEST_STEP = 1e-30;
constexpr double GONE_T = 8000.0;  // K: a state that becomes as hot has no end in the range

// The error of a step is compared with tolerance times the change over the step plus these floors,
// which fall with the root of its share of dt: errors of many small steps add up.
constexpr double FLOOR_T = 1.0, FLOOR_Y = 1e-5;  // K; mass fraction
// And the error of each Y with tolerance times this multiple of it plus a floor: the changes of main
// species do not tell of intermediates that an ignition waits for.
constexpr double OF_SMALL = 100.0, FLOOR_SMALL = 1e-7;
// In floats, the same with smaller numbers for a species that grows by more than GROWING in a step in which
// no Y changes by QUIET_Y: radicals before an ignition. Where lambda h is near 1, a Rosenbrock step
// amplifies their growth too much, and the errors of some 20 steps, all of one sign, shift the delay.
constexpr double GROWING = 1.6, QUIET_Y = 1e-6, OF_GROWING = 5.0, FLOOR_GROWING = 3e-10;
// A state takes f dt alone where that is below this part of each Y, or below LEAST_Y, and T changes
// by less than this part of a K. Relative to each Y: radicals that grow from nothing must do so
// exactly, or an ignition is late.
constexpr double FROZEN = 0.001, LEAST_Y = 1e-25;  // FROZEN: times the tolerance
// Added to the error of a step that is too long for a mode that grows: with a positive eigenvalue
// lambda of J and gamma h lambda > 1 a pivot is negative, and the step damps what grows.
constexpr double TOO_LONG = 1e4;
constexpr double NEGATIVE_Y = 10.0;  // weight of mass fractions below zero, as an error
template <class R> constexpr double END = sizeof(R) == 4 ? 1e-6 : 1e-12;  // of dt, that may be left
template <class R> constexpr double ROUNDING = sizeof(R) == 4 ? 1e-8 : 1e-15;

// The first of the next rows that nobody has taken yet; all threads of a call share it.
#ifdef __CUDACC__
typedef unsigned long long *Rows;
INLINE size_t take(Rows next, size_t rows) { return atomicAdd(next, (unsigned long long)rows); }
#else
typedef size_t *Rows;
INLINE size_t take(Rows next, size_t rows) {
  return __atomic_fetch_add(next, rows, __ATOMIC_RELAXED);
}
#endif

// Rows of states that the network or floats defer to the next integrator.
struct Deferred {
  static constexpr int ROOM = 1024;
  size_t rows[ROOM];
  int size;
};

struct Request {
  size_t n;  // of states, or of `which`
  double *states;
  const double *dt;
  size_t dt_stride;
  double tolerance;
  int64_t max_steps;
  bool volume;
  double *error;
  int64_t *steps;
  Rows next;
  const size_t *which;  // the rows; NULL: all
  Deferred *deferred;   // for the rows that are; NULL: these have failed
  Rows failed;          // how many rows have; NULL: nobody asks
};

// States that wait for a lane, or for their end: a block of them, and room for one more.
template <class R, int N> struct Queue {
  R x[N][2 * WIDTH<R>];
  size_t rows[2 * WIDTH<R>];
  int first, size;
};

template <class R, class Method> struct Solver {
  typedef Vector<R> V;
  Step<R, Method> s;
  Reactor<R> reactor;
  V T, n[SPECIES];             // now
  V total_T, total[REACTIVE];  // their changes so far
  V h, t, dt, worst, tried;    // worst: the largest error of accepted steps
  V ideal;                     // of the last accepted step; 0: none
  size_t rows[WIDTH<R>];
  unsigned busy;               // a bit for each lane
  Queue<R, SPECIES + 3> in;    // n, T, p over R C0, dt
  Queue<R, REACTIVE + 1> out;  // changes of n, T
};

template <class R> constexpr unsigned ALL_LANES = unsigned((uint64_t(1) << WIDTH<R>) - 1);

// Attempts in floats count, too.
INLINE void report(const Request &call, size_t row, double error, int64_t steps) {
  if (call.error) write(call.error + row, error);
  if (call.steps) call.steps[row] = steps + (call.which ? call.steps[row] : 0);
}

// A row that stays as it was.
INLINE void fail(const Request &call, size_t row) {
  if (call.error) write(call.error + row, infinity());
  if (call.failed) take(call.failed, 1);
}

// Fills the empty queue with the next states; invalid states get an infinite error. Returns whether there
// were rows.
template <class R, class Method>
INLINE bool fetch(Solver<R, Method> &s, const Request &call) {
  typedef Vector<R> V;
  constexpr int BLOCK = WIDTH<R>;
  size_t rows[BLOCK];
  if (call.deferred && call.deferred->size > Deferred::ROOM - 2 * BLOCK) return false;
  const size_t first = take(call.next, BLOCK);
  if (first >= call.n) return false;
  V T{}, p{}, dt{}, n[SPECIES];
  unsigned valid = 0;
  if (!call.which) prefetch(call.states, first + BLOCK, BLOCK, call.n);
  for (int i = 0; i < BLOCK; i++) {
    rows[i] = first + i < call.n ? first + i : first;
    if (call.which) rows[i] = call.which[rows[i]];
    lane_of(dt, i) = R(read<double>(call.dt + rows[i] * call.dt_stride));
  }
  for (int half = 0; half < HALVES<R>; half++) {
    Doubles x[COLUMNS];
    State state;
    read_rows(call.states, rows + half * SQUARE, x);
    valid |= bits_of(state_of(x, state)) << half * SQUARE;
    set_half(T, half, state.T);
    set_half(p, half, Doubles(state.p * (1.0 / (GAS_CONSTANT * C0))));
    for (int k = 0; k < SPECIES; k++) set_half(n[k], half, Doubles(state.Y[k] * PER_WEIGHT[k]));
  }
  s.in.first = s.in.size = 0;
  for (int i = 0; i < BLOCK && first + i < call.n; i++) {
    if (valid >> i & 1) s.in.rows[s.in.size++] = rows[i];
    else {
      report(call, rows[i], infinity(), 0);
      fail(call, rows[i]);
    }
  }
  for (int k = 0; k < SPECIES; k++) compress(s.in.x[k], valid, n[k]);
  compress(s.in.x[SPECIES], valid, T);
  compress(s.in.x[SPECIES + 1], valid, p);
  compress(s.in.x[SPECIES + 2], valid, dt);
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
    for (int k = 0; k < SPECIES; k++) expand(s.n[k], taken, s.in.x[k] + first);
    expand(s.T, taken, s.in.x[SPECIES] + first);
    expand(s.reactor.p, taken, s.in.x[SPECIES + 1] + first);
    expand(s.dt, taken, s.in.x[SPECIES + 2] + first);
    lanes &= ~taken;
  }
  const Mask<R> fresh = lanes_of<R>(wanted & ~lanes);
  const V S = sum_of<SPECIES>([&](int k) { return s.n[k]; });
  for (int k = 0; k < REACTIVE; k++) s.total[k] = select(fresh, V{}, s.total[k]);
  s.reactor.rho = select(fresh, V(s.reactor.p * reciprocal(V(s.T * S))), s.reactor.rho);
  s.total_T = select(fresh, V{}, s.total_T);
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
INLINE void write_out(Solver<R, Method> &s, const Request &call, int size) {
  for (int half = 0; half < HALVES<R> && half * SQUARE < size; half++) {
    const int count = size - half * SQUARE;
    const unsigned bits = count < SQUARE ? (1u << count) - 1 : (1u << SQUARE) - 1;
    Doubles x[COLUMNS], dn[REACTIVE];
    State state;
    size_t rows[SQUARE];  // lanes beyond `size` repeat the first: other threads write other rows
    for (int i = 0; i < SQUARE; i++) rows[i] = s.out.rows[half * SQUARE + (i < count ? i : 0)];
    read_rows(call.states, rows, x);
    state_of(x, state);
    for (int k = 0; k < REACTIVE; k++) dn[k] = load_half<R>(s.out.x[k], half);
    close(state, dn, load_half<R>(s.out.x[REACTIVE], half), call.volume);
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
  for (int k = 0; rest > 0 && k <= REACTIVE; k++)
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
  for (int k = 0; k < REACTIVE; k++) compress(s.out.x[k] + at, done, s.total[k]);
  compress(s.out.x[REACTIVE] + at, done, s.total_T);
  if (s.out.size >= WIDTH<R>) write_out(s, call, WIDTH<R>);
}

// Sets the change over the step of `s.s`; its embedded error over the tolerance: the largest of the bounds of
// docs/solver.md; infinite where the change is not finite.
template <class R, class Method>
INLINE Vector<R> error_of(Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  Step<R, Method> &step = s.s;
  const V none{};
  V change_Y{}, error_Y{}, negative{}, sum{}, by_own{}, by_growing{};
  for (int k = 0; k < REACTIVE; k++) {
    const V change = with_stages<R, Method, OF_M, Method::STAGES>(none, step.K, k);
    const V own = absolute(V(with_stages<R, Method, OF_E, Method::STAGES>(none, step.K, k)));
    const V after = s.n[k] + change;
    step.change[k] = change;
    change_Y = at_least(V(absolute(change) * R(WEIGHT[k])), change_Y);
    error_Y = at_least(V(own * R(WEIGHT[k])), error_Y);
    negative = at_most(V(after * R(WEIGHT[k])), negative);
    sum = sum + change;
    const V size = at_least(s.n[k], after) * R(OF_SMALL) + R(FLOOR_SMALL / WEIGHT[k]);
    by_own = at_least(V(own * estimate(size)), by_own);
    if constexpr (sizeof(R) == 4) {
      const V of_growing = own * estimate(V(after * R(OF_GROWING) + R(FLOOR_GROWING / WEIGHT[k])));
      by_growing = at_least(select(after > s.n[k] * R(GROWING), of_growing, none), by_growing);
    }
  }
  constexpr int LAST = UNKNOWNS<R> - 1;
  const V change_T = with_stages<R, Method, OF_M, Method::STAGES>(none, step.K, LAST);
  const V error_T = absolute(V(with_stages<R, Method, OF_E, Method::STAGES>(none, step.K, LAST)));
  step.change[LAST] = change_T;
  const V part = s.h * reciprocal(s.dt);
  const V root = exp2(V(R(0.5) * log2(at_least(part, 1e-30))));
  const V scale_Y = R(tolerance) * (change_Y + R(FLOOR_Y) * root) + R(ROUNDING<R>);
  const V scale_T =
      R(tolerance) * (absolute(change_T) + R(FLOOR_T) * root) + R(ROUNDING<R>) * s.T;
  const V by_change = at_least(V(R(-NEGATIVE_Y) * negative), error_Y) * reciprocal(scale_Y);
  by_own = at_least(select(change_Y < all_of<R>(QUIET_Y), by_growing, none), by_own);
  V error = at_least(V(error_T * reciprocal(scale_T)), by_change);
  error = at_least(V(by_own * R(1 / tolerance)), error);
  const Mask<R> is_finite = absolute(V(sum + change_T)) < all_of<R>(infinity());
  error = select(is_finite, error, all_of<R>(infinity()));
  return select(step.pivot > V{}, error, V(error + R(TOO_LONG)));
}

// The states in which nothing happens over their whole dt: their change is f dt.
template <class R, class Method>
INLINE Mask<R> are_frozen(const Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  const R part = R(FROZEN * tolerance);
  V most{};
  for (int k = 0; k < REACTIVE; k++)
    most = at_least(V(absolute(s.s.f0[k]) * s.h - part * s.n[k] - R(LEAST_Y / WEIGHT[k])), most);
  return (most <= V{}) & (s.h >= s.dt) &
      (absolute(s.s.f0[UNKNOWNS<R> - 1]) * s.h < all_of<R>(part));
}

// The first step of the states that have tried none, after `evaluate`.
template <class R, class Method>
INLINE void set_first_step(Solver<R, Method> &s, double tolerance) {
  typedef Vector<R> V;
  const Mask<R> first = s.tried <= V{};
  if (!(bits_of(first) & s.busy)) return;
  V rise{};
  for (int k = 0; k < REACTIVE; k++)
    rise = at_least(V(absolute(s.s.f0[k]) * estimate(V(s.n[k] + R(MUCH_Y / WEIGHT[k])))), rise);
  const V over = s.dt * rise * R(1 / (MUCH * tolerance));
  const V part = exp2(V(log2(at_least(over, 1.0)) * R(-1.0 / 3))) * R(FIRST);
  s.h = select(first & (over > all_of<R>(1.0)), V(s.dt * part), s.h);
}

// The next step over the one of each lane, whose error is `error`.
template <class R, class Method>
INLINE Vector<R> factor_of(Solver<R, Method> &s, Vector<R> error, Mask<R> good) {
  typedef Vector<R> V;
  const V logarithm = log2(at_least(at_most(error, 1e10), 1e-12));
  const V x = at_most(exp2(V(logarithm * R(-1.0 / (Method::ORDER - 1)))), LARGEST_FACTOR);
  const V ideal = s.h * x;
  const V growth = select(s.ideal > V{}, V(ideal * reciprocal(s.ideal)), all_of<R>(1.0));
  const V after = at_least(at_most(V(R(SAFETY) * x * growth), LARGEST_FACTOR), SMALLEST_FACTOR);
  V rejected = at_most(V(R(SAFETY) * x * x), LARGEST_AFTER_REJECTION);
  rejected = select(error < all_of<R>(1e10), rejected, V{});
  s.ideal = select(good, ideal, s.ideal);
  return select(good, after, at_least(rejected, SMALLEST_AFTER_REJECTION));
}

// Adds the change over the step to the states whose step is `good`.
template <class R, class Method>
INLINE void accept(Solver<R, Method> &s, Vector<R> error, Vector<R> T_next, Mask<R> good) {
  typedef Vector<R> V;
  s.t = select(good, V(s.t + s.h), s.t);
  s.worst = select(good, at_least(error, s.worst), s.worst);
  s.total_T = select(good, V(s.total_T + s.s.change[UNKNOWNS<R> - 1]), s.total_T);
  s.T = select(good, T_next, s.T);
  for (int k = 0; k < REACTIVE; k++) {
    const V change = select(good, at_least(s.s.change[k], V(-s.n[k])), V{});
    s.n[k] = s.n[k] + change;
    s.total[k] = s.total[k] + change;
  }
}

// The next step of what remains of dt: in equal steps of at most s.h, unless they are very many.
template <class R, class Method> INLINE Vector<R> next_step(const Solver<R, Method> &s, Vector<R> remaining) {
  typedef Vector<R> V;
  const V ratio = remaining * reciprocal(s.h), parts = rounded(V(at_most(ratio, 1e5) + R(0.499)));
  const V equal = select(ratio < all_of<R>(1e4), V(remaining * reciprocal(at_least(parts, 1.0))), s.h);
  return select(remaining <= s.h, at_least(remaining, V(s.dt * R(0.1 * END<R>))), equal);
}

template <class R, class Method>
INLINE void integrate(Solver<R, Method> &s, const Request &call) {
  typedef Vector<R> V;
  int64_t limit = call.max_steps > 0 ? call.max_steps : MOST_ATTEMPTS;
  if (call.deferred && limit > MOST_IN_FLOATS) limit = MOST_IN_FLOATS;
  const int64_t countable = int64_t(1) << (sizeof(R) == 4 ? 24 : 53);
  const R most = R(limit < countable ? limit : countable);
  const V none{}, one = all_of<R>(1.0);
  s.T = all_of<R>(1000.0);  // lanes without a state
  for (int k = 0; k < SPECIES; k++) s.n[k] = all_of<R>(0.01);
  s.h = s.dt = one;
  s.t = s.worst = s.tried = s.ideal = s.total_T = none;
  for (int k = 0; k < REACTIVE; k++) s.total[k] = none;
  s.reactor = {all_of<R>(1e5), one, call.volume};
  s.in.first = s.in.size = s.out.size = 0;
  s.busy = 0;
  refill(s, call, ALL_LANES<R>);
  while (s.busy) {
    V cp;
    evaluate<R, true>(s.s.w, s.reactor, s.T, s.n, s.s.f0, cp);
    set_first_step(s, call.tolerance);
    const Mask<R> frozen = are_frozen(s, call.tolerance);
    const unsigned still = bits_of(frozen) & s.busy;
    V error{};
    if (still != s.busy) {
      step(s.s, s.reactor, s.T, s.n, cp, s.h);
      error = select(frozen, error, error_of(s, call.tolerance));
    }
    for (int k = 0; still && k < UNKNOWNS<R>; k++)
      s.s.change[k] = select(frozen, V(s.h * s.s.f0[k]), s.s.change[k]);
    const V T_next = s.T + s.s.change[UNKNOWNS<R> - 1];
    // T may leave the range of states in between, where it still is that of the rates.
    const Mask<R> good = (error <= one) & (T_next >= all_of<R>(LOWEST_STAGE_T)) &
        (T_next <= all_of<R>(HIGHEST_STAGE_T));
    s.tried = s.tried + R(1);
    accept(s, error, T_next, good);
    s.h = s.h * factor_of(s, error, good);
    const V remaining = s.dt - s.t;
    const Mask<R> is_done = remaining <= s.dt * R(END<R>);
    const Mask<R> has_failed = no(is_done) & ((s.tried >= all_of<R>(most)) |
        (s.h < s.dt * R(SMALLEST_STEP)) | (s.T > all_of<R>(GONE_T)));
    s.h = next_step(s, remaining);
    const unsigned done = bits_of(is_done) & s.busy, failed = bits_of(has_failed) & s.busy;
    if (done | failed) {
      finish(s, call, done, failed);
      refill(s, call, done | failed);
    }
  }
  if (s.out.size) write_out(s, call, s.out.size);
}

}  // namespace solver
