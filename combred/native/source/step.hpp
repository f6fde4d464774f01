// One step of a block, whatever its error: combred/surrogate/surrogate (`step`) and correction.
#pragma once
#include "closure.hpp"
#include "network.hpp"
#include "quasi_steady.hpp"

struct Step {
  Double Y[SPECIES], floored[SPECIES], log2_Y[SPECIES];
  Double power[SPECIES];                   // max(Y, floor)^lambda = 1 + lambda F
  Double change[VARIABLES];                // of [T, ln p, F(Y)]
  Double raw[SPECIES];
  Double T_next, Y_next[SPECIES], error;
  QuasiSteady qss;
  Float inputs[INPUTS], outputs[OUTPUTS], hidden[2][WIDEST];
};

// x^n, n > 0.
template <int n>
INLINE Double whole_power(Double x) {
  if constexpr (n == 1) return x;
  else if constexpr (n % 2 == 0) return whole_power<n / 2>(x * x);
  else return x * whole_power<n / 2>(x * x);
}
// x^exponent, x >= 0; `whole` is the exponent where it is a whole number, else 0.
template <int whole>
INLINE Double positive_power(Double x, double exponent) {
  if constexpr (whole > 0) return whole_power<whole>(x);
  const Double found = exp2(exponent * log2(at_least(x, 1e-300)));
  return select(x > 1e-300, found, x * 0.0);
}

// F(Y + dY) - F(Y) of the quasi-steady steps, without cancellation.
INLINE Float change_of_F(Float y, Float dY) {
  const Float per_y = 1.0f / y, ratio = dY * per_y;
  // The smallest Y + dY over Y: exactly 1 at the floor, where nothing can decay.
  const Float least = select(y > (float)FLOOR, (float)FLOOR * per_y, all_of(1.0f));
  const Float grown = at_least(1.0f + ratio, least), growth = at_least(ratio, least - 1.0f);
  const Float ln = select(growth > -0.5f, log2_of_1_plus(growth), log2(grown));
  const Float power = exp2((float)LAMBDA * log2(y));
  return power * exp2_minus_1((float)LAMBDA * ln) / (float)LAMBDA;
}

// The inputs of the network; sets `change` to the corrector's. Returns M.
PART Double set_inputs(Step &w, Double T, Double p, Double dt) {
  const Double variables[2] = {T, log2(p) * LN_2 + (p - p)};  // p - p: NaN where p is not finite
  for (int i = 0; i < 2; i++) w.inputs[i] = to_float((variables[i] - MEAN[i]) * PER_STD[i]);
  for (int k = 0; k < SPECIES; k++) {
    const Double F = (w.power[k] - 1.0) * (1.0 / LAMBDA);
    w.inputs[2 + k] = to_float((F - MEAN[2 + k]) * PER_STD[2 + k]);
  }
  Float *of_change = w.inputs + VARIABLES, *stiffness = of_change + 1 + REACTIVE;
  Float *of_error = stiffness + REACTIVE, M = all_of(LEAST_M);
  const Float step = to_float(dt);
  for (int i = 0; i < VARIABLES; i++) w.change[i] = all_of(0.0);
  for (int i = 0; i <= REACTIVE; i++) {
    const int k = i == 0 ? 0 : REACTIVE_SPECIES[i - 1], column = i == 0 ? 0 : 2 + k;
    const float scale = (float)SCALE[column], per_scale = (float)PER_SCALE[column];
    Float corrector = w.qss.total_T, predictor = w.qss.predicted_T;
    if (i > 0) {
      const Float y = to_float(w.floored[k]);
      corrector = change_of_F(y, w.qss.total[k]);
      predictor = change_of_F(y, w.qss.predicted[k]);
      stiffness[i - 1] = log2(step * w.qss.loss[k] + 1e-6f) * (float)LOG10_2;
    }
    const Float d = at_most(at_least(corrector * per_scale, -LARGEST), LARGEST);
    const Float e = at_most(at_least((corrector - predictor) * per_scale, -LARGEST), LARGEST);
    M = at_least(absolute(e), M);
    w.change[column] = to_double(d * scale);
    of_change[i] = signed_power(d, (float)POWER);
    of_error[i] = e;
  }
  const Float per_M = 1.0f / M;
  for (int i = 0; i <= REACTIVE; i++)
    of_error[i] = signed_power(of_error[i] * per_M, (float)POWER);
  of_error[REACTIVE + 1] = log2(M) * (float)LOG10_2;
  const Double seen = at_most(at_least(dt, DT_LOW), DT_HIGH);
  of_error[REACTIVE + 2] = to_float(log2(seen) * LOG10_2);
  for (int i = 0; i < INPUTS - VARIABLES; i++)
    of_change[i] = (of_change[i] - QSS_MEAN[i]) * PER_QSS_STD[i];
  return to_double(M);
}

// Adds the network's correction to `change`; returns the network's estimate of its error.
PART Double correct(Step &w, Double M, Double dt) {
  const Double part = at_most(dt / DT_LOW, 1.0), fade = part * part, size = M * fade;
  for (int i = 0; i < VARIABLES; i++) {
    const Double z = to_double(w.outputs[i]), positive = absolute(z);
    const Double grown = positive_power<INVERSE_POWER>(positive, 1.0 / POWER);
    const Double r = at_most(grown, BOUND);
    w.change[i] = w.change[i] + select(z < 0.0, -r, r) * SCALE[i] * size;
  }
  const Double of_network = to_double(exp2(w.outputs[VARIABLES] * (float)LOG2_10));
  return M * (fade * of_network + (1.0 - fade) * CORRECTOR_ERROR);
}

// The error estimate of the step, over its change; infinite unless the closure conserves.
INLINE Double error_of(const Step &w, Double T, Double estimate, Mask conserves) {
  Double square = all_of(0.0), moved = all_of(0.0), changed = all_of(0.0);
  for (int i = 0; i < VARIABLES; i++) {
    const Double d = w.change[i] * PER_SCALE[i];
    square = square + d * d;
  }
  for (int k = 0; k < SPECIES; k++) {
    moved = at_least(absolute(w.Y_next[k] - w.raw[k]), moved);
    changed = at_least(absolute(w.Y_next[k] - w.Y[k]), changed);
  }
  const Double mean = square * (1.0 / VARIABLES);
  const Double size = mean * reciprocal_root(at_least(mean, 1e-300));
  const Double moved_T = absolute(w.T_next - (T + w.change[0])), changed_T = absolute(w.T_next - T);
  Double error = estimate / (size + FLOOR_OF_CHANGE);
  error = at_least(error, CLOSURE_WEIGHT * moved / (changed + FLOOR_OF_Y));
  error = at_least(error, CLOSURE_WEIGHT * moved_T / (changed_T + FLOOR_OF_T));
  const Double infinite = all_of(__builtin_inf());
  return select(conserves & (error < infinite), error, infinite);
}

// From T [K], p [Pa], Y over dt [s]: sets T_next, Y_next and `error`.
PART void step(Step &w, Double T, Double p, const Double *Y, Double dt) {
  Double sum = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) {
    w.Y[k] = at_least(Y[k], 0.0);
    sum = sum + w.Y[k];
  }
  const Double per_sum = 1.0 / sum;
  for (int k = 0; k < SPECIES; k++) {
    w.Y[k] = w.Y[k] * per_sum;
    w.floored[k] = at_least(w.Y[k], FLOOR);
  }
  quasi_steady(w.qss, T, p, w.floored, to_float(dt), w.log2_Y);
  for (int k = 0; k < SPECIES; k++) w.power[k] = exp2(LAMBDA * w.log2_Y[k]);
  const Double M = set_inputs(w, T, p, dt);
  network(w.inputs, w.outputs, w.hidden[0], w.hidden[1]);
  const Double estimate = correct(w, M, dt);
  for (int k = 0; k < SPECIES; k++) {
    const Double base = at_least(w.power[k] + LAMBDA * w.change[2 + k], 0.0);
    w.raw[k] = positive_power<INVERSE_LAMBDA>(base, 1.0 / LAMBDA);
  }
  const Mask conserves = close(T, w.Y, T + w.change[0], w.raw, w.T_next, w.Y_next);
  w.error = error_of(w, T, estimate, conserves);
  w.T_next = w.T_next + ((T - T) + (p - p) + (sum - sum));  // NaN where the state is not finite
}
