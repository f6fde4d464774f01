// Block elimination from both ends to the fixed point, whose block has the row of the fixed T and the column of M as a
// border: at a fixed M a flame may stand anywhere, so that the matrix without the border is nearly singular.
//
// As the blocks beside the diagonal are diagonal plus rank 4, what a point takes from the next one, L S^-1 R, needs only
// the inverse of a block and products with vectors.
#pragma once
#include "flame/blocks.hpp"
#include "flame/inverse.hpp"

namespace flame {

// block -= left inverse right, the latter two beside the diagonal.
PART void subtract_product(double *__restrict block, const OffDiagonal &left, const double *__restrict inverse,
                           const OffDiagonal &right) {
  alignas(64) double by_right[RANKS][PADDED], by_left[RANKS][PADDED] = {}, core[RANKS][RANKS];
  for (int i = 0; i < PADDED; i++) {
    const double *row = inverse + size_t(i) * PADDED;
    Doubles sum[RANKS] = {};
    for (int c = 0; c < PADDED; c += LANES) {
      const Doubles x = load(row + c);
      for (int r = 0; r < RANKS; r++) {
        sum[r] = sum[r] + x * load(right.u[r] + c);
        store(by_left[r] + c, load(by_left[r] + c) + left.w[r][i] * x);
      }
    }
    for (int r = 0; r < RANKS; r++) {
      by_right[r][i] = 0.0;
      for (int l = 0; l < LANES; l++) by_right[r][i] += lane_of(sum[r], l);
    }
  }
  for (int r = 0; r < RANKS; r++)
    for (int s = 0; s < RANKS; s++) core[r][s] = dot(by_left[r], right.u[s]);
  for (int r = 0; r < RANKS; r++)
    for (int c = 0; c < PADDED; c++) {
      double sum = by_left[r][c] * right.d[c];
      for (int s = 0; s < RANKS; s++) sum += core[r][s] * right.w[s][c];
      by_left[r][c] = sum;
    }
  for (int i = 0; i < PADDED; i++) {
    const double *row = inverse + size_t(i) * PADDED;
    double *target = block + size_t(i) * PADDED;
    const double d = left.d[i];
    double scaled[RANKS], outer[RANKS];
    for (int r = 0; r < RANKS; r++) scaled[r] = d * by_right[r][i], outer[r] = left.u[r][i];
    for (int c = 0; c < PADDED; c += LANES) {
      Doubles sum = d * load(row + c) * load(right.d + c);
      for (int r = 0; r < RANKS; r++) sum = sum + scaled[r] * load(right.w[r] + c) + outer[r] * load(by_left[r] + c);
      store(target + c, load(target + c) - sum);
    }
  }
}

template <int WIDTH> PART void multiply(const double *__restrict matrix, const double *x, double *__restrict y) {
  for (int i = 0; i < WIDTH; i++) {
    Doubles sum{};
    for (int c = 0; c < WIDTH; c += LANES) sum = sum + load(matrix + size_t(i) * WIDTH + c) * load(x + c);
    double total = 0.0;
    for (int l = 0; l < LANES; l++) total += lane_of(sum, l);
    y[i] = total;
  }
}
template <int WIDTH>
PART void multiply_transposed(const double *__restrict matrix, const double *x, double *__restrict y) {
  for (int c = 0; c < WIDTH; c++) y[c] = 0.0;
  for (int i = 0; i < WIDTH; i++) {
    const double factor = x[i];
    const double *row = matrix + size_t(i) * WIDTH;
    for (int c = 0; c < WIDTH; c++) y[c] += row[c] * factor;
  }
}

// y -= A x, and y -= A^T x, of a block beside the diagonal.
inline void subtract(const OffDiagonal &A, const double *x, double *y) {
  double sum[RANKS];
  for (int r = 0; r < RANKS; r++) sum[r] = dot(A.w[r], x);
  for (int i = 0; i < PADDED; i++) {
    double total = A.d[i] * x[i];
    for (int r = 0; r < RANKS; r++) total += A.u[r][i] * sum[r];
    y[i] -= total;
  }
}
inline void subtract_transposed(const OffDiagonal &A, const double *x, double *y) {
  double sum[RANKS];
  for (int r = 0; r < RANKS; r++) sum[r] = dot(A.u[r], x);
  for (int i = 0; i < PADDED; i++) {
    double total = A.d[i] * x[i];
    for (int r = 0; r < RANKS; r++) total += A.w[r][i] * sum[r];
    y[i] -= total;
  }
}

// Inverts the blocks; false where one has no inverse.
inline bool eliminate(Flame &f) {
  alignas(64) double x[PADDED];
  const int middle = int(f.problem.fixed_point);
  memcpy(f.reduced, f.column, sizeof(double) * size_t(f.N) * PADDED);
  const auto reduced = [&](int j) { return f.reduced + size_t(j) * PADDED; };
  for (int j = 0; j < middle; j++) {
    if (j) subtract_product(f.block(j), f.left[j], f.block(j - 1), f.right[j - 1]);
    if (!invert<PADDED>(f.block(j))) return false;
    multiply<PADDED>(f.block(j), reduced(j), x), subtract(f.left[j + 1], x, reduced(j + 1));
  }
  for (int j = f.N - 1; j > middle; j--) {
    if (j < f.N - 1) subtract_product(f.block(j), f.right[j], f.block(j + 1), f.left[j + 1]);
    if (!invert<PADDED>(f.block(j))) return false;
    multiply<PADDED>(f.block(j), reduced(j), x), subtract(f.right[j - 1], x, reduced(j - 1));
  }
  subtract_product(f.block(middle), f.left[middle], f.block(middle - 1), f.right[middle - 1]);
  subtract_product(f.block(middle), f.right[middle], f.block(middle + 1), f.left[middle + 1]);
  memset(f.middle, 0, sizeof(double) * BORDERED * BORDERED);
  for (int i = 0; i < SIZE; i++) {
    double *row = f.middle + size_t(1 + i) * BORDERED;
    memcpy(row + 1, f.block(middle) + size_t(i) * PADDED, sizeof(double) * SIZE);
    row[0] = reduced(middle)[i];
  }
  f.middle[1] = 1.0;  // the row of the fixed T
  for (int i = SIZE + 1; i < BORDERED; i++) f.middle[size_t(i) * BORDERED + i] = 1.0;
  return invert<BORDERED>(f.middle);
}

// Rows of SIZE numbers and M, to padded rows, and back.
inline void pad(const Flame &f, const double *b, double *y) {
  memset(y, 0, sizeof(double) * size_t(f.N) * PADDED);
  for (int j = 0; j < f.N; j++) memcpy(y + size_t(j) * PADDED, b + size_t(j) * SIZE, sizeof(double) * SIZE);
}
inline void unpad(const Flame &f, const double *y, double *b) {
  for (int j = 0; j < f.N; j++) memcpy(b + size_t(j) * SIZE, y + size_t(j) * PADDED, sizeof(double) * SIZE);
}

// b (unknowns,) becomes J^-1 b, after `eliminate`.
inline void solve(Flame &f, double *b) {
  alignas(64) double x[BORDERED], border[BORDERED] = {};
  double *y = f.work, &M = b[f.unknowns() - 1];
  const int middle = int(f.problem.fixed_point);
  const auto row = [&](int j) { return y + size_t(j) * PADDED; };
  pad(f, b, y);
  for (int j = 0; j < middle; j++) multiply<PADDED>(f.block(j), row(j), x), subtract(f.left[j + 1], x, row(j + 1));
  for (int j = f.N - 1; j > middle; j--) multiply<PADDED>(f.block(j), row(j), x), subtract(f.right[j - 1], x, row(j - 1));
  border[0] = M;
  memcpy(border + 1, row(middle), sizeof(double) * SIZE);
  multiply<BORDERED>(f.middle, border, x);
  M = x[0];
  memcpy(row(middle), x + 1, sizeof(double) * SIZE);
  const auto back = [&](int j, const OffDiagonal &towards, int next) {
    for (int i = 0; i < PADDED; i++) row(j)[i] -= M * f.reduced[size_t(j) * PADDED + i];
    subtract(towards, row(next), row(j));
    multiply<PADDED>(f.block(j), row(j), x), memcpy(row(j), x, sizeof(double) * PADDED);
  };
  for (int j = middle - 1; j >= 0; j--) back(j, f.right[j], j + 1);
  for (int j = middle + 1; j < f.N; j++) back(j, f.left[j], j - 1);
  unpad(f, y, b);
}

// b (unknowns,) becomes J^-T b, after `eliminate`.
inline void solve_transposed(Flame &f, double *b) {
  alignas(64) double x[BORDERED], border[BORDERED] = {};
  double *y = f.work, &last = b[f.unknowns() - 1];
  const int middle = int(f.problem.fixed_point);
  const auto row = [&](int j) { return y + size_t(j) * PADDED; };
  pad(f, b, y);
  const auto inward = [&](int j) {
    multiply_transposed<PADDED>(f.block(j), row(j), x), memcpy(row(j), x, sizeof(double) * PADDED);
    last -= dot(f.reduced + size_t(j) * PADDED, x);
  };
  for (int j = 0; j < middle; j++) inward(j), subtract_transposed(f.right[j], row(j), row(j + 1));
  for (int j = f.N - 1; j > middle; j--) inward(j), subtract_transposed(f.left[j], row(j), row(j - 1));
  border[0] = last;
  memcpy(border + 1, row(middle), sizeof(double) * SIZE);
  multiply_transposed<BORDERED>(f.middle, border, x);
  // The rows of the bordered block: that of the fixed T first.
  last = x[0];
  memcpy(row(middle), x + 1, sizeof(double) * SIZE);
  const auto outward = [&](int j, const OffDiagonal &neighbour, int next) {
    alignas(64) double sum[PADDED] = {};
    subtract_transposed(neighbour, row(next), sum);
    multiply_transposed<PADDED>(f.block(j), sum, x);
    for (int i = 0; i < PADDED; i++) row(j)[i] += x[i];
  };
  for (int j = middle - 1; j >= 0; j--) outward(j, f.left[j + 1], j + 1);
  for (int j = middle + 1; j < f.N; j++) outward(j, f.right[j - 1], j - 1);
  unpad(f, y, b);
}

}  // namespace flame
