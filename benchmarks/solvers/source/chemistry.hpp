// The adiabatic reactor at constant pressure: dy/dt and its Jacobian matrix, y = [T, Y].
//
//     dY_k/dt = W_k w_k / rho        dT/dt = -sum_k h_k w_k / (rho cp)
//
// with the molar production rates w_k [kmol/m3/s] and molar enthalpies h_k of the generated rates.
#pragma once

#include "size.hpp"  // generated: n_species

constexpr int n = 1 + n_species;  // T [K], then the mass fractions

// dydt (n) [K/s, 1/s] at y (n) and p [Pa].
void derivative(double p, const double* y, double* dydt);

// The exact Jacobian matrix at y (n) and p [Pa], by columns: J[i + n j] = d(dydt_i) / dy_j. Also
// dydt (n).
void jacobian(double p, const double* y, double* dydt, double* J);
