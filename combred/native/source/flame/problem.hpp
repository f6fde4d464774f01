// A steady one-dimensional flame on a grid: what a caller gives, what the solution tells, and the memory for it.
//
// Unknowns of a point: T and the mass fractions Y, in the order of elimination of the generated solver; and one
// mass flux M [kg/(m2 s)] for all points. Inside, T stands over T_SCALE, so that it is of the order of 1.
#pragma once
#include "solver/closure.hpp"

namespace flame {

using solver::Doubles;
using solver::lane_of;
INLINE double lane(const Doubles &x, int l) { return reinterpret_cast<const double *>(&x)[l]; }

constexpr int SPECIES = solver::SPECIES;
constexpr int SIZE = SPECIES + 1;  // unknowns of a point
constexpr int LANES = solver::WIDTH<double>;
constexpr int PIVOTS = 8;  // a block is inverted by so many rows at a time
constexpr int PADDED = (SIZE + PIVOTS - 1) / PIVOTS * PIVOTS;         // numbers of a row of a block
constexpr int BORDERED = (SIZE + 1 + PIVOTS - 1) / PIVOTS * PIVOTS;  // of the block with the column of M
constexpr int RANKS = 4;   // of a block beside the diagonal, besides its own diagonal
constexpr int PRODUCTS = 12;  // the largest number of products of an iteration of GMRES
constexpr double T_SCALE = 1e3;  // K

enum Transport : int64_t { MIXTURE_AVERAGED = 0, UNITY_LEWIS = 1 };

}  // namespace flame

extern "C" {

// What is solved. Arrays of species are in the order of `combred_flame_order`.
struct combred_flame_problem {
  int64_t points, fixed_point;  // the point whose T is fixed_T, which holds the flame in its place
  int64_t transport;            // flame::Transport
  double p, inlet_T, fixed_T;
  const double *grid;          // (points,) m, from the unburnt gas to the burnt
  const double *inlet_Y;       // (species,)
  const double *factors;       // (reactions,) of the rate constants, in the order of the mechanism
  const double *diffusion;     // (species (species - 1) / 2, 5) polynomials of pairs
  const double *conductivity;  // (species, 5)
};

// How it is solved. Steps are small where their weighted norm is below `tolerance`; weights are
// rtol * mean |x| + atol of each unknown.
struct combred_flame_options {
  double rtol, atol, tolerance;
  double first_dt;       // s, of pseudo-time
  double seconds;        // a call returns after these; it goes on in the next one
  int64_t newton_first;  // 0: pseudo-time steps come before Newton's method
  int64_t rounds;        // the largest number of turns of Newton's method and pseudo-time
};

// What was done, over all calls of a solution; `norm`: of the last step.
struct combred_flame_report {
  int64_t jacobians, residuals, solutions, products, steps, rounds;
  double norm, dt;
};

}
