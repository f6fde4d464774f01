"""The criteria of a reduction: ignitions and flames of its own, and a surrogate's errors in them.

Takes the validation's settings; gives cases drawn inside their range, CVODE's answer to them, and a
judge for `combred.reduction.shrink_until`. They are other cases than the validation's, so that what
a report shows was not what the network was chosen by.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config import ReductionSettings, ValidationSettings
from combred.simulation import flame, flame_errors, ignition, ignition_errors
from combred.simulation.flame import Flame, FlameCase
from combred.simulation.ignition import Case, Rollout
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation import timing

SEED = 1  # of the cases
FLAMES = 3  # flames that a limit on flames is judged by

Progress = Callable[[str], Callable]  # a title -> a context manager that gives (done, total)


def draw_ignitions(validation: ValidationSettings, count: int, seed: int) -> list[Case]:
    """Ignitions inside the range of the validation's T0, p and phi, evenly spread, at random.

    ValueError where the validation has one temperature, pressure and equivalence ratio only: the
    criteria's case would be its own.
    """
    ranges = {name: _span(getattr(validation, name)) for name in ("T0", "p", "phi")}
    _require_room(ranges, "validation.T0")
    T0, p, phi = _draw(list(ranges.values()), count, [seed, 0])
    return [Case(*row) for row in zip(T0, p, phi, strict=True)]


def draw_flames(validation: ValidationSettings, count: int, seed: int) -> list[FlameCase]:
    """Flames inside the range of the validation's flame_T, p and flame_phi (phi, if there are no
    flames), as `draw_ignitions`."""
    phi = validation.flame_phi or validation.phi
    ranges = {"flame_T": _span(validation.flame_T), "p": _span(validation.p), "phi": _span(phi)}
    _require_room(ranges, "validation.flame_phi")
    T, p, phi = _draw(list(ranges.values()), count, [seed, 1])
    return [FlameCase(*row) for row in zip(T, p, phi, strict=True)]


def _span(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _require_room(ranges: dict[str, tuple[float, float]], key: str) -> None:
    if all(low == high for low, high in ranges.values()):
        raise ValueError(
            "reduction.criteria draws its cases inside the range of the validation's, and that is a "
            f"single point: {', '.join(f'{name} {low:g}' for name, (low, _) in ranges.items())}. "
            f"Give {key} two values at least"
        )


def _draw(ranges: list[tuple[float, float]], count: int, seed: list[int]) -> list[list[float]]:
    """Values (count,) of each quantity, log-uniform in its range: a Latin hypercube, one value in
    each of `count` slices."""
    rng = np.random.default_rng(seed)
    columns = []
    for low, high in ranges:
        share = (rng.permutation(count) + rng.random(count)) / count
        columns.append((low * (high / low) ** share).tolist())
    return columns


@dataclass(frozen=True)
class AcceptanceCriteria:
    """What a network has to do: keep `limits` (by kind, of `config.CRITERIA`) in these cases."""

    limits: dict[str, float]
    ignitions: list[Case]
    flames: list[FlameCase]

    @classmethod
    def of(
        cls, reduction: ReductionSettings, validation: ValidationSettings
    ) -> "AcceptanceCriteria":
        """The criteria of the settings; cases of a kind are drawn only where a limit asks for them."""
        limits, seed = reduction.limits, SEED
        ignitions, flames = [], []
        if limits.keys() & {"ignition", "ignition_mean"}:
            ignitions = draw_ignitions(validation, reduction.criteria_ignitions, seed)
        if "flame" in limits:
            flames = draw_flames(validation, FLAMES, seed)
        return cls(limits, ignitions, flames)

    def cases(self) -> dict[str, list[dict]]:
        """The cases as plain numbers."""
        return {
            "ignitions": [dict(vars(case)) for case in self.ignitions],
            "flames": [dict(vars(case)) for case in self.flames],
        }


@dataclass(frozen=True)
class References:
    """CVODE's answers to the cases of a criteria."""

    rollouts: list[Rollout]
    flames: list[Flame]


def judge(
    mechanism: Mechanism,
    surrogate: Surrogate,
    criteria: AcceptanceCriteria,
    references: References,
    validation: ValidationSettings,
    progress: Progress,
) -> dict[str, float]:
    """Errors of a surrogate by kind; infinite where a case does not ignite or a flame does not
    burn. Flames are costly: a network whose ignitions fail is not asked for them, and they are left
    out of the answer."""
    limits, errors = criteria.limits, {}
    with one_thread():
        solver = timing.scripted(surrogate)
        if references.rollouts:
            with progress("the criteria's ignitions") as bar:
                rollouts = ignition.follow(solver, surrogate.dt, references.rollouts, bar)
            delay = ignition_errors.compare(mechanism, rollouts, references.rollouts)["delay_error"]
            found = {"ignition": delay["worst"], "ignition_mean": delay["mean"]}
            errors = {kind: found[kind] for kind in limits if kind in found}
        if references.flames and all(errors[kind] <= limits[kind] for kind in errors):
            with progress("the criteria's flames") as bar:
                burnt = flame.follow(
                    mechanism, solver, surrogate.dt, references.flames, validation, bar
                )
            errors["flame"] = flame_errors.compare(mechanism, burnt, references.flames)[
                "speed_error"
            ]["worst"]
    return errors
