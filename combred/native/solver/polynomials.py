"""Polynomials of Gibbs energies and enthalpies in the form of generated code.

Takes the NASA polynomials of a `Mechanism`; gives the coefficients of source/solver/thermo.hpp, and
which rate constants stay within the range of float.
"""

import cantera as ct
import numpy as np

from combred.chemistry.rate_forms import Arrhenius
from combred.native.solver.layout import Layout
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0

# T [K] at which rates are evaluated: that of a state, and of stages a little beyond.
T_RANGE = (50.0, 9000.0)
LARGEST = 95.0  # of a logarithm that needs no bound in float: below LARGEST<float> of rates.hpp


def gibbs_terms(thermo: np.ndarray, reference: float) -> np.ndarray:
    """Coefficients (..., 9) of 1, T, T^2, T^3, T^4, log2(T / T0), 1 / T, 1 / T^2 and
    log2(T / T0) / T of log2 exp(g / RT) - log2(p0 / RT C0); reference: p0 [Pa]."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = np.moveaxis(thermo, -1, 0)
    zero = np.zeros_like(a0)
    powers = [a2 - a8, -a3 / 2, -a4 / 6, -a5 / 12, -a6 / 20, zero, a7 + a1, -a0 / 2, zero]
    found = np.stack(powers, axis=-1) * LOG2_E
    found[..., 0] += (1.0 - a2) * LOG2_T0 - np.log2(reference / ct.gas_constant) + LOG2_C0
    found[..., 5] = 1.0 - a2
    found[..., 6] += a1 * LOG2_T0
    found[..., 8] = a1
    return found


def heat_terms(thermo: np.ndarray) -> np.ndarray:
    """Coefficients (..., 8) of h / R: of T, T^2, ..., T^5, 1, -1 / T and log2(T / T0)."""
    a0, a1, a2, a3, a4, a5, a6, a7, _ = np.moveaxis(thermo, -1, 0)
    powers = [a2, a3 / 2, a4 / 3, a5 / 4, a6 / 5, a7 + a1 * LOG2_T0 / LOG2_E, a0, a1 / LOG2_E]
    return np.stack(powers, axis=-1)


def within_float(layout: Layout) -> list[tuple[bool, bool]]:
    """Of each reaction whether log2 of the forward and of the reverse rate constant stay below
    `LARGEST` at any T, as far as it is known."""
    mechanism = layout.mechanism
    T = 1.0 / np.linspace(1.0 / T_RANGE[1], 1.0 / T_RANGE[0], 400)
    ln = np.log2(T) - LOG2_T0
    powers = np.array([T**0, T, T**2, T**3, T**4, ln, 1.0 / T, 1.0 / T**2, ln / T])
    terms = gibbs_terms(mechanism.thermo[layout.species], mechanism.reference_pressure)
    region = (T > mechanism.T_breaks[layout.species][:, :, None]).sum(axis=1)  # (species, T)
    own = np.arange(len(terms))[:, None]
    gibbs = np.einsum("ktj,jt->kt", terms[own, region], powers)
    found = []
    for term in layout.terms:
        rate, forward = term.reaction.rate, np.array(np.inf)
        if isinstance(rate, Arrhenius):
            forward = (rate.ln_A - rate.T_a / T) * LOG2_E + rate.b * np.log2(T)
            forward = forward + term.order * LOG2_C0
        reverse = forward + np.sum([nu * gibbs[k] for k, nu in term.net.items()], axis=0)
        found.append((bool(forward.max() < LARGEST), bool(reverse.max() < LARGEST)))
    return found
