// The memory of a flame: arrays for all points in the caller's workspace.
#pragma once
#include "flame/problem.hpp"
#include "solver/unknowns.hpp"

namespace flame {

// A block beside the diagonal: diag(d) + sum_r u_r w_r^T.
struct OffDiagonal {
  alignas(64) double d[PADDED], u[RANKS][PADDED], w[RANKS][PADDED];
};

// Mass fractions, mole fractions and sums of a block of intervals, for `set_transport`.
struct TransportLanes {
  Doubles Y[SPECIES], X[SPECIES], sum[SPECIES], slope[SPECIES];
};

// Values of points (N,), (N, SPECIES) or (N, SIZE), and of intervals: i lies between the points i and i + 1.
struct Flame {
  combred_flame_problem problem;
  int N;
  // points
  double *rho, *cp, *cp_slope, *mean_weight;  // kg/m3; J/(kg K); d cp / dT; kg/kmol
  double *X, *h, *heat_capacity;              // mole fractions; J/kg; J/(kg K)
  double *rates;                              // dT/dt [K/s], dY/dt [1/s] of the reactions
  // intervals
  double *diffusion, *diffusion_slope;        // rho D_k W_k / W [kg/(m s)], and its derivative by T
  double *resistance;                         // sum_{m != k} X_m / P_km
  double *conductivity, *conductivity_slope;  // W/(m K)
  double *flux, *correction;                  // kg/(m2 s), and the part of each that is Y_k times this
  // the Jacobian
  double *blocks;             // (N, PADDED, PADDED), and after elimination their inverses
  OffDiagonal *left, *right;  // (N,)
  double *column;             // (N, PADDED), of M
  double *reduced;            // (N, PADDED), the column after elimination
  double *middle;             // (BORDERED, BORDERED), inverse of the block of the fixed point with its border
  double *work;               // (N, PADDED)
  // vectors of Newton's method and of GMRES, (N SIZE + 1) each: the last number is M
  double *x, *before, *trial, *step, *trial_step, *F, *trial_F, *product, *basis, *weights;
  TransportLanes *transport;
  solver::Work<double> *chemistry;

  size_t unknowns() const { return size_t(N) * SIZE + 1; }
  double *block(int j) const { return blocks + size_t(j) * PADDED * PADDED; }
};

// Hands out parts of a workspace, each aligned; without memory it counts bytes.
class Arena {
 public:
  explicit Arena(char *memory) : memory_(memory) {}
  template <class Value> void take(Value *&array, size_t count) {
    array = memory_ ? reinterpret_cast<Value *>(memory_ + used_) : nullptr;
    used_ += (count * sizeof(Value) + 63) / 64 * 64;
  }
  size_t used() const { return used_; }

 private:
  char *memory_;
  size_t used_ = 0;
};

// Lays out the arrays of f for N points; returns the bytes that they take.
inline size_t lay_out(Flame &f, int N, char *memory) {
  Arena arena(memory);
  f.N = N;
  for (double **array : {&f.rho, &f.cp, &f.cp_slope, &f.mean_weight, &f.conductivity, &f.conductivity_slope,
                        &f.correction})
    arena.take(*array, N);
  for (double **array : {&f.X, &f.h, &f.heat_capacity, &f.diffusion, &f.diffusion_slope, &f.resistance,
                        &f.flux})
    arena.take(*array, size_t(N) * SPECIES);
  for (double **array : {&f.rates, &f.x, &f.before, &f.trial, &f.step, &f.trial_step, &f.F, &f.trial_F,
                        &f.product})
    arena.take(*array, f.unknowns());
  arena.take(f.basis, f.unknowns() * (PRODUCTS + 1));
  arena.take(f.weights, SIZE + 1);
  for (double **array : {&f.column, &f.reduced, &f.work}) arena.take(*array, size_t(N) * PADDED);
  arena.take(f.blocks, size_t(N) * PADDED * PADDED);
  arena.take(f.middle, size_t(BORDERED) * BORDERED);
  arena.take(f.left, N), arena.take(f.right, N);
  arena.take(f.transport, 1), arena.take(f.chemistry, 1);
  return arena.used();
}

}  // namespace flame
