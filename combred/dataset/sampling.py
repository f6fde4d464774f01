"""Labelled states: states of a flow, or of premixed ignitions and flames, each with a time step dt
and the state dt later.

Takes a `Mechanism` and `SamplingSettings`; gives a finished state file (`combred.dataset.states`).
Each trajectory of the plan (`combred.dataset.plan`) is one task with its own random stream.
`combred.dataset.flow_states` has the states of a flow. A premixed trajectory computes an ignition
or a flame, takes states from it, perturbs and relaxes some of them, and labels all of them with
CVODE. There are three kinds of state:

- exact: a state of the trajectory itself;
- perturbed: Y^(1 + s u), T and p changed (as in Yi et al., arXiv 2512.05685), element masses kept;
- relaxed: perturbed more widely, then integrated over a random time, so that the fast scales relax
  (evolutionary Monte Carlo, after Yao et al., Comput. Phys. Commun. 316 (2025) 109802).
"""

from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, replace
from pathlib import Path

import cantera as ct
import numpy as np
import torch

from combred.chemistry.element_projection import ElementProjection
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE, IntegrationError
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset.flow_states import FlowStates
from combred.dataset.plan import Trajectory, plan_trajectories
from combred.dataset.state_table import open_states
from combred.dataset.state_writer import StateWriter
from combred.dataset.states import FLOW, SAMPLERS, Block, state_attributes
from combred.simulation.free_flame import solve_free_flame
from combred.simulation.ignition import Case, history
from combred.simulation.moving_grid import FlameCase, MovingGrid, Profile, profile_of
from combred.workers import open_pool

RELAXED_PER_RUN = 3  # states taken from one relaxation: the second and third cost almost nothing
MIN_CELLS, MAX_CELLS = 40, 400  # of a flame that diffusion and chemistry advance in turn
SPLIT_STEPS = 6  # steps dt of such a flame before its states are taken
LONGEST = 1.0  # s, time at which an ignition ends at the latest
BURNT_TIME = 5e-3  # s, time that is integrated after ignition
PERTURBATION = 1e-3, 0.1  # range of the width s of perturbed states, log-uniform
RELAXED_PERTURBATION = 1e-2, 0.16  # the same before relaxation
RELAXATION = 1e-7, 1e-4  # s, range of the relaxation time, log-uniform
T_FLOOR, T_CEILING = 250.0, 3300.0  # K: perturbed temperatures are clipped to this range

States = tuple[np.ndarray, np.ndarray, np.ndarray]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)


class Sampler:
    """Turns a `Trajectory` into a `Block` of labelled states; each worker process has one.

    settings: `fuel` and `oxidizer` as compositions in moles; seed: of all random streams. A state
    that CVODE cannot integrate has NaN as its label.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        settings: SamplingSettings,
        chemistry: ChemistrySettings,
        seed: int,
    ):
        self.mechanism, self.settings, self.seed = mechanism, settings, seed
        self.flow = FlowStates(mechanism, settings, chemistry, seed)
        self.cvode = CVODE(mechanism, chemistry.rtol, chemistry.atol)
        self.reactor = self.cvode.reactor
        self.projection = ElementProjection(mechanism)

    def block(self, trajectory: Trajectory) -> Block:
        """The labelled rows of a trajectory, always `trajectory.rows` of them.

        They depend on the trajectory and the settings alone, not on earlier calls. Raises
        IntegrationError where the ignition or the flame cannot be computed.
        """
        if trajectory.kind == "flow":
            block = self._of_flow(trajectory)
            block.source[:] = trajectory.index
            return block
        rng = np.random.default_rng([self.seed, 2, trajectory.index])
        compute = self.ignition if trajectory.kind == "ignition" else self.flame
        exact = compute(trajectory, rng)
        around = exact.T, exact.p, exact.Y
        perturbed = self.perturb(rng, around, trajectory.perturbed, PERTURBATION)
        runs = -(-trajectory.relaxed // RELAXED_PER_RUN)
        wide = self.perturb(rng, around, runs, RELAXED_PERTURBATION)
        parts = [
            exact,
            self.label(rng, *perturbed),
            self.relax(rng, *wide, count=trajectory.relaxed),
        ]
        first = SAMPLERS.index(trajectory.kind)
        for offset, part in enumerate(parts):
            part.source[:] = trajectory.index
            part.sampler[:] = first + offset
        return Block.join(parts)

    def _of_flow(self, trajectory: Trajectory) -> Block:
        """The rows of a block of `FlowStates`."""
        states, later, dt, kinds = zip(*self.flow.block(trajectory.index), strict=True)
        state, after = np.array(states), np.array(later)
        block = _block(*_columns(state), np.array(dt), after[:, 0], after[:, 2:])
        block.sampler[:] = FLOW + np.array(kinds)
        return block.rows(np.arange(trajectory.rows))

    def _steps(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The time steps (n,) [s] of rows, log-uniform in `settings.dt`."""
        low, high = self.settings.dt
        return low * (high / low) ** rng.random(n) if high > low else np.full(n, low)

    # -- exact states ----------------------------------------------------------------------------

    def ignition(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """`trajectory.exact` states of a 0D ignition, labelled by the same integration, dt later.

        With tau, the time of the steepest rise of T: a quarter uniform in time up to 1.1 tau, a
        quarter log-uniform in time from 1 ns to the end (`BURNT_TIME` past ignition), a quarter
        normally distributed in time around tau, a quarter uniform in T, one of them at t = 0.
        Raises IntegrationError.
        """
        s = self.settings
        Y0 = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        T0, p, n = trajectory.T, trajectory.p, trajectory.exact
        case = Case(T0, p, trajectory.phi)
        t, T = history(self.reactor, case, Y0, LONGEST, BURNT_TIME)
        steepest = int(np.argmax(np.gradient(T, t)))
        tau = t[steepest]
        width = (T.max() - T.min()) / max(np.gradient(T, t)[steepest], 1e-300)
        # The running maximum of T is monotonic in time, so that it can be inverted.
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        quarter = n // 4
        times = [
            rng.uniform(0.0, 1.1 * tau, quarter),
            np.exp(rng.uniform(np.log(1e-9), np.log(t[-1]), quarter)),
            np.abs(tau + 2.0 * width * rng.standard_normal(quarter)),
            np.interp(rng.uniform(T0, T.max(), n - 3 * quarter - 1), rise_T, t[rise_at]),
            [0.0],
        ]
        return self._read_out(rng, (T0, p, Y0), np.concatenate(times))

    def _read_out(
        self,
        rng: np.random.Generator,
        state: tuple[float, float, np.ndarray],
        times: np.ndarray,
    ) -> Block:
        """The states at `times` (n,) [s], in ascending order, of one integration from `state`
        (T [K], p [Pa], Y (n_species,)), each labelled by the state dt later."""
        times, dt = np.sort(times), self._steps(rng, len(times))
        at = np.unique(np.concatenate([times, times + dt]))
        T0, p, Y0 = state
        T, Y = np.full(len(at), np.nan), np.full((len(at), len(Y0)), np.nan)
        T[0], Y[0] = T0, Y0
        try:
            self.reactor.start(T0, p, Y0)
            for i, t in enumerate(at):
                if t > 0.0:
                    T[i], Y[i] = self.reactor.advance(t)
        except IntegrationError:
            pass  # later states stay NaN: failed rows, counted by the writer
        now, later = np.searchsorted(at, times), np.searchsorted(at, times + dt)
        # A failed row still needs a state: the last one that CVODE reached.
        good = np.isfinite(T)
        last = np.maximum.accumulate(np.where(good, np.arange(len(at)), 0))
        failed = ~(good[now] & good[later])
        T_next = np.where(failed, np.nan, T[later])
        Y_next = np.where(failed[:, None], np.nan, _without_undershoots(Y[later]))
        Y_now = _without_undershoots(Y[last[now]])
        return _block(T[last[now]], np.full(len(times), p), Y_now, dt, T_next, Y_next)

    def flame(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """`trajectory.exact` states of a freely propagating premixed flame, labelled.

        Half of them lie between the grid points of Cantera's solution. The other half are states
        after a step of diffusion, as an operator-splitting flow solver gives them to its chemistry
        (none where that would be fewer than `MIN_CELLS`). Raises IntegrationError.
        """
        s, n = self.settings, trajectory.exact
        unburnt = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        case = FlameCase(trajectory.T, trajectory.p, trajectory.phi)
        flame = solve_free_flame(self.mechanism, case.T, case.p, unburnt)
        cells = min(n // 2, MAX_CELLS)
        cells = cells if cells >= MIN_CELLS else 0
        between = self.label(rng, *self._between_grid_points(flame, n - cells, rng, case.p))
        if not cells:
            return between
        begin = profile_of(self.mechanism, flame, case, unburnt, cells)
        return Block.join([between, self._after_diffusion(rng, begin)])

    def _between_grid_points(
        self, flame: ct.FreeFlame, n: int, rng: np.random.Generator, p: float
    ) -> States:
        """n states interpolated linearly between grid points: half uniform in the grid index (the
        grid is dense in the flame front), half uniform in T."""
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

    def _after_diffusion(self, rng: np.random.Generator, begin: Profile) -> Block:
        """The cells of a flame after the last of `SPLIT_STEPS` steps of diffusion and chemistry in
        turn, before its chemistry; the fast species have adjusted to the splitting by then."""
        grid, dt = MovingGrid(self.mechanism, begin), float(self._steps(rng, 1)[0])
        for step in range(SPLIT_STEPS):
            grid.diffuse(dt)
            if step < SPLIT_STEPS - 1:
                grid.react(self, dt)
        return self.label(rng, grid.T, np.full(len(grid.T), begin.case.p), grid.Y)

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """CVODE as an `Advance`, with undershoots of Y set to zero before and after, as in
        `label`."""
        T_next, Y_next = self.cvode.advance(T, p, _without_undershoots(Y), dt)
        return T_next, _without_undershoots(Y_next)

    # -- perturbed and relaxed states ------------------------------------------------------------

    def perturb(
        self,
        rng: np.random.Generator,
        states: States,
        count: int,
        width: tuple[float, float],
    ) -> States:
        """`count` states, each a perturbation of a random one of `states`:

            Y_k' = Y_k^(1 + s u_k)    T' = T + 400 K s N(0, 1)    p' = p (1 + s u / 2)

        with s log-uniform in `width`, and u_k, u uniform in [-1, 1]. Inert species and
        the mass of every element are kept; a perturbation whose projection to these masses fails is
        drawn again. Raises ValueError where 50 draws fail.
        """
        T, p, Y = states
        out_T, out_p, out_Y = np.empty(count), np.empty(count), np.empty((count, Y.shape[1]))
        low, high = np.log(width)
        open_rows = np.arange(count)
        for _ in range(50):
            if len(open_rows) == 0:
                return out_T, out_p, out_Y
            n = len(open_rows)
            base = rng.integers(0, len(T), n)
            s = np.exp(rng.uniform(low, high, n))
            u = rng.uniform(-1, 1, (n, Y.shape[1]))
            raw = np.where(Y[base] > 0, Y[base], 1.0) ** (1 + s[:, None] * u) * (Y[base] > 0)
            target = torch.tensor(Y[base])
            projected = self.projection(torch.tensor(raw), target)
            error = self.projection.error(projected, target).numpy()
            perturbed = projected.numpy()
            good = error < 1e-9
            rows = open_rows[good]
            noise = 400.0 * s * rng.standard_normal(n)
            out_T[rows] = np.clip(T[base] + noise, T_FLOOR, T_CEILING)[good]
            out_p[rows] = (p[base] * (1 + 0.5 * s * rng.uniform(-1, 1, n)))[good]
            out_Y[rows] = perturbed[good]
            open_rows = open_rows[~good]
        raise ValueError(
            f"{len(open_rows)} of {count} perturbations of width {list(width)} do not keep the "
            "element masses within 1e-9, after 50 draws each: choose other "
            "ranges of sampling.phi and sampling.flame_phi"
        )

    def relax(
        self, rng: np.random.Generator, T: np.ndarray, p: np.ndarray, Y: np.ndarray, count: int
    ) -> Block:
        """`count` labelled states: `RELAXED_PER_RUN` from an integration of each state T (n,) [K],
        p (n,) [Pa], Y (n, n_species), at times log-uniform in `RELAXATION` [s]."""
        low, high = np.log(RELAXATION)
        parts = []
        for i in range(len(T)):
            n = min(RELAXED_PER_RUN, count - i * RELAXED_PER_RUN)
            times = np.exp(rng.uniform(low, high, n))
            parts.append(self._read_out(rng, (T[i], p[i], Y[i]), times))
        if not parts:
            return _block(*(np.empty(s) for s in (0, 0, (0, Y.shape[1]), 0, 0, (0, Y.shape[1]))))
        return Block.join(parts)

    def label(self, rng: np.random.Generator, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> Block:
        """The states T (n,) [K], p (n,) [Pa], Y (n, n_species), labelled by CVODE over a dt each,
        from a cold start; undershoots of Y are set to zero before and after."""
        dt = self._steps(rng, len(T))
        T_next, Y_next = self.advance(T, p, Y, dt)
        return _block(T, p, _without_undershoots(Y), dt, T_next, Y_next)


def _without_undershoots(Y: np.ndarray) -> np.ndarray:
    """Negative mass fractions, which CVODE leaves of the order of atol, set to zero; NaN stays."""
    return np.where(Y < 0.0, 0.0, Y)


def _columns(state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, p and Y of states [T, p, Y] (n, 2 + n_species)."""
    return state[:, 0], state[:, 1], state[:, 2:]


def _block(T, p, Y, dt, T_next, Y_next) -> Block:
    """A block whose source and sampler are still zero."""
    return Block(T, p, Y, dt, T_next, Y_next, np.zeros(len(T), "i4"), np.zeros(len(T), "u1"))


# -- the stage -------------------------------------------------------------------------------------

_sampler: Sampler  # one per worker process


def _start_worker(file, settings, chemistry, seed) -> None:
    global _sampler
    torch.set_num_threads(1)
    ct.suppress_thermo_warnings()
    _sampler = Sampler(load_mechanism(file), settings, chemistry, seed)


def _work(trajectory: Trajectory) -> tuple[Trajectory, Block | None, str]:
    """A trajectory with its block, or with None and CVODE's message."""
    error = ""
    for _ in range(2):  # after a failure the reactor is a new one: the same states are tried again
        try:
            return trajectory, _sampler.block(trajectory), ""
        except IntegrationError as failure:
            error = str(failure)
    return trajectory, None, error


def provenance(settings: SamplingSettings, chemistry: ChemistrySettings, seed: int) -> dict:
    """All settings, besides the mechanism, that the rows of a state file depend on."""
    return {
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
    seed: int,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Write the state file `path` with `workers` processes, resuming an interrupted run.

    `on_progress(done, total)` is called with numbers of rows.
    Returns the trajectories that could not be computed, as text ("lost_trajectories"), and
    `StateTable.numbers`. Raises ValueError where the fuel is unknown, and StateFileError where a
    run with other settings was interrupted at this path.
    """
    settings = replace(settings, fuel=mechanism.resolve_fuel(settings.fuel))
    plan = plan_trajectories(settings, seed)
    attributes = state_attributes(mechanism, provenance(settings, chemistry, seed))
    writer = StateWriter(path, attributes, [t.rows for t in plan], mechanism.n_species)
    done = writer.done()
    finished, total = sum(t.rows for t in plan if done[t.index]), sum(t.rows for t in plan)
    on_progress(finished, total)
    lost = []
    with open_pool(workers, _start_worker, mechanism.file, settings, chemistry, seed) as pool:
        waiting = {pool.submit(_work, t) for t in plan if not done[t.index]}
        for future in as_completed(waiting):
            trajectory, block, error = future.result()
            if block is None:
                lost.append(f"{trajectory.name}: {error}")
                block = _unlabelled(trajectory, mechanism, settings)
            writer.write(trajectory.index, block)
            finished += trajectory.rows
            on_progress(finished, total)
    writer.finish()
    return {"lost_trajectories": lost, **open_states(path, mechanism).numbers()}


def _unlabelled(trajectory: Trajectory, mechanism: Mechanism, settings: SamplingSettings) -> Block:
    """The rows of a trajectory that could not be computed: its initial state, without labels."""
    n, Y = trajectory.rows, mechanism.mixture(settings.fuel, settings.oxidizer, trajectory.phi)
    missing = np.full((n, mechanism.n_species), np.nan)
    block = _block(
        np.full(n, trajectory.T),
        np.full(n, trajectory.p),
        np.tile(Y, (n, 1)),
        np.full(n, settings.dt[0]),
        missing[:, 0],
        missing,
    )
    block.source[:] = trajectory.index
    block.sampler[:] = FLOW if trajectory.kind == "flow" else SAMPLERS.index(trajectory.kind)
    return block
