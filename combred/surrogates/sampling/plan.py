"""The plan of a state file: which trajectories are computed, and how many rows each gives.

Takes `SamplingSettings` and a seed; gives a list of `Trajectory` or of `FlowBlock`, the tasks of
`sampling.sample`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowBlock

# Rows of a block of a flow: many trajectories at once cost less, and a twentieth of the blocks is
# held out.
FEWEST_ROWS, MOST_ROWS, BLOCKS = 256, 2048, 20

# Flames beside the ignitions of premixed gas: those of the networks of the condensation.
IGNITIONS_PER_FLAME = 37
FLAME_SHARE = 0.33  # of the rows
FLAME_PHI = 0.5, 1.6  # range of the equivalence ratio, inside that of the ignitions
FLAME_T = 300.0, 700.0  # K, unburnt temperatures


@dataclass(frozen=True)
class Trajectory:
    """A task of the sampling: a premixed ignition or flame, with its parameters.

    index, rows: as in `FlowBlock`; kind: "ignition" or "flame"; T [K]: initial temperature of an
    ignition, unburnt temperature of a flame; p [Pa]; phi: equivalence ratio.
    """

    index: int
    kind: str
    T: float
    p: float
    phi: float
    rows: int

    @property
    def name(self) -> str:
        """The trajectory in words, for messages."""
        return f"{self.kind} T={self.T:.0f} K phi={self.phi:.2f}"


Task = FlowBlock | Trajectory


def plan_trajectories(
    settings: SamplingSettings, seed: int, with_flames: bool = True
) -> Sequence[Task]:
    """The tasks of a state file; they depend on the arguments alone.

    Those of a flow are blocks of `MOST_ROWS` rows, of fewer where there would be fewer than
    `BLOCKS`; the last may have fewer. Of premixed ones, flames
    come first, because they take longest: phi evenly spaced at each unburnt temperature, p
    log-uniform at random. The ignitions are a scrambled Sobol sequence over T0, phi and ln p.
    """
    if settings.sampler == "flow":
        rows = int(np.clip(-(-settings.states // BLOCKS), FEWEST_ROWS, MOST_ROWS))
        starts = range(0, settings.states, rows)
        sizes = [min(rows, settings.states - start) for start in starts]
        return [FlowBlock(i, size) for i, size in enumerate(sizes)]
    from scipy.stats import qmc  # not above: it takes a second, and worker processes do not need it

    flames = settings.ignitions // IGNITIONS_PER_FLAME if with_flames else 0
    flame_rows = int(settings.states * FLAME_SHARE) if flames else 0
    # A third each of a trajectory: its states, perturbed ones, relaxed ones.
    of_flame = 3 * round(flame_rows / max(flames, 1) / 3)
    of_ignition = 3 * round((settings.states - flame_rows) / settings.ignitions / 3)
    plan: list[Trajectory] = []
    rng = np.random.default_rng([seed, 0])
    lean, rich = settings.phi
    low, high = (min(max(phi, lean), rich) for phi in FLAME_PHI)
    groups = np.array_split(np.arange(flames), len(FLAME_T))
    for T, group in zip(FLAME_T, groups, strict=True):
        for phi in low + (high - low) * (np.arange(len(group)) + 0.5) / max(len(group), 1):
            p = np.exp(rng.uniform(*np.log(settings.p)))
            plan.append(Trajectory(len(plan), "flame", T, p, phi, of_flame))
    points = qmc.Sobol(3, seed=rng).random(1 << max(settings.ignitions - 1, 1).bit_length())
    ranges = np.array([settings.T0, settings.phi, np.log(settings.p)])
    for u in points[: settings.ignitions]:
        T, phi, log_p = ranges[:, 0] + u * (ranges[:, 1] - ranges[:, 0])
        plan.append(Trajectory(len(plan), "ignition", T, np.exp(log_p), phi, of_ignition))
    return plan
