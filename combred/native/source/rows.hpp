// Rows of states in memory and the lanes of a block. The states may lie at any address.
#pragma once
#include "vector.hpp"
#ifndef __CUDACC__
#include <utility>
#endif

// The value, or the vector of values, from values[i] on.
template <typename Value = double>
INLINE Value read(const double *values, size_t i) {
  Value value;
  memcpy(&value, reinterpret_cast<const char *>(values) + i * sizeof(*values), sizeof(value));
  return value;
}
template <typename T, typename Value>
INLINE void write(T *values, size_t i, Value value) {
  memcpy(reinterpret_cast<char *>(values) + i * sizeof(*values), &value, sizeof(value));
}

// The mass fractions of a row and of the lane i.
INLINE void read_row(const double *states, size_t row, int i, Double *Y) {
  for (int k = 0; k < SPECIES; k++) lane_of(Y[k], i) = read(states, row * VARIABLES + 2 + k);
}
INLINE void write_row(double *states, size_t row, int i, Double *Y) {
  for (int k = 0; k < SPECIES; k++) write(states, row * VARIABLES + 2 + k, lane_of(Y[k], i));
}

#if defined(__has_builtin) && COMBRED_WIDTH > 1
#if __has_builtin(__builtin_shufflevector)
#define COMBRED_TRANSPOSE
#endif
#endif

#ifdef COMBRED_TRANSPOSE
// Exchanges the squares of S x S numbers above and below the diagonal of two rows, S apart.
template <int S, size_t... j>
INLINE void exchange(HalfDouble &upper, HalfDouble &lower, std::index_sequence<j...>) {
  const HalfDouble a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, (j & S ? HALF + j - S : j)...);
  lower = __builtin_shufflevector(a, b, (j & S ? HALF + j : j + S)...);
}

// Transposes HALF rows of HALF numbers.
template <int S = HALF / 2>
INLINE void transpose(HalfDouble *x) {
  if constexpr (S > 0) {
    UNROLL for (int i = 0; i < HALF; i++)
      if (!(i & S)) exchange<S>(x[i], x[i + S], std::make_index_sequence<HALF>{});
    transpose<S / 2>(x);
  }
}

// Calls use(row, k) for the squares of HALF rows and HALF species, which begin at `row` and k, of
// the mass fractions of a block. The last species may overlap with those before them.
template <typename Use>
INLINE void for_squares(Use use) {
  for (int row = 0; row < WIDTH; row += HALF)
    for (int k = 0; k < SPECIES; k += HALF) use(row, k + HALF < SPECIES ? k : SPECIES - HALF);
}
#endif

// The mass fractions of WIDTH rows from `first` on, and of all lanes.
INLINE void read_block(const double *states, size_t first, Double *Y) {
#ifdef COMBRED_TRANSPOSE
  if constexpr (SPECIES >= HALF) {
    for_squares([&](int row, int k) {
      HalfDouble x[HALF];
      for (int i = 0; i < HALF; i++)
        x[i] = read<HalfDouble>(states, (first + row + i) * VARIABLES + 2 + k);
      transpose(x);
      for (int i = 0; i < HALF; i++) (row ? Y[k + i].b : Y[k + i].a) = x[i];
    });
    return;
  }
#endif
  for (int i = 0; i < WIDTH; i++) read_row(states, first + i, i, Y);
}
INLINE void write_block(double *states, size_t first, Double *Y) {
#ifdef COMBRED_TRANSPOSE
  if constexpr (SPECIES >= HALF) {
    for_squares([&](int row, int k) {
      HalfDouble x[HALF];
      for (int i = 0; i < HALF; i++) x[i] = row ? Y[k + i].b : Y[k + i].a;
      transpose(x);
      for (int i = 0; i < HALF; i++) write(states, (first + row + i) * VARIABLES + 2 + k, x[i]);
    });
    return;
  }
#endif
  for (int i = 0; i < WIDTH; i++) write_row(states, first + i, i, Y);
}
