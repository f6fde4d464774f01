"""Small premixed flames, whose states are trained on: a few cells between a fresh gas and its own
products, which diffuse and react in turn.

Takes streams; gives the states of the cells, step after step, for `flow.states`.
In them radicals diffuse into the fresh gas, and fuel into the flame, as in a premixed flame. The
flames need not be resolved nor steady: neither are those of a flow.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.diffusion import Diffusion, Fluxes
from combred.experiments.flow.streams import FRESH_T, Streams, normalized, within_range

CELLS, STEPS, FIRST = 12, 20, 8  # the first steps, in which radicals appear, give no states
CHOSEN = 6  # states of each step
ROWS = 70.0  # states of a flame, about
FRONT = 0.3, 3.0  # width of the initial front in cells, log-uniform
CELL_TIME = 1e-6, 2e-4  # s, time of heat conduction across a cell, log-uniform
STEP = 0.1, 1.0  # a step over this time, log-uniform
PART = 1e-3, 1.0  # of a step, by which a state has diffused since the last reaction, log-uniform
HEATED = 20.0  # K above the fresh gas, below which a cell gives no states

Gas = tuple[np.ndarray, np.ndarray]  # T (n,) [K], Y (n, n_species)


def flames(streams: Streams, count: int, cells: "Cells") -> tuple[np.ndarray, np.ndarray]:
    """States [T, p, Y] (n, 2 + n_species) of heated cells of small flames, about `count` of them,
    and their time steps dt (n,) [s]. Raises FloatingPointError where the diffusion fails.

    A state has diffused over a part of a step: the time step of a flow solver may be short beside
    that of the flame.
    """
    n = int(np.ceil(count / ROWS))
    fresh_T, p = streams.temperature(FRESH_T, n), streams.log_uniform(streams.settings.p, n)
    fresh_Y = streams.premixed(n)
    burnt_T, burnt_Y = streams.equilibrium(fresh_T, p, fresh_Y)
    good = np.isfinite(burnt_T)
    fresh, burnt = (fresh_T[good], fresh_Y[good]), (burnt_T[good], burnt_Y[good])
    p, fresh_T = np.repeat(p[good], CELLS), np.repeat(fresh_T[good], CELLS)
    cells.start(streams, fresh, burnt)
    time, n = streams.log_uniform(CELL_TIME, good.sum()), good.sum()
    rows, steps = [], []
    for k in range(STEPS):
        step = streams.log_uniform(STEP, n)
        if k >= FIRST:
            T, Y = cells.diffused(step * streams.log_uniform(PART, n))
            states = np.column_stack([T, p, Y])
            accepted = within_range(states) & (T > fresh_T + HEATED)
            order = np.where(accepted.reshape(n, CELLS), streams.rng.random((n, CELLS)), 2.0)
            accepted &= (order.argsort(axis=1).argsort(axis=1) < CHOSEN).ravel()
            rows.append(states[accepted])
            steps.append(streams.log_uniform(streams.settings.dt, accepted.sum()))
        T, Y = cells.diffused(step)
        states = streams.react(np.column_stack([T, p, Y]), np.repeat(step * time, CELLS))
        cells.set(np.where(np.isfinite(states[:, 0]), states[:, 0], T), states[:, 2:])
    return np.concatenate(rows), np.concatenate(steps)


class Cells(Diffusion):
    """The cells of all flames in one line, without fluxes between one flame and the next.

    In the mass coordinate the fluxes are proportional to the pressure, so that only the ratio of a
    time step to the time of heat conduction across a cell counts: the flames diffuse at 1 atm over
    a time of 1, with cell masses that give each its own ratio. Raises ValueError where the
    mechanism has no transport data.
    """

    def __init__(self, mechanism: Mechanism):
        super().__init__(mechanism, ct.one_atm, 1.0)

    def start(self, streams: Streams, fresh: Gas, burnt: Gas) -> None:
        """A front in each flame, between its fresh and its burnt gas."""
        self.T, self.Y = self._profiles(streams, fresh, burnt)
        self.h = self.enthalpy(self.T, self.Y)
        moles = self.Y / streams.mechanism.molecular_weights
        X = moles / moles.sum(1, keepdims=True)
        conductivity = self.transport.conductivity(self.T, X)
        capacity = self.heat_capacity(self.T, self.Y)
        inertia = self.density(self.T, self.Y) * conductivity / capacity
        self.inertia = inertia.reshape(-1, CELLS).mean(1)  # rho lambda / cp, kg^2/(m^4 s)

    def _profiles(self, streams: Streams, fresh: Gas, burnt: Gas) -> Gas:
        """T and Y of all cells at the beginning: a front between both gases."""
        n = len(fresh[0])
        front = streams.rng.uniform(0.25, 0.75, n) * CELLS
        distance = np.arange(CELLS) + 0.5 - front[:, None]
        width = streams.log_uniform(FRONT, n)[:, None]
        share = (1.0 / (1.0 + np.exp(-distance / width)))[..., None]
        ends = [np.column_stack([self.enthalpy(*gas), gas[1]]) for gas in (fresh, burnt)]
        mixed = (1 - share) * ends[0][:, None] + share * ends[1][:, None]
        mixed = mixed.reshape(n * CELLS, -1)
        guess = np.repeat((fresh[0] + burnt[0]) / 2, CELLS)
        return self.temperature(mixed[:, 0], mixed[:, 1:], guess), mixed[:, 1:]

    def set(self, T: np.ndarray, Y: np.ndarray) -> None:
        """The state of the cells after a reaction."""
        self.T, self.Y, self.h = T, Y, self.enthalpy(T, Y)

    def fluxes(self, T: np.ndarray, Y: np.ndarray, rate: bool = True) -> Fluxes:
        """As `Diffusion.fluxes`, zero between two flames."""
        fluxes = super().fluxes(T, Y, rate)
        fluxes.j[CELLS - 1 :: CELLS] = 0.0
        fluxes.q[CELLS - 1 :: CELLS] = 0.0
        return fluxes

    def diffused(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T (cells,) [K] and Y (cells, n_species) after a time of diffusion, given over the time of
        heat conduction across a cell: ratio (n,) of each flame."""
        self.cell_mass = np.repeat(np.sqrt(self.inertia / ratio), CELLS)
        T, Y, h = self.step(self.T, self.Y, self.h, 1.0)
        Y = normalized(Y)
        return self.temperature(h, Y, T), Y
