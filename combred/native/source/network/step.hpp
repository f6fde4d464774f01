// One step of a block by the network, whatever its error: combred/surrogate/surrogate (`step`), forms
// (`relative_error` of a quasi-steady surrogate) and correction.
#pragma once
#include "network/closure.hpp"
#include "network/quasi_steady.hpp"
#include "network/weights.hpp"

namespace network {

constexpr int HALF = HALVES<float>;

struct Step {
  State state[HALF], after[HALF];
  Floats T, p, dt;                           // p over R C0
  Floats present[SPECIES], shifted[SPECIES]; // max(Y, ABSENT) and Y + FLOOR
  Floats power[SPECIES];                     // (Y + FLOOR)^lambda = 1 + lambda F
  Floats change[VARIABLES];                  // of [T, ln p, F(Y)], over SCALE
  QuasiSteady qss;
  Activations activations;
};

// F(Y + dY) - F(Y) of the quasi-steady steps, without cancellation, with dY >= -Y; `per_shifted` is
// 1 / (Y + FLOOR), `power` its inverse to the power of lambda.
INLINE Floats change_of_F(Floats y, Floats per_shifted, Floats power, Floats dY) {
  const Floats growth = at_least(dY, -y) * per_shifted;
  const Floats grown = at_least(Floats(1.0f + growth), Floats(FLOOR * per_shifted));
  return power * exp2_minus_1(Floats(LAMBDA * log2_of_sum(grown, growth))) * (1 / LAMBDA);
}

INLINE Floats limited(Floats x) { return at_most(at_least(x, -LARGEST), LARGEST); }

// The inputs of the network; sets `change` to the corrector's. Returns M.
PART Floats set_inputs(Step &w) {
  const Floats ln_p = (log2(at_least(w.p, SMALLEST)) + LOG2_RC0) * LN_2;
  Floats *inputs = w.activations.inputs;
  inputs[0] = w.T * PER_STD[0] - OFFSET[0];
  inputs[1] = ln_p * PER_STD[1] - OFFSET[1];
  for (int k = 0; k < SPECIES; k++)
    inputs[2 + k] = (w.power[k] - 1.0f) * (1 / LAMBDA * PER_STD[2 + k]) - OFFSET[2 + k];
  Floats *of_change = inputs + VARIABLES, *stiffness = of_change + 1 + REACTIVE;
  Floats *of_error = stiffness + REACTIVE, M = all_of<float>(LEAST_M);
  for (int i = 0; i < VARIABLES; i++) w.change[i] = Floats{};
  for (int i = 0; i <= REACTIVE; i++) {  // T, and then the species i - 1
    const int k = i == 0 ? 0 : i - 1, column = i == 0 ? 0 : 2 + k;
    Floats corrector = w.qss.total_T, predictor = w.qss.predicted_T;
    if (i > 0) {
      const Floats y = w.present[k], per_shifted = reciprocal(w.shifted[k]);
      corrector = change_of_F(y, per_shifted, w.power[k], w.qss.total[k]);
      predictor = change_of_F(y, per_shifted, w.power[k], w.qss.predicted[k]);
      stiffness[k] = log2(Floats(w.dt * w.qss.loss[k] + LEAST_X)) * LOG10_2;
    }
    const Floats d = limited(corrector * PER_SCALE[column]);
    const Floats e = limited((corrector - predictor) * PER_SCALE[column]);
    M = at_least(absolute(e), M);
    w.change[column] = d;
    of_change[i] = signed_power(d, POWER);
    of_error[i] = e;
  }
  const Floats per_M = reciprocal(M);
  for (int i = 0; i <= REACTIVE; i++) of_error[i] = signed_power(of_error[i] * per_M, POWER);
  of_error[REACTIVE + 1] = log2(M) * LOG10_2;
  of_error[REACTIVE + 2] = log2(at_most(at_least(w.dt, DT_LOW), DT_HIGH)) * LOG10_2;
  for (int i = 0; i < INPUTS - VARIABLES; i++)
    of_change[i] = of_change[i] * PER_QSS_STD[i] - QSS_OFFSET[i];
  return M;
}

// Adds the network's correction, in units of M, to `change`; returns its estimate of its error.
PART Floats correct(Step &w, Floats M) {
  for (int i = 0; i < VARIABLES; i++) {
    const Floats z = w.activations.outputs[i];
    const Floats r = at_most(positive_power<INVERSE_POWER>(absolute(z), 1 / POWER), BOUND);
    w.change[i] = w.change[i] + select(z < Floats{}, Floats(-r), r) * M;
  }
  return M * exp2(Floats(w.activations.outputs[VARIABLES] * LOG2_10));
}

// The Y that follow from their changes of F: with the shifted Y, (1 + u)^(1 / lambda) times it, u =
// lambda dF / Y^lambda. Of the species k, in doubles.
INLINE void set_raw(const Step &w, int k, Doubles *raw) {
  const Floats dF = w.change[2 + k] * SCALE[2 + k];
  const Floats u = at_least(Floats(LAMBDA * dF * reciprocal(w.power[k])), -1.0);
  const Floats less_1 = power_less_1<INVERSE_LAMBDA>(u, 1 / LAMBDA);
  const Floats whole = positive_power<INVERSE_LAMBDA>(1.0f + u, 1 / LAMBDA);
  // The change of Y is precise where it is small, the new Y where it is almost zero.
  const Floats grown = w.shifted[k] * less_1, small = w.shifted[k] * whole - FLOOR;
  for (int half = 0; half < HALF; half++) {
    const Doubles more = w.state[half].Y[k] + half_of(grown, half);
    const Mask<double> is_small = half_of(less_1, half) < all_of<double>(-0.75);
    raw[half] = at_least(select(is_small, half_of(small, half), more), 0.0);
  }
}

// From the states over dt: sets `after`, and returns the error estimate over the change; infinite
// unless the closure conserves.
PART Floats step(Step &w) {
  for (int k = 0; k < SPECIES; k++) {
    for (int half = 0; half < HALF; half++) set_half(w.present[k], half, w.state[half].Y[k]);
    w.shifted[k] = w.present[k] + FLOOR;
    w.present[k] = at_least(w.present[k], ABSENT);
    w.power[k] = exp2(Floats(LAMBDA * log2(w.shifted[k])));
  }
  quasi_steady(w.qss, w.T, w.p, w.present, w.dt);
  const Floats M = set_inputs(w);
  apply(w.activations);
  const Floats estimate = correct(w, M), dT = w.change[0] * SCALE[0];
  Floats moved{}, moved_T{}, changed{}, changed_T{}, square{}, bad{};
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
    set_half(moved, half, off);
    set_half(changed, half, most);
    set_half(moved_T, half, absolute(Doubles(after.T - T_raw)));
    set_half(changed_T, half, absolute(Doubles(after.T - before.T)));
    set_half(bad, half, select(conserves, Doubles{}, all_of<double>(infinity())));
  }
  for (int i = 0; i < VARIABLES; i++) square = square + w.change[i] * w.change[i];
  const Floats size = root(at_least(Floats(square * (1.0f / VARIABLES)), SMALLEST));
  Floats error = estimate * reciprocal(size + FLOOR_OF_CHANGE);
  error = at_least(error, Floats(CLOSURE_WEIGHT * moved * reciprocal(changed + FLOOR_OF_Y)));
  error = at_least(error, Floats(CLOSURE_WEIGHT * moved_T * reciprocal(changed_T + FLOOR_OF_T)));
  return error + bad;
}

}  // namespace network
