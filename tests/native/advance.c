/* Advances states by the C interface, for the tests on ARM and of sanitizers: `advance file`.

   file: doubles, n, then n states, row after row, then dt [s] and the tolerance, 0 for the default.
   Overwritten with the states, the errors and the numbers of steps, as doubles. */
#include <stdio.h>
#include <stdlib.h>

#include "combred.h"

int main(int count, char **words) {
  FILE *file = count > 1 ? fopen(words[1], "r+b") : NULL;
  double rows, last[2];
  if (!file || fread(&rows, 8, 1, file) != 1) return 1;
  const size_t n = (size_t)rows, size = n * (2 + combred_n_species());
  const size_t bytes = combred_workspace_size();
  double *states = malloc(8 * size), *error = malloc(8 * n);
  int64_t *steps = malloc(8 * n);
  void *workspace = malloc(bytes);
  if (!states || !error || !steps || !workspace) return 1;
  if (fread(states, 8, size, file) != size || fread(last, 8, 2, file) != 2) return 1;
  const combred_options options = {last[1], 0, COMBRED_CONSTANT_PRESSURE, NULL};
  combred_report report = {error, steps, 0};
  const int status = combred_advance(n, states, last, 0, last[1] > 0 ? &options : NULL, &report,
                                     workspace, bytes);
  size_t lost = 0;
  for (size_t i = 0; i < n; i++) lost += error[i] > 1.0;
  if (status != (lost ? COMBRED_NOT_ADVANCED : COMBRED_OK) || report.not_advanced != lost) return 1;
  rewind(file);
  fwrite(states, 8, size, file);
  fwrite(error, 8, n, file);
  for (size_t i = 0; i < n; i++) {
    const double tried = (double)steps[i];
    fwrite(&tried, 8, 1, file);
  }
  free(states), free(error), free(steps), free(workspace);
  return fclose(file);
}
