// The floating-point environment of a call.
#pragma once
#include <cfenv>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace {

// The floating-point environment of this library: no traps, rounding to nearest, and on x86 no
// subnormals, which are slow. The caller's environment comes back at the end.
class Environment {
 public:
  Environment() {
    feholdexcept(&caller_);
    fesetround(FE_TONEAREST);
#ifdef __SSE2__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  }
  ~Environment() { fesetenv(&caller_); }

 private:
  fenv_t caller_;
};

}  // namespace
