// The C interface of the linearly implicit methods: Rosenbrock34 and seulex.

#include "rosenbrock34.hpp"
#include "seulex.hpp"

#include <algorithm>

// Advances states (count, 2 + n_species) [T, p, Y] in place by dt [s]. A failed state becomes NaN.
template <class Solver>
static void advance(long count, double* states, double dt, double rtol, double atol, Counts* counts)
{
    Solver solver(rtol, atol, *counts);
    for (long s = 0; s < count; ++s) {
        double* state = states + s * (n + 1);
        double y[n];
        y[0] = state[0];
        std::copy(state + 2, state + 1 + n, y + 1);
        solver.p = state[1];
        if (!solver.advance(y, dt)) {
            std::fill(y, y + n, NAN);
            ++counts->failed;
        }
        state[0] = y[0];
        std::copy(y + 1, y + n, state + 2);
    }
}

#define METHOD(name, Solver)                                                                      \
    extern "C" void name(long count, double* states, double dt, double rtol, double atol,         \
                         Counts* counts)                                                          \
    {                                                                                             \
        advance<Solver>(count, states, dt, rtol, atol, counts);                                   \
    }

METHOD(rosenbrock34, Rosenbrock34)
METHOD(seulex, Seulex)
