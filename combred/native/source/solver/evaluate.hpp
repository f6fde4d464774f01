// The right-hand side of a block: at constant pressure or volume, adiabatic or isothermal.
//
// Unknowns: specific mole numbers n_k = Y_k / W_k [kmol/kg] of the species that react, and T. With
// concentrations c_k = rho n_k and net production rates g_k,
//
//     dn_k/dt = g_k / rho         dT/dt = -sum_k h_k dn_k/dt / cp        (volume: u_k and cv)
//
// The gas of an isothermal reactor has h_k = 0 and cp = 1 in these and in the row of T: dT/dt = 0.
#pragma once
#include "solver/reactions.hpp"

namespace solver {

template <class R> constexpr int UNKNOWNS = Matrix<R>::UNKNOWNS;  // T is the last one

template <class R> struct Work {
  typedef Vector<R> V;
  Gas<R> g;
  Progress<R> q;
  alignas(64) V a[Matrix<R>::NONZEROS];          // the matrix, and then its factors
  V g0[REACTIVE], w[REACTIVE], of_C[REACTIVE], fT[REACTIVE];  // g; G c - g; dg/dC; T dg/dT
};

// What a block has besides its state: the pressure over R C0 [K], or at constant volume the density
// over C0.
template <class R> struct Reactor {
  Vector<R> p, rho;
  Kind kind;
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
  if (reactor.kind.volume) {
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
  if (reactor.kind.isothermal)
    for (int k = 0; k < SPECIES; k++) g.h[k] = g.cp[k] = V{};
  else if (reactor.kind.volume && !reactor.kind.enthalpy)
    for (int k = 0; k < SPECIES; k++) {
      g.h[k] = g.h[k] - g.T;
      g.cp[k] = g.cp[k] - R(1);
    }
  cp = sum_of<SPECIES>([&](int k) { return n[k] * g.cp[k]; });
  if (reactor.kind.isothermal) cp = all_of<R>(1.0);
  for (int k = 0; k < REACTIVE; k++) f[k] = s.g0[k] * g.per_rho;
  if constexpr (Matrix<R>::EXACT) f[REACTIVE] = V{};
  const V heat = sum_of<REACTIVE>([&](int k) { return g.h[k] * f[k]; });
  f[UNKNOWNS<R> - 1] = -heat * reciprocal(cp);
}

}  // namespace solver
