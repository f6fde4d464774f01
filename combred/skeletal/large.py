"""The detailed mechanism where it is too large to compile: CVODE with a sparse preconditioner.

Takes a network of reactions; gives a `Detailed`, which stands for the compiled solver wherever the
results of the detailed mechanism are computed. Cantera's preconditioner makes the time of a step
proportional to the number of reactions: an ignition takes .2 s with 253 species, 1 s with 1268.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE, IntegrationError, Reactor, Tolerances
from combred.chemistry.states import Real, Rows, Tolerance, states_of
from combred.chemistry.stepper import Solution, Stepper
from combred.experiments.ignition.delay import time_to
from combred.experiments.ignition.maxima import steepest_before_lull
from combred.native.solver.library import Integrator
from combred.native.solver.multipliers import MultipliedSolver
from combred.processes.workers import Ask, Processes
from combred.skeletal.compiled import TOLERANCE
from combred.skeletal.phases import phase_of
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

LARGE = 200  # species, above which the detailed mechanism is not compiled: the compiler takes 75 s
# at 250 species, each candidate of the search a time that grows with the species, and most of
# so many species matter to no case
ROUGH = Tolerances(1e-6, 1e-12)  # of states on the way: delays are those of `REFERENCE`


class Sparse(Reactor):
    """As `Reactor`, in moles, with linear systems that are solved iteratively."""

    def __init__(self, gas: ct.Solution, tolerances: Tolerances):
        self.gas, self._tolerances = gas, (tolerances.rtol, tolerances.atol)
        self._build()

    def _build(self) -> None:
        reactor: Any = ct.IdealGasConstPressureMoleReactor(self.gas, clone=False)
        self._reactor, self.net = reactor, ct.ReactorNet([reactor])
        self.net.derivative_settings = {"skip-third-bodies": True, "skip-falloff": True}
        self.net.preconditioner = ct.AdaptivePreconditioner()
        self.net.rtol, self.net.atol = self._tolerances
        self.net.max_steps, self.net.max_time_step = 20_000, self.MAX_STEP


class _Own:
    """What a process integrates with: the network, and reactors of the detailed mechanism."""

    def __init__(self, network: ReactionNetwork):
        gas = network.mechanism.solution(transport=False)
        self.network, self.exact, self.rough = network, Sparse(gas, REFERENCE), Sparse(gas, ROUGH)


class Detailed(Stepper):
    """A large mechanism; `ask` has its processes. Tolerances are CVODE's own."""

    def __init__(self, mechanism: Mechanism, ask: Ask):
        self.mechanism, self.ask, self.gas = mechanism, ask, mechanism.solution(transport=False)

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Stepper.attempt`; errors are 0, or infinite where CVODE fails."""
        return self.states_after(T, p, Y, dt, 1)[0]

    def states_after(self, T: Rows, p: Real, Y: Rows, dt: Real, n: int) -> list[Solution]:
        """As `attempt`, after each of n steps."""
        state, steps = states_of(T, p, Y), np.broadcast_to(dt, len(T))
        tasks = [(row, step, n) for row, step in zip(state, steps, strict=True)]
        found = self.ask(_attempt, tasks)
        none = np.zeros(len(T), int)
        solutions = []
        for i in range(n):
            after = np.array([states[i] for states, _ in found]).reshape(state.shape)
            error = np.array([0.0 if done[i] else np.inf for _, done in found])
            solutions.append(Solution(after[:, 0], after[:, 1], after[:, 2:], error, none))
        return solutions

    def time_to(
        self, T: Rows, p: Real, Y: Rows, until: Rows, longest: Real, tolerance: Tolerance = None
    ) -> Rows:
        """As `Integrator.time_to`."""
        n = len(T)
        given = states_of(T, p, Y), np.broadcast_to(until, n), np.broadcast_to(longest, n)
        return np.array(self.ask(_time_to, list(zip(*given, strict=True))))

    def first_stages(self, states: np.ndarray, rise: Rows, longest: Rows) -> Rows:
        """T (n,) [K] of first stages, as `combred.experiments.ignition.maxima.first_stage`, of
        states [T, p, Y] (n, 2 + n_species) with a rise (n,) [K], in CVODE's own steps until
        `longest` (n,) [s]; NaN where there is one stage."""
        return np.array(self.ask(_first_stage, list(zip(states, rise, longest, strict=True))))

    def delays_of(self, skeleton: Skeleton, begin: tuple, until: Rows, longest: Rows) -> Rows:
        """As `time_to`, of a skeleton."""
        T, p, Y = begin
        rows = zip(T, p, Y[:, skeleton.species], until, longest, strict=True)
        parts = [(skeleton.species, skeleton.listed, row) for row in rows]
        return np.array(self.ask(_skeleton_time_to, parts))

    def march(self, n: int) -> "March":
        """A stepper for those who advance states by n equal steps: one integration of each."""
        return March(self, n)

    def rates(self, T: Rows, p: Real, Y: Rows) -> tuple[Rows, Rows]:
        """dY/dt, and zeros: destruction rates are not asked for, of states as of `Integrator`."""
        found = []
        for row in states_of(T, p, Y):
            self._set(row[0], row[1], row[2:])
            found.append(self.gas.net_production_rates * self._per_mass())
        return np.array(found), np.zeros((len(found), self.gas.n_species))

    def jacobian(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """As `Integrator.jacobian`, without its first row, d(dT/dt), which is NaN. With molar rates
        w_k of T and concentrations C, at constant p, where the density rho is that of T and Y,

            d(dY_k/dt)/dY_i = W_k / W_i (dw_k/dC_i - M sum_j dw_k/dC_j C_j / rho + M w_k / rho)
            d(dY_k/dt)/dT = W_k / rho (dw_k/dT - sum_j dw_k/dC_j C_j / T + w_k / T),

        M the mean molar mass."""
        self._set(T, p, Y)
        gas, scale, W = self.gas, self._per_mass(), self.gas.molecular_weights
        by_C, rho, M = gas.net_production_rates_ddCi, gas.density, gas.mean_molecular_weight
        w, all_C = gas.net_production_rates, by_C @ gas.concentrations
        found = np.full((1 + len(Y), 1 + len(Y)), np.nan)
        found[1:, 1:] = (by_C * rho + (M * (w - all_C))[:, None]) * scale[:, None] / W
        found[1:, 0] = scale * (gas.net_production_rates_ddT + (w - all_C) / T)
        return found

    def _set(self, T: float, p: float, Y: np.ndarray) -> None:
        self.gas.set_unnormalized_mass_fractions(Y)
        self.gas.TP = T, p

    def _per_mass(self) -> np.ndarray:
        return self.gas.molecular_weights / self.gas.density


class March(Stepper):
    """The first call of `attempt` integrates n steps; the next ones, which continue it with the
    same dt, give the states that are there."""

    def __init__(self, of: Detailed, n: int):
        self.of, self.n = of, n
        self.left: Iterator[Solution] = iter(())

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Detailed.attempt`."""
        after = next(self.left, None)
        if after is None:
            self.left = iter(self.of.states_after(T, p, Y, dt, self.n))
            after = next(self.left)
        return after


def _attempt(own: _Own, task: tuple[np.ndarray, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """The states after a number of steps (n, 2 + n_species), and whether they are reached."""
    begin, dt, n = task
    states, done = np.tile(begin, (n, 1)), np.zeros(n, bool)
    try:
        own.rough.start(begin[0], begin[1], begin[2:])
        for i in range(n):
            states[i:, 0], states[i:, 2:] = own.rough.advance((i + 1) * float(dt))
            done[i] = True
    except IntegrationError:
        pass
    return states, done


def _time_to(own: _Own, task: tuple[np.ndarray, float, float]) -> float:
    state, until, longest = task
    return _time(own.exact, (state[0], state[1], state[2:]), float(until), float(longest))


def _first_stage(own: _Own, task: tuple[np.ndarray, float, float]) -> float:
    """NaN where CVODE fails, too."""
    state, rise, longest = task
    steps = [(0.0, float(state[0]))]
    try:
        own.rough.start(state[0], state[1], state[2:])
        while steps[-1][0] < longest:
            steps.append(own.rough.step())
    except IntegrationError:
        return np.nan
    t, T = np.array(steps).T
    i = steepest_before_lull(t, T, rise)
    return 0.5 * float(T[i] + T[i + 1]) if i >= 0 else np.nan


def _skeleton_time_to(own: _Own, task: tuple) -> float:
    """Of a skeleton, in a new phase: it takes less time than an ignition."""
    species, listed, (T, p, Y, until, longest) = task
    gas = phase_of(Skeleton(own.network, species, listed), transport=False)
    return _time(Sparse(gas, REFERENCE), (T, p, Y), float(until), float(longest))


def _time(
    reactor: Reactor, begin: tuple[float, float, np.ndarray], until: float, longest: float
) -> float:
    """Infinite where it is later than `longest`, or CVODE fails."""
    if begin[0] >= until:
        return 0.0
    try:
        found = time_to(reactor, *begin, until, longest)
    except IntegrationError:
        return np.inf
    return found if found < longest else np.inf


Solver = Integrator | Detailed


@contextmanager
def opened_detailed(processes: Processes, network: ReactionNetwork) -> Iterator[Solver]:
    """What computes the results of the detailed mechanism: its compiled solver, or a `Detailed` if
    it has more than `LARGE` species, whose processes end with the context."""
    mechanism = network.mechanism
    if mechanism.n_species <= LARGE:
        yield MultipliedSolver(mechanism, np.ones(len(network.reactions)), TOLERANCE)
        return
    with processes.asked(_Own, (network,)) as ask:
        yield Detailed(mechanism, ask)
