#!/bin/bash
# Question: which quantities of cantera.with_units.Solution carry units?
# Guess (85 % for the viscosity, 40 % for the rates): thermodynamics and transport do, kinetics does not.
# What happens: only thermodynamics does. Viscosity, thermal conductivity, diffusion coefficients, rate constants, production rates and
#   heat_release_rate are plain numbers in SI with kmol. SolutionArray and the reactors refuse the object with a TypeError.
# Version: Cantera 3.2.0, pint 0.25.3, numpy 2.4.6.
# Who meets it: who relies on pint to catch a wrong unit: density / viscosity comes out as kg/m3, net_production_rates times
#   molecular_weights as kg/kmol.
# Instead: multiply by units at the call (gas.viscosity * units("Pa s")), or plain Cantera and units at the ends.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 cantera==3.2.0 pint==0.25.3 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 -W ignore - <<'PYTHON'
import cantera
import cantera.with_units
import numpy as np
import pint

print("cantera", cantera.__version__, "pint", pint.__version__, "numpy", np.__version__)
units = cantera.with_units.units
gas = cantera.with_units.Solution("h2o2.yaml")
gas.TPX = units.Quantity(1000, "K"), units.Quantity(1, "atm"), "H2:2, O2:1"


def has_units(name):
    return isinstance(getattr(gas, name), pint.Quantity)


with_units = ("T", "P", "density", "cp", "concentrations", "partial_molar_cp", "molecular_weights", "sound_speed")
bare = ("viscosity", "thermal_conductivity", "mix_diff_coeffs", "forward_rate_constants", "net_production_rates", "heat_release_rate")
print("with units:", [name for name in with_units + bare if has_units(name)])
print("plain numbers:", [name for name in with_units + bare if not has_units(name)])
assert all(map(has_units, with_units)) and not any(map(has_units, bare))
print("density / viscosity:", (gas.density / gas.viscosity).units)
assert (gas.density / gas.viscosity).units == units("kg/m**3").units
for kind in (lambda: cantera.IdealGasReactor(gas), lambda: cantera.SolutionArray(gas, 2)):
    try:
        kind()
        raise SystemExit("the object was accepted")
    except TypeError as error:
        print("TypeError", str(error)[:80])
print("PASS")
PYTHON
