"""States of flames, each with the sensitivity of the speed or, in a counterflow, of a peak.

Takes a `Mechanism`, settings and a random generator; gives `SensitiveStates`: the cells of a flame
after a step of transport, where the chemistry of a split solver starts, for `FLAME_STEPS` values of
dt. The flame is marched with each dt for `SETTLING` steps, from the longest to the shortest, since
Cantera's profile is of another grid and not split. Its coarse grid changes a sensitivity by 2 to
4 %, and takes three quarters of the time.
"""

from collections.abc import Iterable
from dataclasses import replace

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.config.data import SamplingSettings
from combred.experiments.counterflow import grid as counterflow
from combred.experiments.counterflow.cantera_flame import CounterflowCase, solve_counterflow
from combred.experiments.counterflow.grid import CounterflowGrid, CounterflowProfile
from combred.experiments.flow.streams import log_uniform, normalized
from combred.experiments.premixed import grid as premixed
from combred.experiments.premixed.cantera_flame import solve_free_flame
from combred.experiments.premixed.grid import FlameCase, MovingGrid
from combred.native.solver.library import Solver
from combred.surrogates.sensitivity.counterflow import peak_sensitivities
from combred.surrogates.sensitivity.flame_speed import speed_sensitivity
from combred.surrogates.sensitivity.rows import SensitiveStates

FLAME_STEPS = 3  # values of dt for each flame, log-uniform over two decades up to half the largest
SETTLING = 12  # steps of a march with each dt
KEPT = 0.998  # share of the sum of |s dY| that the kept cells of a flame have

T, P, PHI = (300.0, 900.0), (7e4, 4e6), (0.55, 1.6)  # K, Pa, -; p log-uniform
CELLS = 160
OF_FLAME_TIME = 0.1  # largest dt, a share of the flame's thickness over its speed

FUEL_T, OXIDIZER_T = (300.0, 500.0), (300.0, 1200.0)  # K
STRAIN = 20.0, 1000.0  # 1/s at 1 atm, log-uniform; as the square root of p at others
COUNTERFLOW_CELLS = 80
OF_STRAIN_TIME = 0.005  # largest dt, a share of the inverse of the strain rate
PEAKS = 4  # species drawn for each dt, whose peaks have sensitivities beside that of T
FORMED = 1e-5, 1.5  # least peak of such a species, and its least ratio to both streams
PEAK_WEIGHT = 0.1  # an error of 1 % of a species' peak counts as one of 0.1 % of a delay or a speed


def premixed_states(
    mechanism: Mechanism, sampling: SamplingSettings, solver: Solver, rng: np.random.Generator
) -> SensitiveStates:
    """Cells of a premixed flame with the sensitivity of its speed; a trajectory for each dt.

    sampling: `fuel`, `oxidizer` as compositions in moles; ranges of p, phi and dt. Raises
    IntegrationError where Cantera finds no flame, the cells do not resolve it, or it is too fast
    for the smallest dt.
    """
    p, phi = common_range(P, sampling.p), common_range(PHI, sampling.phi)
    case = FlameCase(rng.uniform(*T), log_uniform(rng, *p), log_uniform(rng, *phi))
    fresh = mechanism.mixture(sampling.fuel, sampling.oxidizer, case.phi)
    flame = solve_free_flame(mechanism, case.T, case.p, fresh)
    profile = premixed.profile_of(mechanism, flame, case, fresh, CELLS)
    grid = MovingGrid(mechanism, profile)
    time = grid.thickness() / profile.speed
    steps = _steps(sampling, OF_FLAME_TIME * time, rng, str(case))
    sensitivity = speed_sensitivity(mechanism, profile)
    pieces: list[SensitiveStates] = []
    cells, passed = np.arange(CELLS), 0.0
    for i, dt in enumerate(steps):
        for _ in range(SETTLING):
            grid.transport(dt)
            grid.react(solver, dt)
            passed = grid.move() / profile.cell_mass - grid.entered  # of a cell
        grid.transport(dt)
        moved = [np.interp(cells + passed, cells, column) for column in sensitivity.T]
        cells_now = grid.T, case.p, grid.Y
        pieces += labelled(solver, cells_now, dt, [np.column_stack(moved)], i)
    return _joined(pieces)


def counterflow_states(
    mechanism: Mechanism, sampling: SamplingSettings, solver: Solver, rng: np.random.Generator
) -> SensitiveStates:
    """Cells of a counterflow diffusion flame with the sensitivities of the peaks of T and of
    `PEAKS` species that it forms; a trajectory for each dt and peak. Arguments and errors are those
    of `premixed_states`."""
    p = log_uniform(rng, *common_range(P, sampling.p))
    case = CounterflowCase(
        sampling.fuel, sampling.oxidizer, p, rng.uniform(*FUEL_T), rng.uniform(*OXIDIZER_T)
    )
    strain = log_uniform(rng, *STRAIN) * (p / ct.one_atm) ** 0.5
    flame = solve_counterflow(mechanism, case, strain)
    profile = counterflow.profile_of(mechanism, flame, case, COUNTERFLOW_CELLS)
    steps = _steps(sampling, OF_STRAIN_TIME / strain, rng, f"{case}, {strain:.0f} 1/s")
    pieces: list[SensitiveStates] = []
    grid = CounterflowGrid(mechanism, profile)
    for i, dt in enumerate(steps):
        for _ in range(SETTLING):
            grid.transport(dt)
            grid.react(solver, dt)
        grid.transport(dt)
        current = replace(profile, T=grid.T, Y=grid.Y)
        formed = _formed(current)
        species = rng.choice(formed, min(PEAKS, len(formed)), replace=False).tolist()
        sensitivities = peak_sensitivities(mechanism, current, species)
        sensitivities[1:] *= PEAK_WEIGHT
        pieces += labelled(solver, (grid.T, p, grid.Y), dt, sensitivities, i * (1 + PEAKS))
    return _joined(pieces)


def _steps(
    sampling: SamplingSettings, longest: float, rng: np.random.Generator, flame: str
) -> list[float]:
    """Values of dt [s] up to `longest`, the longest first. Raises IntegrationError where it is
    below the smallest of the sampling."""
    lowest, highest = sampling.dt
    high = min(max(lowest, highest / 2), longest)
    if high < lowest:
        raise IntegrationError(f"the smallest dt is too long for a flame: {flame}")
    low = min(max(lowest, highest / 200), high)
    return sorted((log_uniform(rng, low, high) for _ in range(FLAME_STEPS)), reverse=True)


def labelled(
    solver: Solver,
    states: tuple[np.ndarray, float, np.ndarray],
    dt: float,
    sensitivities: Iterable[np.ndarray],
    first: int = 0,
) -> list[SensitiveStates]:
    """The cells of a flame, T (cells,) [K], p [Pa], Y (cells, n_species), with their labels after
    dt [s], for each of `sensitivities` (cells, n_species) those that matter to it; the trajectories
    are numbered from `first` on."""
    T, p, Y = states[0], np.full(len(states[0]), states[1]), normalized(states[2])
    T_next, Y_next = solver.advance(T, p, Y, dt)
    labels, steps = [], np.full(len(T), dt)
    for i, s in enumerate(sensitivities, first):
        indices = largest_contributions(np.abs(s * (Y_next - Y)).sum(axis=1))
        sensitive = SensitiveStates(T, p, Y, steps, T_next, Y_next, s, np.full(len(T), i, "i4"))
        labels.append(sensitive.rows(indices))
    return labels


def _joined(pieces: list[SensitiveStates]) -> SensitiveStates:
    """All rows; the mean of s . e / dt over those of a part is the sum over the cells."""
    for piece in pieces:
        piece.sensitivity *= len(piece)
    return SensitiveStates.join(pieces)


def _formed(profile: CounterflowProfile) -> np.ndarray:
    """Indices of the species that the flame forms (`FORMED`)."""
    peak = profile.Y.max(axis=0)
    return np.flatnonzero((peak > FORMED[0]) & (peak > FORMED[1] * profile.stream_Y.max(axis=0)))


def largest_contributions(sizes: np.ndarray) -> np.ndarray:
    """Indices, in order, of the largest of `sizes` (n,), whose sum is `KEPT` of all. Raises
    IntegrationError where one is not finite."""
    if not np.isfinite(sizes).all():
        raise IntegrationError("a cell of a flame could not be integrated")
    order = np.argsort(-sizes)
    share = np.cumsum(sizes[order]) / sizes.sum()
    return np.sort(order[: int(np.searchsorted(share, KEPT)) + 1])


def common_range(ours: tuple[float, float], theirs: list[float]) -> tuple[float, float]:
    """The range within both; the end of theirs that is nearer where there is none."""
    low, high = theirs
    return min(max(ours[0], low), high), min(max(ours[1], low), high)
