// GMRES (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7, 1986) for the whole Jacobian, with the blocks as preconditioner:
//
//     (1 + J0^-1 E) d = J0^-1 b        and transposed
//
// J0 are the blocks, E what they lack.
#pragma once
#include "flame/composition.hpp"
#include "flame/elimination.hpp"

namespace flame {

inline double product(const double *a, const double *b, size_t n) {
  double sum[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; l++) sum[l] += a[i + l] * b[i + l];
  for (; i < n; i++) sum[0] += a[i] * b[i];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Each number of a vector of unknowns times or over its weight; weights (SIZE + 1,): of T, Y and M.
inline void scale(const Flame &f, const double *weights, double *v, bool over) {
  const size_t last = f.unknowns() - 1;
  double factors[SIZE + 1];
  for (int i = 0; i <= SIZE; i++) factors[i] = over ? 1.0 / weights[i] : weights[i];
  for (int j = 0; j < f.N; j++)
    for (int i = 0; i < SIZE; i++) v[size_t(j) * SIZE + i] *= factors[i];
  v[last] *= factors[SIZE];
}

// d, the solution without E, becomes that of x with E, to a relative `tolerance` in the norm of the weights; returns
// the number of products. TRANSPOSED: of the transposed system.
template <bool TRANSPOSED>
PART int solve_whole(Flame &f, const double *x, const double *weights, double *d, double tolerance) {
  const size_t n = f.unknowns();
  double H[PRODUCTS + 1][PRODUCTS], cosine[PRODUCTS], sine[PRODUCTS], b[PRODUCTS + 1] = {}, y[PRODUCTS];
  const auto vector = [&](int i) { return f.basis + size_t(i) * n; };
  memcpy(vector(0), d, sizeof(double) * n);
  scale(f, weights, vector(0), true);
  const double size = std::sqrt(product(vector(0), vector(0), n));
  if (!(size > 0.0) || !(size < 1e300)) return 0;
  for (size_t i = 0; i < n; i++) vector(0)[i] /= size;
  b[0] = size;
  int count = 0;
  while (count < PRODUCTS) {
    const int m = count++;
    double *next = vector(m + 1);
    memcpy(f.product, vector(m), sizeof(double) * n);
    scale(f, weights, f.product, false);
    if (TRANSPOSED) multiply_by_composition_transposed(f, x, f.product, next), solve_transposed(f, next);
    else multiply_by_composition(f, x, f.product, next), solve(f, next);
    scale(f, weights, next, true);
    for (size_t i = 0; i < n; i++) next[i] += vector(m)[i];
    for (int k = 0; k <= m; k++) {
      H[k][m] = product(vector(k), next, n);
      for (size_t i = 0; i < n; i++) next[i] -= H[k][m] * vector(k)[i];
    }
    const double remainder = std::sqrt(product(next, next, n));
    for (int k = 0; k < m; k++) {
      const double upper = cosine[k] * H[k][m] + sine[k] * H[k + 1][m];
      H[k + 1][m] = cosine[k] * H[k + 1][m] - sine[k] * H[k][m], H[k][m] = upper;
    }
    const double length = std::sqrt(H[m][m] * H[m][m] + remainder * remainder);
    if (!(length > 0.0)) return count;
    cosine[m] = H[m][m] / length, sine[m] = remainder / length, H[m][m] = length;
    b[m + 1] = -sine[m] * b[m], b[m] *= cosine[m];
    if (!(std::fabs(b[m + 1]) > tolerance * size) || !(remainder > 0.0)) break;
    for (size_t i = 0; i < n; i++) next[i] /= remainder;
  }
  for (int k = count - 1; k >= 0; k--) {
    y[k] = b[k];
    for (int m = k + 1; m < count; m++) y[k] -= H[k][m] * y[m];
    y[k] /= H[k][k];
  }
  memset(d, 0, sizeof(double) * n);
  for (int k = 0; k < count; k++)
    for (size_t i = 0; i < n; i++) d[i] += y[k] * vector(k)[i];
  scale(f, weights, d, false);
  return count;
}

}  // namespace flame
