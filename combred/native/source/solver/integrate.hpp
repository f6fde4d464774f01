// States over their time steps, each in a lane of its own.
#pragma once
#include "solver/control.hpp"
#include "solver/norm.hpp"
#include "solver/refill.hpp"

namespace solver {

// Attempts in floats, after which a state is done in doubles: near equilibrium, and where rates nearly
// balance at high pressure, their rounding may be above any tolerance.
constexpr int MOST_IN_FLOATS = 300;
constexpr double LEAST_FLOAT_TOLERANCE = 5e-4;  // below it, doubles take less time
// Of dt: at 256 K n-dodecane's radicals react with rates of 1e30 1/s.
constexpr double SMALLEST_STEP = 1e-30;
constexpr double GONE_T = 8000.0;  // K: a state that becomes as hot has no end in the range

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
  if constexpr (Method::SOURCES) {
    for (int k = REACTIVE; k < SPECIES; k++)
      s.n[k] = s.n[k] + select(good, at_least(s.s.change[unknown<R>(k)], V(-s.n[k])), V{});
    s.reactor = moved(s.reactor, select(good, s.s.added.dx, V{}));
    s.s.added.work = select(good, V(s.s.added.work + s.s.change[s.s.SIZE - 1]), s.s.added.work);
  }
}

// The time after `t` at which T passes `until` in a step h, by the parabola through T at both ends with the slope of
// its beginning.
INLINE double passing(double slope, double h, double rise, double until) {
  if (!(until > 0.0)) return 0.0;
  const double b = slope * h, root = b * b + 4.0 * (rise - b) * until;
  const double x = 2.0 * until / (b + root_of(root > 0.0 ? root : 0.0));
  return x > 0.0 && x < 1.0 ? h * x : h;
}

// Tells when T passed `until` in the lanes `reached`, in the step that began at t with T, and took h.
template <class R, class Method>
INLINE void tell_time(const Solver<R, Method> &s, const Request &call, unsigned reached, Vector<R> t, Vector<R> T,
                      Vector<R> h) {
  Vector<R> slope = s.s.f0[UNKNOWNS<R> - 1], now = s.T, until = s.until;
  for (; call.time && reached; reached &= reached - 1) {
    const int i = first_of(reached);
    const double begin = lane_of(T, i), rise = lane_of(now, i) - begin;
    const double after = passing(lane_of(slope, i), lane_of(h, i), rise, lane_of(until, i) - begin);
    write(call.time + s.rows[i], lane_of(t, i) + after);
  }
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
  s.until = all_of<R>(infinity());
  s.t = s.worst = s.tried = s.ideal = s.total_T = none;
  for (int k = 0; k < REACTIVE; k++) s.total[k] = none;
  s.reactor = {all_of<R>(1e5), one, call.kind};
  if constexpr (Method::SOURCES) {
    for (V &of : s.s.added.of) of = none;
    s.s.added.work = none;
  }
  s.in.first = s.in.size = s.out.size = 0;
  s.busy = 0;
  refill(s, call, ALL_LANES<R>);
  while (s.busy) {
    V cp;
    if constexpr (Method::SOURCES)
      evaluate_all<R, true>(s.s.added, s.s.w, s.reactor, s.T, s.n, s.s.added.work, s.s.f0, cp);
    else evaluate<R, true>(s.s.w, s.reactor, s.T, s.n, s.s.f0, cp);
    set_first_step(s, call.tolerance);
    if constexpr (Method::SOURCES) s.s.added.dx = s.h * s.s.added.of[DRIFT];
    const Mask<R> frozen = are_frozen(s, call.tolerance);
    const unsigned still = bits_of(frozen) & s.busy;
    V error{};
    if (still != s.busy) {
      step(s.s, s.reactor, s.T, s.n, cp, s.h);
      error = select(frozen, error, error_of(s, call.tolerance));
    }
    for (int k = 0; still && k < s.s.SIZE; k++)
      s.s.change[k] = select(frozen, V(s.h * s.s.f0[k]), s.s.change[k]);
    const V T_next = s.T + s.s.change[UNKNOWNS<R> - 1];
    // T may leave the range of states in between, where it still is that of the rates.
    const Mask<R> good = (error <= one) & (T_next >= all_of<R>(LOWEST_STAGE_T)) &
        (T_next <= all_of<R>(HIGHEST_STAGE_T));
    s.tried = s.tried + R(1);
    const V t = s.t, T = s.T, h = s.h;  // before the step
    accept(s, error, T_next, good);
    s.h = s.h * factor_of(s, error, good);
    const V remaining = s.dt - s.t;
    const Mask<R> reached = good & (s.T >= s.until);
    const Mask<R> is_done = reached | (remaining <= s.dt * R(END<R>));
    if (any(reached)) tell_time(s, call, bits_of(reached) & s.busy, t, T, h);
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
