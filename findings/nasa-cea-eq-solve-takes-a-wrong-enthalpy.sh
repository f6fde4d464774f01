#!/bin/bash
# Question: what flame temperature does eq_solve of NASA's new Python package cea give when the reactants are described by T_reac?
# Guess (75 %): that of Cantera within 2 K.
# What happens: hydrogen in air, stoichiometric, 1 bar, 300 K: 5549 K, converged True (Cantera 2380 K). Methane does not converge. eq_solve
#   takes the enthalpy of the reactants in J/kg where the solver expects it divided by the gas constant: with H = h/R the same call
#   gives 2379 K, and with H = h it gives 5549 K. Reactants of an enthalpy near 0 (elements at 298.15 K) hide it.
# Version: cea 3.3.4 (cea.matlab.eq_solve; cea.eq_solve is the same, deprecated), Cantera 3.2.0, numpy 2.4.6.
# Who meets it: who checks flame temperatures or rocket mixtures against CEA from Python or MATLAB.
# Instead: Mixture.calc_property(ENTHALPY, weights, T) / cea.R as H, or EqSolver as in the package's samples.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 cea==3.3.4 cantera==3.2.0 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import cantera
import cea
import cea.matlab
import numpy as np

print("cea", cea.__version__, "cantera", cantera.__version__, "numpy", np.__version__)
gas = cantera.Solution("gri30.yaml")


def flame_temperatures(fuel, T):
    """T from T_reac, from H = h/R and from H = h (all by cea), and by Cantera, K."""
    reactants = [fuel, "O2", "N2"]
    mixture = cea.Mixture(reactants)
    fuel_weights, air_weights = (mixture.moles_to_weights(np.array(moles)) for moles in ([1.0, 0, 0], [0, 1.0, 3.76]))
    ratio = mixture.weight_eq_ratio_to_of_ratio(air_weights, fuel_weights, 1.0)
    weights = mixture.of_ratio_to_weights(air_weights, fuel_weights, ratio)
    h = mixture.calc_property(cea.ENTHALPY, weights, T)
    amounts = dict(P=1.0, fuel_amounts=fuel_weights, oxid_amounts=air_weights, of_ratio=ratio)
    by_T, by_H, by_h = (
        cea.matlab.eq_solve(cea.HP, reactants, **amounts, **energy) for energy in ({"T_reac": [T] * 3}, {"H": h / cea.R}, {"H": h})
    )
    gas.TP = T, 1e5
    gas.set_equivalence_ratio(1, fuel, "O2:1, N2:3.76")
    gas.equilibrate("HP")
    print(f"{fuel}, {T} K: T_reac {by_T.T:.1f} converged {by_T.converged}; H = h/R {by_H.T:.1f}; H = h {by_h.T:.1f}; Cantera {gas.T:.1f} K")
    return by_T, by_H, by_h, gas.T


by_T, by_H, by_h, expected = flame_temperatures("H2", 300.0)
assert by_T.converged and by_T.T > 5000 and abs(by_h.T - by_T.T) < 1 and abs(by_H.T - expected) < 5
by_T, by_H, _, expected = flame_temperatures("CH4", 300.0)
assert not by_T.converged and abs(by_H.T - expected) < 5
print("PASS")
PYTHON
