"""States of flame kernels, each with the sensitivity of the mass of a species at the end.

Takes a `Mechanism`, settings and a random generator; gives `SensitiveStates`: the cells of a
kernel (`sensitivity.flame_kernel`) after a step of diffusion, where the chemistry of a
split solver starts. Many of these kernels go out: their radicals decay, and one-step errors add up.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.thermo import Thermo
from combred.config.data import SamplingSettings
from combred.experiments.flow.streams import log_uniform
from combred.native.solver.library import Solver
from combred.surrogates.sensitivity.flame_kernel import (
    FlameKernel,
    march,
    mass_sensitivities,
    new_kernel,
    reacted,
)
from combred.surrogates.sensitivity.rows import SensitiveStates
from combred.surrogates.sensitivity.sampling.flames import PHI, P, common_range, labelled

T = 300.0, 700.0  # K, of the fresh gas
CELLS, BURNT = 48, (6, 24)  # of a kernel; of its burnt gas
TIME = 2e-5, 1e-3  # s at 1 atm, of the march, log-uniform; as the root of 1 / p at others
SPREAD = 0.1, 2.0  # width that diffusion reaches by then over that of the burnt gas, log-uniform
STEPS = 80  # of the march that gives the sensitivities
TIMES = 3  # random times of the march, at which the cells become rows, each with its own dt
SETTLING = 4  # steps of this dt before: those of the march are others
OF_TIME = 0.04  # largest dt, a share of the march
SPECIES = 3  # drawn for each kernel
FORMED = 1e-7, 1.5  # least mean mass fraction at the end, and its least ratio to the fresh gas
LEFT = 0.05  # least mass at the end, a share of the largest in the march
WEIGHT = 0.45  # an error of 1 % of a mass counts as one of 0.45 % of a delay or a speed


def kernel_states(
    mechanism: Mechanism, sampling: SamplingSettings, solver: Solver, rng: np.random.Generator
) -> SensitiveStates:
    """Cells of a kernel at `TIMES` times, for `SPECIES` species that it forms; a trajectory for
    each species.

    sampling: `fuel`, `oxidizer` as compositions in moles; ranges of p, phi and dt. Raises
    IntegrationError where the kernel is too short for the smallest dt, FloatingPointError or
    ValueError where the solver fails.
    """
    p = log_uniform(rng, *common_range(P, sampling.p))
    phi = log_uniform(rng, *common_range(PHI, sampling.phi))
    time = log_uniform(rng, *TIME) * (ct.one_atm / p) ** 0.5
    burnt = int(rng.integers(*BURNT))
    diffusion_rate = (burnt * log_uniform(rng, *SPREAD)) ** 2 / (2 * time)
    low, high = sampling.dt[0], min(sampling.dt[1], OF_TIME * time)
    if low > high:
        raise IntegrationError(f"the smallest dt is too long for a flame kernel of {time:.2g} s")
    fresh = mechanism.mixture(sampling.fuel, sampling.oxidizer, phi)
    kernel = new_kernel(mechanism, (rng.uniform(*T), p, fresh), burnt, CELLS, diffusion_rate)
    step = time / STEPS
    thermo = Thermo(mechanism)
    states = march(solver, thermo, kernel, step, STEPS)
    formed = _formed(states, fresh)
    species = rng.choice(formed, min(SPECIES, len(formed)), replace=False).tolist()
    sensitivities = mass_sensitivities(mechanism, states, step, species)
    pieces = []
    for _ in range(TIMES):
        dt = log_uniform(rng, low, high)
        first_step = int(rng.integers(1, STEPS - int((SETTLING + 1) * dt / step)))
        state = states[first_step]
        for _ in range(SETTLING):
            state = reacted(solver, thermo, state.diffused(dt), dt)
        state = state.diffused(dt)
        end = first_step + (SETTLING + 1) * dt / step
        first = min(int(end), STEPS - 1)
        share = end - first
        s = (1 - share) * sensitivities[:, first] + share * sensitivities[:, first + 1]
        pieces += labelled(solver, (state.temperatures(thermo), p, state.Y), dt, s)
    return _joined(pieces, time)


def _formed(states: list[FlameKernel], fresh: np.ndarray) -> np.ndarray:
    """Indices of the species that the kernel forms (`FORMED`), and that are left (`LEFT`)."""
    masses = np.array([state.Y.mean(axis=0) for state in states])
    last = masses[-1]
    indices = np.flatnonzero(
        (last > FORMED[0]) & (last > FORMED[1] * fresh) & (last > LEFT * masses.max(axis=0))
    )
    if not len(indices):
        raise IntegrationError("a flame kernel forms nothing")
    return indices


def _joined(pieces: list[SensitiveStates], time: float) -> SensitiveStates:
    """All rows; the mean of s . e / dt over those of a species is the sum over the cells, and the
    mean over the times, times `time` [s]. The first steps to settle have no rows: with the longest
    dt a fifth of the march, for which the other times stand."""
    rows = SensitiveStates.join(pieces)
    of_species = np.bincount(rows.trajectory)[rows.trajectory]
    rows.sensitivity[:] *= (WEIGHT * time / TIMES * of_species)[:, None]
    return rows
