"""The cells around a flame's front: diffusion, chemistry, and moving with the front.

Takes a `Profile` to start from; `flame` marches it. Planar flame at constant pressure, in the mass
coordinate m = integral rho dx: no convection, only diffusion (`combred.simulation.diffusion`) and chemistry.
The front moves towards the unburnt gas by rho_u S_L a second. When it has moved by a whole cell,
the grid moves with it: an unburnt cell enters at the left, a burnt one leaves at the right, and
nothing is interpolated.
"""

from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.simulation.diffusion import Diffusion

# The grid before and behind the steepest point, in flame thicknesses (mass).
UNBURNT, BURNT = 5.0, 3.0


@dataclass(frozen=True)
class FlameCase:
    """A flame: unburnt temperature T [K], p [Pa], equivalence ratio."""

    T: float
    p: float
    phi: float

    def __str__(self) -> str:
        return f"{self.T:.0f} K, phi {self.phi:g}, {self.p / ct.one_atm:g} atm"


@dataclass(frozen=True)
class Profile:
    """A flame to start from: T (n,) [K] and Y (n, n_species) in cells of `cell_mass` [kg/m^2], from
    unburnt to burnt; `unburnt` (n_species,); `burnt_T` [K], adiabatic, at equilibrium; `speed`
    [m/s], which sets the flame time."""

    case: FlameCase
    cell_mass: float
    unburnt: np.ndarray
    burnt_T: float
    T: np.ndarray
    Y: np.ndarray
    speed: float

    @property
    def front_T(self) -> float:
        """The temperature [K] that marks the front."""
        return 0.5 * (self.case.T + self.burnt_T)


def profile_of(
    mechanism: Mechanism, flame: ct.FreeFlame, case: FlameCase, unburnt: np.ndarray, cells: int
) -> Profile:
    """A solved flame of the mixture `unburnt` (n_species,) on `cells` cells of equal mass."""
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


class MovingGrid:
    """The cells around the front: T (n,) [K], Y (n, n_species) and h (n,) [J/kg] as they are now,
    and how many cells have entered (`entered`)."""

    def __init__(self, mechanism: Mechanism, profile: Profile):
        self.profile = profile
        self.diffusion = Diffusion(mechanism, profile.case.p, profile.cell_mass)
        self.T, self.Y = profile.T.copy(), profile.Y.copy()
        self.h = self.diffusion.enthalpy(self.T, self.Y)
        unburnt_T = np.array([profile.case.T])
        self.unburnt_h = float(self.diffusion.enthalpy(unburnt_T, profile.unburnt[None])[0])
        self.unburnt_rho = float(self.diffusion.density(unburnt_T, profile.unburnt[None])[0])
        self.entered = 0
        self._kept_at = self.front()

    def front(self) -> float:
        """Where T first passes `front_T`, in cells from the first centre; NaN if nowhere."""
        hot = self.T > self.profile.front_T
        i = int(np.argmax(hot))
        if i == 0:
            return np.nan
        return i - (self.T[i] - self.profile.front_T) / (self.T[i] - self.T[i - 1])

    def thickness(self) -> float:
        """(T_b - T_u) / max dT/dx [m], T_b at equilibrium; the parabola through the largest
        difference quotient and its neighbours gives the maximum."""
        slope = np.diff(self.T) / np.diff(self.diffusion.position(self.T, self.Y))
        i = int(np.clip(np.argmax(slope), 1, len(slope) - 2))
        left, top, right = slope[i - 1 : i + 2]
        curvature = left - 2.0 * top + right
        steepest = top - (left - right) ** 2 / (8.0 * curvature) if curvature < 0.0 else top
        return float((self.profile.burnt_T - self.profile.case.T) / steepest)

    def diffuse(self, tau: float) -> None:
        self.T, self.Y, self.h = self.diffusion.step(self.T, self.Y, self.h, tau)

    def react(self, solver: Advance) -> np.ndarray:
        """Chemistry at constant enthalpy, over the step of `solver`; returns the change of Y.
        FloatingPointError where it gives no numbers."""
        guess, Y = solver.advance(
            self.T.copy(), np.full(len(self.T), self.profile.case.p), self.Y.copy()
        )
        if not (np.isfinite(guess).all() and np.isfinite(Y).all()):
            raise FloatingPointError("the chemistry gave a state that is not finite")
        change = Y - self.Y
        self.Y = np.array(Y)
        self.T = self.diffusion.temperature(self.h, self.Y, guess)
        return change

    def move(self) -> float:
        """Move with the front by whole cells; returns the mass [kg/m^2] that it has passed."""
        at = self.front()
        cells = int(self._kept_at - at) if np.isfinite(at) else 0
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
        return (self.entered - at + self._kept_at) * self.profile.cell_mass
