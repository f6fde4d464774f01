"""Errors of ignitions against CVODE: delay, temperatures, conservation.

Takes the rollouts of a solver and of CVODE (`combred.experiments.ignition.rollout`) of the same
cases; gives plain numbers for validation.json.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.metrics import relative_error, summarize


def compare(mechanism: Mechanism, rollouts: list[Rollout], references: list[Rollout]) -> dict:
    """The errors of `rollouts` against CVODE's `references`: of each case ("cases"), and their
    median, mean and worst (`combred.experiments.metrics.summarize`).

    delay_error (`combred.experiments.ignition.delay`): relative; burnt_T_error [K]: of the last
    state; largest_T_error [K]: after 1.1 ignition delays (the larger of the two), NaN
    where no state is later; equilibrium_T_error [K]: of the last state against Cantera's
    equilibrium at constant enthalpy and pressure; element_drift: largest change of an element's
    mass fraction along the rollout.
    """
    rows = [
        _case_errors(mechanism, rollout, reference)
        for rollout, reference in zip(rollouts, references, strict=True)
    ]
    delays = [row["delay_error"] for row in rows]
    worst = int(np.argmax(np.where(np.isfinite(delays), delays, np.inf)))
    return {
        "cases": rows,
        "all_ignite": all(row["ignited"] for row in rows),
        "delay_error": summarize(delays),
        "worst_case": rows[worst]["case"],
        "burnt_T_error": summarize([row["burnt_T_error"] for row in rows]),
    }


def _case_errors(mechanism: Mechanism, rollout: Rollout, reference: Rollout) -> dict:
    """The errors of one case."""
    case = reference.case
    burnt_T = float(reference.T[-1])
    delay = ignition_delay(mechanism, rollout, burnt_T)
    reference_delay = ignition_delay(mechanism, reference, burnt_T)
    late = reference.t > max(np.nan_to_num(delay), reference_delay) * 1.1
    gas = mechanism.solution(transport=False)
    gas.TPY = case.T0, case.p, reference.Y[0]
    gas.equilibrate("HP")
    elements = (rollout.Y - rollout.Y[0]) @ mechanism.elements.T
    T_errors = np.abs(rollout.T - reference.T)
    return {
        "case": str(case),
        "T0": case.T0,
        "p": case.p,
        "phi": case.phi,
        "steps": len(reference.t) - 1,
        "ignited": bool(np.isfinite(delay)),
        "delay": delay,
        "reference_delay": reference_delay,
        "delay_error": relative_error(delay, reference_delay),
        "burnt_T_error": float(T_errors[-1]),
        "largest_T_error": float(np.max(T_errors[late])) if late.any() else np.nan,
        "equilibrium_T_error": abs(float(rollout.T[-1] - gas.T)),
        "element_drift": float(np.max(np.abs(elements))),
    }
