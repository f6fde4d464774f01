// A network of the state alone: combred/surrogates/model/transform, forms and training_range.
#pragma once
#include "network/block.hpp"

namespace network {

constexpr float TAKEN_AWAY = 0;
constexpr float UNTRAINED = 1e20f;  // the error estimate out of the range: below the largest tolerance alone

struct Step : Block {};

INLINE Floats shifted(Floats Y) { return at_least(Y, FLOOR); }
INLINE Doubles unshifted(Doubles Y) { return at_least(Y, double(FLOOR)); }

// The inputs of the network. Returns UNTRAINED for states out of the range of the training: of one
// variable, or of the distance |ROOT x| from the mean; else 0.
PART Floats prepare(Step &w) {
  Floats pressure;  // in doubles: of a training at one pressure the spread is 1 Pa
  for (int half = 0; half < HALF; half++)
    set_half(pressure, half, Doubles((w.state[half].p - MEAN_P) * PER_STD_P));
  set_state_inputs(w, pressure);
  const Floats *x = w.activations.inputs;
  Mask<float> inside = x[0] >= all_of<float>(LOWEST[0]);
  Floats square{};
  for (int i = 0, at = 0; i < VARIABLES; i++) {
    inside = inside & (x[i] >= all_of<float>(LOWEST[i])) & (x[i] <= all_of<float>(HIGHEST[i]));
    Floats y{};
    for (int j = i; j < VARIABLES; j++, at++) y = y + ROOT[at] * x[j];
    square = square + y * y;
  }
  return select(inside & (square <= all_of<float>(FARTHEST)), Floats{}, all_of<float>(UNTRAINED));
}

// Sets `change` to the network's; returns `untrained`.
PART Floats correct(Step &w, Floats untrained) {
  for (int i = 0; i < VARIABLES; i++) w.change[i] = inverse_power(w.activations.outputs[i], 1e37f);
  return untrained;
}

// The error estimate: the closure's correction.
INLINE Floats relative_error(const Step &, Floats untrained, const Moved &moved) {
  const Floats of_T = moved.T * reciprocal(SHARE_OF_CHANGE * moved.changed_T + FLOOR_OF_T);
  const Floats of_Y = moved.Y * reciprocal(SHARE_OF_CHANGE * moved.changed_Y + FLOOR_OF_Y);
  return at_least(untrained, Floats(USUAL_TOLERANCE * at_least(of_T, of_Y)));
}

}  // namespace network
