// A stiff solver of one mechanism as a library, with or without a network that goes before it: the C
// interface of combred.h. Compile this file alone; it includes all others. In pieces, for less time: with
// COMBRED_PIECE 1 for the calls, 2 and 4 for what computes in floats and in doubles, 8 for the network.
// For all CPUs of a kind each of these is compiled once for each level, COMBRED_LEVEL v2, v3 or v4 with
// the options of that CPU, and once with COMBRED_DISPATCH, which chooses between them.
#ifdef __FAST_MATH__
#error "compile without -ffast-math: states that are not valid are found by their NaN"
#endif
#include "names.hpp"
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
// What computes in floats and in doubles knows the mechanism alone: its objects serve any network.
#if defined(COMBRED_DISPATCH) || COMBRED_PIECE & (COMBRED_CALLS | COMBRED_PROPOSAL)
#include "identity.hpp"
#endif
#ifdef COMBRED_DISPATCH
#include "dispatch.hpp"
#else
// Two libraries in one process share nothing, whatever they were compiled with.
#pragma GCC visibility push(hidden)
#include "calls.hpp"
#pragma GCC visibility pop
#endif
#if defined(COMBRED_DISPATCH) || (!defined(COMBRED_LEVEL) && (COMBRED_PIECE & COMBRED_CALLS))
#include "about.hpp"
#endif
