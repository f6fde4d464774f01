"""Ignition rollouts, flames and stirred reactors on disk, in HDF5: one group for the
reference, one for the solver and one for each network. Numbers are float64: errors must not depend
on whether the solutions were read from a file, as after an interruption.

validation.h5, <group>/<i>   t (n,) [s], T (n,) [K], Y (n, n_species); attributes T0 [K], p [Pa],
                             phi
flames.h5, <group>/<i>       x [m], T [K], Y of the cells; t [s], speeds [m/s], fronts [kg/m^2]
                             of the steps; all other fields of a `Flame` as attributes
stirred.h5, <group>/<i>      t [s], T [K], T_deviation [K], Y of the means in time; particles_T [K],
                             particles_Y of the last state; case and outcome as attributes
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.fields import shown
from combred.files.hdf5 import new_file, require_intact, require_space
from combred.simulation.ignition import Case, Rollout
from combred.simulation.premixed.flame import Flame, FlameCase, Profile
from combred.simulation.stirred.reactor import StirredCase, StirredRun


@contextmanager
def _new_file(path: Path, mechanism: Mechanism, inputs: dict, values: int) -> Iterator[h5py.File]:
    """A new file, which takes the place of `path` once it is whole; values: how many numbers it
    will hold."""
    require_space(Path(path).parent, 8 * values)
    with new_file(path) as file:
        file.attrs["species"] = list(mechanism.species_names)
        file.attrs["inputs"] = json.dumps(inputs)
        yield file


def write_rollouts(
    path: Path, groups: dict[str, list[Rollout]], mechanism: Mechanism, inputs: dict
) -> None:
    """Write the rollouts of each group, and the `inputs` that they depend on, whole or not at
    all."""
    values = sum(
        rollout.Y.size + 2 * len(rollout.t) for group in groups.values() for rollout in group
    )
    with _new_file(path, mechanism, inputs, values) as file:
        for name, rollouts in groups.items():
            for i, rollout in enumerate(rollouts):
                group = file.create_group(f"{name}/{i:03d}")
                case = rollout.case
                group.attrs.update({"T0": case.T0, "p": case.p, "phi": case.phi})
                for key, unit in (("t", "s"), ("T", "K"), ("Y", "1")):
                    group.create_dataset(
                        key,
                        data=getattr(rollout, key),
                        compression="gzip",
                        compression_opts=1,
                        shuffle=True,
                    ).attrs["units"] = unit


def read_rollouts(path: Path, mechanism: Mechanism) -> tuple[dict[str, list[Rollout]], dict]:
    """The groups of a file of rollouts, and their inputs; both {} if there is no file.

    Raises ValueError if the file is damaged or belongs to another mechanism.
    """
    return _read(Path(path), mechanism, _rollout)


def _read(path: Path, mechanism: Mechanism, read: Callable) -> tuple[dict[str, list], dict]:
    if not path.exists():
        return {}, {}
    try:
        require_intact(path)
        with h5py.File(path, "r") as file:
            if list(file.attrs["species"]) != list(mechanism.species_names):
                raise ValueError("it holds the species of another mechanism")
            groups = {n: [read(group[i]) for i in sorted(group)] for n, group in file.items()}
            inputs = json.loads(file.attrs["inputs"])
            if not isinstance(inputs, dict):
                raise ValueError("it does not say what it was made from")
            return groups, inputs
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise ValueError(
            f"{path} cannot be used ({shown(error, 200)}). Move it away and run the same command "
            "again."
        ) from error


def _rollout(group: h5py.Group) -> Rollout:
    case = Case(*(float(group.attrs[name]) for name in ("T0", "p", "phi")))
    return Rollout(case, group["t"][...], group["T"][...], group["Y"][...])


# -- flames ----------------------------------------------------------------------------------------

CELLS = {"x": "m", "T": "K", "Y": "1"}
STEPS = {"t": "s", "speeds": "m/s", "fronts": "kg/m^2"}
NUMBERS = ("speed", "displacement_speed", "thickness", "outcome")


def write_flames(
    path: Path, groups: dict[str, list[Flame]], mechanism: Mechanism, inputs: dict
) -> None:
    """Write the flames of each group, and the `inputs` that they depend on, whole or not at all."""
    flames = [flame for group in groups.values() for flame in group]
    values = sum(flame.Y.size + 3 * len(flame.t) for flame in flames)
    with _new_file(path, mechanism, inputs, values) as file:
        for name, flames in groups.items():
            for i, flame in enumerate(flames):
                group, profile = file.create_group(f"{name}/{i:03d}"), flame.profile
                group.attrs.update({key: getattr(flame, key) for key in NUMBERS})
                case = {"unburnt_T": flame.case.T, "p": flame.case.p, "phi": flame.case.phi}
                group.attrs.update(case | {"cell_mass": profile.cell_mass})
                group.attrs.update({"burnt_T": profile.burnt_T, "unburnt": profile.unburnt})
                group.attrs["profile_speed"] = profile.speed
                for key, unit in (CELLS | STEPS).items():
                    data = group.create_dataset(key, data=getattr(flame, key), compression="gzip")
                    data.attrs["units"] = unit


def read_flames(path: Path, mechanism: Mechanism) -> tuple[dict[str, list[Flame]], dict]:
    """The groups of a file of flames, and their inputs; both {} if there is no file.

    Raises ValueError if the file is damaged or belongs to another mechanism.
    """
    return _read(Path(path), mechanism, _flame)


def _flame(group: h5py.Group) -> Flame:
    attributes = group.attrs
    case = FlameCase(*(float(attributes[name]) for name in ("unburnt_T", "p", "phi")))
    profile = Profile(
        case,
        float(attributes["cell_mass"]),
        np.array(attributes["unburnt"]),
        float(attributes["burnt_T"]),
        group["T"][...],
        group["Y"][...],
        float(attributes["profile_speed"]),
    )
    rest: dict[str, Any] = {name: group[name][...] for name in STEPS}
    rest |= {name: float(attributes[name]) for name in NUMBERS[:3]}
    return Flame(profile, group["x"][...], outcome=str(attributes["outcome"]), **rest)


# -- stirred reactors ------------------------------------------------------------------------------

STIRRED = {
    **{"t": "s", "T": "K", "T_deviation": "K", "Y": "1"},
    **{"particles_T": "K", "particles_Y": "1"},
}


def write_stirred(
    path: Path, groups: dict[str, list[StirredRun]], mechanism: Mechanism, inputs: dict
) -> None:
    """Write the stirred reactors of each group, and the `inputs` that they depend on, whole or not
    at all."""
    runs = [run for group in groups.values() for run in group]
    values = sum(getattr(run, key).size for run in runs for key in STIRRED)
    with _new_file(path, mechanism, inputs, values) as file:
        for name, runs in groups.items():
            for i, run in enumerate(runs):
                group = file.create_group(f"{name}/{i:03d}")
                group.attrs.update(asdict(run.case) | {"outcome": run.outcome})
                for key, unit in STIRRED.items():
                    data = group.create_dataset(key, data=getattr(run, key), compression="gzip")
                    data.attrs["units"] = unit


def read_stirred(path: Path, mechanism: Mechanism) -> tuple[dict[str, list[StirredRun]], dict]:
    """The groups of a file of stirred reactors, and their inputs; both {} if there is no file.

    Raises ValueError if the file is damaged or belongs to another mechanism.
    """
    return _read(Path(path), mechanism, _stirred)


def _stirred(group: h5py.Group) -> StirredRun:
    attributes = {name: value for name, value in group.attrs.items() if name != "outcome"}
    case = StirredCase(**{name: value.item() for name, value in attributes.items()})
    values = {name: group[name][...] for name in STIRRED}
    return StirredRun(case, outcome=str(group.attrs["outcome"]), **values)
