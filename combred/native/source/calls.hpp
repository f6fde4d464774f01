// The functions of combred.h that compute: they are compiled for one CPU, or for several levels.
#pragma once
#include "combred.h"
#include "environment.hpp"
#include "integrate.hpp"
#include "tables.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

constexpr size_t ALIGNMENT = 64;

// The matrix unit of this thread's CPU, for the time of a call.
class MatrixUnit {
 public:
#ifdef COMBRED_MATRIX
  MatrixUnit() : open_(tiles_can_be_used(set_matrices)) {
    if (open_) open_tiles();
  }
  ~MatrixUnit() {
    if (open_) close_tiles();
  }

 private:
  bool open_;
#else
  MatrixUnit() {}
#endif
};

constexpr size_t NEEDED = sizeof(Workspace) + ALIGNMENT;  // bytes of a workspace

Workspace *aligned(void *workspace) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<Workspace *>((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

bool is_time_step(double dt) { return dt > 0.0 && dt <= DT_LONGEST; }

}  // namespace

// COMBRED_OK, or what is wrong with the arguments of combred_advance.
static int checked(size_t n, const double *states, const double *dt, size_t dt_stride,
                   const combred_options &chosen, const void *workspace, size_t workspace_size) {
  if (!(chosen.tolerance > 0.0) || !is_finite(chosen.tolerance) || chosen.max_steps < 0 ||
      chosen.reactor != COMBRED_CONSTANT_PRESSURE)
    return COMBRED_OPTIONS;
  if (dt_stride > 1) return COMBRED_STRIDE;
  if (n == 0) return COMBRED_OK;
  if (!states || !dt || !workspace) return COMBRED_NULL;
  if (workspace_size < NEEDED) return COMBRED_WORKSPACE;
  for (size_t i = 0; i < (dt_stride ? n : 1); i++)
    if (!is_time_step(read(dt, i))) return COMBRED_DT;
  return COMBRED_OK;
}

extern "C" {

int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride,
                    const combred_options *options, double *error, int64_t *evaluations,
                    void *workspace, size_t workspace_size) {
  const combred_options chosen = options ? *options : combred_options{TOLERANCE, 0, COMBRED_CONSTANT_PRESSURE};
  fenv_t caller;
  feholdexcept(&caller);  // comparisons with NaN may trap
  const int status = checked(n, states, dt, dt_stride, chosen, workspace, workspace_size);
  fesetenv(&caller);
  if (status != COMBRED_OK || n == 0) return status;
  size_t next = 0;
  const Request call = {n, states, dt, dt_stride, chosen.tolerance, chosen.max_steps,
                        error, evaluations, &next};
#ifdef _OPENMP
  const size_t room = workspace_size / NEEDED, most = omp_get_max_threads();
#pragma omp parallel num_threads((int)(room < most ? room : most))
  {
    const Environment environment;
    const MatrixUnit unit;
    integrate(*aligned((char *)workspace + omp_get_thread_num() * NEEDED), call);
  }
#else
  const Environment environment;
  const MatrixUnit unit;
  integrate(*aligned(workspace), call);
#endif
  return COMBRED_OK;
}

int combred_rates(size_t n, const double *states, double *net, double *destruction, void *workspace,
                  size_t workspace_size) {
  if (n == 0) return COMBRED_OK;
  if (!states || !net || !destruction || !workspace) return COMBRED_NULL;
  if (workspace_size < NEEDED) return COMBRED_WORKSPACE;
  const Environment environment;
  Workspace &w = *aligned(workspace);
  QuasiSteady &q = w.step.qss;
  Rates &r = w.step.rates;
  for (size_t first = 0; first < n; first += WIDTH) {
    for (int i = 0; i < WIDTH; i++) {
      const size_t at = (first + i < n ? first + i : n - 1) * VARIABLES;
      lane_of(w.T, i) = read(states, at);
      lane_of(w.p, i) = read(states, at + 1);
      for (int k = 0; k < SPECIES; k++) lane_of(q.Y[k], i) = (float)read(states, at + 2 + k);
    }
    set_concentrations(q.gas, w.T, w.p, q.Y);
    set_constants(q.gas, w.T, r.constants);
    rates_of_progress(q.gas, r.constants, r.progress);
    production(q.gas, r.progress, q.net, q.loss);
    for (size_t i = 0; i < WIDTH && first + i < n; i++)
      for (int k = 0; k < SPECIES; k++) {
        write(net, (first + i) * SPECIES + k, (double)lane_of(q.net[k], i));
        write(destruction, (first + i) * SPECIES + k, (double)lane_of(q.loss[k], i));
      }
  }
  return COMBRED_OK;
}

size_t combred_workspace_size(void) { return NEEDED; }
int combred_check(void) { return tables_are_whole() ? COMBRED_OK : COMBRED_DAMAGED; }

}  // extern "C"
