#!/bin/bash
# Question: can a right-hand side that is integrated by LSODA call LSODA itself (an inner reactor, a quasi-steady sub-problem)?
# Guess (60 %): yes, since scipy 1.17 has LSODA in C, and objects of LSODA stepped in turns, or in threads, are right (they are).
# What happens: the inner call destroys the outer one. odeint returns 0.99989 for exp(-1) = 0.36788, with an ODEintWarning "Illegal
#   input detected" as the only sign; solve_ivp(method="LSODA") ends at once with status -1 and "Unexpected istate". With BDF
#   outside and LSODA inside the answer is right.
# Version: scipy 1.17.1, numpy 2.4.6.
# Who meets it: who nests reactors, or computes a heat loss or a wall temperature by an inner integration; odeint is LSODA.
# Instead: BDF or Radau outside (or inside); look at odeint's full_output, or turn ODEintWarning into an error.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 scipy==1.17.1 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import warnings

import numpy as np
import scipy
from scipy.integrate import LSODA, odeint, solve_ivp

print("scipy", scipy.__version__, "numpy", np.__version__)
exact = np.exp(-1)


def relaxed(y, method):
    """The end of a fast relaxation towards y."""
    if method == "odeint":
        return odeint(lambda z, t: -1000 * (z - y), [0.0], [0, 1], rtol=1e-8, atol=1e-10)[-1]
    return solve_ivp(lambda t, z: -1000 * (z - y), (0, 1), [0.0], method=method, rtol=1e-8, atol=1e-10).y[:, -1]


with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    by_odeint = odeint(lambda y, t: -relaxed(y[0], "odeint"), [1.0], [0, 1])[-1, 0]
print("odeint in odeint:", by_odeint, "exact", exact, "| warning:", [str(w.message)[:30] for w in seen])
assert abs(by_odeint / exact - 1) > 0.5

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    nested = solve_ivp(lambda t, y: -relaxed(y[0], "LSODA"), (0, 1), [1.0], method="LSODA")
print("LSODA in LSODA: status", nested.status, nested.message, "y", nested.y[0, -1])
assert nested.status == -1

mixed = solve_ivp(lambda t, y: -relaxed(y[0], "LSODA"), (0, 1), [1.0], method="BDF", rtol=1e-6).y[0, -1]
print("LSODA in BDF:", mixed)
assert abs(mixed / exact - 1) < 1e-4

solvers = [LSODA(lambda t, y, k=k: -k * y, 0, [1.0], 1, rtol=1e-8, atol=1e-12) for k in (1, 10)]
while any(solver.status == "running" for solver in solvers):
    for solver in solvers:
        if solver.status == "running":
            solver.step()
print("two LSODA objects in turns:", [solver.y[0] for solver in solvers])
assert np.allclose([solver.y[0] for solver in solvers], np.exp([-1, -10]), rtol=1e-5)
print("PASS")
PYTHON
