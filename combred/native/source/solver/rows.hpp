// Rows of states in memory, [T, p, Y], and the lanes of a block of doubles. States may lie at any
// address, and rows in any order.
#pragma once
#ifndef __CUDACC__
#include <utility>
#endif
#include "solver/mechanism.hpp"

namespace solver {

constexpr int COLUMNS = SPECIES + 2, SQUARE = WIDTH<double>;

template <class Value> INLINE Value read(const double *at) {
  Value value;
  memcpy(&value, at, sizeof(value));
  return value;
}
template <class Value> INLINE void write(double *at, Value value) {
  memcpy(at, &value, sizeof(value));
}

#if COMBRED_BYTES > 0
// Exchanges the squares of S x S numbers beside the diagonal of two rows, S apart.
template <int S, size_t... j>
INLINE void exchange(Doubles &upper, Doubles &lower, std::index_sequence<j...>) {
  const Doubles a = upper, b = lower;
#if defined(__clang__) || __GNUC__ >= 12
  upper = __builtin_shufflevector(a, b, (j & S ? SQUARE + j - S : j)...);
  lower = __builtin_shufflevector(a, b, (j & S ? SQUARE + j : j + S)...);
#else
  upper = __builtin_shuffle(a, b, Integers<double>{int64_t(j & S ? SQUARE + j - S : j)...});
  lower = __builtin_shuffle(a, b, Integers<double>{int64_t(j & S ? SQUARE + j : j + S)...});
#endif
}
template <int S = SQUARE / 2> INLINE void transpose(Doubles *x) {
  if constexpr (S > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < SQUARE; i++)
      if (!(i & S)) exchange<S>(x[i], x[i + S], std::make_index_sequence<SQUARE>{});
    transpose<S / 2>(x);
  }
}
#endif

// The columns of the rows of a block: x[c] has column c in its lanes.
INLINE void read_rows(const double *states, const size_t *rows, Doubles *x) {
#if COMBRED_BYTES > 0
  if constexpr (COLUMNS >= SQUARE) {
    for (int at = 0; at < COLUMNS; at += SQUARE) {
      const int c = at + SQUARE < COLUMNS ? at : COLUMNS - SQUARE;  // the last may overlap
      Doubles square[SQUARE];
      for (int i = 0; i < SQUARE; i++) square[i] = read<Doubles>(states + rows[i] * COLUMNS + c);
      transpose(square);
      for (int i = 0; i < SQUARE; i++) x[c + i] = square[i];
    }
    return;
  }
#endif
  for (int i = 0; i < SQUARE; i++)
    for (int c = 0; c < COLUMNS; c++) lane_of(x[c], i) = read<double>(states + rows[i] * COLUMNS + c);
}
// Writes the rows whose bit is set.
INLINE void write_rows(double *states, const size_t *rows, unsigned bits, Doubles *x) {
#if COMBRED_BYTES > 0
  if constexpr (COLUMNS >= SQUARE) {
    for (int at = 0; at < COLUMNS; at += SQUARE) {
      const int c = at + SQUARE < COLUMNS ? at : COLUMNS - SQUARE;
      Doubles square[SQUARE];
      for (int i = 0; i < SQUARE; i++) square[i] = x[c + i];
      transpose(square);
      for (int i = 0; i < SQUARE; i++)
        if (bits >> i & 1) write(states + rows[i] * COLUMNS + c, square[i]);
    }
    return;
  }
#endif
  for (int i = 0; i < SQUARE; i++)
    if (bits >> i & 1)
      for (int c = 0; c < COLUMNS; c++) write(states + rows[i] * COLUMNS + c, lane_of(x[c], i));
}

}  // namespace solver
