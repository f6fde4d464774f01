// One step of a Rosenbrock method of a block, from the right-hand side of evaluate.hpp.
//
// The row of T in the matrix is that of the energy: sum_k h_k x_k + cp x_T, whose right-hand side is
// zero but for what the steps of T leave. It makes the matrix sparse (Schwer, Tolsma, Green & Barton,
// Combust. Flame 128 (2002), took mole numbers for the same reason).
//
// Matrix<R>::EXACT: the Jacobian is that of f. At constant pressure the density depends on all
// species by S = sum_k n_k, which is one more unknown; third bodies' derivatives are in. Else both
// are left out: the same errors down to a tolerance of 1e-4, and a third less of the elimination.
#pragma once
#include "solver/sources.hpp"

namespace solver {

// The factors of I / (gamma h) - J, after f0 was set; gh: gamma h.
template <class R, class Method>
INLINE void factorise(Step<R, Method> &step, const Reactor<R> &reactor, const Vector<R> *n, Vector<R> cp,
                      Vector<R> gh) {
  typedef Vector<R> V;
  typedef Matrix<R> At;
  Work<R> &s = step.w;
  Gas<R> &g = s.g;
  const V *f = step.f0, per_gh = reciprocal(gh);
  V diagonal = per_gh;
  const V scale = -g.per_T * g.per_rho, rise = f[UNKNOWNS<R> - 1] * gh;
  for (int k = 0; k < REACTIVE; k++) s.a[At::T_ROW[k]] = g.h[k] + rise * g.cp[k];
  const V more = sum_of<REACTIVE>([&](int k) { return g.cp[k] * f[k]; });
  const V slope = sum_of<SPECIES>([&](int k) { return n[k] * g.slope[k]; });
  s.a[At::T_T] = cp + more * gh + rise * slope;
  if constexpr (Method::SOURCES) {
    set_linear(step.added, s, reactor, f, cp, gh, per_gh);
    diagonal = per_gh + step.added.of[RATE];
  }
  if (reactor.kind.isothermal) s.a[At::T_T] = cp;
  if constexpr (At::EXACT) {
    set_matrix(g, s.q, s.g0, s.a, s.w, s.of_C);
    production_T(s.q, s.fT);
    const V per_C = reciprocal(g.C);
    for (int k = 0; k < REACTIVE; k++) {
      s.a[At::T_COLUMN[k]] = scale * (reactor.kind.volume ? s.fT[k] : V(s.fT[k] - s.w[k]));
      s.a[At::S_COLUMN[k]] = reactor.kind.volume ? -s.of_C[k] : V(s.w[k] * per_C);
      s.a[At::S_ROW[k]] = V{} - R(1);
    }
    s.a[At::S_S] = all_of<R>(1.0);
    s.a[At::S_T] = s.a[At::T_S] = V{};
    if constexpr (Method::SOURCES) set_of_x(step.added, s);
    finish_matrix(s.a, diagonal);
    eliminate(s.a);
  } else set_factors(s.q, diagonal, scale, s.a);
}

// Stages I and on; cp: of the beginning.
template <class R, class Method, int I = 0>
INLINE void stages(Step<R, Method> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                   Vector<R> cp, Vector<R> gh, Vector<R> per_h) {
  typedef Vector<R> V;
  constexpr int LAST = UNKNOWNS<R> - 1;
  if constexpr (I < Method::STAGES) {
    if constexpr (I > 0 && Method::NEW_F[I]) {
      V unused;
      for (int k = 0; k < REACTIVE; k++)
        s.next[k] = with_stages<R, Method, OF_A, I>(n[k], s.K, k);
      const V T_next = with_stages<R, Method, OF_A, I>(T, s.K, LAST);
      evaluate<R, false>(s.w, reactor, T_next, s.next, s.f, unused);
    }
    const V *f = I > 0 ? s.f : s.f0;
    V *b = s.K[I];
    for (int k = 0; k < REACTIVE; k++)
      b[k] = f[k] + per_h * with_stages<R, Method, OF_C, I>(V{}, s.K, k);
    const V heat = sum_of<REACTIVE>([&](int k) { return s.heat[k] * b[k]; });
    if constexpr (Matrix<R>::EXACT) b[REACTIVE] = V{};
    b[LAST] = f[LAST] + per_h * with_stages<R, Method, OF_C, I>(V{}, s.K, LAST);
    b[LAST] = gh * (cp * b[LAST] + heat);
    solve(s.w.a, b);
    stages<R, Method, I + 1>(s, reactor, T, n, cp, gh, per_h);
  }
}

// The least reciprocal of a pivot.
template <class R> PART Vector<R> smallest_pivot(const Vector<R> *a) {
  Vector<R> least = a[Matrix<R>::PIVOTS[0]];
  for (int k = 1; k < UNKNOWNS<R>; k++) least = at_most(a[Matrix<R>::PIVOTS[k]], least);
  return least;
}

// The stages of a step over h from T, n, after f0 was set there.
template <class R, class Method>
INLINE void step(Step<R, Method> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                 Vector<R> cp, Vector<R> h) {
  typedef Vector<R> V;
  const V gh = h * R(Method::GAMMA);
  for (int k = 0; k < REACTIVE; k++) s.heat[k] = s.w.g.h[k];
  for (int k = REACTIVE; k < SPECIES; k++) s.next[k] = n[k];
  factorise(s, reactor, n, cp, gh);
  s.pivot = smallest_pivot<R>(s.w.a);
  if constexpr (Method::SOURCES && !Matrix<R>::EXACT) set_of_x_near(s.added, s.w, reactor, T, n, s.f0, s.f);
  if constexpr (Method::SOURCES) stages_of_all(s, reactor, T, n, cp, gh, reciprocal(h));
  else stages<R, Method>(s, reactor, T, n, cp, gh, reciprocal(h));
}

}  // namespace solver
