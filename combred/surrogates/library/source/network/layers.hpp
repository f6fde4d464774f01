// The layers of the fully connected network for one block.
#pragma once
#include "network/numbers.hpp"
#if defined(__CUDACC__) || defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace network {

using namespace solver;

struct Activations {
  Floats inputs[INPUTS], outputs[OUTPUTS], hidden[2][WIDEST];
};

// y[o] = b[o] + sum_i w[i][o] x[i] of OUT outputs, whose sums stay in registers; w (IN, OUT).
template <int IN, int OUT, bool RELU>
INLINE void tile(const float *w, const float *b, const Floats *x, Floats *y) {
  Floats sum[OUT];
  UNROLL for (int o = 0; o < OUT; o++) sum[o] = all_of<float>(b[o]);
  for (int i = 0; i < IN; i++)
    UNROLL for (int o = 0; o < OUT; o++) sum[o] = sum[o] + w[i * OUT + o] * x[i];
  UNROLL for (int o = 0; o < OUT; o++) y[o] = RELU ? at_least(sum[o], 0.0) : sum[o];
}

// A layer of IN inputs and OUT outputs; the weights lie in tiles of TILE outputs.
template <int IN, int OUT, bool RELU>
PART void layer(const float *w, const float *b, const Floats *x, Floats *y) {
  constexpr int REST = OUT % TILE;
  int o = 0;
  for (; o + TILE <= OUT; o += TILE) tile<IN, TILE, RELU>(w + o * IN, b + o, x, y + o);
  if constexpr (REST > 0) tile<IN, REST, RELU>(w + o * IN, b + o, x, y + o);
}

}  // namespace network
