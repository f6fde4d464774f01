// The kernels of a surrogate on a CPU: CUDA's names, and threads that share the counter of rows.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#define __CUDACC__ 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(threads)

static unsigned long long atomicAdd(unsigned long long *counter, unsigned long long more) {
  return __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}
static inline double __longlong_as_double(long long bits) {
  double x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

#include "kernel.cu"

template <class Work>
static void on(int threads, Work work) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) all.emplace_back(work);
  for (std::thread &thread : all) thread.join();
}

extern "C" void run(int threads, size_t n, double *states, const double *dt, size_t dt_stride,
                    double tolerance, int64_t max_steps, double *error, int64_t *steps) {
  unsigned long long first = 0, next = 0, count = 0;
  std::vector<size_t> left(n + 1);
  on(threads, [&] {
    combred_network(n, states, dt, dt_stride, tolerance, error, steps, &first, left.data(), &count);
  });
  on(threads, [&] {
    combred_kernel(n, states, dt, dt_stride, tolerance, max_steps, 0, error, steps, &next,
                   left.data(), &count);
  });
}
