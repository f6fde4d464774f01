// Sparse LU by rows without pivoting, and its solution, by tables of columns: for large mechanisms,
// whose elimination is too long to be written out. The entries of a row follow each other.
#pragma once
#include "solver/mechanism.hpp"

namespace solver {

// Leaves L below the diagonal, the reciprocals of the pivots on it and U above it.
template <class R> PART void eliminate_by_table(Vector<R> *__restrict a) {
  typedef Matrix<R> At;
  Vector<R> w[At::UNKNOWNS];
  for (int i = 0; i < At::UNKNOWNS; i++) {
    const int first = At::ROWS[i], pivot = At::PIVOTS[i], end = At::ROWS[i + 1];
    for (int m = first; m < end; m++) w[At::COLUMNS[m]] = a[m];
    for (int m = first; m < pivot; m++) {
      const int k = At::COLUMNS[m], above = At::PIVOTS[k];
      const Vector<R> l = w[k] * a[above];
      a[m] = l;
      for (int u = above + 1; u < At::ROWS[k + 1]; u++) {
        Vector<R> &to = w[At::COLUMNS[u]];
        to = to - l * a[u];
      }
    }
    a[pivot] = reciprocal(w[i]);
    for (int m = pivot + 1; m < end; m++) a[m] = w[At::COLUMNS[m]];
  }
}

template <class R> PART void solve_by_table(const Vector<R> *__restrict a, Vector<R> *__restrict b) {
  typedef Matrix<R> At;
  for (int i = 0; i < At::UNKNOWNS; i++) {
    Vector<R> x = b[i];
    for (int m = At::ROWS[i]; m < At::PIVOTS[i]; m++) x = x - a[m] * b[At::COLUMNS[m]];
    b[i] = x;
  }
  for (int i = At::UNKNOWNS - 1; i >= 0; i--) {
    Vector<R> x = b[i];
    for (int m = At::PIVOTS[i] + 1; m < At::ROWS[i + 1]; m++) x = x - a[m] * b[At::COLUMNS[m]];
    b[i] = x * a[At::PIVOTS[i]];
  }
}

// The place of d g_i / d n_k, with the sign of the matrix, or -1.
template <class R> INLINE int place(int i, int k) {
  typedef Matrix<R> At;
  if (k < REACTIVE) {
    for (int m = At::ROWS[i]; m < At::ROWS[i + 1]; m++)
      if (At::COLUMNS[m] == k) return m;
    return -1;
  }
  for (int m = 0; m < At::INERT; m++)
    if (At::INERT_ROWS[m] == i && At::INERT_COLUMNS[m] == k) return At::ROWS[At::UNKNOWNS] + m;
  return -1;
}

}  // namespace solver
