// Reaction rates of a block: combred/chemistry/kinetics. This file has what is the same for all
// mechanisms; reactions.hpp is written for one.
//
// All in float. Gibbs energies matter by their sums over a reaction alone: the generator takes away
// from them what cancels in every reaction, so that they are small and their rounding is, too.
#pragma once
#include "thermo.hpp"

// The variables that rate constants depend on. Logarithms are to the base 2, of T over T0 and of
// concentrations over C0.
struct Gas {
  Float T, log2_T, per_T, per_density;
  Float c[SPECIES], log2_c[SPECIES];  // concentrations over C0
  Float mu[SPECIES];                  // log2 of c exp(g / RT) / (p0 / RT): chemical potentials
  Float log2_M[COLLIDERS];            // concentrations of third bodies
};

// Rates of progress, kmol/(m3 s).
struct Progress {
  Float forward[REACTIONS], reverse[REACTIONS], net[REACTIONS];
};

constexpr float LEAST = 1e-37f;  // smallest argument of a logarithm

// Sets the potentials: log2 c and the standard ones, g / RT - log2(p0 / RT).
template <bool MIXED>
INLINE void set_potentials(const float (*low)[7], const float (*high)[7], Gas &gas) {
  const Float T = gas.T;
  for (int k = 0; k < SPECIES; k++) {
    Float g[7];
    choose<MIXED, 7>(T > all_of((float)T_MID[k]), low[k], high[k], g);
    const Float powers = g[0] + T * (g[1] + T * (g[2] + T * (g[3] + T * g[4])));
    gas.mu[k] = gas.log2_c[k] + (powers + gas.log2_T * g[5] + gas.per_T * g[6]);
  }
}

// Sets `gas` from a state, all but the third bodies.
PART void prepare(Gas &gas, Double T, Double p, const Float *Y) {
  Float moles = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) moles = moles + Y[k] * PER_WEIGHT[k];
  gas.T = to_float(T);
  gas.per_T = reciprocal(gas.T);
  gas.log2_T = log2(gas.T * (1 / T0));
  const Float p_over_RT = to_float(p * (1.0 / GAS_CONSTANT)) * gas.per_T;
  const Float density = at_most(at_least(p_over_RT, 1e-30f), 1e30f) * reciprocal(moles);
  const Float per_C0 = density * PER_C0;
  for (int k = 0; k < SPECIES; k++) {
    gas.c[k] = per_C0 * (Y[k] * PER_WEIGHT[k]);
    gas.log2_c[k] = log2(at_least(gas.c[k], LEAST));
  }
  if (all_above(T)) set_potentials<false>(GIBBS_HIGH, GIBBS_HIGH, gas);
  else if (all_below(T)) set_potentials<false>(GIBBS_LOW, GIBBS_LOW, gas);
  else set_potentials<true>(GIBBS_LOW, GIBBS_HIGH, gas);
  gas.per_density = reciprocal(density);
}

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

// The rates of progress of reaction i; a: log2 of reverse over forward. Two exponentials: the
// larger rate, and the ratio of the smaller to it, so that nearly equal rates have a precise
// difference.
INLINE void reversible(Progress &q, int i, Float log2_forward, Float a) {
  const Float larger = exp2(log2_forward + at_least(a, 0.0f));
  const Float smaller = larger * exp2(-absolute(a));
  const Int backward = a > 0.0f;
  q.forward[i] = select(backward, smaller, larger);
  q.reverse[i] = select(backward, larger, smaller);
  q.net[i] = q.forward[i] - q.reverse[i];
}
INLINE void irreversible(Progress &q, int i, Float log2_forward) {
  q.forward[i] = q.net[i] = exp2(log2_forward);
}
