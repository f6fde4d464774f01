"""The particles of a stirred reactor: states at the same pressure that are replaced, mix and react.

Takes streams, an `Advance` and the pairs of each step; holds T, h and Y of the particles for
`combred.experiments.stirred.reactor`.
"""

from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.chemistry.thermo import Thermo
from combred.experiments.cells import react

PILOT = 0.1  # share of the burnt gas of the inflowing mass, where none is given


@dataclass(frozen=True)
class Stream:
    """An inflowing stream: T [K], Y (n_species,), share of the inflowing mass."""

    T: float
    Y: np.ndarray
    share: float


def piloted_streams(
    mechanism: Mechanism,
    mixture: Mixture,
    T: float = 300.0,
    phi: float = 1.0,
    p: float = ct.one_atm,
    shares: tuple[float, float, float] | None = None,
) -> list[Stream]:
    """Fuel and oxidizer of a mixture at T [K], and a pilot: their burnt gas at `phi`.

    shares: of the inflowing mass, of fuel, oxidizer and pilot; by default a share `PILOT` of burnt
    gas, and fuel and oxidizer at the equivalence ratio `phi` too."""
    gas, streams = mechanism.solution(transport=False), []
    fuel, oxidizer = mixture.fuel, mixture.oxidizer
    if shares is None:
        oxidizer_to_fuel = gas.stoich_air_fuel_ratio(fuel, oxidizer) / phi  # masses
        of_fuel = (1 - PILOT) / (1 + oxidizer_to_fuel)
        shares = (of_fuel, 1 - PILOT - of_fuel, PILOT)
    for composition, share in ((fuel, shares[0]), (oxidizer, shares[1])):
        gas.TPX = T, p, composition
        streams.append(Stream(T, gas.Y, share))
    gas.TPY = T, p, mechanism.mixture(fuel, oxidizer, phi)
    gas.equilibrate("HP")
    Y = gas.Y.clip(min=0.0)
    return [*streams, Stream(gas.T, Y / Y.sum(), shares[2])]


class Particles:
    """The particles: T (n,) [K], h (n,) [J/kg], Y (n, n_species); all begin as `streams`[i] for i
    in `first` (n,)."""

    def __init__(self, mechanism: Mechanism, streams: list[Stream], first: np.ndarray):
        self._thermo = Thermo(mechanism)
        T, Y = np.array([s.T for s in streams]), np.array([s.Y for s in streams])
        h = self._thermo.enthalpy(T, Y)
        self._streams = T, h, Y
        self.T, self.h, self.Y = T[first], h[first], Y[first]

    def _update_T(self, guess: np.ndarray) -> None:
        self.T = self._thermo.temperature(self.h, self.Y, guess)

    def replace(self, which: np.ndarray, by: np.ndarray) -> None:
        """Replace the particles `which` (m,) by particles of the streams `by` (m,)."""
        T, h, Y = self._streams
        self.T[which], self.h[which], self.Y[which] = T[by], h[by], Y[by]

    def mix(self, pairs: np.ndarray, share: float) -> None:
        """Move the particles of each of `pairs` (m, 2) towards their mean: their difference is
        multiplied by 1 - share. h and Y are conserved."""
        guess = self.T.copy()
        for values in (guess, self.h, self.Y):
            one, other = values[pairs[:, 0]], values[pairs[:, 1]]
            exchange = 0.5 * share * (other - one)
            values[pairs[:, 0]], values[pairs[:, 1]] = one + exchange, other - exchange
        self._update_T(guess)

    def react(self, solver: Advance, p: float, dt: float) -> None:
        """Advance all particles by dt [s] with `solver` at p [Pa] and constant h; the solver's T is
        only the initial guess. Raises FloatingPointError where it returns values that are not
        finite."""
        guess, self.Y = react(solver, self.T, p, self.Y, dt)
        self._update_T(guess)
