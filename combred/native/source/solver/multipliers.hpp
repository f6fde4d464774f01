// Factors on the rate constants, which a caller sets at run time, of a library that was generated with
// them: it serves every mechanism that differs in its rate constants or lacks reactions.
#pragma once
#include "solver/mechanism.hpp"

#ifdef COMBRED_MULTIPLIERS
namespace solver {

// Those of the calling thread, one array for all objects of the library.
template <class R> inline thread_local R MULTIPLIERS[REACTIONS];

}  // namespace solver
#endif
