"""The trajectories with sensitivities: their plan, and their computation.

Takes a `Mechanism` and settings; gives `SensitiveStates` of each trajectory: an ignition, a flame
or a flame kernel (`ignitions`, `flames` and `flame_kernels` beside this module).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE
from combred.chemistry.transport import has_transport
from combred.config.data import SamplingSettings, SensitivitySettings
from combred.native.solver.library import PRECISE, Solver
from combred.surrogates.sensitivity.rows import SensitiveStates
from combred.surrogates.sensitivity.sampling.flame_kernels import kernel_states
from combred.surrogates.sensitivity.sampling.flames import counterflow_states, premixed_states
from combred.surrogates.sensitivity.sampling.ignitions import ignition_states

# Each takes a mechanism, settings, what integrates, and random numbers. The solver in doubles does,
# but for ignitions, whose adjoint has the steps of CVODE: these take its tolerances.
STATES: dict[str, Callable[..., SensitiveStates]] = {
    "counterflow": counterflow_states, "flame": premixed_states, "kernel": kernel_states,
    "ignition": ignition_states,
}  # fmt: skip
DRAWS = {"counterflow": 5, "flame": 3, "kernel": 5, "ignition": 20}  # mixtures, until one works
NUMBERS = 100  # of the trajectories of a flame, at most


@dataclass(frozen=True)
class SensitiveTrajectory:
    """A trajectory to compute: its index, and its kind, a key of `STATES`."""

    index: int
    kind: str


def plan(mechanism: Mechanism, settings: SensitivitySettings) -> list[SensitiveTrajectory]:
    """The trajectories, those first which take longest; no flames without transport data."""
    flames, counterflows = settings.flames, settings.counterflows
    if not has_transport(mechanism):
        flames = counterflows = 0
    kinds = ["flame"] * flames + ["ignition"] * settings.ignitions
    kinds += ["counterflow"] * counterflows + ["kernel"] * settings.kernels
    trajectories = [SensitiveTrajectory(i, kind) for i, kind in enumerate(kinds)]
    return sorted(trajectories, key=lambda trajectory: list(STATES).index(trajectory.kind))


class SensitiveSampler:
    """Computes trajectories; each depends on the settings, the seed and its index alone."""

    def __init__(self, mechanism: Mechanism, sampling: SamplingSettings, seed: int):
        self.mechanism, self.sampling, self.seed = mechanism, sampling, seed
        self.solver = Solver(mechanism, PRECISE)

    def attempt(self, trajectory: SensitiveTrajectory) -> tuple[SensitiveStates | None, str]:
        """The rows of a trajectory; None, and the last reason, where none of `DRAWS` mixtures can
        be computed."""
        rng = np.random.default_rng([self.seed, 9, trajectory.index])
        compute, reason = STATES[trajectory.kind], ""
        chemistry = REFERENCE if trajectory.kind == "ignition" else self.solver
        for _ in range(DRAWS[trajectory.kind]):
            try:
                states = compute(self.mechanism, self.sampling, chemistry, rng)
            except (RuntimeError, ValueError, FloatingPointError) as error:  # Cantera's, SuperLU's
                reason = str(error).strip()
                continue
            states.trajectory[:] += NUMBERS * trajectory.index
            return states, ""
        return None, reason
