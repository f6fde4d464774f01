// What a block of lanes holds: its states, their steps, and the states that wait before and after.
#pragma once
#include "solver/closure.hpp"
#include "solver/request.hpp"
#include "solver/step.hpp"

namespace solver {

// States that wait for a lane, or for their end: a block of them, and room for one more.
template <class R, int N> struct Queue {
  R x[N][2 * WIDTH<R>];
  size_t rows[2 * WIDTH<R>];
  int first, size;
};

template <class R, class Method> struct Solver {
  typedef Vector<R> V;
  static constexpr int GIVEN = SPECIES + 4 + (Method::SOURCES ? int(ALL_SOURCES) : 0);
  static constexpr int TAKEN = REACTIVE + 1 + Method::SOURCES;
  Step<R, Method> s;
  Reactor<R> reactor;
  V T, n[SPECIES];             // now
  V total_T, total[REACTIVE];  // their changes so far
  V until;                     // T at which a state ends before dt
  V h, t, dt, worst, tried;    // worst: the largest error of accepted steps
  V ideal;                     // of the last accepted step; 0: none
  size_t rows[WIDTH<R>];
  unsigned busy;               // a bit for each lane
  Queue<R, GIVEN> in;          // n, T, p over R C0, dt, until; sources
  Queue<R, TAKEN> out;         // changes of n, T; the work
};

}  // namespace solver
