// The inverse of a block, in place: Gauss-Jordan elimination by PIVOTS rows at a time, with pivots from these rows.
#pragma once
#include <cmath>

#include "flame/problem.hpp"

namespace flame {

// Rows and vectors of a tile that stays in registers: AVX-512 has 32 of them, others 16.
constexpr int TILE_ROWS = COMBRED_BYTES == 64 ? 8 : 4, TILE_VECTORS = 3;
constexpr double SMALLEST_PIVOT = 1e-280;

INLINE Doubles load(const double *source) {
  Doubles value;
  memcpy(&value, source, sizeof value);
  return value;
}
INLINE void store(double *target, Doubles value) { memcpy(target, &value, sizeof value); }

// Keeps a vector in a register: compilers would read it again from memory for each product.
#if defined(COMBRED_X86) && COMBRED_BYTES == 64
#define COMBRED_IN_REGISTER(x) asm("" : "+v"(x))
#elif defined(COMBRED_X86)
#define COMBRED_IN_REGISTER(x) asm("" : "+x"(x))
#else
#define COMBRED_IN_REGISTER(x) (void)(x)
#endif

// The inverse of the square of PIVOTS rows from `first` on; false where it has none.
template <int WIDTH> INLINE bool invert_square(const double *a, int first, double (*inverse)[PIVOTS]) {
  constexpr int VECTORS = 2 * PIVOTS / LANES;
  alignas(64) double augmented[PIVOTS][2 * PIVOTS];  // the square, and the unit matrix
  for (int i = 0; i < PIVOTS; i++)
    for (int c = 0; c < PIVOTS; c++)
      augmented[i][c] = a[size_t(first + i) * WIDTH + first + c], augmented[i][PIVOTS + c] = i == c;
  for (int i = 0; i < PIVOTS; i++) {
    int pivot = i;
    for (int r = i + 1; r < PIVOTS; r++)
      if (std::fabs(augmented[r][i]) > std::fabs(augmented[pivot][i])) pivot = r;
    if (!(std::fabs(augmented[pivot][i]) > SMALLEST_PIVOT)) return false;
    const double scale = 1.0 / augmented[pivot][i];
    Doubles row[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
      row[v] = scale * load(augmented[pivot] + v * LANES);
      store(augmented[pivot] + v * LANES, load(augmented[i] + v * LANES));
      store(augmented[i] + v * LANES, row[v]);
    }
    for (int r = 0; r < PIVOTS; r++) {
      const double factor = augmented[r][i];
      for (int v = 0; v < VECTORS && r != i; v++)
        store(augmented[r] + v * LANES, load(augmented[r] + v * LANES) - factor * row[v]);
    }
  }
  for (int i = 0; i < PIVOTS; i++) memcpy(inverse[i], augmented[i] + PIVOTS, sizeof inverse[i]);
  return true;
}

// Adds factors (TILE_ROWS, PIVOTS) times rows (PIVOTS, WIDTH) to VECTORS vectors of TILE_ROWS rows of a.
template <int WIDTH, int VECTORS>
INLINE void add_products(const double (*factors)[PIVOTS], const double (*rows)[WIDTH], int column, double *a) {
  Doubles tile[TILE_ROWS][VECTORS];
#pragma GCC unroll 8
  for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) tile[i][v] = load(a + size_t(i) * WIDTH + column + v * LANES);
  for (int k = 0; k < PIVOTS; k++) {
    Doubles row[VECTORS];
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) {
      row[v] = load(rows[k] + column + v * LANES);
      COMBRED_IN_REGISTER(row[v]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 3
      for (int v = 0; v < VECTORS; v++) tile[i][v] = tile[i][v] + factors[i][k] * row[v];
  }
#pragma GCC unroll 8
  for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) store(a + size_t(i) * WIDTH + column + v * LANES, tile[i][v]);
}

// The inverse of a (WIDTH, WIDTH), WIDTH a multiple of PIVOTS; false where it has none.
template <int WIDTH> PART bool invert(double *__restrict a) {
  alignas(64) double rows[PIVOTS][WIDTH], factors[PIVOTS][PIVOTS], inverse[PIVOTS][PIVOTS];
  for (int first = 0; first < WIDTH; first += PIVOTS) {
    if (!invert_square<WIDTH>(a, first, inverse)) return false;
    double *pivot_rows = a + size_t(first) * WIDTH;
    for (int column = 0; column < WIDTH; column += LANES) {
      Doubles old[PIVOTS];
      for (int k = 0; k < PIVOTS; k++) old[k] = load(pivot_rows + size_t(k) * WIDTH + column);
      for (int i = 0; i < PIVOTS; i++) {
        Doubles sum = inverse[i][0] * old[0];
        for (int k = 1; k < PIVOTS; k++) sum = sum + inverse[i][k] * old[k];
        store(rows[i] + column, sum);
      }
    }
    for (int i = 0; i < PIVOTS; i++) memcpy(rows[i] + first, inverse[i], sizeof inverse[i]);
    for (int r = 0; r < WIDTH; r += PIVOTS) {
      if (r == first) continue;
      double *panel = a + size_t(r) * WIDTH;
      for (int i = 0; i < PIVOTS; i++)
        for (int k = 0; k < PIVOTS; k++) {
          double &entry = panel[size_t(i) * WIDTH + first + k];
          factors[i][k] = -entry, entry = 0.0;
        }
      for (int i = 0; i < PIVOTS; i += TILE_ROWS) {
        double *target = panel + size_t(i) * WIDTH;
        int column = 0;
        for (; column + TILE_VECTORS * LANES <= WIDTH; column += TILE_VECTORS * LANES)
          add_products<WIDTH, TILE_VECTORS>(factors + i, rows, column, target);
        if constexpr (WIDTH / LANES % TILE_VECTORS > 0)
          add_products<WIDTH, WIDTH / LANES % TILE_VECTORS>(factors + i, rows, column, target);
      }
    }
    memcpy(pivot_rows, rows, sizeof rows);
  }
  return true;
}

}  // namespace flame
