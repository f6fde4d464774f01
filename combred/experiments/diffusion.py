"""Diffusion of species and heat in one dimension, in the mass coordinate m = integral rho dx.

In this coordinate a planar flame at constant pressure has no convection. Without chemistry,

    dY_k/dt = -dj_k/dm        dh/dt = -dq/dm        d/dx = rho d/dm

Takes a `Mechanism` and the state of the cells; gives their state a time tau later, for
`combred.experiments.cells`. In space: finite volumes, with fluxes at the faces from centred
differences, which is conservative and, for cells whose mass or width is equal or changes smoothly,
of second order. The fluxes through both ends are zero. In time: RKL2, an explicit method of second
order, whose stable step grows with the square of its number of stages.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.thermo import Thermo
from combred.chemistry.transport import MixtureTransport

SAFETY = 1.15  # factor on the spectral radius; its estimate neglects the coupling of species
MOST_STAGES = 201  # a step that needs more does not come from a flame that the cells resolve

Convection = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Fluxes:
    """Fluxes through the inner faces of n cells: of species, j (n - 1, n_species) [kg/(m^2 s)], and
    of heat, q (n - 1,) [W/m^2]; rate [1/s]: spectral radius of the diffusion operator."""

    j: np.ndarray
    q: np.ndarray
    rate: float


class Diffusion(Thermo):
    """Mixture-averaged diffusion at the pressure p [Pa] between cells of mass cell_mass [kg/m^2],
    one for all or (n,). convection: a further operator that `step` advances at the same time, a
    function of Y (n, n_species) and h (n,) that gives dY/dt [1/s] and dh/dt [J/(kg s)].

    The fluxes are those of Cantera's FreeFlame (Kee, Coltrin & Glarborg 2003, section 12.7). At the
    face between two cells, with the mean T and Y of the two:

        j_k* = -rho (W_k / W) D_k dX_k/dx      j_k = j_k* - Y_k sum_i j_i*   (correction velocity)
        q = -lambda dT/dx + sum_k h_k j_k
    """

    def __init__(
        self,
        mechanism: Mechanism,
        p: float,
        cell_mass: float | np.ndarray,
        convection: Convection | None = None,
    ):
        super().__init__(mechanism)
        self.p, self.cell_mass, self.convection = p, cell_mass, convection
        self.transport = MixtureTransport(mechanism)
        self._weights = mechanism.molecular_weights

    def density(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """rho (n,) [kg/m^3] of T (n,) [K], Y (n, n_species)."""
        return self.p / (GAS_CONSTANT * T * (Y / self._weights).sum(1))

    def position(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """x (n,) [m] of the cells' centres; the left face of the first cell is x = 0."""
        width = self.cell_mass / self.density(T, Y)
        return np.cumsum(width) - 0.5 * width

    def fluxes(self, T: np.ndarray, Y: np.ndarray, rate: bool = True) -> Fluxes:
        """The fluxes between cells of T (n,) [K], Y (n, n_species); without `rate`, the spectral
        radius is not computed and NaN."""
        moles = Y / self._weights
        inverse_W = moles.sum(1)
        X = moles / inverse_W[:, None]
        width = GAS_CONSTANT * T * inverse_W * (self.cell_mass / self.p)  # of a cell, m
        distance = 0.5 * (width[1:] + width[:-1])
        T_face, Y_face = 0.5 * (T[1:] + T[:-1]), 0.5 * (Y[1:] + Y[:-1])
        moles = Y_face / self._weights
        inverse_W = moles.sum(1)
        X_face = moles / inverse_W[:, None]
        rho = self.p / (GAS_CONSTANT * T_face * inverse_W)
        D = self.transport.diffusion(T_face, self.p, X_face)
        conductivity = self.transport.conductivity(T_face, X_face)
        slope = (rho * inverse_W / distance)[:, None] * self._weights
        j = -slope * D * (X[1:] - X[:-1])
        j -= Y_face * j.sum(1, keepdims=True)
        q = (self.species_enthalpy(T_face) * j).sum(1) - conductivity * (T[1:] - T[:-1]) / distance
        if not rate:
            return Fluxes(j, q, np.nan)
        cp = self.heat_capacity(T_face, Y_face)
        fastest = np.maximum(rho * D.max(1), conductivity / cp) / distance
        mass = np.broadcast_to(self.cell_mass, len(T))
        fastest /= np.minimum(mass[1:], mass[:-1])
        return Fluxes(j, q, 4.0 * SAFETY * float(fastest.max()))

    def rates(self, fluxes: Fluxes) -> tuple[np.ndarray, np.ndarray]:
        """dY/dt (n, n_species) [1/s] and dh/dt (n,) [J/(kg s)] of the cells, from their fluxes."""
        dY = np.zeros((len(fluxes.j) + 1, fluxes.j.shape[1]))
        dh = np.zeros(len(dY))
        dY[:-1], dh[:-1] = -fluxes.j, -fluxes.q
        dY[1:] += fluxes.j
        dh[1:] += fluxes.q
        mass = np.broadcast_to(self.cell_mass, len(dh))
        return dY / mass[:, None], dh / mass

    def derivatives(
        self, fluxes: Fluxes, Y: np.ndarray, h: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """dY/dt (n, n_species) [1/s] and dh/dt (n,) [J/(kg s)] of the cells: those of their fluxes,
        and those of convection if there is any."""
        dY, dh = self.rates(fluxes)
        if self.convection is None:
            return dY, dh
        more_Y, more_h = self.convection(Y, h)
        return dY + more_Y, dh + more_h

    def step(
        self, T: np.ndarray, Y: np.ndarray, h: np.ndarray, tau: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T (n,) [K], Y (n, n_species) and h (n,) [J/kg] after diffusion, and convection if there
        is any, over tau [s].

        One step of RKL2 (Meyer, Balsara & Aslam, J. Comput. Phys. 257 (2014) 594, equations 17 and
        18), with the stages that the spectral radius requires (`stages_for`). Convection must be
        slower than diffusion from cell to cell (cell Peclet numbers below 2): it does not count in
        the spectral radius. Raises
        FloatingPointError where the state has NaN, or would require more than `MOST_STAGES`.
        """
        first = self.fluxes(T, Y)
        stages = stages_for(0.5 * tau * first.rate)
        w = 4.0 / (stages**2 + stages - 2)
        dY0, dh0 = self.derivatives(first, Y, h)
        Y0, h0 = Y, h
        Y, h = Y0 + w / 3.0 * tau * dY0, h0 + w / 3.0 * tau * dh0
        T = self.temperature(h, Y, T)
        before_Y, before_h = Y0, h0
        for i in range(2, stages + 1):
            mu = (2 * i - 1) / i * _b(i) / _b(i - 1)
            nu = -(i - 1) / i * _b(i) / _b(i - 2)
            gamma = -(1.0 - _b(i - 1)) * mu * w * tau
            dY, dh = self.derivatives(self.fluxes(T, Y, rate=False), Y, h)
            rest = 1.0 - mu - nu
            new_Y = mu * Y + nu * before_Y + rest * Y0 + mu * w * tau * dY + gamma * dY0
            new_h = mu * h + nu * before_h + rest * h0 + mu * w * tau * dh + gamma * dh0
            before_Y, before_h, Y, h = Y, h, new_Y, new_h
            T = self.temperature(h, Y, T)
        return T, Y, h


def _b(i: int) -> float:
    """The coefficient b_i of RKL2."""
    return (i**2 + i - 2) / (2 * i * (i + 1)) if i > 1 else 1.0 / 3.0


def stages_for(ratio: float) -> int:
    """The smallest odd number s >= 3 of RKL2 stages for which a step of `ratio` times the stable
    step of explicit Euler is stable: ratio <= (s^2 + s - 2) / 4.

    Raises FloatingPointError where s would exceed `MOST_STAGES`, or ratio is NaN.
    """
    if not ratio <= (MOST_STAGES**2 + MOST_STAGES - 2) / 4:
        raise FloatingPointError(
            f"a diffusion step of {ratio:.3g} times the stable step of explicit Euler needs more "
            f"than {MOST_STAGES} stages: the state is not that of a flame, or the cells are far "
            "too small (FlameMarch.cells)"
        )
    stages = int(np.ceil(0.5 * (np.sqrt(9.0 + 16.0 * ratio) - 1.0)))
    return max(3, stages + 1 - stages % 2)
