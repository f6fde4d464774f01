// Three quasi-steady-state steps of a block: combred/surrogate/quasi_steady.
#pragma once
#include "kinetics.hpp"

struct QuasiSteady {
  Gas gas;
  Progress progress;
  Double T, Y[SPECIES], ahead[SPECIES], log2_Y[SPECIES], log2_ahead[SPECIES];
  Float heat[SPECIES];                    // h_k / cp, K
  Float net[SPECIES], loss[SPECIES];      // dY/dt and 1 / tau, 1/s, at the beginning of a step
  Float net_ahead[SPECIES], loss_ahead[SPECIES];
  Float dY[SPECIES];                      // of one step
  Float total[SPECIES], total_T;          // of all steps
  Float predicted[SPECIES], predicted_T;  // of the predictor over dt
};

// dY/dt and 1 / tau [1/s] of a state; also log2 Y.
INLINE void rates(QuasiSteady &w, Double T, Double p, const Double *Y, Double *log2_Y, Float *net,
                  Float *loss) {
  prepare(w.gas, T, p, Y, log2_Y);
  rates_of_progress(w.gas, w.progress);
  production(w.gas, w.progress, net, loss);
  for (int k = 0; k < SPECIES; k++) loss[k] = loss[k] / to_float(Y[k]);
}

// dY over dt with frozen creation and loss: dt net (1 - exp(-x)) / x, x = dt / tau.
INLINE Float frozen_step(Float net, Float loss, Float dt) {
  const Float x = dt * loss, decay = exp2_minus_1(x * (float)-LOG2_E);
  const Float share = -decay / at_least(x, 1e-4f);
  return dt * net * select(x > 1e-4f, share, 1.0f - x * 0.5f);
}

// The weight of the creation at the end of a step, x = dt / tau.
INLINE Float alpha(Float x) {
  const Float large = at_least(x, 0.1f);
  const Float exact = -1.0f / exp2_minus_1(large * (float)-LOG2_E) - 1.0f / large;
  return select(x > 0.1f, exact, 0.5f + x * (1 / 12.0f) - x * x * x * (1 / 720.0f));
}

// T and Y after a change dY: positive Y of sum 1. Returns the change of T.
INLINE Float after(const QuasiSteady &w, Double &T, const Double *Y, Double *Y_after) {
  Float fall = all_of(0.0f);
  Double sum = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) {
    fall = fall + w.heat[k] * w.dY[k];
    Y_after[k] = at_least(Y[k] + to_double(w.dY[k]), 1e-6 * Y[k]);
    sum = sum + Y_after[k];
  }
  const Double per_sum = 1.0 / sum;
  for (int k = 0; k < SPECIES; k++) Y_after[k] = Y_after[k] * per_sum;
  T = bounded_temperature(T - to_double(fall));
  return -fall;
}

// One step over dt by predictor and corrector. Sets w.dY, and w.loss to the mean 1 / tau.
PART void corrected_step(QuasiSteady &w, Double p, Float dt) {
  for (int k = 0; k < SPECIES; k++) w.dY[k] = frozen_step(w.net[k], w.loss[k], dt);
  Double T_ahead = w.T;
  after(w, T_ahead, w.Y, w.ahead);
  rates(w, T_ahead, p, w.ahead, w.log2_ahead, w.net_ahead, w.loss_ahead);
  for (int k = 0; k < SPECIES; k++) {
    const Float mean = (w.loss[k] + w.loss_ahead[k]) * 0.5f, weight = alpha(dt * mean);
    // C - Y / tau of the mean C and 1 / tau, with C = dY/dt + Y / tau at both ends.
    const Float grown = to_float(w.ahead[k] - w.Y[k]);
    Float net = (1.0f - weight) * w.net[k] + weight * (w.net_ahead[k] + grown * w.loss_ahead[k]);
    net = net + (weight - 0.5f) * to_float(w.Y[k]) * (w.loss_ahead[k] - w.loss[k]);
    w.loss[k] = mean;
    w.dY[k] = frozen_step(net, mean, dt);
  }
}

// The three steps over dt from T, p, Y >= FLOOR. Sets `total`, `predicted` and `loss` of the last
// step; `log2_Y` (SPECIES) is that of the beginning.
PART void quasi_steady(QuasiSteady &w, Double T, Double p, const Double *Y, Float dt,
                       Double *log2_Y) {
  w.T = bounded_temperature(T);
  for (int k = 0; k < SPECIES; k++) w.Y[k] = Y[k];
  rates(w, w.T, p, w.Y, log2_Y, w.net, w.loss);
  heats(w.T, w.Y, w.heat);
  w.predicted_T = w.total_T = all_of(0.0f);
  for (int k = 0; k < SPECIES; k++) {
    w.predicted[k] = frozen_step(w.net[k], w.loss[k], dt);
    w.predicted_T = w.predicted_T - w.heat[k] * w.predicted[k];
    w.total[k] = all_of(0.0f);
  }
  for (int i = 0; i < 3; i++) {
    if (i > 0) {
      rates(w, w.T, p, w.Y, w.log2_Y, w.net, w.loss);
      heats(w.T, w.Y, w.heat);
    }
    corrected_step(w, p, dt * SHARES[i]);
    w.total_T = w.total_T + after(w, w.T, w.Y, w.Y);
    for (int k = 0; k < SPECIES; k++) w.total[k] = w.total[k] + w.dY[k];
  }
}
