// Quasi-steady-state steps of a block: surrogates/model/quasi_steady. All in floats: errors of rounding
// are those of the rates.
#pragma once
#include "network/functions.hpp"
#include "network/numbers.hpp"
#include "network/rates.hpp"

namespace network {

struct QuasiSteady {
  Gas<float> g;
  Constants k;                                       // of the beginning
  Progress<float> q;
  Floats T, p, Y[SPECIES];                           // now; p over R C0
  Floats ahead[SPECIES], grown[SPECIES];             // the predictor's Y, and its change
  Floats moved[SPECIES];                             // the corrector's change of Y
  Floats heat[SPECIES];                              // h_k / cp of the beginning, K
  Floats net[SPECIES], loss[SPECIES];                // dY/dt and 1 / tau, 1/s, at the beginning of a step
  Floats net_ahead[SPECIES], loss_ahead[SPECIES];
  Floats dY[SPECIES];                                // of one step
  Floats total[REACTIVE], total_T;                   // of all steps
  Floats predicted[REACTIVE], predicted_T;           // of the predictor over dt
};

// T within the limits of combred/chemistry/thermo.
INLINE Floats bounded(Floats T) { return at_most(at_least(T, T_LEAST), T_MOST); }

// dY/dt and 1 / tau [1/s] of a state. NEW: also sets what depends on T, and the rate constants, which are
// else those there.
template <bool NEW>
PART void rates(QuasiSteady &w, Floats T, const Floats *Y, Floats *net, Floats *loss) {
  Gas<float> &g = w.g;
  g.T = T;
  g.per_T = reciprocal(g.T);
  g.p = w.p;
  g.C = g.p * g.per_T;
  const Floats S = sum_of<SPECIES>([&](int k) { return Y[k] * float(PER_WEIGHT[k]); });
  g.rho = g.C * reciprocal(S);
  g.per_rho = S * reciprocal(g.C);
  for (int k = 0; k < SPECIES; k++) g.c[k] = g.rho * (Y[k] * float(PER_WEIGHT[k]));
  set_third_bodies<float, false, false>(g);
  if (NEW) {
    g.log2_T = log2(Floats(g.T * (1.0f / 1024)));
    set_thermo<float, false>(g);
    set_pressures(g);
    set_constants<float, false>(g, w.k);
  }
  progress_of(g, w.k, w.q);
  production(w.q, net);
  destroyed(w.q, loss);
  for (int k = 0; k < SPECIES; k++) {  // inert ones, too: colliders are used and made
    const Floats scale = g.per_rho * float(WEIGHT[k]);
    net[k] = k < REACTIVE ? net[k] * scale : Floats{};
    loss[k] = loss[k] * scale * reciprocal(Y[k]);
  }
}

// alpha, the weight of the creation at the end of a step, of x = dt / tau: above / below.
struct Alpha {
  Floats above, below;
};
INLINE Alpha alpha(Floats x) {
  const Floats z = at_most(x, LARGEST_X);
  const Floats above = (z + ALPHA_ABOVE[0]) * z + ALPHA_ABOVE[1];
  const Floats below = (z + ALPHA_BELOW[0]) * z + ALPHA_BELOW[1];
  return {above * z + ALPHA_ABOVE[2], below * z + ALPHA_BELOW[2]};
}

// dY over dt with frozen creation and loss, dt net / (1 + alpha x).
INLINE Floats frozen_step(Floats net, Floats loss, Floats dt) {
  const Floats x = dt * loss;
  const Alpha a = alpha(x);
  return dt * net * (a.below * reciprocal(a.below + a.above * x));
}

// The state after w.dY, with positive Y of sum 1; also the changes of Y. Returns the change of T.
INLINE Floats after(const QuasiSteady &w, Floats &T, Floats *Y_after, Floats *grown) {
  Floats fall{}, sum{};
  for (int k = 0; k < SPECIES; k++) {
    fall = fall + w.heat[k] * w.dY[k];
    grown[k] = at_least(w.dY[k], Floats((LEFT - 1.0f) * w.Y[k]));
    sum = sum + grown[k];
  }
  const Floats surplus = sum * reciprocal(1.0f + sum);  // sum Y is 1 before
  for (int k = 0; k < SPECIES; k++) {
    grown[k] = grown[k] - (w.Y[k] + grown[k]) * surplus;
    Y_after[k] = at_least(w.Y[k] + grown[k], LEAST_Y_AHEAD);  // which has a reciprocal
  }
  T = bounded(T - fall);
  return -fall;
}

// One step over dt by predictor and corrector. Sets w.dY, and w.loss to the mean 1 / tau.
PART void corrected_step(QuasiSteady &w, Floats dt) {
  for (int k = 0; k < SPECIES; k++) w.dY[k] = frozen_step(w.net[k], w.loss[k], dt);
  Floats T_ahead = w.T;
  after(w, T_ahead, w.ahead, w.grown);
  rates<false>(w, T_ahead, w.ahead, w.net_ahead, w.loss_ahead);
  for (int k = 0; k < SPECIES; k++) {
    const Floats mean = (w.loss[k] + w.loss_ahead[k]) * 0.5f, x = dt * mean;
    const Alpha a = alpha(x);
    // C - Y / tau of the mean C and 1 / tau, with C = dY/dt + Y / tau at both ends.
    const Floats end = w.net_ahead[k] + w.grown[k] * w.loss_ahead[k];
    const Floats more = w.Y[k] * (w.loss_ahead[k] - w.loss[k]);
    const Floats net = a.below * (w.net[k] - 0.5f * more) + a.above * (end - w.net[k] + more);
    w.loss[k] = mean;
    w.dY[k] = dt * net * reciprocal(a.below + a.above * x);
  }
}

// All steps over dt from T, p over R C0, and Y >= ABSENT. Sets `total`, `predicted` and the mean `loss`
// of the last step.
PART void quasi_steady(QuasiSteady &w, Floats T, Floats p, const Floats *Y, Floats dt) {
  w.T = bounded(T);
  w.p = p;
  for (int k = 0; k < SPECIES; k++) w.Y[k] = Y[k];
  rates<true>(w, w.T, w.Y, w.net, w.loss);
  const Floats cp = sum_of<SPECIES>([&](int k) { return w.Y[k] * float(PER_WEIGHT[k]) * w.g.cp[k]; });
  const Floats per_cp = reciprocal(cp);
  w.predicted_T = w.total_T = Floats{};
  for (int k = 0; k < SPECIES; k++)
    w.heat[k] = (w.g.h[k] + HEAT_OF_ELEMENTS<float>[k]) * float(PER_WEIGHT[k]) * per_cp;
  for (int k = 0; k < REACTIVE; k++) {
    w.predicted[k] = frozen_step(w.net[k], w.loss[k], dt);
    w.predicted_T = w.predicted_T - w.heat[k] * w.predicted[k];
    w.total[k] = Floats{};
  }
  for (int i = 0; i < STEPS; i++) {
    if (i > 0)  // dY/dt of the corrected Y with C and tau of the predicted one
      for (int k = 0; k < SPECIES; k++) {
        w.net[k] = w.net_ahead[k] + (w.grown[k] - w.moved[k]) * w.loss_ahead[k];
        w.loss[k] = w.loss_ahead[k];
      }
    corrected_step(w, dt * SHARES[i]);
    w.total_T = w.total_T + after(w, w.T, w.Y, w.moved);
    for (int k = 0; k < REACTIVE; k++) w.total[k] = w.total[k] + w.dY[k];
  }
}

}  // namespace network
