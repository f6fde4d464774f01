// The layers of source/matrix.hpp with tiles that are computed number by number, so that every CPU
// runs them: prints the largest error of some layers over the sum of |w x|, against double. The last
// two layers have weights that are bf16 numbers, and the last one inputs that are.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <immintrin.h>

struct Tile {
  uint32_t words[16][16];
};
static Tile TILES[8];

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_loadconfig
#undef _tile_release
#define _tile_zero(t) memset(&TILES[t], 0, sizeof(Tile))
#define _tile_loadd(t, from, stride) memcpy(&TILES[t], from, sizeof(Tile))
#define _tile_stored(t, to, stride) memcpy(to, &TILES[t], sizeof(Tile))
#define _tile_dpbf16ps(sum, a, b) add_products(TILES[sum], TILES[a], TILES[b])
#define _tile_loadconfig(shape) (void)(shape)
#define _tile_release() (void)0

static float upper(uint32_t word) {
  float x;
  word &= 0xffff0000;
  memcpy(&x, &word, sizeof(x));
  return x;
}
// sum[m][n] += sum over the words k of a[m][k] b[k][n], both halves.
static void add_products(Tile &sum, const Tile &a, const Tile &b) {
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      float total;
      memcpy(&total, &sum.words[m][n], sizeof(total));
      for (int k = 0; k < 16; k++) {
        total += upper(a.words[m][k] << 16) * upper(b.words[k][n] << 16);
        total += upper(a.words[m][k]) * upper(b.words[k][n]);
      }
      memcpy(&sum.words[m][n], &total, sizeof(total));
    }
}

#include "matrix.hpp"

#ifndef COMBRED_MATRIX
#error "this compiler has no tiles"
#endif

constexpr int SIZES_TILE = 12;  // outputs of a tile of the table of weights
static float number(unsigned i) { return (float)((i * 2654435761u) >> 8) * (2.0f / (1 << 24)) - 1.0f; }

static uint32_t bits(float x) {
  uint32_t found;
  memcpy(&found, &x, sizeof(found));
  return found;
}

template <bool HIDDEN, int IN, int OUT, int PRODUCTS = 3>
static double worst() {
  constexpr int PAIRS = (IN + 1) / 2;
  static Matrix<IN, OUT> matrix;
  static float table[IN * OUT], w[OUT][IN], b[IN];
  static uint32_t pairs[PAIRS * OUT];
  static Float x[IN], y[whole_tiles<OUT>];
  static Int high[whole_pairs<IN>], low[whole_pairs<IN>];
  for (int o = 0; o < OUT; o++) {
    const int first = o / SIZES_TILE * SIZES_TILE;
    const int outputs = OUT - first < SIZES_TILE ? OUT - first : SIZES_TILE;
    for (int i = 0; i < IN; i++) {
      w[o][i] = number(o * IN + i);
      if (PRODUCTS < 3) w[o][i] = upper(bits(w[o][i]));
      pairs[first * PAIRS + i / 2 * outputs + o - first] |= bits(w[o][i]) >> 16 << (i % 2 * 16);
      table[first * IN + i * outputs + o - first] = w[o][i];
    }
  }
  for (int i = 0; i < IN; i++) {
    b[i] = number(1000000 + i);
    for (int n = 0; n < 16; n++) {
      const float found = number(2000000 + 16 * i + n);
      reinterpret_cast<float *>(&x[i])[n] = PRODUCTS == 1 ? upper(bits(found)) : found;
    }
  }
  if (PRODUCTS == 1) matrix.set_all(pairs, SIZES_TILE);
  else matrix.set_all(table, SIZES_TILE);
  layer_on_tiles<HIDDEN, PRODUCTS>(matrix, b, x, y, high, low);
  double found = 0.0;
  for (int o = 0; o < OUT; o++)
    for (int n = 0; n < 16; n++) {
      double exact = 0.0, size = 0.0;
      for (int i = 0; i < IN; i++) {
        float input = reinterpret_cast<float *>(&x[i])[n];
        if (HIDDEN) input = input + b[i] > 0.0f ? input + b[i] : 0.0f;
        const double part = (double)w[o][i] * input;
        exact += part;
        size += part < 0 ? -part : part;
      }
      const double off = (reinterpret_cast<float *>(&y[o])[n] - exact) / size;
      found = off > found ? off : -off > found ? -off : found;
    }
  return found;
}

int main() {
  // Fewer inputs than a chunk, an odd number, more than one chunk; 1 to 4 tiles and more.
  printf("%g %g %g %g %g ", worst<true, 5, 3>(), worst<false, 33, 24>(), worst<true, 64, 37>(),
         worst<true, 84, 53>(), worst<false, 100, 174>());
  printf("%g %g\n", worst<true, 66, 38, 2>(), worst<false, 65, 37, 1>());
}
