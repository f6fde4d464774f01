"""Errors of a stirred reactor against a reference: mean temperature and mass fractions in
time.

Takes two runs of the same case (`combred.experiments.stirred.reactor`); gives plain numbers for
validation.json.
"""

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.config.fields import require
from combred.experiments.stirred.reactor import StirredRun

FLOOR = 0.01  # of the largest value of the reference: smaller values are not compared relatively


def compare(
    mechanism: Mechanism, run: StirredRun, reference: StirredRun, species: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """The differences of the mean T and of the mean mass fractions of `species` in time: for "T"
    and each species the largest and the mean relative difference, and the time [s] of the largest.

    Relative to the value of `reference` at the same time, or to `FLOOR` of its largest value where
    that is more. A run that became not finite has infinite differences. Raises ValueError where the
    runs are not of the same case.
    """
    require(run.case == reference.case, f"{run.case!r} and {reference.case!r} cannot be compared")
    found = {}
    for name in ("T", *species):
        column = None if name == "T" else mechanism.index(name)
        value, true = (r.T if column is None else r.Y[:, column] for r in (run, reference))
        off = np.abs(value - true) / np.maximum(true, FLOOR * np.nanmax(true))
        off = np.where(np.isfinite(off), off, np.inf)
        found[name] = {
            "largest": float(off.max()),
            "mean": float(off.mean()),
            "at": float(reference.t[off.argmax()]),
        }
    return found


def compare_all(
    mechanism: Mechanism,
    runs: list[StirredRun],
    references: list[StirredRun],
    mixture: Mixture,
) -> list[dict]:
    """The errors of `runs` against the `references`, a row for each case: its pressure ("case"
    in words, "p" [Pa]), its outcome, and "errors", the result of `compare` for the mean T
    and the mean mass fraction of `intermediate`."""
    species = intermediate(mechanism, references, mixture)
    return [
        {
            "case": str(reference.case),
            "p": reference.case.p,
            "outcome": run.outcome,
            "errors": compare(mechanism, run, reference, species),
        }
        for run, reference in zip(runs, references, strict=True)
    ]


def intermediate(
    mechanism: Mechanism, references: list[StirredRun], mixture: Mixture
) -> tuple[str, ...]:
    """The species, not of fuel and oxidizer, whose mean exceeds that of the
    burnt gas by most moles, as CO for methane; () where there is none."""
    excess = np.mean([run.Y.max(axis=0) - run.Y[0] for run in references], axis=0)
    gas = mechanism.solution(transport=False)
    for composition in (mixture.fuel, mixture.oxidizer):
        gas.X = composition
        excess[gas.X > 0.0] = 0.0
    most = int(np.argmax(excess / mechanism.molecular_weights))
    return (mechanism.species_names[most],) if excess[most] > 0.0 else ()
