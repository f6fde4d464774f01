"""Cells that follow a flame front: their diffusion, their chemistry, and the motion of the grid.

Takes a `Profile` to start from; `combred.experiments.premixed.flame` marches it. The flame is
planar, at constant pressure, in the mass coordinate m = integral rho dx, in which there is no
convection but only diffusion (`combred.experiments.diffusion`) and chemistry. The front moves
towards the unburnt gas, at the left, by rho_u S_L [kg/(m^2 s)]. When it has moved by a whole cell,
the grid moves too: an unburnt cell enters at the left, a burnt one leaves at the right. Nothing is
interpolated.
"""

from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.cells import Cells
from combred.experiments.diffusion import Diffusion

# Extent of the grid before and behind the steepest point, in flame thicknesses (mass per area).
UNBURNT, BURNT = 5.0, 3.0
CLOSE = 0.01  # cells: the grid moves where the front has so nearly passed a whole cell


@dataclass(frozen=True)
class FlameCase:
    """The parameters of a flame: unburnt temperature T [K], p [Pa], equivalence ratio phi."""

    T: float
    p: float
    phi: float

    def __str__(self) -> str:
        return f"{self.T:.0f} K, phi {self.phi:g}, {self.p / ct.one_atm:g} atm"


@dataclass(frozen=True)
class Profile:
    """The profile of a flame on cells of equal mass, from unburnt to burnt.

    cell_mass [kg/m^2]; unburnt (n_species,): mass fractions of the fresh mixture; burnt_T [K]: its
    adiabatic equilibrium temperature; T (n,) [K]; Y (n, n_species); speed [m/s]: flame speed, of
    which the flame time is thickness / speed.
    """

    case: FlameCase
    cell_mass: float
    unburnt: np.ndarray
    burnt_T: float
    T: np.ndarray
    Y: np.ndarray
    speed: float

    @property
    def front_T(self) -> float:
        """The temperature [K] that marks the front: the mean of unburnt and burnt."""
        return 0.5 * (self.case.T + self.burnt_T)


def profile_of(
    mechanism: Mechanism, flame: ct.FreeFlame, case: FlameCase, unburnt: np.ndarray, cells: int
) -> Profile:
    """Cantera's solved `flame` of the mixture `unburnt` (n_species,), interpolated linearly to
    `cells` cells of equal mass."""
    T, Y, rho = flame.T, flame.Y.T, flame.density
    mass = np.append(0.0, np.cumsum(0.5 * (rho[1:] + rho[:-1]) * np.diff(flame.grid)))
    gas = mechanism.solution()
    gas.TPY = case.T, case.p, unburnt
    gas.equilibrate("HP")
    slope = np.diff(T) / np.diff(mass)
    steepest = int(np.argmax(slope))
    thickness = (gas.T - case.T) / slope[steepest]
    first = 0.5 * (mass[steepest] + mass[steepest + 1]) - UNBURNT * thickness
    cell_mass = (UNBURNT + BURNT) * thickness / cells
    at = first + cell_mass * (np.arange(cells) + 0.5)
    return Profile(
        case,
        cell_mass,
        unburnt,
        float(gas.T),
        np.interp(at, mass, T),
        np.column_stack([np.interp(at, mass, column) for column in Y.T]),
        float(flame.velocity[0]),
    )


class MovingGrid(Cells):
    """The cells that follow the front; entered: the number of cells that have entered at the left.
    Raises ValueError where the mechanism has no transport data."""

    def __init__(self, mechanism: Mechanism, profile: Profile):
        diffusion = Diffusion(mechanism, profile.case.p, profile.cell_mass)
        super().__init__(diffusion, profile.T, profile.Y)
        self.profile = profile
        unburnt_T = np.array([profile.case.T])
        self.unburnt_h = float(self.diffusion.enthalpy(unburnt_T, profile.unburnt[None])[0])
        self.unburnt_rho = float(self.diffusion.density(unburnt_T, profile.unburnt[None])[0])
        self.entered = 0
        self._first_front = self.front()

    def front(self, T: np.ndarray | None = None) -> float:
        """Position of the front of T (cells,) [K], by default the present, where it first exceeds
        `front_T`, in cells from the centre of the first; NaN where no cell exceeds it, or the first
        cell does."""
        T = self.T if T is None else T
        i = int(np.argmax(T > self.profile.front_T))
        if i == 0:
            return np.nan
        return i - (T[i] - self.profile.front_T) / (T[i] - T[i - 1])

    def thickness(self) -> float:
        """Thermal flame thickness (T_b - T_u) / max dT/dx [m], T_b at equilibrium. The maximum is
        that of the parabola through the largest difference quotient and its neighbours."""
        slope = np.diff(self.T) / np.diff(self.diffusion.position(self.T, self.Y))
        i = int(np.clip(np.argmax(slope), 1, len(slope) - 2))
        left, top, right = slope[i - 1 : i + 2]
        curvature = left - 2.0 * top + right
        steepest = top - (left - right) ** 2 / (8.0 * curvature) if curvature < 0.0 else top
        return float((self.profile.burnt_T - self.profile.case.T) / steepest)

    def align(self, T: np.ndarray, Y: np.ndarray, h: np.ndarray) -> bool:
        """Whether the front has come to lie between cells as at first, since the step before, whose
        T (cells,) [K], Y (cells, n_species) and h (cells,) [J/kg] these are; the cells then go back
        to that time, linearly. Between two cells a narrow peak is cut off: HCO at 20 atm by 39 % of
        60 cells."""
        then, now = (self._first_front - self.front(x) for x in (T, self.T))
        if not np.floor(now) > then:
            return False
        share = (np.floor(now) - then) / (now - then)
        self.Y, self.h = Y + share * (self.Y - Y), h + share * (self.h - h)
        self.T = self.diffusion.temperature(self.h, self.Y, self.T)
        return True

    def move(self) -> float:
        """Move the grid by whole cells, back to where the front was at first; returns the mass
        [kg/m^2] that the front has passed since then."""
        at = self.front()
        cells = int(self._first_front - at + CLOSE) if np.isfinite(at) else 0
        if cells > 0:
            kept = len(self.T) - cells
            for values, unburnt in (
                (self.T, self.profile.case.T),
                (self.Y, self.profile.unburnt),
                (self.h, self.unburnt_h),
            ):
                values[cells:] = values[:kept].copy()
                values[:cells] = unburnt
            self.entered += cells
            at += cells
        return (self.entered - at + self._first_front) * self.profile.cell_mass
