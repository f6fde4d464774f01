"""Relative error, the summary of errors, and the peaks of intermediate species in flames.

Peaks of ignitions are not compared: in steps of dt they depend on where the steps lie, for CVODE as
for a network.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism

TRACKED = 6  # species whose peaks are compared
FORMED = 1e-12  # mass fraction: of a smaller peak, a relative error has no meaning


def relative_error(value: float, reference: float) -> float:
    """|value - reference| / |reference|; NaN where an argument is NaN."""
    return abs(value - reference) / abs(reference)


def summarize(errors: list[float]) -> dict[str, float]:
    """Median, mean and worst (largest) of `errors`; NaN, a failed case, counts as infinite."""
    e = np.where(np.isfinite(errors), errors, np.inf)
    return {"median": float(np.median(e)), "mean": float(np.mean(e)), "worst": float(np.max(e))}


def worst(errors: list[float]) -> int:
    """Index of the largest of `errors`; NaN, a failed case, counts as infinite."""
    return int(np.argmax(np.where(np.isfinite(errors), errors, np.inf)))


def tracked_species(mechanism: Mechanism, references: list) -> list[str]:
    """The `TRACKED` intermediate species with the largest peaks in the references, each with
    mass fractions `Y`: those whose moles per mass exceed the initial and final ones by most, in the
    mean of the references. Each has a peak above `FORMED` in every one."""
    peaks = [reference.Y.max(axis=0) for reference in references]
    ends = [reference.Y[[0, -1]].max(axis=0) for reference in references]
    excess = np.mean(np.subtract(peaks, ends), axis=0) / mechanism.molecular_weights
    formed = np.min(peaks, axis=0) > FORMED
    order = [k for k in np.argsort(-excess, kind="stable") if formed[k] and excess[k] > 0.0]
    return [mechanism.species_names[k] for k in order[:TRACKED]]


def peak_errors(
    mechanism: Mechanism, Y: np.ndarray, reference: np.ndarray, tracked: list[str]
) -> dict[str, float]:
    """Relative error of the largest mass fraction of each `tracked` species; Y and reference
    (n, n_species), of one flame."""
    columns = {name: mechanism.index(name) for name in tracked}
    return {
        name: relative_error(float(Y[:, k].max()), float(reference[:, k].max()))
        for name, k in columns.items()
    }
