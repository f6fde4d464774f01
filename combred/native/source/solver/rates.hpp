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
  return exp2_below(at_most(log2_k, LARGEST<R>));
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

// The broadening factor F of a falloff: its log2, d log F / d log Pr, and d ln F / d ln T at fixed Pr.
template <class R> struct Broadening {
  Vector<R> log2_F, slope, of_T;
};

// That of Troe from F at Pr = 1 (`center`) and T times its derivative by T (`rise`): Gilbert, Luther & Troe, Ber.
// Bunsenges. Phys. Chem. 87 (1983), as Chemkin has it,
//     log F = log F_c / (1 + (C / (N - 0.14 C))^2), C = log Pr - 0.4 - 0.67 log F_c,
//     N = 0.75 - 1.27 log F_c.
template <class R> INLINE Broadening<R> troe(Vector<R> center, Vector<R> rise, Vector<R> log2_Pr) {
  typedef Vector<R> V;
  constexpr R LOG = R(0.30102999566398119521);
  const V bounded = at_least(center, LEAST), log2_center = log2(bounded), l = log2_center * LOG;
  const V C = log2_Pr * LOG - R(0.4) - R(0.67) * l, N0 = R(0.75) - R(1.27) * l;
  const V N = N0 - R(0.14) * C, N2 = N * N, per = reciprocal(V(N2 + C * C));
  const V of_l = N2 * per - R(2) * l * C * N * per * per * (R(-0.67) * N + R(1.27 - 0.14 * 0.67) * C);
  return {log2_center * N2 * per, R(-2) * l * C * N0 * N * per * per, rise * of_l * reciprocal(bounded)};
}

// That of SRI, F = d T^e bracket^x, x = 1 / (1 + log10(Pr)^2): Stewart, Larson & Golden, Combust. Flame 75 (1989).
template <class R>
INLINE Broadening<R> sri(const Gas<R> &g, double log2_d, double e, Vector<R> bracket, Vector<R> rise,
                         Vector<R> log2_Pr) {
  typedef Vector<R> V;
  constexpr R LOG = R(0.30102999566398119521);
  const V bounded = at_least(bracket, LEAST), log2_bracket = log2(bounded), l = log2_Pr * LOG;
  const V x = reciprocal(V(R(1) + l * l)), log2_F = R(log2_d) + log2_bracket * x + R(e) * g.log2_T;
  return {log2_F, R(-2) * l * x * x * log2_bracket * LOG, rise * x * reciprocal(bounded) + R(e)};
}

// The rate constant of a falloff: log2 of it over r, r, d ln k / d ln T, d ln k / d ln [M].
template <class R> struct Falloff {
  Vector<R> log2_k, r, d, of_M;
};

// k = k_high Pr / (1 + Pr) F, or ACTIVATED k_low / (1 + Pr) F, with Pr = k_low [M] / k_high. log2_limit: of k_high
// or k_low, before the fraction; of_limit, of_ratio: d ln / d ln T of it and of k_low / k_high.
template <class R, bool ACTIVATED>
INLINE Falloff<R> falloff(Vector<R> log2_limit, Vector<R> log2_Pr, Vector<R> of_limit, Vector<R> of_ratio,
                          const Broadening<R> &F) {
  typedef Vector<R> V;
  const V z = exp2_below(V(-absolute(log2_Pr))), r = reciprocal(V(R(1) + z)), one = all_of<R>(1.0);
  const Mask<R> more = log2_Pr > V{};
  const V fraction = ACTIVATED ? V(-at_least(log2_Pr, 0.0)) : at_most(log2_Pr, 0.0);  // over r
  const V of_M = F.slope + (ACTIVATED ? V(-r * select(more, one, z)) : V(r * select(more, z, one)));
  return {log2_limit + fraction + F.log2_F, r, of_limit + F.of_T + of_M * of_ratio, of_M};
}

// The same in an evaluation: exact(), but at a stage in floats log2 of the rate constant is linear in those of T
// and [M], about the beginning of the step, whose evaluation keeps it.
template <class R, bool D, class Exact>
INLINE Falloff<R> near_falloff(Vector<R> *kept, const Gas<R> &g, int body, Exact exact) {
  if constexpr (STAGE<R, D>)
    return {kept[0] + kept[2] * g.moved_T + kept[3] * g.moved_M[body], kept[1], kept[2], kept[3]};
  else {
    const Falloff<R> rate = exact();
    const Vector<R> all[] = {rate.log2_k, rate.r, rate.d, rate.of_M};
    for (int i = 0; D && !Matrix<R>::EXACT && i < 4; i++) kept[i] = all[i];
    return rate;
  }
}

// A rate constant that depends on p: its log2, d ln k / d ln T at fixed p, d ln k / d ln p.
template <class R> struct OfPressure {
  Vector<R> log2_k, d, of_p;
};

// A collider: its concentration, log2 of its efficiency and d ln / d ln T of it, its sign (1; 0 of an efficiency of
// zero), and its rate constant, a function of log2 p over R C0, or that of the first collider, M.
struct AsM {};
template <class Rate> inline constexpr bool AS_M = false;
template <> inline constexpr bool AS_M<AsM> = true;
template <class R, class Rate> struct Collider {
  Vector<R> c, log2_eps, slope;
  R sign;
  Rate rate;
};

// of_c: d ln k / dc of a species without a name, and by how much that of each collider is more.
template <class R, int N> struct LinearBurke {
  Vector<R> log2_k, d, of_p, of_c[N];
};

// The mixture rule of `LinearBurke` of chemistry/rate_forms.py, k = sum_i w_i k_i(T, p mix / eps_i) / mix with
// w_i = eps_i X_i and mix = sum_i w_i; of a collider as M, k_M(T, p mix).
template <class R, class... Rates> INLINE auto linear_burke(const Gas<R> &g, Collider<R, Rates>... colliders) {
  typedef Vector<R> V;
  constexpr int N = sizeof...(Rates);
  const V per_C = reciprocal(g.C), log2_p = log2(g.p);
  V eps[N], w[N], k[N], mix{}, of_mix{}, sum{}, sum_p{}, rise{};  // sums of k_i over that of M
  int i = 0;
  const auto weigh = [&](const auto &one) {
    eps[i] = one.sign * exp2(one.log2_eps);
    w[i] = eps[i] * one.c * per_C;
    mix = mix + w[i];
    of_mix = of_mix + w[i++] * one.slope;
  };
  (weigh(colliders), ...);
  mix = at_least(mix, LEAST);
  const V log2_mix = log2(mix), per_mix = reciprocal(mix), m = of_mix * per_mix;
  OfPressure<R> M, own;
  i = 0;
  const auto add = [&](const auto &one) {
    V rise_p = m;  // d ln p_i / d ln T
    if constexpr (AS_M<decltype(one.rate)>) own = M;
    else {
      own = one.rate(V(log2_p + (log2_mix - one.log2_eps)));
      rise_p = m - one.slope;
    }
    if (i == 0) M = own;
    k[i] = exp2(V(own.log2_k - M.log2_k));
    const V share = w[i] * per_mix * k[i];
    sum = sum + share;
    sum_p = sum_p + share * own.of_p;
    rise = rise + share * (own.d + one.slope - m + rise_p * own.of_p);
    i++;
  };
  (add(colliders), ...);
  sum = at_least(sum, LEAST);
  const V per_sum = reciprocal(sum), scale = per_sum * per_mix * per_C;
  LinearBurke<R, N> found = {M.log2_k + log2(sum), rise * per_sum, sum_p * per_sum, {}};
  for (int j = 0; j < N; j++) {  // p is proportional to C T
    const V of_c = eps[j] * (k[j] - sum + sum_p) * scale;
    found.of_c[j] = j ? V(of_c - found.of_c[0]) : of_c;
  }
  return found;
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
