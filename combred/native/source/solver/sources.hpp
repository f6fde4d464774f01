// Sources that are constant over dt beside the reactions: of transport, of a gas that flows in, of a piston.
//
// S_k is the mass of species k that comes to a unit of mass in unit time, s = sum_k S_k, Q the energy that comes.
// x, the pressure or at constant volume the density, changes at a constant rate. With w_k / rho of the reactions,
//
//     dY_k/dt = w_k / rho + S_k - s Y_k        dh/dt = Q - s h + P - q        P = R T sum_k n_k dx/dt / x
//
// with the heat q = U (T - T_wall) / rho that a wall takes, of which no closed form is known: T of such a state is that
// of its unknown (volume: u for h; density and enthalpy: P = 0; isothermal: dT/dt = Q). So S_k = Y0_k / tau, Q = h0 / tau is a gas Y0, h0 that
// flows in and displaces the other. As dT/dt = (Q + P - q - sum_k h_k S_k - sum_k h_k g_k / rho) / cp has no s, rounding
// of h does not matter.
//
// Unknowns after the others: n of the inert species, whose part of the Jacobian is -s alone, and the work W,
// dW/dt = P - s W, by which the energy at the end is known (supply.hpp). x needs none: its stages are numbers.
#pragma once
#include "solver/unknowns.hpp"

namespace solver {

// The reactor after x has changed by dx.
template <class R> INLINE Reactor<R> moved(Reactor<R> reactor, Vector<R> dx) {
  Vector<R> &x = reactor.kind.volume ? reactor.rho : reactor.p;
  x = x + dx;
  return reactor;
}

// P over R, after `evaluate`.
template <class R> INLINE Vector<R> work_rate(const Gas<R> &g, const Reactor<R> &reactor, Vector<R> dx) {
  if (reactor.kind.enthalpy || reactor.kind.isothermal) return Vector<R>{};
  return reactor.kind.volume ? Vector<R>(g.p * g.per_rho * g.per_rho * dx) : Vector<R>(g.per_rho * dx);
}

// The heat that the wall takes, over R, after `evaluate`.
template <class R> INLINE Vector<R> heat_loss(const Gas<R> &g, const Vector<R> *of) {
  return of[TRANSFER] * g.per_rho * (g.T - of[T_WALL]);
}

// f of all unknowns at T, n and the work, with sources; else as `evaluate`.
template <class R, bool D>
PART void evaluate_all(const Added<R, true> &added, Work<R> &s, const Reactor<R> &reactor, Vector<R> T,
                       const Vector<R> *n, Vector<R> work, Vector<R> *f, Vector<R> &cp) {
  typedef Vector<R> V;
  constexpr int LAST = UNKNOWNS<R> - 1;
  const V *of = added.of;
  evaluate<R, D>(s, reactor, T, n, f, cp);
  const Gas<R> &g = s.g;
  const V power = work_rate(g, reactor, of[DRIFT]);
  for (int k = 0; k < SPECIES; k++) {
    const V own = of[k] - of[RATE] * n[k];
    f[unknown<R>(k)] = k < REACTIVE ? V(f[k] + own) : own;
  }
  f[UNKNOWNS<R> + INERT] = power - of[RATE] * work;
  const V brought = sum_of<SPECIES>([&](int k) { return g.h[k] * of[k]; });
  f[LAST] = f[LAST] + (of[ENERGY] + power - brought - heat_loss(g, of)) * reciprocal(cp);
}

// Adds the sources to the row of T, before the elimination, and sets what the matrix lacks.
template <class R>
PART void set_linear(Added<R, true> &to, Work<R> &s, const Reactor<R> &reactor, const Vector<R> *f, Vector<R> cp,
                     Vector<R> gh, Vector<R> per_gh) {
  typedef Vector<R> V;
  typedef Matrix<R> At;
  const Gas<R> &g = s.g;
  const V *of = to.of;
  const V rise = f[UNKNOWNS<R> - 1] * gh;
  to.power = work_rate(g, reactor, of[DRIFT]);
  to.net = to.power - heat_loss(g, of);
  const V of_density = reactor.kind.volume ? to.power : to.net;  // 1 / rho has d / dT and d / dS at constant p alone
  to.per_T = g.per_T;
  to.per_S = g.rho * reciprocal(g.C);
  to.per_x = reciprocal(reactor.kind.volume ? reactor.rho : reactor.p);
  to.per = reciprocal(V(per_gh + of[RATE]));
  const V of_S = of_density * to.per_S, of_T = of_density * to.per_T - of[TRANSFER] * g.per_rho;
  for (int k = 0; k < REACTIVE; k++) {
    V &entry = s.a[At::T_ROW[k]];
    entry = entry + gh * (of[RATE] * g.h[k] - of_S);
  }
  V more{};
  for (int i = 0; i < INERT; i++) {
    const int k = REACTIVE + i;
    to.heat[i] = g.h[k];
    to.row[i] = g.h[k] + rise * g.cp[k] + gh * (of[RATE] * g.h[k] - of_S);
    more = more + g.cp[k] * f[unknown<R>(k)];
  }
  s.a[At::T_T] = s.a[At::T_T] + gh * (of[RATE] * cp + more - of_T);
}

// Sets d f / dx, after the exact matrix.
template <class R> INLINE void set_of_x(Added<R, true> &to, const Work<R> &s) {
  const Vector<R> scale = to.per_x * s.g.per_rho;
  for (int k = 0; k < REACTIVE; k++) to.of_x[k] = scale * (s.w[k] + s.g.C * s.of_C[k]);
}

// The same in floats, by a difference, where x changes at all: without it, steps are up to four times as many.
template <class R>
PART void set_of_x_near(Added<R, true> &to, Work<R> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                        const Vector<R> *f0, Vector<R> *f) {
  typedef Vector<R> V;
  constexpr double SHARE = 1.0 / 64;
  V cp;
  const bool changes = any(no(to.of[DRIFT] == V{}));
  if (changes) evaluate<R, false>(s, moved(reactor, V(R(SHARE) * reciprocal(to.per_x))), T, n, f, cp);
  for (int k = 0; k < REACTIVE; k++) {
    const V own = to.of[k] - to.of[RATE] * n[k];
    to.of_x[k] = changes ? V((f[k] - (f0[k] - own)) * R(1 / SHARE) * to.per_x) : V{};
  }
}

// x of stage i: that of the beginning plus `when` h dx/dt; its increment is `passed` h dx/dt.
template <class Method> struct Path {
  double when[Method::STAGES], passed[Method::STAGES];
};
template <class Method> INLINE constexpr Path<Method> path_of() {
  Path<Method> path = {};
  for (int i = 0; i < Method::STAGES; i++) {
    path.passed[i] = Method::GAMMA;
    for (int j = 0; j < i; j++) {
      path.when[i] += Method::A[i][j] * path.passed[j];
      path.passed[i] += Method::GAMMA * Method::C[i][j] * path.passed[j];
    }
  }
  return path;
}

// Adds the first stages times coefficients c to x.
template <class R, int N> PART void add_stages(Vector<R> *x, const double *c, const Vector<R> (*K)[N], int stages) {
  for (int j = 0; j < stages; j++) {
    const Vector<R> size = all_of<R>(c[j]);
    for (int k = 0; c[j] != 0.0 && k < N; k++) x[k] = x[k] + size * K[j][k];
  }
}

// Solves for a stage b of all unknowns, from its right-hand side: inert species first, the work last. dx: the
// increment of x.
template <class R>
INLINE void solve_all(const Added<R, true> &of, const Vector<R> *heat, const Vector<R> *a, Vector<R> *b, Vector<R> cp,
                      Vector<R> gh, Vector<R> dx) {
  typedef Vector<R> V;
  typedef Matrix<R> At;
  constexpr int LAST = UNKNOWNS<R> - 1, WORK = UNKNOWNS<R> + INERT;
  V energy = sum_of<REACTIVE>([&](int k) { return heat[k] * b[k]; }), sum{};
  energy = gh * (cp * b[LAST] + energy - of.net * of.per_x * dx);
  for (int i = 0; i < INERT; i++) {
    V &own = b[UNKNOWNS<R> + i];
    energy = energy + gh * of.heat[i] * own;
    own = own * of.per;
    energy = energy - of.row[i] * own;
    sum = sum + own;
  }
  b[LAST] = energy;
  if constexpr (At::EXACT) {
    b[REACTIVE] = sum;
    for (int m = 0; m < At::INERT; m++) {
      V &to = b[At::INERT_ROWS[m]];
      to = to - a[At::ROWS[At::UNKNOWNS] + m] * b[unknown<R>(At::INERT_COLUMNS[m])];
    }
  }
  for (int k = 0; k < REACTIVE; k++) b[k] = b[k] + of.of_x[k] * dx;
  solve(a, b);
  sum = sum + sum_of<REACTIVE>([&](int k) { return b[k]; });
  b[WORK] = (b[WORK] + of.power * (b[LAST] * of.per_T + sum * of.per_S - dx * of.per_x)) * of.per;
}

// The stages of a step with sources, as those of step.hpp; not written out, which would double the time of
// compilation.
template <class R, class Method>
INLINE void stages_of_all(Step<R, Method> &s, const Reactor<R> &reactor, Vector<R> T, const Vector<R> *n,
                          Vector<R> cp, Vector<R> gh, Vector<R> per_h) {
  typedef Vector<R> V;
  constexpr int SIZE = ALL_UNKNOWNS<R, Method>, LAST = UNKNOWNS<R> - 1;
  constexpr Path<Method> PATH = path_of<Method>();
  for (int i = 0; i < Method::STAGES; i++) {
    V *b = s.K[i], y[SIZE] = {}, own_cp;
    if (i > 0 && Method::NEW_F[i]) {
      for (int k = 0; k < SPECIES; k++) y[unknown<R>(k)] = n[k];
      y[LAST] = T;
      y[SIZE - 1] = s.added.work;
      add_stages<R>(y, Method::A[i], s.K, i);
      for (int k = 0; k < SPECIES; k++) s.next[k] = y[unknown<R>(k)];
      const Reactor<R> then = moved(reactor, V(R(PATH.when[i]) * s.added.dx));
      evaluate_all<R, false>(s.added, s.w, then, y[LAST], s.next, y[SIZE - 1], s.f, own_cp);
    }
    const V *f = i > 0 ? s.f : s.f0;
    for (V &x : y) x = V{};
    add_stages<R>(y, Method::C[i], s.K, i);
    for (int k = 0; k < SIZE; k++) b[k] = f[k] + per_h * y[k];
    solve_all<R>(s.added, s.heat, s.w.a, b, cp, gh, V(R(PATH.passed[i]) * s.added.dx));
  }
}

}  // namespace solver
