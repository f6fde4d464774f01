// The layers of the fully connected network, in float, for one block.
#pragma once
#include "functions.hpp"

constexpr int TILE = 12;  // outputs that are computed together: their sums stay in registers

// y[o] = b[o] + sum_i w[i][o] x[i] of OUT outputs, w (IN, OUT).
template <int IN, int OUT, bool RELU>
INLINE void tile(const float *w, const float *b, const Float *x, Float *y) {
  Float sum[OUT];
#pragma GCC unroll 16
  for (int o = 0; o < OUT; o++) sum[o] = all_of(b[o]);
  for (int i = 0; i < IN; i++)
#pragma GCC unroll 16
    for (int o = 0; o < OUT; o++) sum[o] = sum[o] + w[i * OUT + o] * x[i];
#pragma GCC unroll 16
  for (int o = 0; o < OUT; o++) y[o] = RELU ? at_least(sum[o], 0.0f) : sum[o];
}

// A layer of IN inputs and OUT outputs; the weights lie in tiles of TILE outputs.
template <int IN, int OUT, bool RELU>
PART void layer(const float *w, const float *b, const Float *x, Float *y) {
  constexpr int REST = OUT % TILE;
  int o = 0;
  for (; o + TILE <= OUT; o += TILE) tile<IN, TILE, RELU>(w + o * IN, b + o, x, y + o);
  if constexpr (REST > 0) tile<IN, REST, RELU>(w + o * IN, b + o, x, y + o);
}
