"""States of premixed trajectories: of 0D ignitions and of freely propagating flames.

Takes a `Trajectory` of the plan; gives its `Block` of labelled rows for `sampling.sample`.
A trajectory computes an ignition or a flame, takes states from it, perturbs and relaxes some of
them, and labels all of them by the generated solver. There are three kinds of state:

- exact: a state of the trajectory itself;
- perturbed: T, p and Y changed, element masses kept (`sampling.premixed.perturbation`);
- relaxed: perturbed more widely, then integrated over a random time, so that the fast scales relax
  (evolutionary Monte Carlo, after Yao et al., Comput. Phys. Commun. 316 (2025) 109802).
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Reactor
from combred.config.data import SamplingSettings
from combred.experiments.ignition.rollout import Case, history
from combred.experiments.labelled import Block, advance, label
from combred.experiments.premixed.cantera_flame import solve_free_flame
from combred.experiments.premixed.grid import FlameCase, profile_of
from combred.native.solver.library import Solver
from combred.surrogates.dataset.schema import SAMPLERS
from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.sampling.plan import Trajectory
from combred.surrogates.sampling.premixed.perturbation import perturb
from combred.surrogates.sampling.premixed.profiles import after_diffusion, between_grid_points

RELAXED_PER_STATE = 3  # relaxed states that begin with the same perturbed one
MIN_CELLS, MAX_CELLS = 40, 400  # of a flame that diffusion and chemistry advance in turn
LONGEST = 1.0  # s, time at which an ignition ends at the latest
BURNT_TIME = 5e-3  # s, time that is integrated after ignition
PERTURBATION = 1e-3, 0.1  # range of the width s of perturbed states, log-uniform
RELAXED_PERTURBATION = 1e-2, 0.16  # the same before relaxation
RELAXATION = 1e-7, 1e-4  # s, range of the relaxation time, log-uniform


class PremixedStates:
    """Turns a premixed `Trajectory` into a `Block` of labelled states.

    settings: `fuel` and `oxidizer` as compositions in moles; seed: of all random streams. A state
    that cannot be integrated has NaN as its label.
    """

    def __init__(self, mechanism: Mechanism, settings: SamplingSettings, solver: Solver, seed: int):
        self.mechanism, self.settings, self.seed = mechanism, settings, seed
        self.solver, self.reactor = solver, Reactor(mechanism)
        self.projection = ElementProjection(mechanism)

    def block(self, trajectory: Trajectory) -> Block:
        """The labelled rows of a trajectory, always `trajectory.rows` of them, with their samplers;
        their source is still zero.

        Raises IntegrationError where the ignition or the flame cannot be computed.
        """
        rng = np.random.default_rng([self.seed, 2, trajectory.index])
        compute = self.ignition if trajectory.kind == "ignition" else self.flame
        exact = compute(trajectory, rng)
        around = exact.T, exact.p, exact.Y
        rows_of_kind = trajectory.rows // 3
        perturbed = perturb(self.projection, rng, around, rows_of_kind, PERTURBATION)
        count = -(-rows_of_kind // RELAXED_PER_STATE)
        wide = perturb(self.projection, rng, around, count, RELAXED_PERTURBATION)
        pieces = [exact, self.label(rng, *perturbed), self.relax(rng, *wide, count=rows_of_kind)]
        first = SAMPLERS.index(trajectory.kind)
        for offset, piece in enumerate(pieces):
            piece.sampler[:] = first + offset
        return Block.join(pieces)

    def _steps(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The time steps (n,) [s] of rows, log-uniform in `settings.dt`."""
        low, high = self.settings.dt
        return low * (high / low) ** rng.random(n) if high > low else np.full(n, low)

    # -- exact states ----------------------------------------------------------------------------

    def ignition(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """States of a 0D ignition, a third of the rows, labelled.

        With tau, the time of the steepest rise of T: a quarter uniform in time up to 1.1 tau, a
        quarter log-uniform in time from 1 ns to the end (`BURNT_TIME` past ignition), a quarter
        normally distributed in time around tau, a quarter uniform in T, one of them at t = 0.
        Raises IntegrationError.
        """
        s = self.settings
        Y0 = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        T0, p, n = trajectory.T, trajectory.p, trajectory.rows // 3
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
        initial = np.full(n, T0), np.full(n, p), np.tile(Y0, (n, 1))
        return self._later(rng, *initial, np.sort(np.concatenate(times)))

    def flame(self, trajectory: Trajectory, rng: np.random.Generator) -> Block:
        """States of a freely propagating premixed flame, a third of the rows, labelled.

        Half of them lie between the grid points of Cantera's solution. The other half are states
        after a step of diffusion, as an operator-splitting flow solver gives them to its chemistry
        (none where that would be fewer than `MIN_CELLS`). Raises IntegrationError.
        """
        s, n = self.settings, trajectory.rows // 3
        unburnt = self.mechanism.mixture(s.fuel, s.oxidizer, trajectory.phi)
        case = FlameCase(trajectory.T, trajectory.p, trajectory.phi)
        flame = solve_free_flame(self.mechanism, case.T, case.p, unburnt)
        cells = min(n // 2, MAX_CELLS)
        cells = cells if cells >= MIN_CELLS else 0
        between = self.label(rng, *between_grid_points(flame, n - cells, rng, case.p))
        if not cells:
            return between
        initial = profile_of(self.mechanism, flame, case, unburnt, cells)
        dt = float(self._steps(rng, 1)[0])
        diffused = self.label(rng, *after_diffusion(self.mechanism, initial, self, dt))
        return Block.join([between, diffused])

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The solver as an `Advance`, with undershoots of Y set to zero before and after, and NaN
        where it fails."""
        return advance(self.solver, T, p, _without_undershoots(Y), dt)

    # -- perturbed and relaxed states ------------------------------------------------------------

    def relax(
        self, rng: np.random.Generator, T: np.ndarray, p: np.ndarray, Y: np.ndarray, count: int
    ) -> Block:
        """`count` labelled states: `RELAXED_PER_STATE` of each state T (n,) [K], p (n,) [Pa],
        Y (n, n_species), after times log-uniform in `RELAXATION` [s]; without a label where a
        relaxation fails."""
        low, high = np.log(RELAXATION)
        times = np.exp(rng.uniform(low, high, count))
        T, p, Y = (np.repeat(column, RELAXED_PER_STATE, axis=0)[:count] for column in (T, p, Y))
        return self._later(rng, T, p, Y, times)

    def _later(self, rng: np.random.Generator, T, p, Y, times: np.ndarray) -> Block:
        """The states after `times` (n,) [s], 0 for a state itself, from T (n,) [K], p (n,) [Pa],
        Y (n, n_species), labelled; a row that cannot be reached is the state, without a label."""
        T_then, Y_then = self.advance(T, p, Y, np.maximum(times, 1e-30))
        reached, later = np.isfinite(T_then), times > 0.0
        T = np.where(reached & later, T_then, T)
        block = self.label(rng, T, p, np.where((reached & later)[:, None], Y_then, Y))
        block.T_next[~reached], block.Y_next[~reached] = np.nan, np.nan
        return block

    def label(self, rng: np.random.Generator, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> Block:
        """The states T (n,) [K], p (n,) [Pa], Y (n, n_species), labelled over a dt each;
        undershoots of Y are set to zero before and after."""
        return label(self.solver, T, p, _without_undershoots(Y), self._steps(rng, len(T)))


def _without_undershoots(Y: np.ndarray) -> np.ndarray:
    """Negative mass fractions, which CVODE leaves of the order of atol, set to zero; NaN stays."""
    return np.where(Y < 0.0, 0.0, Y)
