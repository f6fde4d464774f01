#!/bin/bash
# Question: what does scipy.optimize.newton report for an array of equations when one of them leaves the domain of the function?
# Expectation (no guess was written): converged is False there, as the scalar call raises RuntimeError.
# What happens: the root is NaN and converged is True. For log(T/300) = 0.1 from [2000, 400] K the answer is [nan, 331.55], converged
#   [True, True], with and without fprime. Without full_output nothing but numpy's RuntimeWarning of the logarithm is seen. The scalar call
#   from 2000 K raises. brentq, in turn, raises for NaN at an end of its bracket only, and steps over NaN inside.
# Version: scipy 1.17.1, numpy 2.4.6.
# Who meets it: who inverts h(T), an equilibrium constant or a Mach number for all cells of a field at once.
# Instead: np.isfinite(root) beside converged; a start on the safe side, or log T as the unknown.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 scipy==1.17.1 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 -W ignore - <<'PYTHON'
import numpy as np
import scipy
from scipy.optimize import brentq, newton

print("scipy", scipy.__version__, "numpy", np.__version__)


def residual(T):
    return np.log(T / 300) - 0.1


def slope(T):
    return 1 / T


for fprime in (None, slope):
    root, converged, flat = newton(residual, np.array([2000.0, 400.0]), fprime=fprime, full_output=True)
    print("secant" if fprime is None else "Newton", "over two cells:", root, "converged", converged)
    assert np.isnan(root[0]) and converged.all() and abs(residual(root[1])) < 1e-8
    try:
        scalar = newton(residual, 2000.0, fprime=fprime)
        print("scalar:", scalar)
        raise SystemExit("the scalar call did not raise")
    except RuntimeError as error:
        print("scalar: RuntimeError", str(error)[:60])
inside = brentq(lambda T: np.nan if 1000 < T < 2000 else T - 500, 1, 3000)
print("brentq over a function that is NaN from 1000 to 2000:", inside)
assert abs(inside - 500) < 1e-6
print("PASS")
PYTHON
