// The end of an integration, in doubles: elements, mass and energy of the beginning are kept to
// their rounding, whatever the lanes rounded.
#pragma once
#include "solver/rows.hpp"
#include "solver/thermo.hpp"

namespace solver {

// In reactions.hpp: the symmetric system of the element correction, whose right-hand side are the atoms
// lost, and the sums of atoms times its solution.
PART void set_element_balance(const Doubles *n, const Doubles *lost, Doubles (*a)[ELEMENTS + 1]);
PART void set_shares(const Doubles *x, Doubles *share);

// A state in doubles; species in the order of elimination.
struct State {
  Doubles T, p, Y[SPECIES];
};

// The state of the columns `x`, with Y >= 0 and sum Y = 1; returns whether it was one: finite,
// LOWEST_T <= T <= HIGHEST_T, 0 < p < HIGHEST_P, no Y below LOWEST_Y, sum Y within OFF_SUM of 1.
INLINE Mask<double> state_of(const Doubles *x, State &state) {
  state.T = x[0];
  state.p = x[1];
  const Doubles sum = sum_of<SPECIES>([&](int k) { return x[2 + k]; });
  Doubles least{};
  for (int k = 0; k < SPECIES; k++) {
    least = at_most(least, x[2 + k]);
    state.Y[k] = at_least(x[2 + COLUMN[k]], 0.0);
  }
  const Doubles positive = sum_of<SPECIES>([&](int k) { return state.Y[k]; });
  const Mask<double> is_state = (x[0] >= all_of<double>(LOWEST_T)) & (x[0] <= all_of<double>(HIGHEST_T)) &
      (x[1] > all_of<double>(0.0)) & (x[1] < all_of<double>(HIGHEST_P)) & (least >= all_of<double>(LOWEST_Y)) &
      (absolute(Doubles(sum - 1.0)) < all_of<double>(OFF_SUM));
  // A sum that is 1 to rounding is not normalised, so that inert species keep their bits.
  const Mask<double> whole = absolute(Doubles(positive - 1.0)) < all_of<double>(1e-14);
  const Doubles share = select(whole, all_of<double>(1.0), Doubles(1.0 / positive));
  for (int k = 0; k < SPECIES; k++) state.Y[k] = state.Y[k] * share;
  return is_state;
}

// x of the symmetric system sum_f a_ef x_f = b_e, upper half of a; 0 for an element that is absent.
INLINE void solve_elements(Doubles (*a)[ELEMENTS + 1], Doubles *x) {
  Doubles diagonal[ELEMENTS];
  for (int e = 0; e < ELEMENTS; e++) diagonal[e] = a[e][e];
  for (int e = 0; e < ELEMENTS; e++) {
    // Nothing but rounding may be left of an element that depends on earlier ones: it is skipped.
    const Mask<double> regular = a[e][e] > 1e-13 * diagonal[e] + 1e-25;
    const Doubles per = select(regular, reciprocal(select(regular, a[e][e], all_of<double>(1.0))), Doubles{});
    for (int f = e + 1; f < ELEMENTS; f++) {
      const Doubles size = a[e][f] * per;
      for (int g = f; g <= ELEMENTS; g++) a[f][g] = a[f][g] - size * a[e][g];
    }
    diagonal[e] = per;
  }
  for (int e = ELEMENTS - 1; e >= 0; e--) {
    Doubles rest = a[e][ELEMENTS];
    for (int f = e + 1; f < ELEMENTS; f++) rest = rest - a[e][f] * x[f];
    x[e] = rest * diagonal[e];
  }
}

constexpr int MOST_CORRECTIONS = 20, MOST_NEWTON = 100;
// K, of Newton's method: beyond, polynomials mean little, and h may fall with T.
constexpr double LEAST_T = 0.95 * LOWEST_T, MOST_T = 1.05 * HIGHEST_T;
// Of T. Newton's method with polynomials of one region ends at the former: cp grows with T at most, so that the
// next correction would be half the square of this. The latter is rounding.
constexpr double LAST_CORRECTION = 1e-8, NO_CORRECTION = 1e-13;

// n [kmol/kg] of the species that react, with the elements of n_before: each n_k times
// 1 + sum_e a_ek x_e >= 0, a_ek the atoms of e in k; anew without the species that this would make negative.
// Returns the states for which this succeeds.
INLINE Mask<double> keep_elements(const Doubles *n_before, Doubles *n) {
  Doubles lost[REACTIVE], share[REACTIVE], a[ELEMENTS][ELEMENTS + 1], x[ELEMENTS];
  Mask<double> open = Doubles{} < all_of<double>(1.0);
  for (int pass = 0; pass < MOST_CORRECTIONS && any(open); pass++) {
    for (int k = 0; k < REACTIVE; k++) lost[k] = n_before[k] - n[k];
    set_element_balance(n, lost, a);
    solve_elements(a, x);
    set_shares(x, share);
    Doubles least{};
    for (int k = 0; k < REACTIVE; k++) {
      least = at_most(least, select(n[k] > Doubles{}, share[k], Doubles{}));
      n[k] = select(open, at_least(Doubles(n[k] + n[k] * share[k]), 0.0), n[k]);
    }
    open = open & no(least >= all_of<double>(-1.0));
  }
  return no(open);
}

// The coefficients of h / R and cp / R of M mixtures, of the regions of T.
template <int M> PART void set_mixtures(Doubles T, const Doubles (*n)[SPECIES], Doubles (*b)[HEAT_TERMS]) {
  const int region = region_of<double>(T);
  Doubles sum[M][HEAT_TERMS] = {};
  for (int k = 0; k < SPECIES; k++) {
    Doubles own[HEAT_TERMS];
    if (region < 0) choose<double, true>(HEAT<double>, 0, k, T, own);
    else choose<double, false>(HEAT<double>, region, k, T, own);
    for (int m = 0; m < M; m++)
      for (int j = 0; j < HEAT_TERMS; j++) sum[m][j] = sum[m][j] + n[m][k] * own[j];
  }
  for (int m = 0; m < M; m++)
    for (int j = 0; j < HEAT_TERMS; j++) b[m][j] = sum[m][j];
}

// Where T and another T may lie in different regions of some species.
INLINE Mask<double> cross(Doubles T, Doubles other) {
  Mask<double> found = no(other == other);
  for (int r = 0; r + 1 < REGIONS; r++) {
    const Doubles low = all_of<double>(LOWEST_BREAK[r]), high = all_of<double>(HIGHEST_BREAK[r]);
    found = found | no(((T > high) & (other > high)) | ((T <= low) & (other <= low)));
  }
  return found;
}

// h / R [K kmol/kg] and cp / R of a mixture; S > 0: u and cv, S being the sum of its n.
INLINE void energy_of(const Doubles *b, Doubles T, Doubles S, Doubles &h, Doubles &cp) {
  Gas<double> g;
  g.T = T;
  if constexpr (NINE) {
    g.per_T = reciprocal(T);
    g.log2_T = log2(Doubles(T * (1.0 / 1024)));
  }
  h = enthalpy_of<double>(b, g) - S * T;
  cp = cp_of<double>(b, g) - S;
}

// T, at the end of the range where only rounding takes it beyond: gas of 100 K that does not react has a state.
INLINE Doubles in_range(Doubles T) {
  const Doubles end = at_most(at_least(T, LOWEST_T), HIGHEST_T);
  return select(absolute(Doubles(T - end)) <= 1e-12 * end, end, T);
}

// T at which a mixture n has an energy as of `energy_of`, by Newton's method from a guess, in a bracket that it
// halves where a step would leave it; infinite where there is none. Where h of a mixture has a step, at a T_mid,
// and the energy is in it, T is there. A state's answer does not depend on its neighbours.
PART Doubles temperature_of(Doubles energy, const Doubles (*n)[SPECIES], Doubles S, Doubles guess) {
  Doubles b[1][HEAT_TERMS], T = guess, found = all_of<double>(infinity()), h, cp;
  Doubles low = all_of<double>(LEAST_T), high = all_of<double>(MOST_T);
  Mask<double> open = T == T;
  for (int pass = 0; pass < MOST_NEWTON && any(open); pass++) {
    set_mixtures<1>(T, n, b);
    energy_of(b[0], T, S, h, cp);
    const Doubles rest = energy - h;
    const Mask<double> rises = cp > Doubles{};
    low = select(rises & (rest >= Doubles{}), T, low);
    high = select(rises & (rest <= Doubles{}), T, high);
    const Doubles newton = T + rest * reciprocal(cp);
    // An end of the bracket was tried before: without this, two of them may lead to each other for ever.
    const Mask<double> close = rises & (absolute(Doubles(newton - T)) <= NO_CORRECTION * T);
    const Mask<double> inside = close | (rises & (newton > low) & (newton < high));
    const Doubles next = select(inside, newton, Doubles(0.5 * (low + high)));
    const Mask<double> ends = open & (close | (high - low <= 1e-15 * high));
    found = select(ends, in_range(next), found);
    open = open & no(ends);
    T = select(open, next, T);
  }
  return found;
}

// T of the mixture n[1] with the energy of the mixture n[0] at T, or later[0] times that plus later[1], from a guess;
// S: as for `energy_of`, of both; infinite where there is none. Two steps of Newton's method suffice nearly always.
INLINE Doubles temperature(Doubles T, const Doubles (*n)[SPECIES], const Doubles *S, Doubles guess,
                           const Doubles *later = nullptr) {
  Doubles b[2][HEAT_TERMS], energy, h, cp, next = guess, last{};
  if (any(cross(T, guess))) {
    set_mixtures<1>(T, n, b);
    set_mixtures<1>(guess, n + 1, b + 1);
  } else set_mixtures<2>(T, n, b);
  energy_of(b[0], T, S[0], energy, cp);
  if (later) energy = later[0] * energy + later[1];
  for (int i = 0; i < 2; i++) {
    energy_of(b[1], next, S[1], h, cp);
    last = (energy - h) * reciprocal(cp);
    next = next + last;
  }
  const Mask<double> close = (absolute(last) <= LAST_CORRECTION * next) & no(cross(guess, next));
  const Doubles near = at_most(at_least(next, LOWEST_T), HIGHEST_T);
  next = in_range(next);
  if (!any(no(close))) return next;
  return select(close, next, temperature_of(energy, n + 1, S[1], near));
}

// `state` after its mole numbers have changed by dn and T by dT, closed; at constant volume p follows. T is infinite
// where elements and energy have no such state.
INLINE void close(State &state, const Doubles *dn, Doubles dT, Kind kind) {
  Doubles n[2][SPECIES], S[2] = {}, none[2] = {};  // before and after
  for (int k = 0; k < SPECIES; k++) n[0][k] = n[1][k] = state.Y[k] * PER_WEIGHT[k];
  for (int k = 0; k < REACTIVE; k++) n[1][k] = at_least(Doubles(n[0][k] + dn[k]), 0.0);
  const Mask<double> kept = keep_elements(n[0], n[1]);
  for (int m = 0; kind.volume && m < 2; m++) S[m] = sum_of<SPECIES>([&](int k) { return n[m][k]; });
  const Doubles T = kind.isothermal ? state.T : temperature(state.T, n, kind.enthalpy ? none : S, state.T + dT);
  if (kind.volume) state.p = state.p * (T * S[1]) / (state.T * S[0]);
  state.T = select(kept, T, all_of<double>(infinity()));
  for (int k = 0; k < REACTIVE; k++)
    state.Y[k] = at_least(Doubles(state.Y[k] + (n[1][k] - n[0][k]) * WEIGHT[k]), 0.0);
}

}  // namespace solver
