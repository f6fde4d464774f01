// Names of the functions of one level, where there are several (dispatch.hpp); and the pieces in which
// a library may be compiled.
#pragma once
#ifdef COMBRED_LEVEL
#define COMBRED_JOIN(level, name) combred_##level##_##name
#define COMBRED_NAME(level, name) COMBRED_JOIN(level, name)
#define combred_advance COMBRED_NAME(COMBRED_LEVEL, advance)
#define combred_advance_with_sources COMBRED_NAME(COMBRED_LEVEL, advance_with_sources)
#define combred_time_to COMBRED_NAME(COMBRED_LEVEL, time_to)
#define combred_rates COMBRED_NAME(COMBRED_LEVEL, rates)
#define combred_jacobian COMBRED_NAME(COMBRED_LEVEL, jacobian)
#define combred_time_scale COMBRED_NAME(COMBRED_LEVEL, time_scale)
#define combred_enthalpy COMBRED_NAME(COMBRED_LEVEL, enthalpy)
#define combred_temperature COMBRED_NAME(COMBRED_LEVEL, temperature)
#define combred_workspace_size COMBRED_NAME(COMBRED_LEVEL, workspace_size)
#define combred_in_floats COMBRED_NAME(COMBRED_LEVEL, in_floats)
#define combred_in_doubles COMBRED_NAME(COMBRED_LEVEL, in_doubles)
#define combred_by_network COMBRED_NAME(COMBRED_LEVEL, by_network)
#define combred_network_size COMBRED_NAME(COMBRED_LEVEL, network_size)
#endif
#define COMBRED_CALLS 1
#define COMBRED_FLOATS 2
#define COMBRED_DOUBLES 4
#define COMBRED_PROPOSAL 8
#ifndef COMBRED_PIECE
#define COMBRED_PIECE 15  // all in one
#endif
