// Names of the functions of one level, where there are several (dispatch.hpp).
#pragma once
#define COMBRED_SOLVER
#ifdef COMBRED_LEVEL
#define COMBRED_JOIN(level, name) combred_##level##_##name
#define COMBRED_NAME(level, name) COMBRED_JOIN(level, name)
#define combred_advance COMBRED_NAME(COMBRED_LEVEL, advance)
#define combred_rates COMBRED_NAME(COMBRED_LEVEL, rates)
#define combred_jacobian COMBRED_NAME(COMBRED_LEVEL, jacobian)
#define combred_workspace_size COMBRED_NAME(COMBRED_LEVEL, workspace_size)
#define combred_check COMBRED_NAME(COMBRED_LEVEL, check)
#define combred_in_floats COMBRED_NAME(COMBRED_LEVEL, in_floats)
#define combred_in_doubles COMBRED_NAME(COMBRED_LEVEL, in_doubles)
#endif
#ifndef COMBRED_PRECISION
#define COMBRED_PRECISION -1  // all in one
#endif
