/* The C interface of a library that combred has compiled: a stiff solver of a mechanism, or a surrogate:
   a network that goes before the solver.

   All quantities are in SI units: T [K], p [Pa], mass fractions Y, dt [s]. A state is a row of doubles,
   [T, p, Y], Y in the order of combred_species_name. No function allocates memory, starts a thread, or
   writes to a file. Threads may call at the same time: give each its own rows of the states, and its own
   workspace. Compiled with -fopenmp, a call has OpenMP's threads instead, as many as the workspace has
   room for; the results are the same.

   A thousand states with equal parts of all species, a microsecond later (cc -I FOLDER example.c -L FOLDER
   -Wl,-rpath,FOLDER -lsolver; coupling/flame.c of combred is a flame):

       #include <stdlib.h>
       #include <combred.h>
       int main(void) {
         const size_t n = 1000, columns = 2 + combred_n_species(), bytes = combred_workspace_size();
         double *states = calloc(n * columns, sizeof(double)), dt = 1e-6;
         void *workspace = malloc(bytes);
         for (size_t i = 0; i < n; i++) {
           double *state = states + i * columns;
           state[0] = 1500.0;
           state[1] = 101325.0;
           for (size_t k = 0; k + 2 < columns; k++) state[2 + k] = 1.0 / (columns - 2);
         }
         return combred_advance(n, states, &dt, 0, NULL, NULL, workspace, bytes) != COMBRED_OK;
       } */
#ifndef COMBRED_H
#define COMBRED_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#define COMBRED_PUBLIC __attribute__((visibility("default")))
#else
#define COMBRED_PUBLIC
#endif

#define COMBRED_INTERFACE 10 /* changes with what is declared below */

enum combred_status {
  COMBRED_OK = 0,
  COMBRED_NULL = 1,      /* a pointer that has to be given is NULL */
  COMBRED_STRIDE = 2,    /* dt_stride is neither 0 nor 1 */
  COMBRED_DT = 3,        /* a time step is not positive, or above 1e30 s */
  COMBRED_OPTIONS = 4,   /* the tolerance is not positive or above 1e30, max_steps is negative, or there
                            is no such reactor */
  COMBRED_WORKSPACE = 5, /* the workspace is too small */
  COMBRED_NOT_ADVANCED = 6 /* some states are as they were: not valid, or not advanced within max_steps;
                              the others are advanced */
};

enum combred_reactor {
  COMBRED_CONSTANT_PRESSURE = 0,        /* and enthalpy */
  COMBRED_CONSTANT_VOLUME = 1,          /* density and internal energy; p is the new one at the end */
  COMBRED_CONSTANT_DENSITY_ENTHALPY = 2, /* as low-Mach flow solvers hold both; p as before */
  COMBRED_ISOTHERMAL_PRESSURE = 3,       /* T is constant, and p: by the solver alone */
  COMBRED_ISOTHERMAL_VOLUME = 4          /* T is constant, and the density; p is the new one at the end */
};

/* All have to be set: a tolerance of 0 is an error. */
typedef struct {
  double tolerance;  /* bound of the error estimate of every step, relative to the change of a state over
                        its step: 0.001 of a solver, 0.01 of a surrogate. The solver takes .3 at most */
  int64_t max_steps; /* largest number of the solver's steps of a state; 0: 5000. It tries a state in
                        floats first, and may then take as many steps in doubles */
  int64_t reactor;   /* of combred_reactor; adiabatic but for the last two */
  const double *wall; /* (n, 2) of combred_advance_with_sources, NULL elsewhere and where there is none: rows
                         [U, T_wall] of a wall that takes U (T - T_wall) [W/m3] from the gas; U [W/(m3 K)] is
                         the heat transfer coefficient times the area of the wall over the volume */
} combred_options;

/* What a call did; the caller sets the pointers. */
typedef struct {
  double *error; /* (n), NULL allowed: the error ratio of each state, the largest error estimate of its
                    steps divided by the tolerance, at most 1; infinite for a state that is as it was */
  int64_t *steps; /* (n), NULL allowed: how many steps the solver tried for each state; 0 where the
                     network's was taken, and of states that are not valid */
  size_t not_advanced; /* set: the number of states that are as they were */
} combred_report;

/* Advances n states over dt in a reactor of the options, in place. The network of a surrogate takes one step
   of a state, at constant pressure; where its error estimate exceeds the tolerance, and for dt outside
   the range of its training, the solver advances the state.

   states (n, 2 + n_species): rows [T, p, Y], at any alignment. dt: one time step for all
   (dt_stride 0), or one for each state (dt_stride 1). options: NULL for the defaults. report: NULL
   allowed. workspace: at least combred_workspace_size() bytes, at any alignment and with any content. Keep it
   for the same states: a call of as many states as the last one begins with those that took most steps then
   (of the last 4096), which saves time and changes no result. With OpenMP, as many bytes for each thread.

   A state is valid if it is finite, T from 100 to 6000 K, p above 0 and below 1e30 Pa, no Y below -1e-6, and sum Y within
   1e-3 of 1; negative Y are then set to 0, and Y divided by their sum. A state that is not valid, has
   not reached dt within max_steps, or would end out of these T, is left as it was, bit for bit: the call
   then returns COMBRED_NOT_ADVANCED, and the report tells how many, and which by an infinite error. All
   other states are advanced. With COMBRED_OK all are; with another status nothing is changed.
   Floating-point traps, flags and the rounding mode are those of the caller again on return. A call takes
   up to 10 kB of stack and .7 kB for each species, 80 kB at 100 species: some threads have little more (musl: 128 kB). */
COMBRED_PUBLIC int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride,
                                   const combred_options *options, combred_report *report,
                                   void *workspace, size_t workspace_size);

/* As combred_advance by the solver alone, with sources that are constant over dt: of transport, of a gas that
   flows in, of a piston, of a heated wall. sources (n, 2 + n_species): rows [Q, r, S], in the order of a state:

       dY_k/dt = w_k / rho + S_k - s Y_k       s = sum_k S_k
       dh/dt   = Q - s h + r / rho             dp/dt = r

   S_k [1/s] is the mass of species k that comes to a unit of mass of the gas in unit time, less than zero where
   it leaves; Q [W/kg] is the energy that comes; h [J/kg] is that of combred_enthalpy. Sources of transport have
   s = 0. Gas of h0 and Y0 that flows into a stirred reactor of the residence time tau, or with which particles
   mix: Q = h0 / tau, S_k = Y0_k / tau. At constant volume u stands for h, the density rho for p, and
   p r / rho^2 for r / rho; at constant density and enthalpy rho for p, and 0 for r / rho. Elements and energy
   are those of the sources to rounding, but for the work of r and for heat lost to a wall of
   the options. In an isothermal reactor Q is dT/dt [K/s]: there is no
   balance of energy, T is a given function of time.

       const double of[] = {h0 / tau, 0.0, ...};  and Y0[k] / tau in of[2 + k]
       combred_advance_with_sources(1, state, &dt, 0, of, NULL, NULL, workspace, bytes);

   A species of which S takes more than there is stays at 0. A state whose sources are not finite, or which take
   more of an element than there is, is left as it was. */
COMBRED_PUBLIC int combred_advance_with_sources(size_t n, double *states, const double *dt, size_t dt_stride,
                                                const double *sources, const combred_options *options,
                                                combred_report *report, void *workspace, size_t workspace_size);

/* As combred_advance by the solver alone, but a state ends after the step in which its temperature passes T
   (n) [K] from below: seconds (n) is when it does, infinite where it does not within dt, 0 where it is above T
   before. Ignition delays of many states in one call, without a network; infinite in an isothermal reactor. */
COMBRED_PUBLIC int combred_time_to(size_t n, double *states, const double *dt, size_t dt_stride,
                                   const double *T, double *seconds, const combred_options *options,
                                   combred_report *report, void *workspace, size_t workspace_size);

/* Net production rates dY/dt and destruction rates [1/s] of n states, (n, n_species) each; for
   tests. states, workspace: as above. */
COMBRED_PUBLIC int combred_rates(size_t n, const double *states, double *net, double *destruction,
                                 void *workspace, size_t workspace_size);

/* d(dT/dt, dY/dt) / d(T, Y) of one state [T, p, Y], (1 + n_species, 1 + n_species), each Y by itself,
   for a reactor of combred_reactor. */
COMBRED_PUBLIC int combred_jacobian(const double *state, int reactor, double *jacobian,
                                    void *workspace, size_t workspace_size);

/* Chemical time scales [s] (n) of n states as turbulent combustion models have them (PaSR, EDC):
   n_reactions C / sum_i q_i sum_k nu_ik, with C the concentration of the gas, q_i the forward rate of
   progress of reaction i, nu_ik the moles of species k that it forms; at most 1e30 s; NaN of a state that
   is not valid. */
COMBRED_PUBLIC int combred_time_scale(size_t n, const double *states, double *seconds,
                                      void *workspace, size_t workspace_size);

/* Specific enthalpies h [J/kg] (n) of n states, and T of n states from them, in place, starting from T of
   each: for programs without thermodynamics of their own. States that have no T from 100 to 6000 K keep
   theirs, and the call returns COMBRED_NOT_ADVANCED. */
COMBRED_PUBLIC int combred_enthalpy(size_t n, const double *states, double *h);
COMBRED_PUBLIC int combred_temperature(size_t n, double *states, const double *h);

/* A sentence in English about a status. */
COMBRED_PUBLIC const char *combred_status_text(int status);

COMBRED_PUBLIC int combred_interface(void);         /* COMBRED_INTERFACE of the library */
COMBRED_PUBLIC size_t combred_workspace_size(void); /* bytes */
COMBRED_PUBLIC const char *combred_level(void);     /* "x86-64-v3", "" if compiled for one CPU */

/* What the library holds. Text is UTF-8, and "" where it was exported without it. */
COMBRED_PUBLIC size_t combred_n_species(void);
COMBRED_PUBLIC const char *combred_species_name(size_t k); /* NULL where there is none */
/* Molar mass [kg/kmol] and enthalpy [J/kg] at 298.15 and 1500 K of species k, for a flow code to compare
   with its own; NULL allowed. */
COMBRED_PUBLIC void combred_thermo(size_t k, double *molar_mass, double *cold, double *hot);
COMBRED_PUBLIC const char *combred_mechanism_sha256(void);
COMBRED_PUBLIC const char *combred_digest(void); /* SHA-256 of network, transforms and mechanism */
COMBRED_PUBLIC const char *combred_card(void);   /* JSON: docs/files.md of combred has its keys */

/* Ranges of the training of a network; NULL allowed. Other states are advanced, too. dt [s] of a step;
   column of a state: 0 T [K], 1 p [Pa], 2 + k the mass fraction of species k; the equivalence ratio
   phi. NaN where the range is not known. */
COMBRED_PUBLIC void combred_dt_range(double *smallest, double *largest);
COMBRED_PUBLIC void combred_range(size_t column, double *lowest, double *highest);
COMBRED_PUBLIC void combred_phi_range(double *lowest, double *highest);

#ifdef __cplusplus
}
#endif
#endif
