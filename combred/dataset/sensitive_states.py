"""Labelled states of ignitions and premixed flames, each with the sensitivity of the delay or the
speed to an error of its label.

Takes a `Mechanism` and settings; gives `SensitiveStates`, from which the training loss computes the
errors of delays and speeds (`combred.training.sensitivity_loss`). With the sensitivity s at the end
of a step, and an error e of Y there, the relative error of a delay or a speed is the mean of
s . e / dt over the rows of its trajectory (`combred.simulation.delay_sensitivity`,
`speed_sensitivity`).
"""

from dataclasses import dataclass, fields

import cantera as ct
import numpy as np
import torch

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE, IntegrationError, Reactor
from combred.chemistry.transport import has_transport
from combred.config import ChemistrySettings, SamplingSettings, SensitivitySettings
from combred.dataset.flow_streams import log_uniform
from combred.simulation.delay_sensitivity import delay_sensitivity, ignite
from combred.simulation.flame import start
from combred.simulation.ignition import Case
from combred.simulation.moving_grid import FlameCase, MovingGrid
from combred.simulation.speed_sensitivity import speed_sensitivity

STATES = 40  # of an ignition
LONGEST = 0.05  # s, longest delay; slower mixtures are drawn again
OF_DELAY = 0.25  # largest dt of an ignition's states, a share of its delay
FLAME_T, FLAME_p, FLAME_phi = (300.0, 900.0), (7e4, 2.5e6), (0.55, 1.6)  # K, Pa, -; p log-uniform
CELLS = 160  # of a flame
FLAME_STEPS = 3  # values of dt for each flame, log-uniform over two decades up to half the largest
OF_FLAME_TIME = 0.1  # largest dt, a share of the flame's thickness over its speed
SETTLING = 12  # steps of a march with each dt
KEPT = 0.998  # share of the sum of |s dY| that the kept cells of a flame have
DRAWS = {False: 20, True: 3}  # of an ignition, of a flame, until one can be computed


@dataclass(frozen=True)
class SensitiveStates:
    """Rows: T, T_next (n,) [K], p (n,) [Pa], Y, Y_next (n, n_species), dt (n,) [s];
    sensitivity (n, n_species) [s]; trajectory (n,), index of the ignition or of the flame and its
    dt."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    dt: np.ndarray
    T_next: np.ndarray
    Y_next: np.ndarray
    sensitivity: np.ndarray
    trajectory: np.ndarray

    @classmethod
    def join(cls, parts: list["SensitiveStates"]) -> "SensitiveStates":
        """The rows of all parts (one at least), in order."""
        return cls(*(np.concatenate(c) for c in zip(*(p.columns() for p in parts), strict=True)))

    def columns(self) -> list[np.ndarray]:
        """All arrays, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class SensitiveTrajectory:
    """A trajectory to compute: its index, and whether it is a flame or an ignition."""

    index: int
    flame: bool


def plan(mechanism: Mechanism, settings: SensitivitySettings) -> list[SensitiveTrajectory]:
    """The trajectories: flames first, which take longest; none without transport data."""
    flames = settings.flames if has_transport(mechanism) else 0
    return [SensitiveTrajectory(i, i < flames) for i in range(flames + settings.ignitions)]


class SensitiveSampler:
    """Computes trajectories; each depends on the seed and its index alone.

    sampling: `fuel`, `oxidizer` as compositions in moles; ranges of p, phi, T0 and dt.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        sampling: SamplingSettings,
        chemistry: ChemistrySettings,
        seed: int,
    ):
        self.mechanism, self.sampling, self.seed = mechanism, sampling, seed
        self.tolerances = chemistry.rtol, chemistry.atol

    def states(self, trajectory: SensitiveTrajectory) -> SensitiveStates:
        """The rows of a trajectory. Raises IntegrationError, with the last reason, where none of
        `DRAWS` mixtures can be computed."""
        rng = np.random.default_rng([self.seed, 9, trajectory.index])
        reason = ""
        for _ in range(DRAWS[trajectory.flame]):
            try:
                found = self.flame(rng) if trajectory.flame else self.ignition(rng)
            except (RuntimeError, ValueError, FloatingPointError) as error:  # Cantera's, SuperLU's
                reason = str(error).strip()
                continue
            found.trajectory[:] += FLAME_STEPS * trajectory.index
            return found
        raise IntegrationError(reason)

    def ignition(self, rng: np.random.Generator) -> SensitiveStates:
        """States of an ignition, with a dt each: those that a march with that dt from the fresh gas
        meets, the fresh gas itself one of them, all with the same probability. Raises
        IntegrationError where it takes longer than `LONGEST`, or is too fast for the smallest
        dt."""
        s, n = self.sampling, self.mechanism.n_species
        case = Case(rng.uniform(s.T0[0], s.T0[1]), log_uniform(rng, *s.p), log_uniform(rng, *s.phi))
        Y0 = self.mechanism.mixture(s.fuel, s.oxidizer, case.phi)
        reactor = Reactor(self.mechanism, *self.tolerances)
        found = ignite(reactor, case, Y0, LONGEST)
        low, high = s.dt
        if found is None or OF_DELAY * found.delay < low:
            raise IntegrationError(f"no delay between {low / OF_DELAY:g} and {LONGEST} s: {case}")
        phi = delay_sensitivity(self.mechanism, found)
        high = min(high, OF_DELAY * found.delay)
        dt = np.array([log_uniform(rng, low, high) for _ in range(STATES)])
        t = dt * np.floor(rng.uniform(0.0, np.floor(found.delay / dt)))
        both = np.empty((2 * STATES, 1 + n))
        times = np.concatenate([t, t + dt])
        reactor.start(case.T0, case.p, Y0)
        for i in np.argsort(times):
            both[i, 0], both[i, 1:] = reactor.advance(times[i])
        now, later = both[:STATES], both[STATES:]
        sensitivity = np.column_stack([np.interp(t + dt, found.t, column) for column in phi.T])
        p = np.full(STATES, case.p)
        which = np.zeros(STATES, "i4")
        return SensitiveStates(
            now[:, 0], p, now[:, 1:], dt, later[:, 0], later[:, 1:], -sensitivity, which
        )

    def flame(self, rng: np.random.Generator) -> SensitiveStates:
        """Cells of a flame after a step of diffusion, where the chemistry of a split solver starts,
        for `FLAME_STEPS` values of dt. The flame is marched with each dt for `SETTLING` steps, from
        the longest to the shortest, since Cantera's profile is of another grid and not split."""
        s, mechanism = self.sampling, self.mechanism
        p, phi = _common(FLAME_p, s.p), _common(FLAME_phi, s.phi)
        case = FlameCase(rng.uniform(*FLAME_T), log_uniform(rng, *p), log_uniform(rng, *phi))
        fresh = mechanism.mixture(s.fuel, s.oxidizer, case.phi)
        profile = start(mechanism, case, fresh, CELLS)
        time = MovingGrid(mechanism, profile).thickness() / profile.speed
        high = min(max(s.dt[0], s.dt[1] / 2), OF_FLAME_TIME * time)
        if high < s.dt[0]:
            raise IntegrationError(f"sampling.dt is too long for a flame: {case}")
        low = min(max(s.dt[0], s.dt[1] / 200), high)
        steps = sorted((log_uniform(rng, low, high) for _ in range(FLAME_STEPS)), reverse=True)
        sensitivity = speed_sensitivity(mechanism, profile)
        cvode, parts = CVODE(mechanism, *self.tolerances), []
        grid, cells, passed = MovingGrid(mechanism, profile), np.arange(CELLS), 0.0
        for i, dt in enumerate(steps):
            for _ in range(SETTLING):
                grid.diffuse(dt)
                grid.react(cvode, dt)
                passed = grid.move() / profile.cell_mass - grid.entered  # of a cell
            grid.diffuse(dt)
            moved = [np.interp(cells + passed, cells, column) for column in sensitivity.T]
            s_here = np.column_stack(moved)
            Y = np.maximum(grid.Y, 0.0)
            Y /= Y.sum(axis=1, keepdims=True)
            T, pressure = grid.T, np.full(CELLS, case.p)
            T_next, Y_next = cvode.advance(T, pressure, Y, dt)
            kept = _most(np.abs(s_here * (Y_next - Y)).sum(axis=1))
            n = len(kept)
            columns = (T, pressure, Y, np.full(CELLS, dt), T_next, Y_next, n * s_here)
            chosen = [column[kept] for column in columns]
            chosen.append(np.full(n, i, "i4"))
            parts.append(SensitiveStates(*chosen))
        return SensitiveStates.join(parts)


def _most(sizes: np.ndarray) -> np.ndarray:
    """Indices, in order, of the largest of `sizes` (n,), whose sum is `KEPT` of all. Raises
    IntegrationError where one is not finite."""
    if not np.isfinite(sizes).all():
        raise IntegrationError("a cell of a flame could not be integrated")
    order = np.argsort(-sizes)
    share = np.cumsum(sizes[order]) / sizes.sum()
    return np.sort(order[: int(np.searchsorted(share, KEPT)) + 1])


def _common(ours: tuple[float, float], theirs: list[float]) -> tuple[float, float]:
    """The range within both; the end of theirs that is nearer where there is none."""
    low, high = theirs
    return min(max(ours[0], low), high), min(max(ours[1], low), high)


_sampler: SensitiveSampler  # one per worker process


def start_worker(file: str, sampling, chemistry, seed: int) -> None:
    """Make the sampler of a worker process."""
    global _sampler
    torch.set_num_threads(1)
    ct.suppress_thermo_warnings()
    _sampler = SensitiveSampler(load_mechanism(file), sampling, chemistry, seed)


def work(trajectory: SensitiveTrajectory) -> tuple[int, SensitiveStates | None, str]:
    """The index of a trajectory, and its rows, or None and the reason, in a worker process."""
    try:
        return trajectory.index, _sampler.states(trajectory), ""
    except IntegrationError as error:
        return trajectory.index, None, str(error)
