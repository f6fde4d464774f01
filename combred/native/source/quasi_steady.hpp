// Three quasi-steady-state steps of a block: combred/surrogate/quasi_steady. All in float: errors
// of rounding are those of the rates.
#pragma once
#include "reactions.hpp"

struct QuasiSteady {
  Gas gas;
  Progress progress;
  Double T;
  Float Y[SPECIES];
  Float ahead[SPECIES], grown[SPECIES];   // the predictor's Y, and its change
  Float moved[SPECIES];                   // the corrector's change of Y
  Float heat[SPECIES];                    // h_k / cp, K
  Float net[SPECIES], loss[SPECIES];      // dY/dt and 1 / tau, 1/s, at the beginning of a step
  Float net_ahead[SPECIES], loss_ahead[SPECIES];
  Float dY[SPECIES];                      // of one step
  Float total[SPECIES], total_T;          // of all steps
  Float predicted[SPECIES], predicted_T;  // of the predictor over dt
};

// dY/dt and 1 / tau [1/s] of a state.
INLINE void rates(QuasiSteady &w, Double T, Double p, const Float *Y, Float *net, Float *loss) {
  prepare(w.gas, T, p, Y);
  rates_of_progress(w.gas, w.progress);
  production(w.gas, w.progress, net, loss);
  for (int k = 0; k < SPECIES; k++) loss[k] = loss[k] * reciprocal(Y[k]);
}

// (1 - exp(-x)) / x and, where asked, the weight of the creation at the end of a step,
// 1 / (1 - exp(-x)) - 1 / x, of x = dt / tau; series where they would cancel.
INLINE Float decayed_share(Float x, Float *weight = nullptr) {
  const Float decay = -exp2_minus_1(at_least(x * (float)-LOG2_E, -200.0f));
  const Float per_x = reciprocal(at_least(x, 1e-4f));
  if (weight) {
    const Float exact = reciprocal(at_least(decay, 0.05f)) - per_x;
    *weight = select(x > 0.1f, exact, 0.5f + x * (1 / 12.0f) - x * x * x * (1 / 720.0f));
  }
  return select(x > 1e-4f, decay * per_x, 1.0f - x * 0.5f);
}

// dY over dt with frozen creation and loss: dt net (1 - exp(-x)) / x, x = dt / tau.
INLINE Float frozen_step(Float net, Float loss, Float dt) {
  return dt * net * decayed_share(dt * loss);
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
    // Rounding may give zero where almost everything has decayed; 1e-30 has a reciprocal.
    Y_after[k] = at_least(w.Y[k] + grown[k], at_least(1e-7f * w.Y[k], 1e-30f));
  }
  T = bounded_temperature(T - to_double(fall));
  return -fall;
}

// One step over dt by predictor and corrector. Sets w.dY, and w.loss to the mean 1 / tau.
PART void corrected_step(QuasiSteady &w, Double p, Float dt) {
  for (int k = 0; k < SPECIES; k++) w.dY[k] = frozen_step(w.net[k], w.loss[k], dt);
  Double T_ahead = w.T;
  after(w, T_ahead, w.ahead, w.grown);
  rates(w, T_ahead, p, w.ahead, w.net_ahead, w.loss_ahead);
  for (int k = 0; k < SPECIES; k++) {
    const Float mean = (w.loss[k] + w.loss_ahead[k]) * 0.5f;
    Float weight, share = decayed_share(dt * mean, &weight);
    // C - Y / tau of the mean C and 1 / tau, with C = dY/dt + Y / tau at both ends.
    const Float end = w.net_ahead[k] + w.grown[k] * w.loss_ahead[k];
    Float net = (1.0f - weight) * w.net[k] + weight * end;
    net = net + (weight - 0.5f) * w.Y[k] * (w.loss_ahead[k] - w.loss[k]);
    w.loss[k] = mean;
    w.dY[k] = dt * net * share;
  }
}

// The three steps over dt from T, p, Y >= ABSENT. Sets `total`, `predicted` and the mean `loss` of
// the last step.
PART void quasi_steady(QuasiSteady &w, Double T, Double p, const Float *Y, Float dt) {
  w.T = bounded_temperature(T);
  for (int k = 0; k < SPECIES; k++) w.Y[k] = Y[k];
  rates(w, w.T, p, w.Y, w.net, w.loss);
  heats(w.T, w.Y, w.heat);
  w.predicted_T = w.total_T = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) {
    w.predicted[k] = frozen_step(w.net[k], w.loss[k], dt);
    w.predicted_T = w.predicted_T - w.heat[k] * w.predicted[k];
    w.total[k] = all_of(0.0f);
  }
  for (int i = 0; i < 3; i++) {
    if (i > 0) {
      // dY/dt of the corrected Y with C and tau of the predicted one.
      for (int k = 0; k < SPECIES; k++) {
        w.net[k] = w.net_ahead[k] + (w.grown[k] - w.moved[k]) * w.loss_ahead[k];
        w.loss[k] = w.loss_ahead[k];
      }
      heats(w.T, w.Y, w.heat);
    }
    corrected_step(w, p, dt * SHARES[i]);
    w.total_T = w.total_T + after(w, w.T, w.Y, w.moved);
    for (int k = 0; k < SPECIES; k++) w.total[k] = w.total[k] + w.dY[k];
  }
}
