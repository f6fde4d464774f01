#!/bin/bash
# Question: what does a casadi interpolant give outside of its grid?
# Guess (75 %): "linear" extrapolates from the last interval, without a warning. None was written for "bspline"; the same was expected.
# What happens: "linear" does, "bspline" gives exactly 0, with the derivative 0: cp of 1211 J/kg/K at 1500 K is 0 at 1500.001 K.
#   There is no warning and no option that refuses.
# Version: casadi 3.8.2, numpy 2.4.6.
# Who meets it: who tabulates cp(T), a viscosity or a flamelet for an optimisation (splines are chosen there for smooth derivatives):
#   a density or a heat capacity of 0 appears as soon as the optimiser tries a temperature above the table.
# Instead: clip the argument, fmin(fmax(T, T_low), T_high), before the table, or append rows to the table.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 casadi==3.8.2 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - 2>"$folder/stderr" <<'PYTHON'
import casadi

print("casadi", casadi.__version__)
T_grid, cp_grid = [300, 600, 900, 1200, 1500], [1005, 1051, 1121, 1175, 1211]  # air, J/kg/K
T = casadi.MX.sym("T")
tables = {kind: casadi.interpolant("cp", kind, [T_grid], cp_grid) for kind in ("linear", "bspline")}
for kind, table in tables.items():
    print(kind, {temperature: round(float(table(temperature)), 2) for temperature in (200, 300, 1500, 1500.001, 1600)})
slope = casadi.Function("slope", [T], [casadi.gradient(tables["bspline"](T), T)])
assert abs(float(tables["bspline"](1500)) - 1211) < 1e-6 and abs(float(tables["linear"](1600)) - 1223) < 1e-6
assert float(tables["bspline"](1500.001)) == 0 and float(tables["bspline"](200)) == 0 and float(slope(1600)) == 0
print("PASS")
PYTHON
