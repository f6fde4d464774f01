"""Judges with limits: the errors of an `Advance` in experiments, and the cases drawn for them.

Takes the settings of the validation; gives cases drawn inside its range, and the errors of an
`Advance` in them, by which a search accepts it. The cases differ from those of the validation, so
that the errors in a report are not those that chose.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.config import ReductionSettings, ValidationSettings
from combred.experiments.experiment import Experiment, OnProgress
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Case
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.grid import FlameCase
from combred.processes.threads import one_thread

SEED = 1  # of the cases
IGNITIONS, FLAMES = 12, 3  # by which a limit is judged

# A title -> a context manager that gives a function of (done, total).
Progress = Callable[[str], AbstractContextManager[OnProgress]]


def draw_ignitions(validation: ValidationSettings, count: int, seed: int) -> list[Case]:
    """`count` ignitions inside the range of the validation's T0 [K], p [Pa] and phi, drawn as a
    Latin hypercube, log-uniform.

    Raises ValueError if the validation has a single temperature, pressure and equivalence ratio:
    the drawn case would be that of the validation.
    """
    ranges = {name: _span(getattr(validation, name)) for name in ("T0", "p", "phi")}
    _require_room(ranges, "T0")
    T0, p, phi = _draw(list(ranges.values()), count, [seed, 0])
    return [Case(*row) for row in zip(T0, p, phi, strict=True)]


def draw_flames(validation: ValidationSettings, count: int, seed: int) -> list[FlameCase]:
    """`count` flames inside the range of the validation's flame_T [K], p [Pa] and flame_phi (phi if
    that is empty), drawn as in `draw_ignitions`, with the same
    ValueError."""
    phi = validation.flame_phi or validation.phi
    ranges = {"flame_T": _span(validation.flame_T), "p": _span(validation.p), "phi": _span(phi)}
    _require_room(ranges, "flame_phi")
    T, p, phi = _draw(list(ranges.values()), count, [seed, 1])
    return [FlameCase(*row) for row in zip(T, p, phi, strict=True)]


def _span(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _require_room(ranges: dict[str, tuple[float, float]], key: str) -> None:
    if all(low == high for low, high in ranges.values()):
        raise ValueError(
            "cases are drawn inside the range of the validation, which is a "
            f"single point: {', '.join(f'{name} {low:g}' for name, (low, _) in ranges.items())}. "
            f"Give {key} two values at least"
        )


def _draw(ranges: list[tuple[float, float]], count: int, seed: list[int]) -> list[list[float]]:
    """`count` values of each quantity, log-uniform in its range, as a Latin hypercube: one value in
    each of `count` equal parts of the range."""
    rng = np.random.default_rng(seed)
    columns = []
    for low, high in ranges:
        share = (rng.permutation(count) + rng.random(count)) / count
        columns.append((low * (high / low) ** share).tolist())
    return columns


@dataclass(frozen=True)
class AcceptanceCriteria:
    """Error limits that a search has to keep, and the cases in which it has to keep them.

    limits: kind of error, of `config.CRITERIA` -> largest relative error [-].
    """

    limits: dict[str, float]
    ignitions: list[Case]
    flames: list[FlameCase]

    @classmethod
    def of(
        cls, reduction: ReductionSettings, validation: ValidationSettings
    ) -> "AcceptanceCriteria":
        """The criteria of the settings. Cases of a kind are drawn only if a limit needs them."""
        limits = reduction.limits
        ignitions, flames = limits.keys() & Ignitions.limits, limits.keys() & PremixedFlames.limits
        return cls(
            limits,
            draw_ignitions(validation, IGNITIONS, SEED) if ignitions else [],
            draw_flames(validation, FLAMES, SEED) if flames else [],
        )

    def cases(self) -> dict[str, list[dict]]:
        """The cases as plain numbers, to be stored."""
        return {
            "ignitions": [dict(vars(case)) for case in self.ignitions],
            "flames": [dict(vars(case)) for case in self.flames],
        }

    def experiments(
        self, mechanism: Mechanism, mixture: Mixture, validation: ValidationSettings
    ) -> list[Experiment]:
        """The experiments that have cases, those that take longest last."""
        given = mechanism, mixture, validation
        ignitions = replace(Ignitions.of(*given), cases=self.ignitions)
        flames = replace(PremixedFlames.of(*given), cases=self.flames)
        return [one for one in (ignitions, flames) if one.cases]


@dataclass(frozen=True)
class References:
    """An experiment, and the reference of each of its cases."""

    experiment: Experiment
    runs: list


def judge(
    advance: Advance,
    limits: dict[str, float],
    references: Sequence[References],
    progress: Progress,
) -> dict[str, float]:
    """Errors of an `Advance` by kind of limit [-], infinite if a case does not ignite or a flame
    does not burn. Experiments are costly: after one whose limits are not kept, no other is done,
    and the result has no errors of these."""
    errors: dict[str, float] = {}
    for one in references:
        experiment = one.experiment
        if all(errors[kind] <= limits[kind] for kind in errors):
            with progress(f"{experiment.name} of the acceptance criteria") as bar, one_thread():
                found = experiment.compare(experiment.follow(advance, one.runs, bar), one.runs)
            where = {kind: experiment.limits[kind] for kind in limits if kind in experiment.limits}
            errors |= {kind: found[error][which] for kind, (error, which) in where.items()}
    return errors
