// A network that corrects quasi-steady steps: combred/surrogates/model/correction and forms.
#pragma once
#include "network/block.hpp"
#include "network/quasi_steady.hpp"

namespace network {

constexpr float TAKEN_AWAY = FLOOR;  // of the shifted Y

struct Step : Block {
  Floats present[SPECIES];  // max(Y, ABSENT)
  QuasiSteady qss;
};

INLINE Floats shifted(Floats Y) { return Y + FLOOR; }
INLINE Doubles unshifted(Doubles Y) { return Y; }  // the shifted Y less TAKEN_AWAY

// F(Y + dY) - F(Y) of the quasi-steady steps, without cancellation, with dY >= -Y; `per_shifted` is
// 1 / (Y + FLOOR), `power` its inverse to the power of lambda.
INLINE Floats change_of_F(Floats y, Floats per_shifted, Floats power, Floats dY) {
  const Floats growth = at_least(dY, -y) * per_shifted;
  const Floats grown = at_least(Floats(1.0f + growth), Floats(FLOOR * per_shifted));
  return power * exp2_minus_1(Floats(LAMBDA * log2_of_sum(grown, growth))) * (1 / LAMBDA);
}

INLINE Floats limited(Floats x) { return at_most(at_least(x, -LARGEST), LARGEST); }

// The inputs of the network; sets `change` to the corrector's. Returns M, the size of the correction.
PART Floats prepare(Step &w) {
  for (int k = 0; k < SPECIES; k++) {
    for (int half = 0; half < HALF; half++) set_half(w.present[k], half, w.state[half].Y[k]);
    w.present[k] = at_least(w.present[k], ABSENT);
  }
  quasi_steady(w.qss, w.T, w.p, w.present, w.dt);
  const Floats ln_p = (log2(at_least(w.p, SMALLEST)) + LOG2_RC0) * LN_2;
  set_state_inputs(w, ln_p * PER_STD[1] - OFFSET[1]);
  Floats *of_change = w.activations.inputs + VARIABLES, *stiffness = of_change + 1 + REACTIVE;
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
  for (int i = 0; i < VARIABLES; i++)
    w.change[i] = w.change[i] + inverse_power(w.activations.outputs[i], BOUND) * M;
  return M * exp2(Floats(w.activations.outputs[VARIABLES] * LOG2_10));
}

// The error estimate over the change: the network's, and that of the closure.
INLINE Floats relative_error(const Step &w, Floats estimate, const Moved &moved) {
  Floats square{};
  for (int i = 0; i < VARIABLES; i++) square = square + w.change[i] * w.change[i];
  const Floats size = root(at_least(Floats(square * (1.0f / VARIABLES)), SMALLEST));
  Floats error = estimate * reciprocal(size + FLOOR_OF_CHANGE);
  error = at_least(error, Floats(CLOSURE_WEIGHT * moved.Y * reciprocal(moved.changed_Y + FLOOR_OF_Y)));
  return at_least(error, Floats(CLOSURE_WEIGHT * moved.T * reciprocal(moved.changed_T + FLOOR_OF_T)));
}

}  // namespace network
