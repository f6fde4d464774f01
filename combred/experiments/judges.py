"""Judges with limits: the errors of an `Advance` in experiments, and the cases drawn for them.

Takes the settings of the validation; gives cases drawn inside its range, and the errors of an
`Advance` in them, by which a search accepts it. The cases differ from those of the validation, so
that the errors in a report are not those that chose.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config.reduction import ReductionSettings
from combred.config.validation import ValidationSettings
from combred.experiments.experiment import Experiment, Progress
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Case
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.grid import FlameCase
from combred.processes.threads import one_thread

SEED = 1  # of the cases
IGNITIONS, FLAMES = 12, 3  # by which a limit is judged


def draw_ignitions(validation: ValidationSettings, count: int, seed: int) -> list[Case]:
    """`count` ignitions inside the range of the validation's T0 [K], p [Pa] and phi, drawn as a
    Latin hypercube, log-uniform.

    Raises ValueError if the validation has a single temperature, pressure and equivalence ratio:
    the drawn case would be that of the validation.
    """
    values = {"T0": validation.T0, "p": validation.p, "phi": validation.phi}
    return [Case(*row) for row in _draw(values, "T0", count, [seed, 0])]


def draw_flames(validation: ValidationSettings, count: int, seed: int) -> list[FlameCase]:
    """`count` flames inside the range of the validation's flame_T [K], p [Pa] and flame_phi (phi if
    that is empty), drawn as in `draw_ignitions`, with the same ValueError."""
    phi = validation.flame_phi or validation.phi
    values = {"flame_T": validation.flame_T, "p": validation.p, "phi": phi}
    return [FlameCase(*row) for row in _draw(values, "flame_phi", count, [seed, 1])]


def _draw(values: dict[str, list[float]], key: str, count: int, seed: list[int]) -> Iterable[tuple]:
    """`count` rows with a value of each quantity, log-uniform in the range of its `values`, as a
    Latin hypercube: one in each of `count` equal parts of the range. key: of the setting that is
    named where there is no range."""
    if all(min(of) == max(of) for of in values.values()):
        raise ValueError(
            "cases are drawn inside the range of the validation, which is a single point: "
            f"{', '.join(f'{name} {min(of):g}' for name, of in values.items())}. Give {key} two "
            "values at least"
        )
    rng, columns = np.random.default_rng(seed), []
    for of in values.values():
        share = (rng.permutation(count) + rng.random(count)) / count
        columns.append((min(of) * (max(of) / min(of)) ** share).tolist())
    return zip(*columns, strict=True)


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
