// A surrogate on a GPU: a thread advances one state, and takes the next one when it has finished.
#define COMBRED_WIDTH 1
#include "identity.hpp"
#include "surrogate.hpp"
// After the numbers of the mechanism:
#include "integrate.hpp"

// As combred_advance of combred.h, for arguments that are right; `next` is 0 at the beginning. Of the
// reactors a surrogate has that of constant pressure alone.
extern "C" __global__ void __launch_bounds__(128)
combred_kernel(size_t n, double *states, const double *dt, size_t dt_stride, double tolerance,
               int64_t max_steps, int64_t /* reactor */, double *error, int64_t *evaluations,
               unsigned long long *next) {
  Workspace w;
  integrate(w, {n, states, dt, dt_stride, tolerance, max_steps, error, evaluations, next});
}
