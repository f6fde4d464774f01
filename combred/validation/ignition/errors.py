"""Errors of ignitions against CVODE: delay, temperatures, peaks of radicals, conservation.

Takes the rollouts of a solver and of CVODE (`combred.simulation.ignition`) of the same cases; gives
plain numbers for validation.json.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.simulation.ignition import Rollout
from combred.validation.ignition.delay import ignition_delay
from combred.validation.metrics import relative_error, summarize

TRACKED = 6  # species whose peaks are compared
FORMED = 1e-12  # mass fraction: of a smaller peak, a relative error has no meaning


def tracked_species(mechanism: Mechanism, references: list) -> list[str]:
    """The `TRACKED` intermediate species with the largest peaks in the references (`Rollout` or
    `Flame`): those whose moles per mass exceed the initial and final ones by most, in the mean of
    the references. Each has a peak above `FORMED` in every one."""
    peaks = [reference.Y.max(axis=0) for reference in references]
    ends = [reference.Y[[0, -1]].max(axis=0) for reference in references]
    excess = np.mean(np.subtract(peaks, ends), axis=0) / mechanism.molecular_weights
    formed = np.min(peaks, axis=0) > FORMED
    order = [k for k in np.argsort(-excess, kind="stable") if formed[k] and excess[k] > 0.0]
    return [mechanism.species_names[k] for k in order[:TRACKED]]


def compare(mechanism: Mechanism, rollouts: list[Rollout], references: list[Rollout]) -> dict:
    """The errors of `rollouts` against CVODE's `references`: of each case ("cases"), and their
    median, mean and worst (`combred.validation.metrics.summarize`).

    delay_error (`combred.validation.ignition.delay`), peak_errors: relative; burnt_T_error [K]: of
    the last state; largest_T_error [K]: after 1.1 ignition delays (the larger of the two), NaN
    where no state is later; equilibrium_T_error [K]: of the last state against Cantera's
    equilibrium at constant enthalpy and pressure; element_drift: largest change of an element's
    mass fraction along the rollout.
    """
    tracked = tracked_species(mechanism, references)
    rows = [
        _case_errors(mechanism, rollout, reference, tracked)
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
        "peak_errors": {
            name: summarize([row["peak_errors"][name] for row in rows]) for name in tracked
        },
    }


def _case_errors(
    mechanism: Mechanism, rollout: Rollout, reference: Rollout, tracked: list[str]
) -> dict:
    """The errors of one case."""
    case = reference.case
    burnt_T = float(reference.T[-1])
    delay = ignition_delay(mechanism, rollout, burnt_T)
    reference_delay = ignition_delay(mechanism, reference, burnt_T)
    late = reference.t > max(np.nan_to_num(delay), reference_delay) * 1.1
    gas = mechanism.solution()
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
        "peak_errors": peak_errors(mechanism, rollout.Y, reference.Y, tracked),
    }


def peak_errors(
    mechanism: Mechanism, Y: np.ndarray, reference: np.ndarray, tracked: list[str]
) -> dict[str, float]:
    """Relative error of the largest mass fraction of each `tracked` species; Y and reference
    (n, n_species), of one rollout or of one flame."""
    columns = {name: mechanism.index(name) for name in tracked}
    return {
        name: relative_error(float(Y[:, k].max()), float(reference[:, k].max()))
        for name, k in columns.items()
    }
