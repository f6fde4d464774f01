"""A freely propagating flame, as a user has it.

Takes `Profiles`; gives their arrays with units, sensitivities, a flame of Cantera and files.
"""

import csv
import warnings
from functools import cached_property
from pathlib import Path

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Rows
from combred.chemistry.transport import solution_with_transport
from combred.flames.free import Profiles
from combred.flames.problems import density
from combred.flames.sensitivities import speed_sensitivities

SUFFIXES = ".csv", ".h5", ".hdf5"


class FreeFlame:
    """A steady, freely propagating premixed flame.

    grid (n,) [m]: from the unburnt gas to the burnt; T (n,) [K]; Y (n, n_species); velocity (n,)
    [m/s]; density (n,) [kg/m3]; heat_release (n,) [W/m3] of the reactions; speed [m/s]: of the
    unburnt gas towards the flame; p [Pa]; mechanism; transport: the model.
    """

    def __init__(self, profiles: Profiles):
        self.profiles = profiles

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        return self.profiles.gas.mechanism

    @property
    def transport(self) -> str:
        """The model of transport, in Cantera's words."""
        return self.profiles.gas.transport

    @property
    def p(self) -> float:
        """Pressure [Pa]."""
        return self.profiles.gas.p

    @property
    def grid(self) -> np.ndarray:
        """Places (n,) [m], from the unburnt gas to the burnt."""
        return self.profiles.grid

    @property
    def T(self) -> np.ndarray:
        """Temperatures (n,) [K]."""
        return self.profiles.x[:, 0]

    @property
    def Y(self) -> Rows:
        """Mass fractions (n, n_species)."""
        return self.profiles.x[:, 1:]

    @property
    def speed(self) -> float:
        """Laminar flame speed [m/s]: the velocity of the unburnt gas."""
        return self.profiles.speed

    @property
    def density(self) -> np.ndarray:
        """Densities (n,) [kg/m3]."""
        return density(self.mechanism, self.p, self.T, self.Y)

    @property
    def velocity(self) -> np.ndarray:
        """Velocities (n,) [m/s]."""
        return self.profiles.M / self.density

    @property
    def thickness(self) -> float:
        """Thermal thickness [m]: the rise of T over its steepest slope."""
        slopes = np.diff(self.T) / np.diff(self.grid)
        return float((self.T[-1] - self.T[0]) / np.abs(slopes).max())

    @cached_property
    def heat_release(self) -> np.ndarray:
        """Heat release of the reactions (n,) [W/m3]."""
        profiles = self.profiles
        return profiles.gas.library.progress(profiles.problem, profiles.x).heat_release

    def sensitivities(self) -> np.ndarray:
        """d ln S_L / d ln A_i (n_reactions,) of the speed to the rate constants, in the order of
        the mechanism's reactions."""
        return speed_sensitivities(self.profiles)

    def to_cantera(self) -> ct.FreeFlame:
        """A flame of Cantera with these profiles, on this grid, that Cantera continues: `solve` on
        it starts from them."""
        gas, unburnt = solution_with_transport(self.mechanism), self.profiles.gas
        for i, factor in enumerate((unburnt.factors * self.mechanism.multipliers).tolist()):
            gas.set_multiplier(factor, i)
        gas.TPY = unburnt.T, unburnt.p, unburnt.Y
        flame = ct.FreeFlame(gas, grid=self.grid - self.grid[0])
        flame.transport_model = self.transport
        if self.transport == "unity-Lewis-number":
            with warnings.catch_warnings():  # it says that this has no effect, and it has one
                warnings.simplefilter("ignore")
                flame.flux_gradient_basis = "mass"
        flame.set_initial_guess()
        places = ((self.grid - self.grid[0]) / np.ptp(self.grid)).tolist()
        profiles = {"T": self.T, "velocity": self.velocity}
        profiles |= dict(zip(gas.species_names, self.Y.T, strict=True))
        for name, values in profiles.items():
            flame.flame.set_profile(name, places, values.tolist())
        flame.fixed_temperature = float(self.T[self.profiles.fixed_point])
        return flame

    def save(self, path: Path | str) -> Path:
        """Write the profiles to a file: .csv with one row for each point, or .h5, with units.
        Returns its path. Raises ValueError for another suffix."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise ValueError(f"{path.name}: give a file that ends in {', '.join(SUFFIXES)}")
        return _save_csv(self, path) if path.suffix == ".csv" else _save_hdf5(self, path)

    def __repr__(self) -> str:
        gas = self.profiles.gas
        state = f"T = {gas.T:g} K, p = {gas.p:g} Pa"
        return (
            f"<combred.flame of {self.mechanism.name}, {state}: {self.speed:.4g} m/s, "
            f"{len(self.grid)} points>"
        )


def _columns(flame: FreeFlame) -> dict[str, tuple[str, np.ndarray]]:
    """Name -> unit and values of the profiles but Y."""
    return {
        "grid": ("m", flame.grid),
        "T": ("K", flame.T),
        "velocity": ("m/s", flame.velocity),
        "density": ("kg/m3", flame.density),
        "heat_release": ("W/m3", flame.heat_release),
    }


def _save_csv(flame: FreeFlame, path: Path) -> Path:
    columns = _columns(flame)
    names = [f"{name} [{unit}]" for name, (unit, _) in columns.items()]
    names += [f"Y_{name}" for name in flame.mechanism.species_names]
    values = np.column_stack([*(values for _, values in columns.values()), flame.Y])
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows([[repr(value) for value in row] for row in values.tolist()])
    return path


def _save_hdf5(flame: FreeFlame, path: Path) -> Path:
    from combred.names import needing_train

    with needing_train("an HDF5 file of a flame"):
        import h5py
    unburnt = flame.profiles.gas
    with h5py.File(path, "w") as file:
        for name, (unit, values) in _columns(flame).items():
            file.create_dataset(name, data=values).attrs["units"] = unit
        file.create_dataset("Y", data=flame.Y).attrs["units"] = "kg/kg"
        file["species"] = [name.encode() for name in flame.mechanism.species_names]
        attributes = {
            "speed [m/s]": flame.speed, "T [K]": unburnt.T, "p [Pa]": unburnt.p,
            "transport": flame.transport, "mechanism": flame.mechanism.name,
            "mechanism_sha256": flame.mechanism.sha256,
        }  # fmt: skip
        file.attrs.update(attributes)
    return path
