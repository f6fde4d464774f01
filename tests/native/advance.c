/* Advances states by the C interface, for the tests on ARM and of sanitizers: `advance file`.

   file: doubles, n, then n states, row after row, then dt [s]. Overwritten with the states, the
   errors and the numbers of steps, as doubles. */
#include <stdio.h>
#include <stdlib.h>

#include "combred.h"

int main(int count, char **words) {
  FILE *file = count > 1 ? fopen(words[1], "r+b") : NULL;
  double rows, dt;
  if (!file || combred_check() != COMBRED_OK || fread(&rows, 8, 1, file) != 1) return 1;
  const size_t n = (size_t)rows, size = n * (2 + combred_n_species());
  const size_t bytes = combred_workspace_size();
  double *states = malloc(8 * size), *error = malloc(8 * n);
  int64_t *evaluations = malloc(8 * n);
  void *workspace = malloc(bytes);
  if (!states || !error || !evaluations || !workspace) return 1;
  if (fread(states, 8, size, file) != size || fread(&dt, 8, 1, file) != 1) return 1;
  if (combred_advance(n, states, &dt, 0, NULL, error, evaluations, workspace, bytes)) return 1;
  rewind(file);
  fwrite(states, 8, size, file);
  fwrite(error, 8, n, file);
  for (size_t i = 0; i < n; i++) {
    const double steps = (double)evaluations[i];
    fwrite(&steps, 8, 1, file);
  }
  free(states), free(error), free(evaluations), free(workspace);
  return fclose(file);
}
