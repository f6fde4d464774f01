"""States worth learning, labelled: ignitions, flames, and what lies around them.

Takes a `Mechanism` and `SamplingSettings`; gives a finished state file. The work is a list of
trajectories, each a task of its own with its own random stream: an ignition or a flame is
computed, its states are picked, perturbed and relaxed, and all of them labelled by CVODE.

- exact: states of the trajectory itself;
- perturbed: Y^(1 + s u), T and p moved (as in Yi et al., arXiv 2512.05685), elements kept;
- relaxed: perturbed more widely, then integrated over a random time, so that fast scales relax:
  evolutionary Monte Carlo, after Yao et al., Comput. Phys. Commun. 316 (2025) 109802.
"""

from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import cantera as ct
import numpy as np
import torch
from scipy.stats import qmc

from combred.chemistry.element_projection import ElementProjection
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset.states import SAMPLERS, Block, StateWriter, open_states, state_attributes
from combred.simulation.free_flame import solve_free_flame
from combred.simulation.ignition import Case, history
from combred.simulation.moving_grid import FlameCase, MovingGrid, Profile, profile_of
from combred.workers import open_pool

RELAXED_PER_RUN = 3  # states taken from one relaxation: further ones cost next to nothing
FLAME_CELLS = 40, 400  # least and most, of a flame that is split into diffusion and chemistry
SPLIT_STEPS = 6  # of dt, before its states are taken
LONGEST = 1.0  # s, for which an ignition is followed at most
BURNT_TIME = 5e-3  # s, for which it is followed past ignition
# Shares of the states on the trajectory, perturbed, and perturbed and relaxed.
EXACT, PERTURBED, RELAXED = 1.0, 1.0, 1.0
PERTURBATION = 1e-3, 0.1  # range of the width s of perturbed states, log-uniform
RELAXED_PERTURBATION = 1e-2, 0.16  # the same before relaxation
RELAXATION = 1e-7, 1e-4  # s, range of the relaxation time, log-uniform
T_FLOOR, T_CEILING = 250.0, 3300.0  # K: a perturbation does not leave this


@dataclass(frozen=True)
class Trajectory:
    """One task: an ignition or a flame (`kind`), its parameters, and how many rows it gives."""

    index: int
    kind: str
    T: float  # K, initial or unburnt
    p: float  # Pa
    phi: float
    exact: int
    perturbed: int
    relaxed: int

    @property
    def rows(self) -> int:
        return self.exact + self.perturbed + self.relaxed


def plan_trajectories(settings: SamplingSettings, seed: int) -> list[Trajectory]:
    """The trajectories of a run: ignitions from a scrambled Sobol sequence over T0, phi and ln p,
    flames on an even spread of phi at each unburnt temperature. Flames come first, being longest.
    """
    flame_rows = int(settings.states * settings.flame_share) if settings.flames else 0
    shares = {
        "flame": _split(flame_rows, settings.flames, settings),
        "ignition": _split(settings.states - flame_rows, settings.ignitions, settings),
    }
    plan: list[Trajectory] = []
    rng = np.random.default_rng([seed, 0])
    groups = np.array_split(np.arange(settings.flames), len(settings.flame_T))
    for T, group in zip(settings.flame_T, groups, strict=True):
        for phi in _spread(*settings.flame_phi, len(group)):
            p = np.exp(rng.uniform(*np.log(settings.p)))
            plan.append(Trajectory(len(plan), "flame", T, p, phi, *shares["flame"]))
    points = qmc.Sobol(3, seed=rng).random(1 << max(settings.ignitions - 1, 1).bit_length())
    ranges = np.array([settings.T0, settings.phi, np.log(settings.p)])
    for u in points[: settings.ignitions]:
        T, phi, log_p = ranges[:, 0] + u * (ranges[:, 1] - ranges[:, 0])
        plan.append(Trajectory(len(plan), "ignition", T, np.exp(log_p), phi, *shares["ignition"]))
    return plan


def _split(rows: int, count: int, settings: SamplingSettings) -> tuple[int, int, int]:
    """Rows of each kind for each of `count` trajectories."""
    if count == 0:
        return 0, 0, 0
    total = EXACT + PERTURBED + RELAXED
    each = rows / count / total
    return tuple(round(each * share) for share in (EXACT, PERTURBED, RELAXED))


def _spread(low: float, high: float, count: int) -> np.ndarray:
    return low + (high - low) * (np.arange(count) + 0.5) / max(count, 1)


class Sampler:
    """Everything a worker needs to turn a `Trajectory` into a labelled `Block`."""

    def __init__(
        self,
        mechanism: Mechanism,
        settings: SamplingSettings,
        chemistry: ChemistrySettings,
        dt: float,
        seed: int,
    ):
        self.mechanism, self.settings = mechanism, settings
        self.dt, self.seed = dt, seed
        self.reactor = Reactor(mechanism, chemistry.rtol, chemistry.atol)
        self.projection = ElementProjection(mechanism)

    def block(self, trajectory: Trajectory) -> Block:
        """The labelled rows of a trajectory, always `trajectory.rows` of them."""
        rng = np.random.default_rng([self.seed, 2, trajectory.index])
        first = SAMPLERS.index(trajectory.kind)
        pick = self.ignition if trajectory.kind == "ignition" else self.flame
        base = pick(trajectory, rng)
        around = base.T, base.p, base.Y
        perturbed = self.perturb(rng, around, trajectory.perturbed, PERTURBATION)
        runs = -(-trajectory.relaxed // RELAXED_PER_RUN)
        wide = self.perturb(rng, around, runs, RELAXED_PERTURBATION)
        parts = [
            base,
            self.label(*perturbed),
            self.relax(rng, *wide, count=trajectory.relaxed),
        ]
        for offset, part in enumerate(parts):
            part.source[:] = trajectory.index
            part.sampler[:] = first + offset
        columns = [part.columns() for part in parts]
        return Block(**{k: np.concatenate([c[k] for c in columns]) for k in columns[0]})

    # -- where states come from ------------------------------------------------------------------

    def ignition(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """States of a 0D ignition: a quarter uniform in time up to 1.1 tau, a quarter log-uniform
        in time from 1 ns to far into the burnt gas, a quarter around tau, a quarter uniform in T.
        The label is the same integration, dt later.
        """
        s = self.settings
        Y0 = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        T0, p, n = trajectory.T, trajectory.p, trajectory.exact
        case = Case(T0, p, trajectory.phi)
        t, T = history(self.reactor, case, Y0, LONGEST, BURNT_TIME)
        steepest = int(np.argmax(np.gradient(T, t)))
        tau = t[steepest]
        width = (T.max() - T.min()) / max(np.gradient(T, t)[steepest], 1e-300)
        # Uniform in T on the rise only: T over time is monotonic there.
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        quarter = n // 4
        times = [
            rng.uniform(0.0, 1.1 * tau, quarter),
            np.exp(rng.uniform(np.log(1e-9), np.log(t[-1]), quarter)),
            np.abs(tau + 2.0 * width * rng.standard_normal(quarter)),
            np.interp(rng.uniform(T0, T.max(), n - 3 * quarter - 1), rise_T, t[rise_at]),
            [0.0],
        ]
        return self._follow((T0, p, Y0), np.concatenate(times))

    def _follow(self, state: tuple[float, float, np.ndarray], times: np.ndarray) -> Block:
        """States at distinct `times` (n,) [s] of one integration, and the same dt later."""
        times = np.sort(times)
        at = np.unique(np.concatenate([times, times + self.dt]))
        T0, p, Y0 = state
        T, Y = np.full(len(at), np.nan), np.full((len(at), len(Y0)), np.nan)
        T[0], Y[0] = T0, Y0
        try:
            self.reactor.start(T0, p, Y0)
            for i, t in enumerate(at):
                if t > 0.0:
                    T[i], Y[i] = self.reactor.advance(t)
        except IntegrationError:
            pass  # what follows stays NaN: failed rows, counted by the writer
        now, later = np.searchsorted(at, times), np.searchsorted(at, times + self.dt)
        # A failed integration still has to say where it was: its last good state.
        good = np.isfinite(T)
        last = np.maximum.accumulate(np.where(good, np.arange(len(at)), 0))
        failed = ~(good[now] & good[later])
        T_next = np.where(failed, np.nan, T[later])
        Y_next = np.where(failed[:, None], np.nan, _clean(Y[later]))
        return _block(T[last[now]], np.full(len(times), p), _clean(Y[last[now]]), T_next, Y_next)

    def flame(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """States of a freely propagating flame: half of them between the grid points of Cantera's
        solution, half as a flow solver hands them to its chemistry, after a step of diffusion.
        """
        s, n = self.settings, trajectory.exact
        unburnt = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        case = FlameCase(trajectory.T, trajectory.p, trajectory.phi)
        flame = solve_free_flame(self.mechanism, case.T, case.p, unburnt)
        split = min(n // 2, FLAME_CELLS[1])
        split = split if split >= FLAME_CELLS[0] else 0
        between = self.label(*self._between(flame, n - split, rng, case.p))
        if not split:
            return between
        begin = profile_of(self.mechanism, flame, case, unburnt, split)
        columns = [part.columns() for part in (between, self._split(begin))]
        return Block(**{k: np.concatenate([c[k] for c in columns]) for k in columns[0]})

    def _between(
        self, flame: ct.FreeFlame, n: int, rng: np.random.Generator, p: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """n states between grid points: half uniform over the grid (which is dense where the flame
        is), half uniform in T."""
        T, Y = flame.T.copy(), np.clip(flame.Y.T, 0.0, None)
        half = n // 2
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        where = np.concatenate(
            [
                rng.uniform(0, len(T) - 1, half),
                np.interp(rng.uniform(T.min(), T.max(), n - half), rise_T, rise_at),
            ]
        )
        i = np.clip(where.astype(int), 0, len(T) - 2)
        f = where - i
        T = (1 - f) * T[i] + f * T[i + 1]
        Y = (1 - f)[:, None] * Y[i] + f[:, None] * Y[i + 1]
        return T, np.full(n, p), Y

    def _split(self, begin: Profile) -> Block:
        """The cells of a flame that diffusion and chemistry advance in turn, as chemistry sees
        them after `SPLIT_STEPS` steps: fast species have found their place by then."""
        grid = MovingGrid(self.mechanism, begin)
        for step in range(SPLIT_STEPS):
            grid.diffuse(self.dt)
            if step < SPLIT_STEPS - 1:
                grid.react(self)
        return self.label(grid.T, np.full(len(grid.T), begin.case.p), grid.Y)

    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """CVODE as an `Advance`."""
        block = self.label(T, p, Y)
        return block.T_next, block.Y_next

    # -- around them -----------------------------------------------------------------------------

    def perturb(
        self,
        rng: np.random.Generator,
        states: tuple[np.ndarray, np.ndarray, np.ndarray],
        count: int,
        width: tuple[float, float],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`count` states around random ones of `states`: with s log-uniform in `width` and u
        uniform in [-1, 1], Y^(1 + s u) for every species, T + 400 K s N(0, 1), p (1 + s u / 2).
        Inert species and the mass of every element are kept; a state that cannot keep them is
        drawn again.
        """
        T, p, Y = states
        out_T, out_p, out_Y = np.empty(count), np.empty(count), np.empty((count, Y.shape[1]))
        open_rows = np.arange(count)
        for _ in range(50):
            if len(open_rows) == 0:
                return out_T, out_p, out_Y
            n = len(open_rows)
            base = rng.integers(0, len(T), n)
            s = np.exp(rng.uniform(*np.log(width), n))
            u = rng.uniform(-1, 1, (n, Y.shape[1]))
            raw = np.where(Y[base] > 0, Y[base], 1.0) ** (1 + s[:, None] * u) * (Y[base] > 0)
            around = torch.tensor(Y[base])
            closed = self.projection(torch.tensor(raw), around)
            moved, error = closed.numpy(), self.projection.error(closed, around).numpy()
            good = error < 1e-9
            rows = open_rows[good]
            noise = 400.0 * s * rng.standard_normal(n)
            out_T[rows] = np.clip(T[base] + noise, T_FLOOR, T_CEILING)[good]
            out_p[rows] = (p[base] * (1 + 0.5 * s * rng.uniform(-1, 1, n)))[good]
            out_Y[rows] = moved[good]
            open_rows = open_rows[~good]
        raise ValueError(
            f"no perturbation of width {width} keeps the elements: the states lie too close to "
            "pure elements: choose other ranges of sampling.phi"
        )

    def relax(
        self, rng: np.random.Generator, T: np.ndarray, p: np.ndarray, Y: np.ndarray, count: int
    ) -> Block:
        """Each state integrated over times log-uniform in `relaxation`; the states on the way."""
        parts = []
        for i in range(len(T)):
            n = min(RELAXED_PER_RUN, count - i * RELAXED_PER_RUN)
            times = np.exp(rng.uniform(*np.log(RELAXATION), n))
            parts.append(self._follow((T[i], p[i], Y[i]), times))
        if not parts:
            return _block(*(np.empty(s) for s in (0, 0, (0, Y.shape[1]), 0, (0, Y.shape[1]))))
        columns = [part.columns() for part in parts]
        return Block(**{k: np.concatenate([c[k] for c in columns]) for k in columns[0]})

    def label(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> Block:
        """Each state integrated over dt from a cold start."""
        T_next, Y_next = np.full(len(T), np.nan), np.full(Y.shape, np.nan)
        Y = _clean(Y)
        for i in range(len(T)):
            try:
                self.reactor.start(T[i], p[i], Y[i])
                T_next[i], Y_next[i] = self.reactor.advance(self.dt)
            except IntegrationError:
                pass  # NaN: a failed row, counted by the writer
        return _block(T, p, Y, T_next, _clean(Y_next))


def _clean(Y: np.ndarray) -> np.ndarray:
    """Integrator undershoots (of the order of atol) set to zero; NaN stays NaN."""
    return np.where(Y < 0.0, 0.0, Y)


def _block(T, p, Y, T_next, Y_next) -> Block:
    return Block(T, p, Y, T_next, Y_next, np.zeros(len(T), "i4"), np.zeros(len(T), "u1"))


# -- the stage ----------------------------------------------------------------------------------

_sampler: Sampler  # one per worker process


def _start_worker(file, settings, chemistry, dt, seed) -> None:
    global _sampler
    torch.set_num_threads(1)
    ct.suppress_thermo_warnings()
    _sampler = Sampler(load_mechanism(file), settings, chemistry, dt, seed)


def _work(trajectory: Trajectory) -> tuple[Trajectory, Block | None, str]:
    error = ""
    for _ in range(2):  # after a failure the reactor is a new one: the same states, once more
        try:
            return trajectory, _sampler.block(trajectory), ""
        except IntegrationError as failure:
            error = str(failure)
    return trajectory, None, error


def provenance(
    settings: SamplingSettings, chemistry: ChemistrySettings, dt: float, seed: int
) -> dict:
    """Everything besides the mechanism that the rows of a state file depend on."""
    return {
        "dt": dt,
        "rtol": chemistry.rtol,
        "atol": chemistry.atol,
        "seed": seed,
        "sampling": asdict(settings),
    }


def sample(
    path: Path,
    mechanism: Mechanism,
    settings: SamplingSettings,
    chemistry: ChemistrySettings,
    dt: float,
    seed: int,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Fill the state file at `path`, resuming where an earlier run stopped.

    Returns the numbers of the stage: rows, failed rows, failed trajectories, rows per sampler.
    `on_progress` is told rows done and rows planned.
    """
    settings = replace(settings, fuel=mechanism.resolve_fuel(settings.fuel))
    plan = plan_trajectories(settings, seed)
    attributes = state_attributes(mechanism, provenance(settings, chemistry, dt, seed))
    writer = StateWriter(path, attributes, [t.rows for t in plan], mechanism.n_species)
    done = writer.done()
    finished, total = sum(t.rows for t in plan if done[t.index]), sum(t.rows for t in plan)
    on_progress(finished, total)
    lost = []
    with open_pool(workers, _start_worker, mechanism.file, settings, chemistry, dt, seed) as pool:
        waiting = {pool.submit(_work, t) for t in plan if not done[t.index]}
        try:
            for future in as_completed(waiting):
                trajectory, block, error = future.result()
                if block is None:
                    lost.append(
                        f"{trajectory.kind} T={trajectory.T:.0f} K "
                        f"phi={trajectory.phi:.2f}: {error}"
                    )
                    block = _unlabelled(trajectory, mechanism, settings)
                writer.write(trajectory.index, block)
                finished += trajectory.rows
                on_progress(finished, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    writer.finish()
    return {"lost_trajectories": lost, **open_states(path, mechanism, dt).numbers()}


def _unlabelled(trajectory: Trajectory, mechanism: Mechanism, settings: SamplingSettings) -> Block:
    """Rows of a trajectory that could not be computed: its first state, without labels."""
    n, Y = trajectory.rows, mechanism.mixture(settings.fuel, settings.oxidizer, trajectory.phi)
    missing = np.full((n, mechanism.n_species), np.nan)
    block = _block(
        np.full(n, trajectory.T),
        np.full(n, trajectory.p),
        np.tile(Y, (n, 1)),
        missing[:, 0],
        missing,
    )
    block.source[:] = trajectory.index
    block.sampler[:] = SAMPLERS.index(trajectory.kind)
    return block
