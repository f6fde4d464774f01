// One step of a Rosenbrock method of a block: adiabatic, at constant pressure or volume.
//
// Unknowns: specific mole numbers n_k = Y_k / W_k [kmol/kg] of the species that react, and T. With
// concentrations c_k = rho n_k and net production rates g_k,
//
//     dn_k/dt = g_k / rho         dT/dt = -sum_k h_k dn_k/dt / cp        (volume: u_k and cv)
//
// The row of T in the matrix is that of the energy: sum_k h_k x_k + cp x_T, whose right-hand side is
// zero but for what the steps of T leave. It makes the matrix sparse (Schwer, Tolsma, Green & Barton,
// Combust. Flame 128 (2002), took mole numbers for the same reason).
//
// Matrix<R>::EXACT: the Jacobian is that of f. At constant pressure the density depends on all
// species by S = sum_k n_k, which is one more unknown; third bodies' derivatives are in. Else both
// are left out: the same errors down to a tolerance of 1e-4, and a third less of the elimination.
#pragma once
#include "solver/methods.hpp"
#include "solver/reactions.hpp"

namespace solver {

template <class R> constexpr int UNKNOWNS = Matrix<R>::UNKNOWNS;  // T is the last one

template <class R> struct Work {
  typedef Vector<R> V;
  Gas<R> g;
  Progress<R> q;
  V a[Matrix<R>::NONZEROS];                      // the matrix, and then its factors
  V g0[REACTIVE], w[REACTIVE], of_C[REACTIVE], fT[REACTIVE];  // g; G c - g; dg/dC; T dg/dT
};

// What a block has besides its state: the pressure over R C0 [K], or at constant volume the density
// over C0.
template <class R> struct Reactor {
  Vector<R> p, rho;
  bool volume;
};

// f (UNKNOWNS) at T, n: dn/dt, and dT/dt as the last; cp of the mixture over R. D: also what the
// matrix needs.
template <class R, bool D>
INLINE void evaluate(Work<R> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                     Vector<R> *f, Vector<R> &cp) {
  typedef Vector<R> V;
  Gas<R> &g = s.g;
#ifdef COMBRED_MULTIPLIERS
  g.factors = MULTIPLIERS<R>;
#endif
  g.T = at_most(at_least(T, LOWEST_STAGE_T), HIGHEST_STAGE_T);
  g.per_T = reciprocal(g.T);
  g.log2_T = log2(V(g.T * R(1.0 / 1024)));
  const V S = sum_of<SPECIES>([&](int k) { return n[k]; });
  if (reactor.volume) {
    g.rho = reactor.rho;
    g.C = g.rho * S;
    g.p = g.C * g.T;
    g.per_rho = reciprocal(g.rho);
    g.fixed_C = g.at_constant_p = V{};
  } else {
    g.p = reactor.p;
    g.C = g.p * g.per_T;
    g.rho = g.C * reciprocal(S);
    g.per_rho = S * reciprocal(g.C);
    g.fixed_C = g.C;
    g.at_constant_p = all_of<R>(1.0);
  }
  for (int k = 0; k < SPECIES; k++) g.c[k] = g.rho * n[k];
  set_third_bodies<R, D, STAGE<R, D>>(g);
  if constexpr (STAGE<R, D>) set_thermo_near(g);
  else set_thermo<R, D>(g);
  if (D) {
    g.T_0 = g.T;
    g.per_T_0 = g.per_T;
    g.log2_T_0 = g.log2_T;
  }
  set_pressures(g);
  rates_of_progress<R, D>(g, s.q);
  production(s.q, s.g0);
  if (reactor.volume)
    for (int k = 0; k < SPECIES; k++) {
      g.h[k] = g.h[k] - g.T;
      g.cp[k] = g.cp[k] - R(1);
    }
  cp = sum_of<SPECIES>([&](int k) { return n[k] * g.cp[k]; });
  for (int k = 0; k < REACTIVE; k++) f[k] = s.g0[k] * g.per_rho;
  if constexpr (Matrix<R>::EXACT) f[REACTIVE] = V{};
  const V heat = sum_of<REACTIVE>([&](int k) { return g.h[k] * f[k]; });
  f[UNKNOWNS<R> - 1] = -heat * reciprocal(cp);
}

// The factors of I / (gamma h) - J, after evaluate<R, true>; gh: gamma h.
template <class R>
INLINE void factorise(Work<R> &s, const Reactor<R> &reactor, const Vector<R> *n, const Vector<R> *f,
                      Vector<R> cp, Vector<R> gh, Vector<R> per_gh) {
  typedef Vector<R> V;
  typedef Matrix<R> At;
  Gas<R> &g = s.g;
  const V scale = -g.per_T * g.per_rho, rise = f[UNKNOWNS<R> - 1] * gh;
  for (int k = 0; k < REACTIVE; k++) s.a[At::T_ROW[k]] = g.h[k] + rise * g.cp[k];
  const V more = sum_of<REACTIVE>([&](int k) { return g.cp[k] * f[k]; });
  const V slope = sum_of<SPECIES>([&](int k) { return n[k] * g.slope[k]; });
  s.a[At::T_T] = cp + more * gh + rise * slope;
  if constexpr (At::EXACT) {
    set_matrix(g, s.q, s.g0, s.a, s.w, s.of_C);
    production_T(s.q, s.fT);
    const V per_C = reciprocal(g.C);
    for (int k = 0; k < REACTIVE; k++) {
      s.a[At::T_COLUMN[k]] = scale * (reactor.volume ? s.fT[k] : V(s.fT[k] - s.w[k]));
      s.a[At::S_COLUMN[k]] = reactor.volume ? -s.of_C[k] : V(s.w[k] * per_C);
      s.a[At::S_ROW[k]] = V{} - R(1);
    }
    s.a[At::S_S] = all_of<R>(1.0);
    s.a[At::S_T] = s.a[At::T_S] = V{};
    finish_matrix(s.a, per_gh);
    eliminate(s.a);
  } else set_factors(s.q, per_gh, scale, s.a);
}

// x plus the row I of the coefficients of a method times the stages before it.
enum Coefficients { OF_A, OF_C, OF_M, OF_E };
template <class Method, Coefficients WHICH> INLINE constexpr double coefficient(int i, int j) {
  return WHICH == OF_A ? Method::A[i][j] : WHICH == OF_C ? Method::C[i][j]
       : WHICH == OF_M ? Method::M[j] : Method::E[j];
}
template <class R, class Method, Coefficients WHICH, int I, int J = 0>
INLINE Vector<R> with_stages(Vector<R> x, const Vector<R> (*K)[UNKNOWNS<R>], int k) {
  if constexpr (J < I) {
    constexpr double size = coefficient<Method, WHICH>(I < Method::STAGES ? I : 0, J);
    if constexpr (size != 0.0) x = x + R(size) * K[J][k];
    return with_stages<R, Method, WHICH, I, J + 1>(x, K, k);
  } else return x;
}

template <class R, class Method> struct Step {
  typedef Vector<R> V;
  Work<R> w;
  V K[Method::STAGES][UNKNOWNS<R>];
  V f0[UNKNOWNS<R>], f[UNKNOWNS<R>];  // of the beginning and of the last stage
  V heat[REACTIVE], next[SPECIES];
  V change[UNKNOWNS<R>];       // over the step
  V pivot;                     // the least reciprocal of a pivot
};

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

// The stages of a step over h from T, n, after `evaluate<R, true>` has set f0 there.
template <class R, class Method>
INLINE void step(Step<R, Method> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                 Vector<R> cp, Vector<R> h) {
  typedef Vector<R> V;
  const V gh = h * R(Method::GAMMA);
  for (int k = 0; k < REACTIVE; k++) s.heat[k] = s.w.g.h[k];
  for (int k = REACTIVE; k < SPECIES; k++) s.next[k] = n[k];
  factorise(s.w, reactor, n, s.f0, cp, gh, reciprocal(gh));
  s.pivot = smallest_pivot<R>(s.w.a);
  stages<R, Method>(s, reactor, T, n, cp, gh, reciprocal(h));
}

}  // namespace solver
