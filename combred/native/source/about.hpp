// The functions of combred.h that tell what the library holds.
#pragma once
#include "combred.h"
#include "identity.hpp"

namespace {

void give(const double *range, double *lowest, double *highest) {
  if (lowest) *lowest = range[0];
  if (highest) *highest = range[1];
}

}  // namespace

extern "C" {

const char *combred_status_text(int status) {
  switch (status) {
    case COMBRED_OK: return "the states were advanced";
    case COMBRED_NULL: return "states, time steps, workspace or what else the function takes are NULL: give their addresses";
    case COMBRED_STRIDE: return "dt_stride has to be 0 (one time step) or 1 (one for each state)";
    case COMBRED_DT: return "a time step is not positive and finite, in s, or is above 1e30 s";
    case COMBRED_OPTIONS:
      return "an option is wrong: tolerance has to be positive and at most 1e30, max_steps not negative, reactor from 0 to 4; "
             "a wall goes with combred_advance_with_sources alone";
    case COMBRED_WORKSPACE: return "the workspace is smaller than combred_workspace_size() bytes";
    case COMBRED_NOT_ADVANCED:
      return "some states are not valid, or were not advanced within max_steps: they are as they were";
    default: return "there is no such status";
  }
}

#ifndef COMBRED_DISPATCH
const char *combred_level(void) { return ""; }
#endif
int combred_interface(void) { return COMBRED_INTERFACE; }
size_t combred_n_species(void) { return identity::SPECIES; }
const char *combred_species_name(size_t k) { return k < identity::SPECIES ? identity::SPECIES_NAMES[k] : nullptr; }
void combred_thermo(size_t k, double *molar_mass, double *cold, double *hot) {
  double *const to[3] = {molar_mass, cold, hot};
  for (int i = 0; i < 3; i++)
    if (to[i]) *to[i] = k < identity::SPECIES ? identity::THERMO[k][i] : __builtin_nan("");
}
const char *combred_mechanism_sha256(void) { return identity::MECHANISM_SHA256; }
const char *combred_digest(void) { return identity::DIGEST; }
const char *combred_card(void) { return identity::CARD; }

void combred_dt_range(double *smallest, double *largest) { give(identity::DT_RANGE, smallest, largest); }
void combred_range(size_t column, double *lowest, double *highest) {
  static const double unknown[2] = {__builtin_nan(""), __builtin_nan("")};
  give(column < identity::VARIABLES ? identity::RANGES[column] : unknown, lowest, highest);
}
void combred_phi_range(double *lowest, double *highest) { give(identity::PHI_RANGE, lowest, highest); }

}  // extern "C"
