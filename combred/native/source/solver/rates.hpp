// Parts of reaction rates that are the same for all mechanisms; reactions.hpp is written for one.
#pragma once
#include "solver/thermo.hpp"

namespace solver {

// Net rates of progress q, and for the matrix: their derivatives d by concentrations, qT = T dq/dT
// at fixed n, E = dq/dM of reactions with third bodies, P = dq/dC by the pressure; F, B: forward and
// reverse rates.
template <class R> struct Progress {
  Vector<R> q[REACTIONS], qT[REACTIONS], E[REACTIONS], P[REACTIONS];
  Vector<R> F[REACTIONS], B[REACTIONS];
  Vector<R> d[DERIVATIVES];
  // Of falloffs at the beginning of a step: log2 of the rate constant over r, r, d ln k / d ln T, d ln k / d ln M.
  Vector<R> falloff[FALLOFFS][4];
};

// The largest log2 of a rate constant: beyond it float and double are infinite, and rates of what is
// absent no numbers. Some rate constants have such values below 200 K.
template <class R> constexpr double LARGEST = sizeof(R) == 4 ? 100.0 : 900.0;
template <class R> INLINE Vector<R> rate_constant(Vector<R> log2_k) {
  return exp2(at_most(log2_k, LARGEST<R>));
}

// c^order of an order that is not a small whole number, and its derivative. An order below 1 has no
// bounded derivative at zero: a species would be used up in a finite time, and then have no solution.
// Below SCARCE such a power goes straight to zero.
template <class R> INLINE Vector<R> power_over(Vector<R> c, R order) {
  const double least = order < R(1) ? SCARCE : LEAST;
  return exp2(Vector<R>(log2(at_least(c, least)) * (order - R(1))));
}
template <class R> INLINE Vector<R> power_of(Vector<R> c, R order) {
  return c * power_over<R>(c, order);
}
template <class R> INLINE Vector<R> power_slope(Vector<R> c, R order) {
  typedef Vector<R> V;
  const V one = all_of<R>(1.0), high = all_of<R>(order);
  const V factor = order < R(1) ? V(select(c > all_of<R>(SCARCE), high, one)) : high;
  return factor * power_over<R>(c, order);
}

// log2 F of a falloff's broadening in Troe's form from F at Pr = 1 (`center`): Gilbert, Luther &
// Troe, Ber. Bunsenges. Phys. Chem. 87 (1983), as Chemkin has it,
//     log F = log F_c / (1 + (C / (N - 0.14 C))^2), C = log Pr - 0.4 - 0.67 log F_c,
//     N = 0.75 - 1.27 log F_c.
// D: `slope` is d log F / d log Pr, and `of_T` goes from T dF_c/dT to d ln F / d ln T at fixed Pr.
template <class R, bool D>
INLINE Vector<R> troe(Vector<R> center, Vector<R> log2_Pr, Vector<R> &slope, Vector<R> &of_T) {
  typedef Vector<R> V;
  constexpr R LOG = R(0.30102999566398119521);
  const V bounded = at_least(center, LEAST), log2_center = log2(bounded), l = log2_center * LOG;
  const V C = log2_Pr * LOG - R(0.4) - R(0.67) * l, N0 = R(0.75) - R(1.27) * l;
  const V N = N0 - R(0.14) * C, N2 = N * N, per = reciprocal(V(N2 + C * C));
  if (D) {
    slope = R(-2) * l * C * N0 * N * per * per;
    const V of_l = N2 * per - R(2) * l * C * N * per * per * (R(-0.67) * N + R(1.27 - 0.14 * 0.67) * C);
    of_T = of_T * of_l * reciprocal(bounded);
  }
  return log2_center * N2 * per;
}

// The same of SRI, F = d T^e bracket^x, x = 1 / (1 + log10(Pr)^2): Stewart, Larson & Golden, Combust.
// Flame 75 (1989). of_T: from T d bracket/dT.
template <class R, bool D>
INLINE Vector<R> sri(const Gas<R> &g, Vector<R> bracket, double log2_d, double e, Vector<R> log2_Pr,
                     Vector<R> &slope, Vector<R> &of_T) {
  typedef Vector<R> V;
  constexpr R LOG = R(0.30102999566398119521);
  const V bounded = at_least(bracket, LEAST), log2_bracket = log2(bounded), l = log2_Pr * LOG;
  const V x = reciprocal(V(R(1) + l * l));
  if (D) {
    slope = R(-2) * l * x * x * log2_bracket * LOG;
    of_T = of_T * x * reciprocal(bounded) + R(e);
  }
  return R(log2_d) + log2_bracket * x + R(e) * g.log2_T;
}

// The activation energy of Blowers & Masel, AIChE J. 46 (2000), over R [K], of that of a
// thermoneutral reaction E0, w, and the enthalpy of reaction H, all over R in K; and dE/dH.
template <class R>
INLINE Vector<R> blowers_masel(double E0, double w, Vector<R> H, Vector<R> &slope) {
  typedef Vector<R> V;
  const double vp = 2 * w * (w + E0) / (w - E0);
  const V upper = R(w) + R(0.5) * H, root = R(vp - 2 * w) + H;
  const V per = reciprocal(V(R(vp * vp - 4 * w * w) + H * H)), between = upper * root * root * per;
  const Mask<R> none = H < all_of<R>(-4 * E0), whole = H > all_of<R>(4 * E0);
  slope = root * per * (R(0.5) * root + R(2) * upper) - R(2) * H * per * between;
  slope = select(none, V{}, select(whole, all_of<R>(1.0), slope));
  return select(none, V{}, select(whole, H, between));
}

}  // namespace solver
