"""The acceptance criteria of a reduction: error limits in ignitions and flames that are drawn
for them.

Takes the settings of the validation; gives cases drawn inside its range, and the errors of a
surrogate in them, by which `combred.reduction.shrink_until` accepts a network. The cases differ
from those of the validation, so that the errors in a report are not those that chose the network.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config import ReductionSettings, ValidationSettings
from combred.experiments.ignition import cases as ignition_cases
from combred.experiments.ignition import errors as ignition_errors
from combred.experiments.ignition.rollout import Case, Rollout
from combred.experiments.premixed import cases as flame_cases
from combred.experiments.premixed import errors as flame_errors
from combred.experiments.premixed.flame import Flame, FlameCase
from combred.processes.threads import one_thread
from combred.surrogate.library.choice import fastest
from combred.surrogate.surrogate import Surrogate

SEED = 1  # of the cases
IGNITIONS, FLAMES = 12, 3  # by which a limit is judged

# A title -> a context manager that gives a function of (done, total).
Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


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
    """Error limits that a network has to keep, and the cases in which it has to keep them.

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
        limits, seed = reduction.limits, SEED
        ignitions, flames = [], []
        if limits.keys() & {"ignition", "ignition_mean"}:
            ignitions = draw_ignitions(validation, IGNITIONS, seed)
        if "flame" in limits:
            flames = draw_flames(validation, FLAMES, seed)
        return cls(limits, ignitions, flames)

    def cases(self) -> dict[str, list[dict]]:
        """The cases as plain numbers, to be stored."""
        return {
            "ignitions": [dict(vars(case)) for case in self.ignitions],
            "flames": [dict(vars(case)) for case in self.flames],
        }


@dataclass(frozen=True)
class References:
    """The reference solutions of the cases of the acceptance criteria."""

    rollouts: list[Rollout]
    flames: list[Flame]


def judge(
    mechanism: Mechanism,
    surrogate: Surrogate,
    criteria: AcceptanceCriteria,
    references: References,
    dt: float,
    progress: Progress,
) -> dict[str, float]:
    """Errors of a surrogate's network alone, without the solver behind it, by kind of limit [-],
    infinite if a case does not ignite or a flame does not burn, marched in steps dt [s]. Flames are
    costly: if an ignition limit is not kept, they are not computed, and the result has no
    "flame"."""
    limits, errors = criteria.limits, {}
    with one_thread():
        solver = fastest(surrogate, alone=True)
        if references.rollouts:
            with progress("ignitions of the acceptance criteria") as bar:
                rollouts = ignition_cases.follow(solver, dt, references.rollouts, bar)
            delay = ignition_errors.compare(mechanism, rollouts, references.rollouts)["delay_error"]
            found = {"ignition": delay["worst"], "ignition_mean": delay["mean"]}
            errors = {kind: found[kind] for kind in limits if kind in found}
        if references.flames and all(errors[kind] <= limits[kind] for kind in errors):
            with progress("flames of the acceptance criteria") as bar:
                burnt = flame_cases.follow(
                    mechanism, solver, dt, references.flames, on_progress=bar
                )
            errors["flame"] = flame_errors.compare(mechanism, burnt, references.flames)[
                "speed_error"
            ]["worst"]
    return errors
