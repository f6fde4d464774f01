// One step of a block by the network, whatever its error: combred/surrogates/model/surrogate (`step`).
#pragma once
#include "network/form.hpp"

namespace network {

// The Y that follow from their changes of F: with the shifted Y, (1 + u)^(1 / lambda) times it, u =
// lambda dF / Y^lambda. Of the species k, in doubles.
INLINE void set_raw(const Step &w, int k, Doubles *raw) {
  const Floats dF = w.change[2 + k] * SCALE[2 + k];
  const Floats u = at_least(Floats(LAMBDA * dF * reciprocal(w.power[k])), -1.0);
  const Floats less_1 = power_less_1<INVERSE_LAMBDA>(u, 1 / LAMBDA);
  const Floats whole = positive_power<INVERSE_LAMBDA>(1.0f + u, 1 / LAMBDA);
  // The change of Y is precise where it is small, the new Y where it is almost zero.
  const Floats grown = w.shifted[k] * less_1, small = w.shifted[k] * whole - TAKEN_AWAY;
  for (int half = 0; half < HALF; half++) {
    const Doubles more = unshifted(w.state[half].Y[k]) + half_of(grown, half);
    const Mask<double> is_small = half_of(less_1, half) < all_of<double>(-0.75);
    raw[half] = at_least(select(is_small, half_of(small, half), more), 0.0);
  }
}

// From the states over dt: sets `after`, and returns the error estimate over the change; infinite
// unless the closure conserves.
PART Floats step(Step &w) {
  for (int k = 0; k < SPECIES; k++) {
    Floats Y;
    for (int half = 0; half < HALF; half++) set_half(Y, half, w.state[half].Y[k]);
    w.shifted[k] = shifted(Y);
    w.power[k] = exp2(Floats(LAMBDA * log2(w.shifted[k])));
  }
  const Floats size = prepare(w);
  apply(w.activations);
  const Floats estimate = correct(w, size), dT = w.change[0] * SCALE[0];
  Moved moved{};
  Floats bad{};
  Doubles raw[SPECIES][HALF];
  for (int k = 0; k < SPECIES; k++) set_raw(w, k, raw[k]);
  for (int half = 0; half < HALF; half++) {
    const State &before = w.state[half];
    State &after = w.after[half];
    Doubles own[SPECIES], off{}, most{};
    for (int k = 0; k < SPECIES; k++) own[k] = raw[k][half];
    const Doubles T_raw = before.T + half_of(dT, half);
    const Mask<double> conserves = close(before, T_raw, own, after);
    for (int k = 0; k < SPECIES; k++) {
      off = at_least(absolute(Doubles(after.Y[k] - own[k])), off);
      most = at_least(absolute(Doubles(after.Y[k] - before.Y[k])), most);
    }
    set_half(moved.Y, half, off);
    set_half(moved.changed_Y, half, most);
    set_half(moved.T, half, absolute(Doubles(after.T - T_raw)));
    set_half(moved.changed_T, half, absolute(Doubles(after.T - before.T)));
    set_half(bad, half, select(conserves, Doubles{}, all_of<double>(infinity())));
  }
  return relative_error(w, estimate, moved) + bad;
}

}  // namespace network
