"""Sources beside the reactions of a solver: transport, a gas that flows in, a piston, heat.

Takes what a user knows of them; gives the rows of `combred_advance_with_sources` of combred.h.
"""

import ctypes
from dataclasses import dataclass, fields, replace

import numpy as np

from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import (
    HIGHEST_T,
    LOWEST_T,
    Real,
    Rows,
    require_real,
    require_states,
    states_of,
)
from combred.native.library import Library

# W/(m3 K): a larger heat transfer is refused.
LARGEST_TRANSFER = 1e30


@dataclass(frozen=True, eq=False)
class Sources:
    """Sources that are constant over a time step; each is a number, or an array with one for each
    state: (n,), of mass fractions (n, n_species) or (n_species,).

        dY_k/dt = w_k / rho + S_k - Y_k sum S + rate (Y0_k - Y_k)
        dh/dt   = Q - h sum S + rate (h(T0, Y0) - h) + (dp/dt) / rho

    S: `dY_dt` [1/s], mass of each species that comes to a unit of mass; its sum is 0 for transport.
    Q: `heating` [W/kg], energy that comes with it or as heat. rate [1/s], T0 [K] and Y0: mixing
    with a gas of this state, 1 / residence time of a stirred reactor. dp_dt [Pa/s].

    heat_transfer [W/(m3 K)], T_wall [K]: of a wall, which takes heat_transfer (T - T_wall) / rho
    from dh/dt: heat transfer coefficient times area of the wall, over the volume.

    In an isothermal reactor T is a given function of time, dT_dt [K/s], and there is no equation
    of h: heating and heat_transfer have no meaning, and T0 no effect.

    At constant volume u stands for h, and drho_dt [kg/(m3 s)] for dp_dt, with (p / rho^2) drho/dt
    for (dp/dt) / rho; at constant density and enthalpy drho_dt for dp_dt, without work. h and u are
    those of Cantera, with the heats of formation.
    """

    dY_dt: Real = 0.0
    heating: Real = 0.0
    rate: Real = 0.0
    T0: Real | None = None
    Y0: Rows | None = None
    dp_dt: Real = 0.0
    drho_dt: Real = 0.0
    heat_transfer: Real = 0.0
    T_wall: Real = 300.0
    dT_dt: Real = 0.0

    def rows(self, library: Library, n: int, reactor: int) -> Rows:
        """The rows (n, 2 + n_species) of n states in a `combred_reactor` of combred.h. Raises
        ValueError for other shapes, for numbers that are not finite, for a `rate` below 0 or
        without a valid state of its gas, and for the change of what the reactor does not keep."""
        n_species, volume, isothermal = library.n - 2, reactor in (1, 2, 4), reactor > 2
        other = "dp_dt" if volume else "drho_dt"
        if np.any(getattr(self, other)):
            kept = "volume: give drho_dt" if volume else "pressure: give dp_dt"
            raise ValueError(f"{other} has no meaning at constant {kept}")
        for name in ("heating", "heat_transfer"):
            if isothermal and np.any(getattr(self, name)):
                raise ValueError(
                    f"an isothermal reactor has no balance of energy: leave {name} out"
                )
        if not isothermal and np.any(self.dT_dt):
            raise ValueError(
                "dT_dt is of an isothermal reactor: take a solver with isothermal=True"
            )
        found = np.zeros((n, library.n))
        found[:, 0] = self._rows("dT_dt" if isothermal else "heating", (n,))
        found[:, 1] = self._rows("drho_dt" if volume else "dp_dt", (n,))
        found[:, 2:] = self._rows("dY_dt", (n, n_species))
        rate = self._rows("rate", (n,))
        if (rate < 0.0).any():
            raise ValueError(f"rate = {rate.min():g} /s: mixing has a rate from 0 up")
        if self.T0 is None or self.Y0 is None:
            if rate.any():
                raise ValueError("rate mixes with a gas: give its T0 [K] and Y0, too")
        else:
            states = states_of(self._rows("T0", (n,)), 1.0, self._rows("Y0", (n, n_species)))
            require_states(states, "gases T0, Y0 of sources")
            if not isothermal:
                found[:, 0] += rate * energies(library, states, reactor == 1)
            found[:, 2:] += rate[:, None] * states[:, 2:]
        return found

    def walls(self, n: int) -> Rows | None:
        """Heat transfer and T of the walls of n states (n, 2), None without. Raises ValueError for
        other shapes, for a heat transfer below 0 and a wall out of the range of states."""
        if not np.any(self.heat_transfer):
            return None
        walls = np.column_stack([self._rows(name, (n,)) for name in ("heat_transfer", "T_wall")])
        if not ((walls[:, 0] >= 0.0) & (walls[:, 0] <= LARGEST_TRANSFER)).all():
            raise ValueError(
                f"heat_transfer [W/(m3 K)] is a number from 0 to {LARGEST_TRANSFER:g}: for gas as "
                "warm as its wall give isothermal=True"
            )
        if walls[:, 1].min() < LOWEST_T or walls[:, 1].max() > HIGHEST_T:
            raise ValueError(f"T_wall has to be from {LOWEST_T:g} to {HIGHEST_T:g} K")
        return walls

    def of(self, rows: np.ndarray) -> "Sources":
        """Those of some states."""
        own = {}
        for field in fields(self):
            given, of_each = getattr(self, field.name), 2 if "Y" in field.name else 1
            if np.ndim(given) == of_each:
                own[field.name] = np.asarray(given)[rows]
        return replace(self, **own)

    def _rows(self, name: str, shape: tuple[int, ...]) -> Rows:
        """An argument as an array of a shape."""
        given = require_real(name, getattr(self, name))
        if given.shape not in ((), shape, shape[1:]):
            raise ValueError(f"{name} has the shape {given.shape}: give {shape}, or one for all")
        if not np.isfinite(given).all():
            raise ValueError(f"{name} is not finite")
        return np.array(np.broadcast_to(given, shape))


def energies(library: Library, states: Rows, volume: bool) -> Rows:
    """h, or u at constant volume, (n,) [J/kg] of states [T, p, Y] (n, 2 + n_species)."""
    h, W = np.empty(len(states)), (ctypes.c_double * (library.n - 2))()
    size, data = ctypes.c_size_t(len(states)), (states.ctypes.data, h.ctypes.data)
    library.calls.combred_enthalpy(size, *map(ctypes.c_void_p, data))
    for k in range(len(W)):
        at = ctypes.byref(W, k * ctypes.sizeof(ctypes.c_double))
        library.calls.combred_thermo(ctypes.c_size_t(k), at, None, None)
    return h - volume * GAS_CONSTANT * states[:, 0] * (states[:, 2:] / np.array(W)).sum(1)
