// Extrapolated linearly implicit Euler method, with control of the step and of the order.
//
//     (I / h_j - J) d = f(y_i),  y_{i+1} = y_i + d,  h_j = H / n_j,  n_j steps:   T_{j,1}
//     T_{j,k+1} = T_{j,k} + (T_{j,k} - T_{j-1,k}) / (n_j / n_{j-k} - 1)
//
// Hairer & Wanner, Solving Ordinary Differential Equations II (1996), section IV.9, and the rules of
// their code SEULEX: n_j = 2, 3, 4, 6, 8, 12, ...; error ||T_{j,j} - T_{j,j-1}||; order by the work
// per unit of time; monitors of stability and of convergence. The Jacobian matrix is kept while the
// simplified Newton iteration that the first two lines contain contracts by less than rtol.
#pragma once

#include <algorithm>
#include <cmath>

#include "counts.hpp"
#include "dense.hpp"

struct Seulex {
    double p = 0.0, rtol, atol;
    Counts& count;

    Seulex(double rtol, double atol, Counts& count) : rtol(rtol), atol(atol), count(count) {}

    // Advances y (n) by dt [s], which is the first step that it tries.
    bool advance(double* y, double dt)
    {
        double h = dt;
        work[0] = jacobian_cost + factorisation_cost + lengths[0] * stage_cost;
        for (int j = 1; j < most; ++j)
            work[j] = work[j - 1] + factorisation_cost + (lengths[j] - 1) * stage_cost;
        const double digits = -std::log10(rtol) * 0.6 + 1.5;
        target = std::clamp(static_cast<int>(digits), 2, most - 1);
        double t = 0.0;
        bool current = false, rejected = false;
        contraction = 2.0;
        for (int tried = 0; t < dt * (1.0 - 1e-14);) {
            if (++tried > 20000) return false;
            if (!current && contraction > std::min(1e-4, rtol)) {
                jacobian(p, y, f, J);
                ++count.jacobians;
                current = true;
            } else if (!rejected) {
                derivative(p, y, f);
                ++count.rates;
            }
            const bool last = h >= dt - t;
            const double step = last ? dt - t : h;
            const int line = attempt(y, step, tried == 1 || last);
            if (line > 0) {
                t += step;
                std::copy(T[line - 1], T[line - 1] + n, y);
                const double follows = choose(line, rejected, step);
                h = last && step < h ? std::max(h, follows) : follows;
                rejected = current = false;
                ++count.steps;
            } else {
                h = retry;
                rejected = true;
                ++count.rejected;
                if (!current) contraction = 2.0;  // an old matrix: a new one
            }
        }
        return true;
    }

  private:
    static constexpr int most = 12;
    static constexpr int lengths[most] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    // The defaults of SEULEX; a stage is an evaluation of the rates and a solution. With a lower ratio
    // of the work of lines 3 and 2 the order would stay at that of line 2.
    static constexpr double jacobian_cost = 5.0, factorisation_cost = 1.0, stage_cost = 2.0;

    Factorisation matrix;
    double J[n * n], f[n], fresh[n];
    double T[most][n];  // the last line: T[k - 1] is T_{j,k}, from the right
    double work[most], best[most], cost[most];  // work of a line; best step; work per time
    double contraction, retry;
    int target;  // the line (from 1) that should converge

    // One step: the line (from 1) that converged, or 0, with `retry` as the step to try instead.
    int attempt(const double* y, double H, bool all)
    {
        double error_before = HUGE_VAL;
        for (int line = 1; line <= target + 1 && line <= most; ++line) {
            if (!euler(line - 1, y, H)) {
                retry = 0.5 * H;
                return 0;
            }
            if (line == 1) continue;
            const double error = extrapolate(line - 1, y);
            if (!(error < 1e15) || (line > 2 && error >= error_before)) {
                retry = 0.5 * H;
                return 0;
            }
            error_before = std::max(4.0 * error, 1.0);
            const double exponent = 1.0 / line, least = std::pow(0.1, exponent);
            const double factor = 0.93 * std::pow(0.6 / std::max(error, 1e-30), exponent);
            best[line - 1] = H * std::clamp(factor, least / 4.0, 1.0 / least);
            cost[line - 1] = work[line - 1] / best[line - 1];
            if ((all || line >= target - 1) && error <= 1.0) return line;
            const bool hopeless =
                (line == target - 1 && error > 4.0 * lengths[target] * lengths[target - 1]) ||
                (line == target && error > 2.0 * lengths[target]) || line == target + 1;
            if (hopeless && !(all && line < target)) {
                target = std::max(2, std::min(target, line));
                if (target > 2 && cost[target - 2] < 0.7 * cost[target - 1]) --target;
                retry = best[target - 1];
                return 0;
            }
        }
        retry = 0.5 * H;
        return 0;
    }

    // T_{j,1}: lengths[j] steps of the linearly implicit Euler method, kept in `fresh`. False where
    // they are not stable.
    bool euler(int j, const double* y, double H)
    {
        const double h = H / lengths[j];
        double d[n], g[n];
        ++count.factorisations;
        if (!matrix.factorise(J, h)) return false;
        std::copy(f, f + n, d);
        matrix.solve(d);
        std::copy(y, y + n, fresh);
        for (int i = 1; i < lengths[j]; ++i) {
            for (int k = 0; k < n; ++k) fresh[k] += d[k];
            derivative(p, fresh, g);
            ++count.rates;
            if (i == 1 && j <= 1) {
                const double first = norm(d, y);
                for (int k = 0; k < n; ++k) d[k] = g[k] - d[k] / h;
                matrix.solve(d);
                contraction = norm(d, y) / std::max(1.0, first);
                if (!(contraction <= 1.0)) return false;
            }
            std::copy(g, g + n, d);
            matrix.solve(d);
        }
        for (int k = 0; k < n; ++k) fresh[k] += d[k];
        if (j == 0) std::copy(fresh, fresh + n, T[0]);
        return fresh[0] > 0.0;
    }

    // The line j of the table from the line before it; the error of its last value.
    double extrapolate(int j, const double* y)
    {
        double sum = 0.0;
        for (int i = 0; i < n; ++i) {
            double entry = fresh[i];
            for (int k = 0; k < j; ++k) {
                const double ratio = static_cast<double>(lengths[j]) / lengths[j - 1 - k];
                const double next = entry + (entry - T[k][i]) / (ratio - 1.0);
                T[k][i] = entry;
                entry = next;
            }
            T[j][i] = entry;
            const double scale = atol + rtol * std::max(std::fabs(y[i]), std::fabs(T[0][i]));
            sum += std::pow((entry - T[j - 1][i]) / scale, 2);
        }
        return std::sqrt(sum / n);
    }

    double norm(const double* d, const double* y) const
    {
        double sum = 0.0;
        for (int i = 0; i < n; ++i) sum += std::pow(d[i] / (atol + rtol * std::fabs(y[i])), 2);
        return std::sqrt(sum / n);
    }

    // The next target line and its step, after the line that converged.
    double choose(int line, bool rejected, double H)
    {
        int optimum = line;
        if (line == 2) {
            optimum = std::min(3, most - 1);
            if (rejected) optimum = 2;
        } else if (line <= target) {
            if (cost[line - 2] < 0.7 * cost[line - 1]) optimum = line - 1;
            if (cost[line - 1] < 0.9 * cost[line - 2]) optimum = std::min(line + 1, most - 1);
        } else {
            optimum = line - 1;
            if (line > 3 && cost[line - 3] < 0.7 * cost[line - 2]) optimum = line - 2;
            if (cost[line - 1] < 0.9 * cost[optimum - 1]) optimum = std::min(line, most - 1);
        }
        const int before = target;
        target = rejected ? std::min(optimum, line) : optimum;
        if (rejected) return std::min(H, best[target - 1]);
        if (target <= line) return best[target - 1];
        const bool rising = line < before && line > 2 && cost[line - 1] < 0.9 * cost[line - 2];
        return best[line - 1] * work[rising ? target : target - 1] / work[line - 1];
    }
};
