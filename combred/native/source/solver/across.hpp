// The work of one state in vectors: rates with a reaction in each lane, elimination and solution with a row
// of the matrix in each. The matrix is dense and lies in columns of ROWS numbers; after `eliminate_across`
// these hold L below the diagonal and, times the reciprocal of the pivot of their column, U above it. The
// reciprocals of the pivots follow the last column.
#pragma once
#include "solver/rates.hpp"

#ifdef COMBRED_ONE_STATE
namespace solver {

constexpr int WIDE = WIDTH<float>;
typedef Integers<float> Places;

template <class V = Floats, class X> INLINE V load(const X *from) {
  V x;
  memcpy(&x, from, sizeof(x));
  return x;
}
INLINE void store(float *to, Floats x) { memcpy(to, &x, sizeof(x)); }
INLINE Places lanes_from(int first) {
  Places lanes;
  for (int i = 0; i < WIDE; i++) lanes[i] = first + i;
  return lanes;
}

// That of one state: reactions stand at their places of `Across`.
template <> struct Progress<Single> {
  alignas(64) float q[Across::ALL], qT[Across::ALL], d[6 * Across::ROOM + Across::MORE];
  float kept[4][Across::ROOM];
  float E[Across::ALL], P[Across::ALL], F[Across::ALL], B[Across::ALL], falloff[FALLOFFS][4];
};

// Numbers x (N), and `last` after them, of which a vector picks one in each lane.
namespace {
template <int N> struct Picked {
  static constexpr int PAIR = 2 * WIDE, SIZE = (N + PAIR) / PAIR * PAIR;
  alignas(64) float x[SIZE];
  Picked(const float *from, float last) {
    memcpy(x, from, N * sizeof(float));
    for (int k = N; k < SIZE; k++) x[k] = last;
  }
  __attribute__((always_inline)) Floats operator()(Places at) const {
#if COMBRED_BYTES == 64
    if constexpr (SIZE <= 4 * PAIR) {  // a gather takes longer
      Floats found{};
      for (int k = 0; k < SIZE; k += PAIR) {
        const Floats own = (Floats)_mm512_permutex2var_ps((__m512)load(x + k), (__m512i)at, (__m512)load(x + k + WIDE));
        found = k ? select(at >= k, own, found) : own;
      }
      return found;
    } else return (Floats)_mm512_i32gather_ps((__m512i)at, x, 4);
#else
    return (Floats)_mm256_i32gather_ps(x, (__m256i)at, 4);
#endif
  }
};
}  // namespace

// Whether a reaction from place i on, in the lanes of a vector, has a third species on this side.
INLINE bool has_third(int side, int i) {
  const bool *third = Across::THIRD[side] + i / 8;
  return third[0] | third[(WIDE - 1) / 8];
}

// The rates of progress of the reactions that a vector may hold, and their derivatives, as in progress.py.
template <bool D> PART void rates_across(const Gas<Single> &g, Progress<Single> &q) {
  const Picked<SPECIES> c(g.c, 1.0f), gibbs(g.gibbs, 0.0f), u(g.u, 0.0f);
  const Picked<COLLIDERS> M(g.M, 1.0f), per_M(g.per_M, 0.0f), log2_M(g.log2_M, 0.0f), moved_M(g.moved_M, 0.0f);
  const auto arrhenius = [&](const float (*rate)[Across::ROOM], int i) {
    return load(rate[0] + i) + load(rate[1] + i) * g.log2_T - load(rate[2] + i) * g.per_T;
  };
  for (int i = 0; i < Across::ROOM; i += WIDE) {
    const Places body = load<Places>(Across::BODY + i);
    Floats log2_k = arrhenius(Across::RATE, i), factor = M(body), of_M = all_of<float>(1.0);
    Floats d = load(Across::RATE[1] + i) + load(Across::RATE[2] + i) * (g.per_T * (float)(1 / LOG2_E));
    if (i < Across::FALLS) {
      Falloff<float> rate;
      if constexpr (D) {
        const Floats c0 = exp2(Floats(load(Across::CENTER[3] + i) * g.T)), c1 = exp2(Floats(load(Across::CENTER[4] + i) * g.T));
        const Floats c2 = exp2(Floats(load(Across::CENTER[5] + i) * g.per_T)), log2_Pr = arrhenius(Across::RATIO, i) + log2_M(body);
        const Floats w0 = load(Across::CENTER[0] + i) * c0, w1 = load(Across::CENTER[1] + i) * c1, w2 = load(Across::CENTER[2] + i) * c2;
        const Floats rise = ((load(Across::CENTER[3] + i) * w0 + load(Across::CENTER[4] + i) * w1) * g.T -
                             load(Across::CENTER[5] + i) * w2 * g.per_T) * (float)(1 / LOG2_E);
        const Floats of_ratio = load(Across::RATIO[1] + i) + load(Across::RATIO[2] + i) * (g.per_T * (float)(1 / LOG2_E));
        rate = falloff<float, false>(log2_k, log2_Pr, d, of_ratio, troe<float>(w0 + w1 + w2, rise, log2_Pr));
        const Floats all[] = {rate.log2_k, rate.r, rate.d, rate.of_M};
        for (int j = 0; j < 4; j++) store(q.kept[j] + i, all[j]);
      } else {
        rate.r = load(q.kept[1] + i);
        rate.log2_k = load(q.kept[0] + i) + load(q.kept[2] + i) * g.moved_T + load(q.kept[3] + i) * moved_M(body);
      }
      const Mask<float> falls = lanes_from(i) < Across::FALLS;
      log2_k = select(falls, rate.log2_k, log2_k);
      factor = select(falls, rate.r, factor);
      if constexpr (D) {
        d = select(falls, rate.d, d);
        of_M = select(falls, rate.of_M, of_M);
      }
    }
    Places at[6];
    for (int j = 0; j < 6; j++) at[j] = load<Places>(Across::SLOTS[j] + i);
    const bool third[2] = {has_third(0, i), has_third(1, i)};
    const auto net = [&](const Picked<SPECIES> &of) {
      Floats sum = of(at[3]) + of(at[4]) - of(at[0]) - of(at[1]);
      if (third[0]) sum = sum - of(at[2]);
      return third[1] ? Floats(sum + of(at[5])) : sum;
    };
    const Floats log2_kr = log2_k + net(gibbs);
    const Floats k[2] = {exp2_below(at_most(log2_k, LARGEST<float>)) * factor * load(Across::SIGN[0] + i),
                         exp2_below(at_most(log2_kr, LARGEST<float>)) * factor * load(Across::SIGN[1] + i)};
    Floats rate[2];
    for (int side = 0; side < 2; side++) {
      const Places *own = at + 3 * side;
      const Floats c0 = c(own[0]), c1 = c(own[1]);
      Floats of_0 = k[side] * c1, of_1 = k[side] * c0;
      if (third[side]) {
        const Floats c2 = c(own[2]);
        if constexpr (D) store(q.d + (3 * side + 2) * Across::ROOM + i, of_1 * c1);
        of_0 = of_0 * c2;
        of_1 = of_1 * c2;
      }
      rate[side] = of_1 * c1;
      if constexpr (D) store(q.d + 3 * side * Across::ROOM + i, of_0), store(q.d + (3 * side + 1) * Across::ROOM + i, of_1);
    }
    const Floats F = rate[0], B = rate[1], all = F - B;
    store(q.q + i, all);
    if constexpr (D) {
      const Floats E = all * per_M(body) * of_M;
      const Floats density = load(Across::ORDERS[0] + i) * F - load(Across::ORDERS[1] + i) * B;
      store(q.qT + i, F * d - B * (d - net(u)) - load(Across::BASE + i) * E * g.fixed_C - density * g.at_constant_p);
    }
  }
}

// Vectors of the rows of a matrix, and the row that is the last of a vector's.
constexpr int MATRIX = Matrix<Single>::UNKNOWNS, ROWS = Across::ROWS, BLOCKS = (MATRIX + WIDE - 1) / WIDE;

// A bit for each row of vector b in which column k has an entry.
INLINE unsigned entries(int k, int b) {
  return unsigned(Across::COLUMN[k][b * WIDE / 64] >> b * WIDE % 64) & ALL_LANES<float>;
}
// Number i of a vector, in all lanes.
INLINE Floats spread(Floats x, int i) {
#if COMBRED_BYTES == 64
  return (Floats)_mm512_permutexvar_ps(_mm512_set1_epi32(i), (__m512)x);
#else
  return (Floats)_mm256_permutevar8x32_ps((__m256)x, _mm256_set1_epi32(i));
#endif
}

// x less its numbers `rows`, which ascend and end with MATRIX, times the columns of L; B: the vector where they begin.
template <int B = 0> INLINE void forward_across(const float *a, const short *rows, Floats *x) {
  if constexpr (B < BLOCKS) {
    for (; *rows < (B + 1) * WIDE && *rows < MATRIX; rows++) {
      const int k = *rows;
      const float *column = a + k * ROWS;
      const Floats known = spread(x[B], k % WIDE);
      if (entries(k, B) >> k % WIDE > 1)
        x[B] = x[B] - known * select(lanes_from(B * WIDE) > k, load(column + B * WIDE), Floats{});
      for (int b = B + 1; b < BLOCKS; b++) x[b] = x[b] - known * load(column + b * WIDE);
    }
    forward_across<B + 1>(a, rows, x);
  }
}
template <int B = BLOCKS - 1> INLINE void back_across(const float *a, Floats *x) {
  if constexpr (B >= 0) {
    for (int k = (B + 1) * WIDE < MATRIX ? (B + 1) * WIDE - 1 : MATRIX - 1; k >= B * WIDE; k--) {
      const float *column = a + k * ROWS;
      const Floats known = spread(x[B], k % WIDE);
      if (entries(k, B) & ((1u << k % WIDE) - 1))
        x[B] = x[B] - known * select(lanes_from(B * WIDE) < k, load(column + B * WIDE), Floats{});
      for (int b = 0; b < B; b++) x[b] = x[b] - known * load(column + b * WIDE);
    }
    back_across<B - 1>(a, x);
  }
}

// A column after the other: what is known of it is that of a solution with the columns of L before it.
PART void eliminate_across(float *a) {
  for (int j = 0; j < MATRIX; j++) {
    float *column = a + j * ROWS;
    Floats x[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) x[b] = load(column + b * WIDE);
    forward_across(a, Across::ABOVE + Across::ABOVE_FROM[j], x);
    for (int b = 0; b < BLOCKS; b++) store(column + b * WIDE, x[b]);
    const float per = 1.0f / column[j];
    for (int b = 0; b < BLOCKS; b++) store(column + b * WIDE, x[b] * per);
    a[MATRIX * ROWS + j] = per;
  }
}
PART void solve(const float *a, float *b) {
  alignas(64) float all[BLOCKS * WIDE] = {};
  Floats x[BLOCKS];
  memcpy(all, b, MATRIX * sizeof(float));
  for (int i = 0; i < BLOCKS; i++) x[i] = load(all + i * WIDE);
  forward_across(a, Across::ABOVE, x);
  back_across(a, x);
  for (int i = 0; i < BLOCKS; i++) store(all + i * WIDE, x[i] * load(a + MATRIX * ROWS + i * WIDE));
  memcpy(b, all, MATRIX * sizeof(float));
}

}  // namespace solver
#endif
