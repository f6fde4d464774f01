// A solver on a GPU: a thread advances one state, and takes the next one when it has finished. Where
// there is a network, it goes first, in a kernel of its own, and leaves rows to the solver.
#define COMBRED_BYTES 0
#include "identity.hpp"
#include "solver/integrate.hpp"
#ifdef COMBRED_NETWORK
#include "network/propose.hpp"

// The rows that the network leaves to the solver: `left` (n), `count` of them. `next` and `count` are 0
// at the beginning.
extern "C" __global__ void __launch_bounds__(128)
combred_network(size_t n, double *states, const double *dt, size_t dt_stride, double tolerance,
                double *error, int64_t *steps, unsigned long long *next, size_t *left,
                unsigned long long *count) {
  const solver::Request call = {n, states, dt, dt_stride, tolerance, 0, {}, error, steps, next,
                                nullptr, nullptr, nullptr, nullptr, false};
  network::Step w;
  for (size_t row = solver::take(next, 1); row < n; row = solver::take(next, 1))
    if (!network::propose(w, call, &row, 1)) left[atomicAdd(count, 1ull)] = row;
}
#endif

template <class R, class Method> __device__ void run(const solver::Request &call) {
  solver::Solver<R, Method> room;
  solver::integrate(room, call);
}

// As combred_advance of combred.h, for arguments that are right, of the n states, or of `count` rows
// `left`; `next` is 0 at the beginning. A state that floats do not finish has failed: there is no second
// pass in doubles.
extern "C" __global__ void __launch_bounds__(128)
combred_kernel(size_t n, double *states, const double *dt, size_t dt_stride, double tolerance,
               int64_t max_steps, int64_t reactor, double *error, int64_t *steps,
               unsigned long long *next, const size_t *left, const unsigned long long *count) {
  const solver::Request call = {left ? *count : n, states, dt, dt_stride, tolerance, max_steps,
                                {reactor != 0, false, false}, error, steps, next, left,
                                nullptr, nullptr, nullptr, false};
  if (tolerance < solver::LEAST_FLOAT_TOLERANCE) run<double, solver::Rodas5P>(call);
  else run<float, solver::Shampine>(call);
}
