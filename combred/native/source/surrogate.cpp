// A surrogate as one library: the C interface of combred.h. Compile this file alone; it includes all
// others. For all CPUs of a kind it is compiled once for each level, COMBRED_LEVEL v2, v3 or v4 with
// the options of that CPU, and once with COMBRED_DISPATCH, which chooses between them.
#ifdef __FAST_MATH__
#error "compile without -ffast-math: states that are not valid are found by their NaN"
#endif
#ifdef COMBRED_LEVEL
#define COMBRED_JOIN(level, name) combred_##level##_##name
#define COMBRED_NAME(level, name) COMBRED_JOIN(level, name)
#define combred_advance COMBRED_NAME(COMBRED_LEVEL, advance)
#define combred_rates COMBRED_NAME(COMBRED_LEVEL, rates)
#define combred_workspace_size COMBRED_NAME(COMBRED_LEVEL, workspace_size)
#define combred_check COMBRED_NAME(COMBRED_LEVEL, check)
#endif
#include "combred.h"
#include "identity.hpp"

#ifdef COMBRED_DISPATCH
#include "dispatch.hpp"
#else
#include "surrogate.hpp"
// After the numbers of the mechanism:
#include "calls.hpp"
#endif
#ifndef COMBRED_LEVEL
#include "about.hpp"
#endif
