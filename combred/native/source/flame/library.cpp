// Steady flames of one mechanism as a library: problem.hpp has what its functions take. Compile this file alone; it
// includes all others.
#ifdef __FAST_MATH__
#error "compile without -ffast-math: steps that are not finite are found by their NaN"
#endif
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <utility>
#pragma GCC visibility push(hidden)
#include "environment.hpp"
#include "flame/steady.hpp"
#pragma GCC visibility pop

#define COMBRED_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace flame;

constexpr size_t ALIGNMENT = 64;
constexpr int64_t LARGEST_GRID = 100000;
enum Status { IS_STEADY = 0, GOES_ON = 1, IS_NOT_STEADY = 2, NO_PROBLEM = 3, NO_WORKSPACE = 4, NO_INVERSE = 5 };

size_t head() { return (sizeof(Steady) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

size_t bytes_for(int64_t points) {
  Flame flame;
  return points < 3 || points > LARGEST_GRID ? 0 : ALIGNMENT + head() + lay_out(flame, int(points), nullptr);
}

bool is_problem(const combred_flame_problem *problem) {
  if (!problem || !problem->grid || !problem->inlet_Y || !problem->factors || !problem->diffusion ||
      !problem->conductivity)
    return false;
  const int64_t N = problem->points, fixed = problem->fixed_point;
  if (N < 3 || N > LARGEST_GRID || fixed < 1 || fixed > N - 2) return false;
  if (problem->transport != MIXTURE_AVERAGED && problem->transport != UNITY_LEWIS) return false;
  for (const double value : {problem->p, problem->inlet_T, problem->fixed_T})
    if (!(value > 0.0) || !(value < 1e300)) return false;
  for (int64_t j = 1; j < N; j++)
    if (!(problem->grid[j] > problem->grid[j - 1])) return false;
  return true;
}

Steady *state_in(void *workspace) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<Steady *>((address + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

// The state of a solution of `problem` from x (points, 1 + species) and M; nullptr where sizes do not fit.
Steady *prepare(const combred_flame_problem *problem, const double *x, double M, void *workspace, size_t size) {
  if (!workspace || !x || size < bytes_for(problem->points)) return nullptr;
  Steady *state = state_in(workspace);
  Flame &f = state->flame;
  lay_out(f, int(problem->points), reinterpret_cast<char *>(state) + head());
  f.problem = *problem;
  memcpy(f.x, x, sizeof(double) * (f.unknowns() - 1));
  for (int j = 0; j < f.N; j++) f.x[size_t(j) * SIZE] /= T_SCALE;
  f.x[f.unknowns() - 1] = M;
  return state;
}

void write_solution(const Flame &f, const double *values, double *x, double *M) {
  memcpy(x, values, sizeof(double) * (f.unknowns() - 1));
  for (int j = 0; j < f.N; j++) x[size_t(j) * SIZE] *= T_SCALE;
  *M = values[f.unknowns() - 1];
}

}  // namespace

// Bytes of the workspace for a grid; 0 where a grid cannot have so many points.
COMBRED_EXPORT size_t combred_flame_workspace(int64_t points) noexcept { return bytes_for(points); }
COMBRED_EXPORT int64_t combred_flame_species() noexcept { return SPECIES; }
COMBRED_EXPORT int64_t combred_flame_reactions() noexcept { return solver::LISTED; }
// The index in the mechanism of the k-th species here.
COMBRED_EXPORT int64_t combred_flame_order(int64_t k) noexcept {
  return k < 0 || k >= SPECIES ? -1 : solver::COLUMN[k];
}

// Begins a solution: x (points, 1 + species), T [K] and Y of each point; M [kg/(m2 s)].
COMBRED_EXPORT int combred_flame_begin(const combred_flame_problem *problem, const combred_flame_options *options,
                                       const double *x, double M, void *workspace, size_t size) noexcept {
  if (!is_problem(problem) || !options) return NO_PROBLEM;
  Steady *state = prepare(problem, x, M, workspace, size);
  if (!state) return NO_WORKSPACE;
  state->options = *options;
  begin(*state);
  return GOES_ON;
}

// Goes on for options.seconds; x and M are the last point, steady or not.
COMBRED_EXPORT int combred_flame_run(void *workspace, double *x, double *M, combred_flame_report *report) noexcept {
  if (!workspace || !x || !M || !report) return NO_WORKSPACE;
  const Environment environment;
  Steady &state = *state_in(workspace);
  const Outcome outcome = run(state);
  write_solution(state.flame, state.flame.x, x, M);
  *report = state.report;
  return outcome == CONVERGED ? IS_STEADY : outcome == RUNNING ? GOES_ON : IS_NOT_STEADY;
}

// The residual (points, 1 + species) and of the fixed T of a point x, M: d(T / 1000)/dt, dY/dt [1/s] inside.
COMBRED_EXPORT int combred_flame_residual(const combred_flame_problem *problem, const double *x, double M,
                                          double *residual, void *workspace, size_t size) noexcept {
  if (!is_problem(problem) || !residual) return NO_PROBLEM;
  Steady *state = prepare(problem, x, M, workspace, size);
  if (!state) return NO_WORKSPACE;
  const Environment environment;
  evaluate(state->flame, state->flame.x, residual);
  return IS_STEADY;
}

// b becomes the solution with the Jacobian of x, M, or with its transpose; unknowns are T / 1000, Y, ..., M. Rows are
// those of combred_flame_residual; transposed, the row of the fixed T is the last.
// tolerance: of the whole Jacobian; 0: of the blocks alone.
COMBRED_EXPORT int combred_flame_solve(const combred_flame_problem *problem, const double *x, double M, int transposed,
                                       double tolerance, double *b, void *workspace, size_t size) noexcept {
  if (!is_problem(problem) || !b) return NO_PROBLEM;
  Steady *state = prepare(problem, x, M, workspace, size);
  if (!state) return NO_WORKSPACE;
  const Environment environment;
  Flame &f = state->flame;
  linearize(f, f.x, f.F, 0.0);
  if (!eliminate(f)) return NO_INVERSE;
  if (transposed) solve_transposed(f, b);
  else solve(f, b);
  if (tolerance > 0.0) {
    for (int i = 0; i <= SIZE; i++) f.weights[i] = 1e-300;
    for (size_t i = 0; i < f.unknowns(); i++) {
      const int place = i + 1 < f.unknowns() ? int(i % SIZE) : SIZE;
      f.weights[place] = std::fmax(f.weights[place], std::fabs(b[i]));
    }
    if (transposed) solve_whole<true>(f, f.x, f.weights, b, tolerance);
    else solve_whole<false>(f, f.x, f.weights, b, tolerance);
  }
  return IS_STEADY;
}

// J v of the blocks and the column of M, (unknowns,), or with `whole` of the whole Jacobian.
COMBRED_EXPORT int combred_flame_multiply(const combred_flame_problem *problem, const double *x, double M, int whole,
                                          const double *v, double *result, void *workspace, size_t size) noexcept {
  if (!is_problem(problem) || !v || !result) return NO_PROBLEM;
  Steady *state = prepare(problem, x, M, workspace, size);
  if (!state) return NO_WORKSPACE;
  const Environment environment;
  Flame &f = state->flame;
  linearize(f, f.x, f.F, 0.0);
  if (whole) multiply_by_composition(f, f.x, v, result);
  else memset(result, 0, sizeof(double) * f.unknowns());
  alignas(64) double taken[PADDED];  // -J v of a point
  pad(f, v, f.work);
  for (int j = 0; j < f.N; j++) {
    const double *row = f.work + size_t(j) * PADDED;
    multiply<PADDED>(f.block(j), row, taken);
    for (int i = 0; i < SIZE; i++)
      taken[i] = -taken[i] - v[f.unknowns() - 1] * f.column[size_t(j) * PADDED + i];
    if (j > 0) subtract(f.left[j], row - PADDED, taken);
    if (j < f.N - 1) subtract(f.right[j], row + PADDED, taken);
    for (int i = 0; i < SIZE; i++) result[size_t(j) * SIZE + i] -= taken[i];
  }
  result[f.unknowns() - 1] = v[size_t(f.problem.fixed_point) * SIZE];
  return IS_STEADY;
}

// Net rates of progress (points, reactions) [kmol/(m3 s)], and of each point (points,) density [kg/m3], heat capacity
// [J/(kg K)] and heat release of the reactions [W/m3].
COMBRED_EXPORT int combred_flame_progress(const combred_flame_problem *problem, const double *x, double *progress,
                                          double *density, double *heat_capacity, double *heat_release,
                                          void *workspace, size_t size) noexcept {
  if (!is_problem(problem) || !progress || !density || !heat_capacity || !heat_release) return NO_PROBLEM;
  Steady *state = prepare(problem, x, 1.0, workspace, size);
  if (!state) return NO_WORKSPACE;
  const Environment environment;
  Flame &f = state->flame;
  set_chemistry<false>(f, f.x);
  for (int j = 0; j < f.N; j++) {
    density[j] = f.rho[j], heat_capacity[j] = f.cp[j];
    heat_release[j] = f.rates[size_t(j) * SIZE] * f.rho[j] * f.cp[j];
  }
  progress_of(f, f.x, progress);
  return IS_STEADY;
}
