// LU factorisation with partial pivoting of a small matrix of fixed size, stored by columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "chemistry.hpp"

struct Factorisation {
    double LU[n * n];
    int pivot[n];

    // Factorises I / step - J, the matrix of a linearly implicit method; result as below.
    bool factorise(const double* J, double step)
    {
        double A[n * n];
        for (int i = 0; i < n * n; ++i) A[i] = -J[i];
        for (int i = 0; i < n; ++i) A[i + n * i] += 1.0 / step;
        return factorise(A);
    }

    // Factorises A (n, n). False if it is singular or not finite.
    bool factorise(const double* A)
    {
        std::copy(A, A + n * n, LU);
        for (int j = 0; j < n; ++j) {
            double* column = LU + n * j;
            int largest = j;
            for (int i = j + 1; i < n; ++i)
                if (std::fabs(column[i]) > std::fabs(column[largest])) largest = i;
            pivot[j] = largest;
            if (!(std::fabs(column[largest]) > 0.0)) return false;
            if (largest != j)
                for (int k = 0; k < n; ++k) std::swap(LU[j + n * k], LU[largest + n * k]);
            const double inverse = 1.0 / column[j];
            for (int i = j + 1; i < n; ++i) column[i] *= inverse;
            for (int k = j + 1; k < n; ++k) {
                double* other = LU + n * k;
                const double factor = other[j];
                for (int i = j + 1; i < n; ++i) other[i] -= factor * column[i];
            }
        }
        return std::isfinite(LU[n * n - 1]);
    }

    // Replaces b (n) by the solution x of A x = b.
    void solve(double* b) const
    {
        for (int j = 0; j < n; ++j) std::swap(b[j], b[pivot[j]]);
        for (int j = 0; j < n; ++j)
            for (int i = j + 1; i < n; ++i) b[i] -= b[j] * LU[i + n * j];
        for (int j = n - 1; j >= 0; --j) {
            b[j] /= LU[j + n * j];
            for (int i = 0; i < j; ++i) b[i] -= b[j] * LU[i + n * j];
        }
    }
};
