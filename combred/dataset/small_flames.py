"""Small premixed flames, whose states are trained on: a few cells between a fresh gas and its own
products, which diffuse and react in turn.

Takes a fresh and a burnt gas; gives the states of the cells, step after step, for
`combred.dataset.flow_states`. In them radicals diffuse into the fresh gas, and fuel into the flame,
as in a premixed flame. The flames need not be resolved nor steady: neither are those of a flow.
"""

from collections.abc import Iterator

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE, IntegrationError
from combred.dataset.flow_streams import log_uniform
from combred.simulation.diffusion import Diffusion

CELLS, STEPS, FIRST = 12, 20, 8  # the first steps, in which radicals appear, give no states
FRONT = 0.3, 3.0  # width of the initial front in cells, log-uniform
CELL_TIME = 1e-6, 2e-4  # s, time of heat conduction across a cell, log-uniform
STEP = 0.1, 1.0  # a step over this time, log-uniform
PART = 1e-3, 1.0  # of a step, by which a state has diffused since the last reaction, log-uniform
HEATED = 20.0  # K above the fresh gas, below which a cell gives no states
RTOL, ATOL = 1e-4, 1e-12  # of CVODE between the states, whose labels are more precise


class SmallFlames:
    """Draws small flames. Raises ValueError where the mechanism has no transport data."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.diffusion = Diffusion(mechanism, ct.one_atm, 1.0)  # each flame sets p and mass

    def states(
        self, rng: np.random.Generator, fresh: np.ndarray, burnt: np.ndarray
    ) -> Iterator[np.ndarray]:
        """The states [T, p, Y] (cells, 2 + n_species) of the heated cells, for each step, after a
        part of its diffusion: the time step of a flow solver may be short beside that of the
        flame. fresh, burnt (2 + n_species,): states at the same p.

        The ends are closed. Raises IntegrationError where CVODE fails, FloatingPointError where
        diffusion does.
        """
        chemistry, diffusion = CVODE(self.mechanism, RTOL, ATOL), self.diffusion
        diffusion.p = p = fresh[1]
        front = rng.uniform(0.25, 0.75) * CELLS
        distance = np.arange(CELLS) + 0.5 - front
        share = 1.0 / (1.0 + np.exp(-distance / log_uniform(rng, *FRONT)))[:, None]
        Y = (1 - share) * fresh[2:] + share * burnt[2:]
        time = log_uniform(rng, *CELL_TIME)
        ends = diffusion.enthalpy(np.array([fresh[0], burnt[0]]), np.array([fresh[2:], burnt[2:]]))
        h = (1 - share[:, 0]) * ends[0] + share[:, 0] * ends[1]
        T = diffusion.temperature(h, Y, (fresh[0] + burnt[0]) / 2 * np.ones(CELLS), 20)
        diffusion.cell_mass = self._cell_mass(T, Y, time)
        for k in range(STEPS):
            step = time * log_uniform(rng, *STEP)
            if k >= FIRST:
                partly = self._diffused(T, Y, h, step * log_uniform(rng, *PART))
                here = partly[0] > fresh[0] + HEATED
                yield np.column_stack([partly[0], np.full(CELLS, p), partly[1]])[here]
            T, Y = self._diffused(T, Y, h, step)
            T, Y = chemistry.advance(T, np.full(CELLS, p), Y, step)
            if not np.isfinite(T).all():
                raise IntegrationError("CVODE failed in a cell of a small flame")
            Y = np.maximum(Y, 0.0)
            h = diffusion.enthalpy(T, Y)

    def _diffused(
        self, T: np.ndarray, Y: np.ndarray, h: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """T and Y after a time dt [s] of diffusion."""
        T, Y, h = self.diffusion.step(T, Y, h, dt)
        Y = np.maximum(Y, 0.0)
        Y /= Y.sum(axis=1, keepdims=True)
        return self.diffusion.temperature(h, Y, T), Y

    def _cell_mass(self, T: np.ndarray, Y: np.ndarray, time: float) -> float:
        """The mass [kg/m^2] of a cell across which heat is conducted in `time` [s], with the mean
        properties of the cells: sqrt(rho lambda / cp time)."""
        diffusion, moles = self.diffusion, Y / self.mechanism.molecular_weights
        X = moles / moles.sum(axis=1, keepdims=True)
        conductivity, cp = diffusion.transport.conductivity(T, X), diffusion.heat_capacity(T, Y)
        return float(np.sqrt(np.mean(diffusion.density(T, Y) * conductivity / cp) * time))
