// A solver on a GPU: a thread advances one state, and takes the next one when it has finished.
#define COMBRED_BYTES 0
#include "solver/integrate.hpp"

template <class R, class Method> __device__ void run(const solver::Request &call) {
  solver::Solver<R, Method> room;
  solver::integrate(room, call);
}

// As combred_advance of combred.h, for arguments that are right; `next` is 0 at the beginning. A state
// that floats do not finish has failed: there is no second pass in doubles.
extern "C" __global__ void __launch_bounds__(128)
combred_kernel(size_t n, double *states, const double *dt, size_t dt_stride, double tolerance,
               int64_t max_steps, int64_t reactor, double *error, int64_t *evaluations,
               unsigned long long *next) {
  const solver::Request call = {n, states, dt, dt_stride, tolerance, max_steps, reactor != 0,
                                error, evaluations, next, nullptr, nullptr};
  if (tolerance < solver::LEAST_FLOAT_TOLERANCE) run<double, solver::Rodas5P>(call);
  else run<float, solver::Shampine>(call);
}
