// A stiff solver of one mechanism as a library: the C interface of combred.h. Compile this file alone;
// it includes all others. In pieces, for less time: with COMBRED_PRECISION 32 or 64 for what computes
// in floats and in doubles, and 0 for the rest. For all CPUs of a kind each of these is compiled
// once for each level, COMBRED_LEVEL v2, v3 or v4 with the options of that CPU, and once with
// COMBRED_DISPATCH, which chooses between them.
#ifdef __FAST_MATH__
#error "compile without -ffast-math: states that are not valid are found by their NaN"
#endif
#include "solver/names.hpp"
// Headers of the system come before the pragma below: other libraries define what they declare.
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "combred.h"
#include "identity.hpp"
#ifdef COMBRED_DISPATCH
#include "dispatch.hpp"
#else
// Two libraries in one process share nothing, whatever they were compiled with.
#pragma GCC visibility push(hidden)
#include "solver/calls.hpp"
#pragma GCC visibility pop
#endif
#if defined(COMBRED_DISPATCH) || (!defined(COMBRED_LEVEL) && COMBRED_PRECISION <= 0)
#include "about.hpp"
#endif
