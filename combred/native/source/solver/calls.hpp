// The functions of combred.h that compute: they are compiled for one CPU, or for several levels.
#pragma once
#include "environment.hpp"
#include "solver/source_terms.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

// Integrate the states that nobody has taken yet; the workspace is aligned.
#define COMBRED_HIDDEN __attribute__((visibility("hidden")))
COMBRED_HIDDEN void combred_in_floats(void *workspace, const solver::Request &call);
COMBRED_HIDDEN void combred_in_doubles(void *workspace, const solver::Request &call);

namespace {

typedef solver::Solver<float, solver::Shampine> FloatSolver;
typedef solver::Solver<double, solver::Rodas5P> DoubleSolver;

constexpr size_t ALIGNMENT = 64;
inline void *aligned(void *workspace) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<void *>((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

#if COMBRED_PRECISION <= 0
// Of a workspace: rows that floats gave up, and the larger of both solvers.
constexpr size_t BYTES =
    sizeof(FloatSolver) > sizeof(DoubleSolver) ? sizeof(FloatSolver) : sizeof(DoubleSolver);
constexpr size_t OF_ROWS = (sizeof(solver::Left) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
constexpr size_t NEEDED = OF_ROWS + BYTES + ALIGNMENT;

void run(void *workspace, solver::Request call) {
  const Environment environment;
  char *at = static_cast<char *>(aligned(workspace));
  if (call.tolerance < solver::LEAST_FLOAT_TOLERANCE) return combred_in_doubles(at + OF_ROWS, call);
  solver::Left &left = *reinterpret_cast<solver::Left *>(at);
  do {
    left.size = 0;
    call.left = &left;
    combred_in_floats(at + OF_ROWS, call);
    size_t next = 0;
    solver::Request again = call;
    again.n = left.size;
    again.which = left.rows;
    again.left = nullptr;
    again.next = &next;
    // In doubles max_steps counts from zero again.
    if (left.size > 0) combred_in_doubles(at + OF_ROWS, again);
  } while (__atomic_load_n(call.next, __ATOMIC_RELAXED) < call.n);
}
#endif

}  // namespace

#if COMBRED_PRECISION == 32 || COMBRED_PRECISION < 0
void combred_in_floats(void *workspace, const solver::Request &call) {
  solver::integrate(*static_cast<FloatSolver *>(workspace), call);
}
#endif
#if COMBRED_PRECISION == 64 || COMBRED_PRECISION < 0
void combred_in_doubles(void *workspace, const solver::Request &call) {
  solver::integrate(*static_cast<DoubleSolver *>(workspace), call);
}

extern "C" {

int combred_rates(size_t n, const double *states, double *net, double *destruction, void *workspace,
                  size_t workspace_size) {
  if (n == 0) return COMBRED_OK;
  if (!states || !net || !destruction || !workspace) return COMBRED_NULL;
  if (workspace_size < combred_workspace_size()) return COMBRED_WORKSPACE;
  const Environment environment;
  solver::rates(static_cast<DoubleSolver *>(aligned(workspace))->s.w, n, states, net, destruction);
  return COMBRED_OK;
}

int combred_jacobian(const double *state, int reactor, double *jacobian, void *workspace,
                     size_t workspace_size) {
  if (!state || !jacobian || !workspace) return COMBRED_NULL;
  if (reactor < 0 || reactor > COMBRED_CONSTANT_VOLUME) return COMBRED_OPTIONS;
  if (workspace_size < combred_workspace_size()) return COMBRED_WORKSPACE;
  const Environment environment;
  solver::jacobian(static_cast<DoubleSolver *>(aligned(workspace))->s.w, state, reactor != 0, jacobian);
  return COMBRED_OK;
}

}  // extern "C"
#endif

#if COMBRED_PRECISION <= 0
// COMBRED_OK, or what is wrong with the arguments of combred_advance.
static int checked(size_t n, const double *states, const double *dt, size_t dt_stride,
                   const combred_options &chosen, const void *workspace, size_t workspace_size) {
  if (!(chosen.tolerance > 0.0) || chosen.tolerance > solver::LARGEST_TOLERANCE || chosen.max_steps < 0 ||
      chosen.reactor < 0 || chosen.reactor > COMBRED_CONSTANT_VOLUME)
    return COMBRED_OPTIONS;
  if (dt_stride > 1) return COMBRED_STRIDE;
  if (n == 0) return COMBRED_OK;
  if (!states || !dt || !workspace) return COMBRED_NULL;
  if (workspace_size < NEEDED) return COMBRED_WORKSPACE;
  for (size_t i = 0; i < (dt_stride ? n : 1); i++) {
    const double one = solver::read<double>(dt + i);
    if (!(one > 0.0) || one > solver::LONGEST_DT) return COMBRED_DT;
  }
  return COMBRED_OK;
}

extern "C" {

int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride,
                    const combred_options *options, double *error, int64_t *evaluations,
                    void *workspace, size_t workspace_size) {
  const combred_options chosen = options ? *options : combred_options{1e-3, 0, COMBRED_CONSTANT_PRESSURE};
  fenv_t caller;
  feholdexcept(&caller);  // comparisons with NaN may trap
  const int status = checked(n, states, dt, dt_stride, chosen, workspace, workspace_size);
  fesetenv(&caller);
  if (status != COMBRED_OK || n == 0) return status;
  size_t next = 0;
  const solver::Request call = {n, states, dt, dt_stride, chosen.tolerance, chosen.max_steps,
                                chosen.reactor == COMBRED_CONSTANT_VOLUME, error, evaluations, &next,
                                nullptr, nullptr};
#ifdef _OPENMP
  const size_t room = workspace_size / NEEDED, most = omp_get_max_threads();
#pragma omp parallel num_threads((int)(room < most ? room : most))
  run((char *)workspace + omp_get_thread_num() * NEEDED, call);
#else
  run(workspace, call);
#endif
  return COMBRED_OK;
}

size_t combred_workspace_size(void) { return NEEDED; }
int combred_check(void) { return COMBRED_OK; }

}  // extern "C"
#endif
