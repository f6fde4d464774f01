// What both forms of a surrogate have of a block of states and their step.
#pragma once
#include "network/closure.hpp"
#include "network/weights.hpp"

namespace network {

constexpr int HALF = HALVES<float>;

struct Block {
  State state[HALF], after[HALF];
  Floats T, p, dt;                           // p over R C0
  Floats shifted[SPECIES], power[SPECIES];   // Y as F has it, above zero, and its power lambda, 1 + lambda F
  Floats change[VARIABLES];                  // of [T, p or ln p, F(Y)], over SCALE
  Activations activations;
};

// How much the closure has moved T and the Y that it moved most, and how much these changed.
struct Moved {
  Floats T, Y, changed_T, changed_Y;
};

// sign(z) |z|^(1 / POWER), at most `most` in size.
INLINE Floats inverse_power(Floats z, float most) {
  const Floats r = at_most(positive_power<INVERSE_POWER>(absolute(z), 1 / POWER), most);
  return select(z < Floats{}, Floats(-r), r);
}

// The inputs of the network that are [T, p or ln p, F(Y)], standardised, as `pressure` is.
INLINE void set_state_inputs(Block &w, Floats pressure) {
  Floats *inputs = w.activations.inputs;
  inputs[0] = w.T * PER_STD[0] - OFFSET[0];
  inputs[1] = pressure;
  for (int k = 0; k < SPECIES; k++)
    inputs[2 + k] = (w.power[k] - 1.0f) * (1 / LAMBDA * PER_STD[2 + k]) - OFFSET[2 + k];
}

}  // namespace network
