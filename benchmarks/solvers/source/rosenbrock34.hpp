// Rosenbrock method of order 4 with an embedded error estimate of order 3.
//
//     (I / (gamma h) - J) u_i = f(y + sum_{j<i} a_ij u_j) + sum_{j<i} c_ij u_j / h,   i = 1..4
//     y_next = y + sum_i m_i u_i        error = sum_i e_i u_i
//
// Hairer & Wanner, Solving Ordinary Differential Equations II (1996), equation (IV.7.25); stage 4
// reuses f of stage 3. Coefficients: Shampine, ACM Trans. Math. Softw. 8 (1982) 93, which are the
// defaults of OpenFOAM's Rosenbrock34. Control of the step as in OpenFOAM's adaptiveSolver: largest
// norm, safety 0.9, exponents 1/4 and 1/5, factors between 0.2 and 10. A rejected step keeps the
// Jacobian matrix.
#pragma once

#include <algorithm>
#include <cmath>

#include "counts.hpp"
#include "dense.hpp"

struct Shampine {
    static constexpr double gamma = 1.0 / 2.0;
    static constexpr double a21 = 2.0, a31 = 48.0 / 25.0, a32 = 6.0 / 25.0;
    static constexpr double c21 = -8.0, c31 = 372.0 / 25.0, c32 = 12.0 / 5.0;
    static constexpr double c41 = -112.0 / 125.0, c42 = -54.0 / 125.0, c43 = -2.0 / 5.0;
    static constexpr double m[4] = {19.0 / 9.0, 1.0 / 2.0, 25.0 / 108.0, 125.0 / 108.0};
    static constexpr double e[4] = {17.0 / 54.0, 7.0 / 36.0, 0.0, 125.0 / 108.0};
};

struct Rosenbrock34 {
    double p = 0.0, rtol, atol;
    Counts& count;

    Rosenbrock34(double rtol, double atol, Counts& count) : rtol(rtol), atol(atol), count(count) {}

    // Advances y (n) by dt [s], which is the first step that it tries.
    bool advance(double* y, double dt)
    {
        double h = dt;
        double J[n * n], f[n], next[n], t = 0.0;
        for (int tried = 0; t < dt * (1.0 - 1e-14); ++count.steps) {
            jacobian(p, y, f, J);
            ++count.jacobians;
            for (;; ++count.rejected) {
                if (++tried > 20000) return false;
                const double step = std::min(h, dt - t), error = attempt(y, f, J, step, next);
                if (error <= 1.0) {
                    t += step;
                    const double factor = std::clamp(0.9 * std::pow(error, -0.2), 0.2, 10.0);
                    h = step < h ? std::max(h, step * factor) : step * factor;
                    std::copy(next, next + n, y);
                    break;
                }
                // Also an error that is not a number ends here.
                h = step * (error < 1e10 ? std::max(0.9 * std::pow(error, -0.25), 0.2) : 0.2);
            }
        }
        return true;
    }

  private:
    Factorisation matrix;

    // One step from y with f and J there: y_next, and the estimated error over the tolerance.
    double attempt(const double* y, const double* f, const double* J, double h, double* next)
    {
        using M = Shampine;
        double u[4][n], at[n], g[n];
        ++count.factorisations;
        if (!matrix.factorise(J, M::gamma * h)) return HUGE_VAL;
        std::copy(f, f + n, u[0]);
        matrix.solve(u[0]);
        for (int i = 0; i < n; ++i) at[i] = y[i] + M::a21 * u[0][i];
        derivative(p, at, g);
        for (int i = 0; i < n; ++i) u[1][i] = g[i] + M::c21 / h * u[0][i];
        matrix.solve(u[1]);
        for (int i = 0; i < n; ++i) at[i] = y[i] + M::a31 * u[0][i] + M::a32 * u[1][i];
        derivative(p, at, g);
        count.rates += 2;
        for (int i = 0; i < n; ++i) u[2][i] = g[i] + (M::c31 * u[0][i] + M::c32 * u[1][i]) / h;
        matrix.solve(u[2]);
        for (int i = 0; i < n; ++i)
            u[3][i] = g[i] + (M::c41 * u[0][i] + M::c42 * u[1][i] + M::c43 * u[2][i]) / h;
        matrix.solve(u[3]);
        double largest = 0.0;
        for (int i = 0; i < n; ++i) {
            double error = 0.0;
            next[i] = y[i];
            for (int s = 0; s < 4; ++s) {
                next[i] += M::m[s] * u[s][i];
                error += M::e[s] * u[s][i];
            }
            const double scale = atol + rtol * std::max(std::fabs(y[i]), std::fabs(next[i]));
            const double ratio = std::fabs(error) / scale;
            if (!(ratio <= largest)) largest = ratio;  // also if it is not a number
            if (!std::isfinite(ratio)) return HUGE_VAL;
        }
        return next[0] > 0.0 ? largest : HUGE_VAL;
    }
};
