// One step of a block, whatever its error: combred/surrogate/surrogate (`step`) and correction.
#pragma once
#include "closure.hpp"
#include "network.hpp"
#include "powers.hpp"
#include "quasi_steady.hpp"

struct Step {
  Double Y[SPECIES], raw[SPECIES];
  Double T_next, Y_next[SPECIES], error;
  Float present[SPECIES], shifted[SPECIES];  // max(Y, ABSENT) and Y + FLOOR
  Float power[SPECIES];                      // (Y + FLOOR)^lambda = 1 + lambda F
  Float change[VARIABLES];                   // of [T, ln p, F(Y)], over SCALE
  QuasiSteady qss;
  union {  // used one after the other: the second lies where the first is in the cache
    Rates rates;
    Activations activations;
  };
};

// F(Y + dY) - F(Y) of the quasi-steady steps, without cancellation, with dY >= -Y; `per_shifted` is
// 1 / (Y + FLOOR), `power` its inverse to the power of lambda.
INLINE Float change_of_F(Float y, Float per_shifted, Float power, Float dY) {
  const Float growth = at_least(dY, -y) * per_shifted;
  const Float grown = at_least(1.0f + growth, FLOOR * per_shifted);
  return power * exp2_minus_1(LAMBDA * log2_of_sum(grown, growth)) * (1 / LAMBDA);
}

INLINE Float limited(Float x) { return at_most(at_least(x, -LARGEST), LARGEST); }

// The inputs of the network; sets `change` to the corrector's. Returns M.
PART Float set_inputs(Step &w, Double T, Double p, Double dt) {
  const Float of_p = to_float(p), found = log2(at_least(of_p, LEAST)) * (float)LN_2;
  const Float ln_p = select(of_p > 0.0f, found, all_of((float)not_a_number()));
  Float *inputs = w.activations.inputs;
  inputs[0] = to_float(T) * PER_STD[0] - OFFSET[0];
  inputs[1] = ln_p * PER_STD[1] - OFFSET[1];
  for (int k = 0; k < SPECIES; k++)
    inputs[2 + k] = (w.power[k] - 1.0f) * (1 / LAMBDA * PER_STD[2 + k]) - OFFSET[2 + k];
  Float *of_change = inputs + VARIABLES, *stiffness = of_change + 1 + REACTIVE;
  Float *of_error = stiffness + REACTIVE, M = all_of(LEAST_M);
  const Float step = to_float(dt);
  for (int i = 0; i < VARIABLES; i++) w.change[i] = all_of(0.0f);
  for (int i = 0; i <= REACTIVE; i++) {
    const int k = i == 0 ? 0 : REACTIVE_SPECIES[i - 1], column = i == 0 ? 0 : 2 + k;
    Float corrector = w.qss.total_T, predictor = w.qss.predicted_T;
    if (i > 0) {
      const Float y = w.present[k], per_shifted = reciprocal(w.shifted[k]);
      corrector = change_of_F(y, per_shifted, w.power[k], w.qss.total[k]);
      predictor = change_of_F(y, per_shifted, w.power[k], w.qss.predicted[k]);
      stiffness[i - 1] = log2(step * w.qss.loss[k] + 1e-6f) * (float)LOG10_2;
    }
    const Float d = limited(corrector * PER_SCALE[column]);
    const Float e = limited((corrector - predictor) * PER_SCALE[column]);
    M = at_least(absolute(e), M);
    w.change[column] = d;
    of_change[i] = signed_power(d, POWER);
    of_error[i] = e;
  }
  const Float per_M = reciprocal(M);
  for (int i = 0; i <= REACTIVE; i++) of_error[i] = signed_power(of_error[i] * per_M, POWER);
  of_error[REACTIVE + 1] = log2(M) * (float)LOG10_2;
  const Float seen = at_most(at_least(step, (float)DT_LOW), (float)DT_HIGH);
  of_error[REACTIVE + 2] = log2(seen) * (float)LOG10_2;
  for (int i = 0; i < INPUTS - VARIABLES; i++)
    of_change[i] = of_change[i] * PER_QSS_STD[i] - QSS_OFFSET[i];
  return M;
}

// Adds the network's correction to `change`; returns the network's estimate of its error.
PART Float correct(Step &w, Float M, Double dt) {
  const Float part = to_float(at_most(dt * (1 / DT_LOW), 1.0)), fade = part * part;
  const Float size = M * fade;
  for (int i = 0; i < VARIABLES; i++) {
    const Float z = w.activations.outputs[i];
    const Float grown = positive_power<INVERSE_POWER>(absolute(z), 1 / POWER);
    const Float r = at_most(grown, BOUND);
    w.change[i] = w.change[i] + select(z < 0.0f, -r, r) * size;
  }
  const Float of_network = exp2(w.activations.outputs[VARIABLES] * (float)LOG2_10);
  // Over M, the corrector's error falls with dt in most states.
  return M * (fade * of_network + (1.0f - fade) * CORRECTOR_ERROR * part);
}

// The Y that follow from their changes of F: with the shifted Y, (1 + u)^(1 / lambda) times it, u =
// lambda dF / Y^lambda.
PART void set_raw(Step &w) {
  for (int k = 0; k < SPECIES; k++) {
    const Float dF = w.change[2 + k] * SCALE[2 + k];
    const Float u = at_least(LAMBDA * dF * reciprocal(w.power[k]), -1.0f);
    const Float less_1 = power_less_1<INVERSE_LAMBDA>(u, 1 / LAMBDA);
    const Float whole = positive_power<INVERSE_LAMBDA>(1.0f + u, 1 / LAMBDA);
    // The change of Y is precise where it is small, the new Y where it is almost zero.
    const Double grown = w.Y[k] + to_double(w.shifted[k] * less_1);
    const Double small = to_double(w.shifted[k] * whole - FLOOR);
    w.raw[k] = at_least(select(to_double(less_1) < -0.75, small, grown), 0.0);
  }
}

// The error estimate of the step, over its change and `part` of the floors; infinite unless the
// closure conserves.
INLINE Double error_of(const Step &w, Double T, Double T_raw, Float estimate, Float part,
                       Mask conserves) {
  Float square = all_of(0.0f), moved = all_of(0.0f), changed = all_of(0.0f);
  for (int i = 0; i < VARIABLES; i++) square = square + w.change[i] * w.change[i];
  for (int k = 0; k < SPECIES; k++) {
    moved = at_least(absolute(to_float(w.Y_next[k] - w.raw[k])), moved);
    changed = at_least(absolute(to_float(w.Y_next[k] - w.Y[k])), changed);
  }
  const Float size = root(at_least(square * (1.0f / VARIABLES), LEAST));
  const Float moved_T = absolute(to_float(w.T_next - T_raw));
  const Float changed_T = absolute(to_float(w.T_next - T));
  Float error = estimate * reciprocal(size + FLOOR_OF_CHANGE * part);
  error = at_least(error, CLOSURE_WEIGHT * moved * reciprocal(changed + FLOOR_OF_Y * part));
  error = at_least(error, CLOSURE_WEIGHT * moved_T * reciprocal(changed_T + FLOOR_OF_T * part));
  const Double infinite = all_of(infinity()), found = to_double(error);
  return select(conserves & (found < infinite), found, infinite);
}

// From T [K], p [Pa], Y over dt [s], a part of `whole`: sets T_next, Y_next and `error`.
PART void step(Step &w, Double T, Double p, const Double *Y, Double dt, Double whole) {
  Double sum = all_of(0.0);
  for (int k = 0; k < SPECIES; k++) {
    w.Y[k] = at_least(Y[k], 0.0);
    sum = sum + w.Y[k];
  }
  const Double per_sum = 1.0 / sum;  // 0 of an infinite sum
  for (int k = 0; k < SPECIES; k++) {
    w.Y[k] = w.Y[k] * per_sum;
    const Float y = to_float(w.Y[k]);
    w.present[k] = at_least(y, ABSENT);
    w.shifted[k] = y + FLOOR;
    w.power[k] = exp2(LAMBDA * log2(w.shifted[k]));
  }
  quasi_steady(w.qss, w.rates, T, p, w.present, to_float(dt));
  const Float M = set_inputs(w, T, p, dt);
  network(w.activations);
  const Float estimate = correct(w, M, dt);
  set_raw(w);
  const Double T_raw = T + to_double(w.change[0] * SCALE[0]);
  const Mask conserves = close(T, w.Y, T_raw, w.raw, w.T_next, w.Y_next);
  const Double ratio = select(dt < whole, dt * reciprocal(whole), all_of(1.0));
  w.error = error_of(w, T, T_raw, estimate, root(to_float(ratio)), conserves);
  w.T_next = w.T_next + ((T - T) + (p - p) + (sum - sum));  // NaN where the state is not finite
}
