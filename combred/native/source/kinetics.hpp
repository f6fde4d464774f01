// Reaction rates of a block: combred/chemistry/kinetics. This file has what is the same for all
// mechanisms; reactions.hpp is written for one.
//
// All in float. Gibbs energies matter by their sums over a reaction alone: the generator takes away
// from them what cancels in every reaction, so that they are small and their rounding is, too.
#pragma once
#include "thermo.hpp"

// A state, as reactions see it. Concentrations are over C0, logarithms to the base 2.
struct Gas {
  Float T, per_T, per_density;
  Float c[SPECIES], M[COLLIDERS];  // concentrations of species and of third bodies
  Float log2_T;                    // of T over T0
  Float gibbs[SPECIES];            // log2 of exp(g / RT) / (p0 / RT C0)
};

// Rate constants, with falloff, for concentrations over C0.
struct Constants {
  Float forward[REACTIONS], reverse[REACTIONS];
};

// Rates of progress, kmol/(m3 s).
struct Progress {
  Float forward[REACTIONS], reverse[REACTIONS];
};

constexpr float LEAST = 1e-37f;  // smallest argument of a logarithm

PART void third_bodies(Gas &gas);  // sets their concentrations; in reactions.hpp

// Sets the concentrations.
PART void set_concentrations(Gas &gas, Double T, Double p, const Float *Y) {
  Float moles = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) moles = moles + Y[k] * PER_WEIGHT[k];
  gas.T = to_float(T);
  gas.per_T = reciprocal(gas.T);
  const Float p_over_RT = to_float(p * (1.0 / GAS_CONSTANT)) * gas.per_T;
  const Float density = at_most(at_least(p_over_RT, 1e-30f), 1e30f) * reciprocal(moles);
  const Float per_C0 = density * PER_C0;
  for (int k = 0; k < SPECIES; k++) gas.c[k] = per_C0 * (Y[k] * PER_WEIGHT[k]);
  gas.per_density = reciprocal(density);
  third_bodies(gas);
}

template <bool MIXED>
INLINE void gibbs_energies(const float (*low)[7], const float (*high)[7], Gas &gas) {
  const Float T = gas.T;
  for (int k = 0; k < SPECIES; k++) {
    Float g[7];
    choose<MIXED, 7>(T > all_of((float)T_MID[k]), low[k], high[k], g);
    const Float powers = g[0] + T * (g[1] + T * (g[2] + T * (g[3] + T * g[4])));
    gas.gibbs[k] = powers + gas.log2_T * g[5] + gas.per_T * g[6];
  }
}

// Sets the functions of T that rate constants depend on.
PART void set_gibbs_energies(Gas &gas, Double T) {
  gas.log2_T = log2(gas.T * (1 / T0));
  if (all_above(T)) gibbs_energies<false>(GIBBS_HIGH, GIBBS_HIGH, gas);
  else if (all_below(T)) gibbs_energies<false>(GIBBS_LOW, GIBBS_LOW, gas);
  else gibbs_energies<true>(GIBBS_LOW, GIBBS_HIGH, gas);
}

// The power of a concentration that is not a whole number.
INLINE Float power_of(Float c, float exponent) { return exp2(exponent * log2(at_least(c, LEAST))); }

// log2 of the concentration of a third body.
INLINE Float third_body(Float M) { return log2(at_least(M, LEAST)); }

// log2 of 1 + min(Pr, 1 / Pr), Pr the reduced pressure.
INLINE Float log2_of_1_plus_lesser(Float log2_Pr) { return log2(1.0f + exp2(-absolute(log2_Pr))); }

// log2 of the factors of the high-pressure limit: falloff, Pr / (1 + Pr) F, and chemically
// activated, (k_low / k_high) / (1 + Pr) F.
INLINE Float falloff(Float log2_Pr, Float log2_F) {
  return at_most(log2_Pr, 0.0f) + (log2_F - log2_of_1_plus_lesser(log2_Pr));
}
INLINE Float activated(Float log2_low_over_high, Float log2_Pr, Float log2_F) {
  const Float rest = log2_F - log2_of_1_plus_lesser(log2_Pr);
  return log2_low_over_high - at_least(log2_Pr, 0.0f) + rest;
}
// log2 F of Troe, of the broadening F at Pr = 1 (`center`): log2 center / (1 + (C / N)^2).
INLINE Float troe(Float center, Float log2_Pr) {
  const Float log2_center = log2(at_least(center, LEAST));
  const Float log_center = log2_center * (float)LOG10_2;
  const Float C = log2_Pr * (float)LOG10_2 - 0.4f - 0.67f * log_center;
  const Float N = 0.75f - 1.27f * log_center - 0.14f * C, N2 = N * N;
  return log2_center * N2 * reciprocal(N2 + C * C);
}
// log2 F of SRI: log2 d + log2(bracket) / (1 + log10(Pr)^2) + e log2 T.
INLINE Float sri(const Gas &gas, Float bracket, float log2_d, float e, Float log2_Pr) {
  const Float log_Pr = log2_Pr * (float)LOG10_2;
  const Float of_bracket = log2(at_least(bracket, LEAST));
  return log2_d + of_bracket * reciprocal(1.0f + log_Pr * log_Pr) + e * gas.log2_T;
}

// The rate constants of reaction i, from logarithms of the forward one and of reverse over forward.
INLINE void reversible(Constants &k, int i, Float log2_forward, Float log2_ratio) {
  k.forward[i] = exp2(log2_forward);
  k.reverse[i] = exp2(log2_forward + log2_ratio);
}
INLINE void irreversible(Constants &k, int i, Float log2_forward) {
  k.forward[i] = exp2(log2_forward);
}

// The rates of progress of reaction i.
INLINE void both_ways(Progress &q, int i, Float forward, Float reverse) {
  q.forward[i] = forward;
  q.reverse[i] = reverse;
}
INLINE void one_way(Progress &q, int i, Float forward) { q.forward[i] = forward; }
