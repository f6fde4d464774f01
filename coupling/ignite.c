/* One ignition of methane and air by the C interface, from C99.

       cc -I FOLDER coupling/ignite.c -L FOLDER -Wl,-rpath,FOLDER -lsolver -o ignite

   FOLDER: with combred.h and libsolver.so, or libsurrogate.so and -lsurrogate. Prints time [s] and
   T [K]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combred.h"

static void set(double *state, const char *name, double Y) {
  for (size_t k = 0; k < combred_n_species(); k++)
    if (strcmp(combred_species_name(k), name) == 0) state[2 + k] = Y;
}

int main(void) {
  const size_t columns = 2 + combred_n_species(), bytes = combred_workspace_size();
  const double dt = 1e-6; /* s */
  double *state = calloc(columns, sizeof(double));
  void *workspace = malloc(bytes);
  if (!state || !workspace || combred_interface() != COMBRED_INTERFACE) return 1;
  state[0] = 1700.0;   /* T [K] */
  state[1] = 101325.0; /* p [Pa] */
  set(state, "CH4", 0.0552);
  set(state, "O2", 0.2202);
  set(state, "N2", 0.7246);
  for (int step = 1; step <= 400; step++) {
    const int status = combred_advance(1, state, &dt, 0, NULL, NULL, workspace, bytes);
    if (status != COMBRED_OK) {
      fprintf(stderr, "%s\n", combred_status_text(status));
      return 1;
    }
    printf("%g %.6g\n", step * dt, state[0]);
  }
  free(state);
  free(workspace);
  return 0;
}
