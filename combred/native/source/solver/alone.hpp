// A call of one state: its steps are those of integrate.hpp, its numbers those of single.hpp; a block of
// lanes reads, closes and writes its row.
#pragma once
#include "solver/integrate.hpp"
#include "solver/one_state.hpp"

#ifdef COMBRED_ONE_STATE
namespace solver {

namespace {
template <class Method> struct Alone : Solver<Single, Method> {
  Solver<float, Method> lanes;
};
}  // namespace

template <class Method> INLINE void refill(Solver<Single, Method> &s, const Request &call, unsigned) {
  auto &lanes = static_cast<Alone<Method> &>(s).lanes;
  s.busy = 0;
  lanes.out.size = 0;
  if (!fetch(lanes, call) || !lanes.in.size) return;
  s.rows[0] = lanes.in.rows[0];
  for (int k = 0; k < SPECIES; k++) s.n[k] = lanes.in.x[k][0];
  s.T = lanes.in.x[SPECIES][0];
  s.reactor.p = lanes.in.x[SPECIES + 1][0];
  s.h = s.dt = lanes.in.x[SPECIES + 2][0];
  s.until = lanes.in.x[SPECIES + 3][0];
  s.reactor.rho = s.reactor.p * reciprocal(s.T * sum_of<SPECIES>([&](int k) { return s.n[k]; }));
  s.busy = 1;
}

template <class Method>
INLINE void finish(Solver<Single, Method> &s, const Request &call, unsigned done, unsigned failed) {
  auto &lanes = static_cast<Alone<Method> &>(s).lanes;
  lanes.rows[0] = s.rows[0];
  lane_of(lanes.worst, 0) = s.worst;
  lane_of(lanes.tried, 0) = s.tried;
  for (int k = 0; k < REACTIVE; k++) lane_of(lanes.total[k], 0) = s.total[k];
  lane_of(lanes.total_T, 0) = s.total_T;
  finish(lanes, call, done, failed);
  if (lanes.out.size) write_out(lanes, call, lanes.out.size);
}

// For the end of `integrate`: nothing waits any more.
template <class Method> INLINE void write_out(Solver<Single, Method> &, const Request &, int) {}

template <class Method> INLINE void alone(Alone<Method> &s, const Request &call) {
  memset(s.s.w.a, 0, sizeof(s.s.w.a));  // what no step writes
  integrate<Single, Method>(s, call);
}

}  // namespace solver
#endif
