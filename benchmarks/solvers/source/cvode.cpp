// The C interface of SUNDIALS' CVODE: BDF, Newton iteration, dense LU factorisation.
//
// One integrator for all states, reinitialised for each, as in a flow solver. As it is: difference
// quotients for the Jacobian matrix, and SUNDIALS' dense matrices. Tuned: the exact Jacobian matrix,
// and an LU factorisation that is compiled for its size.

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <cmath>

#include "chemistry.hpp"
#include "counts.hpp"
#include "dense.hpp"

static int right_hand_side(double, N_Vector y, N_Vector dydt, void* p)
{
    const double* at = N_VGetArrayPointer(y);
    if (!(at[0] > 0.0)) return 1;  // CVODE tries a smaller step
    derivative(*static_cast<double*>(p), at, N_VGetArrayPointer(dydt));
    return 0;
}

static int exact_jacobian(double, N_Vector y, N_Vector, SUNMatrix J, void* p, N_Vector unused,
                          N_Vector, N_Vector)
{
    jacobian(*static_cast<double*>(p), N_VGetArrayPointer(y), N_VGetArrayPointer(unused),
             SUNDenseMatrix_Data(J));
    return 0;
}

// CVODE's interface to `Factorisation`, in place of SUNDIALS' factorisation of any size.
static Factorisation factors;

static SUNLinearSolver_Type type(SUNLinearSolver) { return SUNLINEARSOLVER_DIRECT; }

static int setup(SUNLinearSolver, SUNMatrix matrix)
{
    return factors.factorise(SUNDenseMatrix_Data(matrix)) ? 0 : SUNLS_LUFACT_FAIL;
}

static int solve(SUNLinearSolver, SUNMatrix, N_Vector x, N_Vector b, double)
{
    double* values = N_VGetArrayPointer(x);
    std::copy(N_VGetArrayPointer(b), N_VGetArrayPointer(b) + n, values);
    factors.solve(values);
    return 0;
}

static SUNLinearSolver fixed_size(SUNContext context)
{
    SUNLinearSolver solver = SUNLinSolNewEmpty(context);
    solver->ops->gettype = type;
    solver->ops->setup = setup;
    solver->ops->solve = solve;
    return solver;
}

static void silent(int, const char*, const char*, char*, void*) {}  // failures are counted

// Adds up the counters of the integration since the last CVodeReInit.
static void add(void* cvode, Counts* counts)
{
    long steps, rates, setups, failed_tests, for_jacobian, jacobians;
    int order, next_order;
    double first, last, next, t;
    CVodeGetIntegratorStats(cvode, &steps, &rates, &setups, &failed_tests, &order, &next_order,
                            &first, &last, &next, &t);
    CVodeGetNumLinRhsEvals(cvode, &for_jacobian);
    CVodeGetNumJacEvals(cvode, &jacobians);
    counts->steps += steps;
    counts->rejected += failed_tests;
    counts->rates += rates + for_jacobian;
    counts->jacobians += jacobians;
    counts->factorisations += setups;
}

static int advance(void* cvode, N_Vector y, double& p, long count, double* states, double dt,
                   Counts* counts)
{
    double* values = N_VGetArrayPointer(y);
    for (long s = 0; s < count; ++s) {
        double* state = states + s * (n + 1);
        values[0] = state[0];
        p = state[1];
        std::copy(state + 2, state + 1 + n, values + 1);
        double t;
        if (CVodeReInit(cvode, 0.0, y) != CV_SUCCESS) return 1;
        if (CVode(cvode, dt, y, &t, CV_NORMAL) < 0) {
            std::fill(values, values + n, NAN);
            ++counts->failed;
        }
        add(cvode, counts);
        state[0] = values[0];
        std::copy(values + 1, values + n, state + 2);
    }
    return 0;
}

// Advances states (count, 2 + n_species) [T, p, Y] in place by dt [s]. A failed state becomes NaN.
// Returns 0, or 1 where CVODE cannot be set up.
extern "C" int cvode(long count, double* states, double dt, double rtol, double atol, int tuned,
                     Counts* counts)
{
    SUNContext context;
#if SUNDIALS_VERSION_MAJOR >= 7
    if (SUNContext_Create(SUN_COMM_NULL, &context)) return 1;
#else
    if (SUNContext_Create(nullptr, &context)) return 1;
#endif
    double p = 1e5;
    N_Vector y = N_VNew_Serial(n, context);
    SUNMatrix matrix = SUNDenseMatrix(n, n, context);
    SUNLinearSolver solver = tuned ? fixed_size(context) : SUNLinSol_Dense(y, matrix, context);
    void* cvode = CVodeCreate(CV_BDF, context);
    N_VConst(1.0, y);
    bool bad = CVodeInit(cvode, right_hand_side, 0.0, y) || CVodeSStolerances(cvode, rtol, atol) ||
               CVodeSetUserData(cvode, &p) || CVodeSetLinearSolver(cvode, solver, matrix) ||
               (tuned && CVodeSetJacFn(cvode, exact_jacobian)) ||
               CVodeSetMaxNumSteps(cvode, 20000);
#if SUNDIALS_VERSION_MAJOR < 7
    bad = bad || CVodeSetErrHandlerFn(cvode, silent, nullptr);
#endif
    bad = bad || advance(cvode, y, p, count, states, dt, counts);
    CVodeFree(&cvode);
    tuned ? SUNLinSolFreeEmpty(solver) : void(SUNLinSolFree(solver));
    SUNMatDestroy(matrix);
    N_VDestroy(y);
    SUNContext_Free(&context);
    return bad;
}
