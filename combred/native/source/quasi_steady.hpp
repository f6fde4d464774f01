// Quasi-steady-state steps of a block: combred/surrogate/quasi_steady. All in float: errors
// of rounding are those of the rates.
#pragma once
#include "reactions.hpp"

// What the evaluations of the rates in a step work with.
struct Rates {
  Constants constants;  // of the beginning
  Progress progress;
};

struct QuasiSteady {
  Gas gas;
  Double T;
  Float Y[SPECIES];
  Float ahead[SPECIES], grown[SPECIES];   // the predictor's Y, and its change
  Float moved[SPECIES];                   // the corrector's change of Y
  Float heat[SPECIES];                    // h_k / cp of the beginning, K
  Float net[SPECIES], loss[SPECIES];      // dY/dt and 1 / tau, 1/s, at the beginning of a step
  Float net_ahead[SPECIES], loss_ahead[SPECIES];
  Float dY[SPECIES];                      // of one step
  Float total[SPECIES], total_T;          // of all steps
  Float predicted[SPECIES], predicted_T;  // of the predictor over dt
};

// dY/dt and 1 / tau [1/s] of a state; sets the rate constants to its own, or takes those there.
template <bool NEW_CONSTANTS>
PART void rates(Gas &gas, Rates &r, Double T, Double p, const Float *Y, Float *net, Float *loss) {
  set_concentrations(gas, T, p, Y);
  if (NEW_CONSTANTS) set_constants(gas, T, r.constants);
  rates_of_progress(gas, r.constants, r.progress);
  production(gas, r.progress, net, loss);
  for (int k = 0; k < SPECIES; k++) loss[k] = loss[k] * reciprocal(Y[k]);
}

// alpha, the weight of the creation at the end of a step, of x = dt / tau: above / below.
struct Alpha {
  Float above, below;
};
INLINE Alpha alpha(Float x) {
  const Float z = at_most(x, 1e5f);
  const Float above = (z + ALPHA_ABOVE[0]) * z + ALPHA_ABOVE[1];
  const Float below = (z + ALPHA_BELOW[0]) * z + ALPHA_BELOW[1];
  return {above * z + ALPHA_ABOVE[2], below * z + ALPHA_BELOW[2]};
}

// dY over dt with frozen creation and loss, dt net / (1 + alpha x).
INLINE Float frozen_step(Float net, Float loss, Float dt) {
  const Float x = dt * loss;
  const Alpha a = alpha(x);
  return dt * net * (a.below * reciprocal(a.below + a.above * x));
}

// The state after w.dY, with positive Y of sum 1; also the changes of Y. Returns the change of T.
INLINE Float after(const QuasiSteady &w, Double &T, Float *Y_after, Float *grown) {
  Float fall = all_of(0.0f), sum = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) {
    fall = fall + w.heat[k] * w.dY[k];
    grown[k] = at_least(w.dY[k], (1e-6f - 1.0f) * w.Y[k]);
    sum = sum + grown[k];
  }
  const Float surplus = sum * reciprocal(1.0f + sum);  // sum Y is 1 before
  for (int k = 0; k < SPECIES; k++) {
    grown[k] = grown[k] - (w.Y[k] + grown[k]) * surplus;
    Y_after[k] = at_least(w.Y[k] + grown[k], 1e-30f);  // which has a reciprocal
  }
  T = bounded_temperature(T - to_double(fall));
  return -fall;
}

// One step over dt by predictor and corrector. Sets w.dY, and w.loss to the mean 1 / tau.
PART void corrected_step(QuasiSteady &w, Rates &r, Double p, Float dt) {
  for (int k = 0; k < SPECIES; k++) w.dY[k] = frozen_step(w.net[k], w.loss[k], dt);
  Double T_ahead = w.T;
  after(w, T_ahead, w.ahead, w.grown);
  rates<false>(w.gas, r, T_ahead, p, w.ahead, w.net_ahead, w.loss_ahead);
  for (int k = 0; k < SPECIES; k++) {
    const Float mean = (w.loss[k] + w.loss_ahead[k]) * 0.5f;
    const Float x = dt * mean;
    const Alpha a = alpha(x);
    // C - Y / tau of the mean C and 1 / tau, with C = dY/dt + Y / tau at both ends.
    const Float end = w.net_ahead[k] + w.grown[k] * w.loss_ahead[k];
    const Float more = w.Y[k] * (w.loss_ahead[k] - w.loss[k]);
    const Float net = a.below * (w.net[k] - 0.5f * more) + a.above * (end - w.net[k] + more);
    w.loss[k] = mean;
    w.dY[k] = dt * net * reciprocal(a.below + a.above * x);
  }
}

// All steps over dt from T, p, Y >= ABSENT. Sets `total`, `predicted` and the mean `loss` of
// the last step.
PART void quasi_steady(QuasiSteady &w, Rates &r, Double T, Double p, const Float *Y, Float dt) {
  w.T = bounded_temperature(T);
  for (int k = 0; k < SPECIES; k++) w.Y[k] = Y[k];
  rates<true>(w.gas, r, w.T, p, w.Y, w.net, w.loss);
  heats(w.T, w.Y, w.heat);
  w.predicted_T = w.total_T = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) {
    w.predicted[k] = frozen_step(w.net[k], w.loss[k], dt);
    w.predicted_T = w.predicted_T - w.heat[k] * w.predicted[k];
    w.total[k] = all_of(0.0f);
  }
  for (int i = 0; i < STEPS; i++) {
    if (i > 0) {
      // dY/dt of the corrected Y with C and tau of the predicted one.
      for (int k = 0; k < SPECIES; k++) {
        w.net[k] = w.net_ahead[k] + (w.grown[k] - w.moved[k]) * w.loss_ahead[k];
        w.loss[k] = w.loss_ahead[k];
      }
    }
    corrected_step(w, r, p, dt * SHARES[i]);
    w.total_T = w.total_T + after(w, w.T, w.Y, w.moved);
    for (int k = 0; k < SPECIES; k++) w.total[k] = w.total[k] + w.dY[k];
  }
}
