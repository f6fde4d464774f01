#!/bin/bash
# Question: what does CoolProp do with a mixture whose mole fractions sum to 0.9, such as burnt gas with the minor species left out?
# Guess (55 %): it raises; else it normalises, as Cantera does.
# What happens: neither. PropsSI goes on with the sum 0.9: density and molar mass of N2[0.7]&O2[0.2] at 300 K are 10 % low, without a
#   warning; the low-level AbstractState.set_mole_fractions is the same. Only a single fraction outside 0 to 1 is refused.
# Version: CoolProp 8.0.0, Cantera 3.2.0 (for comparison), numpy 2.4.6.
# Who meets it: who passes the major species of a flame to CoolProp for densities, sound speeds or transport.
# Instead: divide by the sum first.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 CoolProp==8.0.0 cantera==3.2.0 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import cantera
import CoolProp
from CoolProp.CoolProp import AbstractState, PropsSI

print("CoolProp", CoolProp.__version__, "cantera", cantera.__version__)
T, P = 300, 101325


def density(nitrogen, oxygen):
    return PropsSI("D", "T", T, "P", P, f"Nitrogen[{nitrogen}]&Oxygen[{oxygen}]")


gas = cantera.Solution("air.yaml")
gas.TPX = T, P, "N2:0.7, O2:0.2"
state = AbstractState("HEOS", "Nitrogen&Oxygen")
state.set_mole_fractions([0.7, 0.2])
state.update(CoolProp.PT_INPUTS, P, T)
print("density of 0.7 N2 + 0.2 O2: PropsSI", density(0.7, 0.2), "AbstractState", state.rhomass())
print("normalised: CoolProp", density(0.7 / 0.9, 0.2 / 0.9), "Cantera", gas.density)
assert abs(density(0.7, 0.2) / gas.density - 0.9) < 2e-3 and abs(state.rhomass() / gas.density - 0.9) < 2e-3
assert abs(density(0.7 / 0.9, 0.2 / 0.9) / gas.density - 1) < 1e-3
try:
    density(1.4, 0.4)
    raise SystemExit("a fraction above 1 was accepted")
except ValueError as error:
    print("fractions 1.4 and 0.4:", str(error)[:70])
print("PASS")
PYTHON
