// The layers of the fully connected network for one block: products in float, or of bf16 numbers,
// which have 8 bits, with sums in float.
#pragma once
#include "matrix.hpp"

struct Activations {
  Float inputs[INPUTS], outputs[whole_tiles<OUTPUTS>], hidden[2][whole_tiles<WIDEST>];
  Int pairs[2][whole_pairs<WIDEST>];  // of a layer's inputs, for tiles
};

constexpr int TILE = 12;  // outputs that are computed together: their sums stay in registers

// sum + w x; where w and x hold pairs of bf16, sum + w_even x_even + w_odd x_odd.
INLINE Float add_products(Float sum, float w, Float x) { return sum + w * x; }
INLINE Float add_products(Float sum, uint32_t w, Int x) {
#if defined(__AVX512BF16__) && COMBRED_WIDTH == 16
  return (Float)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)w), (__m512bh)x);
#else
  return sum + of_upper_half(w << 16) * of_bits(x << 16) +
         of_upper_half(w) * of_bits(x & (int)0xffff0000);
#endif
}

// y[o] = b[o] + sum_i w[i][o] x[i] of OUT outputs, w (IN, OUT).
template <int IN, int OUT, bool RELU, typename Weight, typename Input>
INLINE void tile(const Weight *w, const float *b, const Input *x, Float *y) {
  Float sum[OUT];
  UNROLL for (int o = 0; o < OUT; o++) sum[o] = all_of(b[o]);
  for (int i = 0; i < IN; i++)
    UNROLL for (int o = 0; o < OUT; o++) sum[o] = add_products(sum[o], w[i * OUT + o], x[i]);
  UNROLL for (int o = 0; o < OUT; o++) y[o] = RELU ? at_least(sum[o], 0.0f) : sum[o];
}

// OUT outputs of IN inputs; the weights lie in tiles of TILE outputs.
template <int IN, int OUT, bool RELU, typename Weight, typename Input>
INLINE void tiles(const Weight *w, const float *b, const Input *x, Float *y) {
  constexpr int REST = OUT % TILE;
  int o = 0;
  for (; o + TILE <= OUT; o += TILE) tile<IN, TILE, RELU>(w + o * IN, b + o, x, y + o);
  if constexpr (REST > 0) tile<IN, REST, RELU>(w + o * IN, b + o, x, y + o);
}

// A layer of IN inputs and OUT outputs: of float, or with weights that are pairs of bf16.
template <int IN, int OUT, bool RELU>
PART void layer(const float *w, const float *b, const Float *x, Float *y) {
  tiles<IN, OUT, RELU>(w, b, x, y);
}
template <int IN, int OUT, bool RELU>
PART void layer(const uint32_t *w, const float *b, const Float *x, Float *y) {
  constexpr int PAIRS = (IN + 1) / 2;
  Int pairs[PAIRS];
  for (int i = 0; i < PAIRS; i++)
    pairs[i] = paired(to_bf16(x[2 * i]), 2 * i + 1 < IN ? to_bf16(x[2 * i + 1]) : Int{});
  tiles<PAIRS, OUT, RELU>(w, b, pairs, y);
}
