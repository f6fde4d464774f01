// Reaction rates of a block: combred/chemistry/kinetics. This file has what is the same for all
// mechanisms; reactions.hpp is written for one.
//
// Logarithms, to the base 2, are double; everything from the exponentials on is float.
#pragma once
#include "thermo.hpp"

// What the rate constants are functions of.
struct Gas {
  Double T, log2_T, per_T;
  Double c[SPECIES];       // concentrations, kmol/m3
  Double log2_c[SPECIES];
  Double mu[SPECIES];      // log2 of c exp(g / RT) / (p0 / RT): chemical potentials
  Float T_float, per_T_float, log2_T_float, per_density;
};

// Rates of progress, kmol/(m3 s).
struct Progress {
  Float forward[REACTIONS], reverse[REACTIONS], net[REACTIONS];
};

constexpr double LEAST = 1e-300;               // of a concentration, for its logarithm
constexpr float SLOWEST = -85.0 * LOG2_E;      // log2 of the smallest rate
constexpr float CENTER_LEAST = 1e-37f;         // of what the logarithm of the broadening is of

template <bool MIXED>
INLINE void add_gibbs(const double (*low)[7], const double (*high)[7], Gas &gas) {
  const Double T = gas.T;
  for (int k = 0; k < SPECIES; k++) {
    const Mask above = T > T_MID[k];
    Double g[7];
#pragma GCC unroll 7
    for (int j = 0; j < 7; j++)
      g[j] = MIXED ? select(above, all_of(high[k][j]), all_of(low[k][j])) : all_of(low[k][j]);
    const Double powers = g[0] + T * (g[1] + T * (g[2] + T * (g[3] + T * g[4])));
    gas.mu[k] = gas.mu[k] + powers + gas.log2_T * g[5] + gas.per_T * g[6];
  }
}

// Sets `gas` from a state; also gives log2 Y.
PART void prepare(Gas &gas, Double T, Double p, const Double *Y, Double *log2_Y) {
  Double moles = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) moles = moles + Y[k] * PER_WEIGHT[k];
  const Double density = p / (GAS_CONSTANT * T * moles), log2_density = log2(density);
  gas.T = T;
  gas.log2_T = log2(T);
  gas.per_T = 1.0 / T;
  const Double standard = LOG2_STANDARD - gas.log2_T;  // log2 (p0 / RT)
  for (int k = 0; k < SPECIES; k++) {
    log2_Y[k] = log2(at_least(Y[k], LEAST));
    gas.c[k] = density * (Y[k] * PER_WEIGHT[k]);
    gas.log2_c[k] = log2_Y[k] + log2_density - LOG2_WEIGHT[k];
    gas.mu[k] = gas.log2_c[k] - standard;
  }
  if (all_above(T)) add_gibbs<false>(GIBBS_HIGH, GIBBS_HIGH, gas);
  else if (all_below(T)) add_gibbs<false>(GIBBS_LOW, GIBBS_LOW, gas);
  else add_gibbs<true>(GIBBS_LOW, GIBBS_HIGH, gas);
  gas.T_float = to_float(T);
  gas.per_T_float = to_float(gas.per_T);
  gas.log2_T_float = to_float(gas.log2_T);
  gas.per_density = to_float(1.0 / density);
}

// log2 of a rate constant: log2 A, b, and Ea / R over ln 2 [K].
INLINE Double arrhenius(const Gas &gas, double log2_A, double b, double E) {
  return log2_A + b * gas.log2_T - E * gas.per_T;
}
INLINE Double log2_collider(Double M) { return log2(at_least(M, LEAST)); }

// log2 of 1 + min(Pr, 1 / Pr), Pr the reduced pressure.
INLINE Float log2_of_1_plus_lesser(Double log2_Pr) {
  return log2_of_1_plus(exp2(-absolute(to_float(log2_Pr))));
}
// log2 of the factors of the high-pressure limit: falloff, Pr / (1 + Pr) F, and chemically
// activated, (k_low / k_high) / (1 + Pr) F.
INLINE Double falloff(Double log2_Pr, Float log2_F) {
  return at_most(log2_Pr, 0.0) + to_double(log2_F - log2_of_1_plus_lesser(log2_Pr));
}
INLINE Double activated(Double log2_low_over_high, Double log2_Pr, Float log2_F) {
  const Float rest = log2_F - log2_of_1_plus_lesser(log2_Pr);
  return log2_low_over_high - at_least(log2_Pr, 0.0) + to_double(rest);
}
// log2 F of Troe, of the broadening F at Pr = 1 (`center`).
INLINE Float troe(Float center, Double log2_Pr) {
  const Float log2_center = log2(at_least(center, CENTER_LEAST));
  const Float log_center = log2_center * (float)LOG10_2;
  const Float C = to_float(log2_Pr) * (float)LOG10_2 - 0.4f - 0.67f * log_center;
  const Float N = 0.75f - 1.27f * log_center, x = C / (N - 0.14f * C);
  return log2_center / (1.0f + x * x);
}
// log2 F of SRI: log2 d + log2(bracket) / (1 + log10(Pr)^2) + e log2 T.
INLINE Float sri(const Gas &gas, Float bracket, float log2_d, float e, Double log2_Pr) {
  const Float log_Pr = to_float(log2_Pr) * (float)LOG10_2;
  const Float of_bracket = log2(at_least(bracket, CENTER_LEAST));
  return log2_d + of_bracket / (1.0f + log_Pr * log_Pr) + e * gas.log2_T_float;
}

// The rates of progress of reaction i; a: log2 of reverse over forward. Two exponentials: the
// larger rate, and the ratio of the smaller to it. The net rate, larger * (1 - ratio), keeps its
// full precision where the two nearly balance.
INLINE void reversible(Progress &q, int i, Double log2_forward, Double a) {
  const Float log2_larger = to_float(log2_forward + at_least(a, 0.0)), ratio = to_float(a);
  const Float larger = exp2(at_least(log2_larger, SLOWEST));
  Float less;  // ratio of the smaller to the larger rate, less one
  const Float smaller = larger * exp2_and_less_1(-absolute(ratio), less);
  const Int backward = ratio > 0.0f;
  q.forward[i] = select(backward, smaller, larger);
  q.reverse[i] = select(backward, larger, smaller);
  q.net[i] = larger * select(backward, less, -less);
}
INLINE void irreversible(Progress &q, int i, Double log2_forward) {
  q.forward[i] = q.net[i] = exp2(at_least(to_float(log2_forward), SLOWEST));
}
