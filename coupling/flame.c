/* A premixed flame of methane and air, planar and freely propagating, in C99 over combred.h:

       cc -O2 -I FOLDER coupling/flame.c -L FOLDER -Wl,-rpath,FOLDER -lsolver -lm -o flame
       ./flame

   FOLDER: with combred.h and libsolver.so of a mechanism with CH4, O2 and N2 (or libsurrogate.so and
   -lsurrogate). In the mass coordinate m = integral rho dx, at constant pressure and with unit Lewis
   numbers,

       dY/dt = d/dm (g dY/dm) + chemistry       dh/dt = d/dm (g dh/dm)       g = rho lambda / cp,

   there is no convection. Finite volumes of equal mass, Euler's method for diffusion, then a call of the
   library. The cells follow the flame: as it moves by one, a fresh cell enters and a burnt one leaves.
   Prints t [s], the speed [m/s] by which the fuel is consumed, and the largest T [K]; then the mean speed
   of the second half, and the time of the chemistry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "combred.h"

enum { CELLS = 240, FRONT = 120, STEPS = 4000, SHOWN = 500 };
static const double R = 8314.46261815324; /* J/(kmol K) */
static const double p = 101325.0, T_fresh = 300.0, mass = 6e-6 /* of a cell, kg/m2 */, dt = 5e-7;

static size_t columns, bytes;
static void *workspace;

static void require(int status) {
  if (status == COMBRED_OK) return;
  fprintf(stderr, "%s\n", combred_status_text(status));
  exit(1);
}

static void *allocate(size_t count) {
  void *memory = calloc(count, sizeof(double));
  if (!memory) exit(1);
  return memory;
}

/* The column of a species. */
static size_t column_of(const char *name) {
  for (size_t k = 0; k + 2 < columns; k++)
    if (strcmp(combred_species_name(k), name) == 0) return 2 + k;
  fprintf(stderr, "the library has no %s\n", name);
  exit(1);
}

static double density(const double *state) {
  double moles = 0.0, molar_mass;
  for (size_t k = 0; k + 2 < columns; k++) {
    combred_thermo(k, &molar_mass, NULL, NULL);
    moles += state[2 + k] / molar_mass;
  }
  return state[1] / (R * state[0] * moles);
}

/* rho lambda / cp [kg2/(m4 s)], with lambda / cp of Smooke & Giovangigli, Lecture Notes in Physics 384
   (1991), chapter 1. */
static double diffusivity(const double *state) {
  return density(state) * 2.58e-5 * pow(state[0] / 298.0, 0.7);
}

/* Advances a state by ten milliseconds, and again at the enthalpy h: burnt gas. */
static void burn(double *state, double h) {
  const double long_dt = 0.01;
  state[0] = 1800.0;
  require(combred_advance(1, state, &long_dt, 0, NULL, NULL, workspace, bytes));
  require(combred_temperature(1, state, &h));
  require(combred_advance(1, state, &long_dt, 0, NULL, NULL, workspace, bytes));
}

/* Diffusion of Y and h over dt, with closed ends; T follows. Row i of `flux` is that of the face behind
   cell i. */
static void diffuse(double *states, double *h, double *g, double *flux) {
  for (size_t i = 0; i < CELLS; i++) g[i] = diffusivity(states + i * columns);
  require(combred_enthalpy(CELLS, states, h));
  for (size_t i = 0; i < CELLS; i++) states[i * columns] = h[i]; /* transported as Y are */
  for (size_t i = 0; i + 1 < CELLS; i++)
    for (size_t c = 0; c < columns; c++) {
      const double *at = states + i * columns + c;
      flux[i * columns + c] = 0.5 * (g[i] + g[i + 1]) * (at[columns] - at[0]) / mass;
    }
  for (size_t i = 0; i < CELLS; i++)
    for (size_t c = 0; c < columns; c++) {
      const double in = i + 1 < CELLS ? flux[i * columns + c] : 0.0;
      const double out = i > 0 ? flux[(i - 1) * columns + c] : 0.0;
      states[i * columns + c] += dt / mass * (in - out);
    }
  for (size_t i = 0; i < CELLS; i++) {
    h[i] = states[i * columns];
    states[i * columns] = 1000.0; /* a first guess */
    states[i * columns + 1] = p;
  }
  require(combred_temperature(CELLS, states, h));
}

int main(void) {
  columns = 2 + combred_n_species();
  bytes = combred_workspace_size();
  workspace = malloc(bytes);
  if (!workspace || combred_interface() != COMBRED_INTERFACE) return 1;
  double *states = allocate(CELLS * columns), *flux = allocate(CELLS * columns);
  double *h = allocate(CELLS), *g = allocate(CELLS);
  double *fresh = allocate(columns), *burnt = allocate(columns), h_fresh;
  const size_t fuel = column_of("CH4");
  fresh[0] = T_fresh;
  fresh[1] = p;
  fresh[fuel] = 0.0552; /* stoichiometric */
  fresh[column_of("O2")] = 0.2202;
  fresh[column_of("N2")] = 0.7246;
  require(combred_enthalpy(1, fresh, &h_fresh));
  memcpy(burnt, fresh, columns * sizeof(double));
  burn(burnt, h_fresh);
  for (size_t i = 0; i < CELLS; i++)
    memcpy(states + i * columns, i < FRONT ? fresh : burnt, columns * sizeof(double));

  double sum = 0.0, seconds = 0.0, highest = 0.0;
  for (int step = 1; step <= STEPS; step++) {
    diffuse(states, h, g, flux);
    double consumed = 0.0;
    for (size_t i = 0; i < CELLS; i++) consumed += states[i * columns + fuel];
    const clock_t begun = clock();
    require(combred_advance(CELLS, states, &dt, 0, NULL, NULL, workspace, bytes));
    seconds += (double)(clock() - begun) / CLOCKS_PER_SEC;
    highest = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
      consumed -= states[i * columns + fuel];
      highest = fmax(highest, states[i * columns]);
    }
    const double speed = consumed * mass / (dt * density(fresh) * fresh[fuel]);
    if (step > STEPS / 2) sum += speed;
    if (step % SHOWN == 0) printf("%g %.4f %.1f\n", step * dt, speed, highest);
    if (states[(FRONT - 1) * columns] > 0.5 * (T_fresh + burnt[0])) {
      memmove(states + columns, states, (CELLS - 1) * columns * sizeof(double));
      memcpy(states, fresh, columns * sizeof(double));
    }
  }
  printf("# speed %.5f m/s, chemistry %.2f us a cell and step\n", sum / (STEPS - STEPS / 2),
         1e6 * seconds / CELLS / STEPS);
  free(states), free(flux), free(h), free(g), free(fresh), free(burnt), free(workspace);
  return 0;
}
