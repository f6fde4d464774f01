// Factors on the rate constants, which a caller sets at run time, of a library that was generated with
// them: it serves every mechanism that differs in its rate constants or lacks reactions.
#pragma once
#include "solver/mechanism.hpp"

#ifdef COMBRED_MULTIPLIERS
namespace solver {

// Those of the calling thread, (REACTIONS).
template <class R> INLINE R *multipliers() {
  static thread_local R own[REACTIONS];
  return own;
}

}  // namespace solver
#endif
