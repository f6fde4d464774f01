"""Ignition rollouts, flames and stirred reactors on disk, in HDF5: one group for the
reference, one for the solver and one for each network. Numbers are float64: errors must not depend
on whether the solutions were read from a file, as after an interruption.

<group>/<i> is a `Rollout`, `Flame` or `StirredRun`, field by field: a dataset for an array, with
its unit as attribute, an attribute for a number or a word, a group for a field that has fields
(`case`, `profile`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.fields import shown
from combred.files.hdf5 import UNREADABLE, new_file, opened, require_space

Run = TypeVar("Run")
UNITS = {
    **{"t": "s", "x": "m", "T": "K", "T_deviation": "K", "particles_T": "K", "speeds": "m/s"},
    **{"fronts": "kg/m^2", "Y": "1", "particles_Y": "1", "unburnt": "1"},
}


def write_runs(
    path: Path, groups: Mapping[str, Sequence], mechanism: Mechanism, inputs: dict
) -> None:
    """Write the rollouts, flames or stirred reactors of each group, and the `inputs` that they
    depend on, whole or not at all."""
    values = sum(_values(run) for group in groups.values() for run in group)
    require_space(Path(path).parent, 8 * values)
    with new_file(path) as file:
        file.attrs["species"] = list(mechanism.species_names)
        file.attrs["inputs"] = json.dumps(inputs)
        for name, runs in groups.items():
            for i, run in enumerate(runs):
                _write(file.create_group(f"{name}/{i:03d}"), run)


def _values(run: Any) -> int:
    """How many numbers a dataclass holds in arrays."""
    items = [getattr(run, field.name) for field in fields(run)]
    nested = sum(_values(item) for item in items if is_dataclass(item))
    return nested + sum(item.size for item in items if isinstance(item, np.ndarray))


def _write(group: h5py.Group, run: Any) -> None:
    """Write a dataclass into an empty group."""
    for field in fields(run):
        item = getattr(run, field.name)
        if is_dataclass(item):
            _write(group.create_group(field.name), item)
        elif isinstance(item, np.ndarray):
            packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
            data = group.create_dataset(field.name, data=item, **packed)
            data.attrs["units"] = UNITS[field.name]
        else:
            group.attrs[field.name] = item


def read_runs(
    path: Path, mechanism: Mechanism, kind: type[Run]
) -> tuple[dict[str, list[Run]], dict]:
    """The groups of a file of runs of a kind (`Rollout`, `Flame`, `StirredRun`), and their inputs;
    both {} if there is no file.

    Raises ValueError if the file is damaged or belongs to another mechanism.
    """
    if not Path(path).exists():
        return {}, {}
    try:
        with opened(Path(path)) as file:
            if list(file.attrs["species"]) != list(mechanism.species_names):
                raise ValueError("it holds the species of another mechanism")
            groups = {
                n: [_read(group[i], kind) for i in sorted(group)] for n, group in file.items()
            }
            inputs = json.loads(file.attrs["inputs"])
            if not isinstance(inputs, dict):
                raise ValueError("it does not say what it was made from")
            return groups, inputs
    except UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be used ({shown(error, 200)}). Move it away and run the same command "
            "again."
        ) from error


def _read(group: h5py.Group, kind: type[Run]) -> Run:
    """The dataclass of a group."""
    values: dict[str, Any] = {}
    for name, of in get_type_hints(kind).items():
        if isinstance(of, type) and is_dataclass(of):
            values[name] = _read(group[name], of)
        elif of is np.ndarray:
            values[name] = group[name][...]
        else:
            values[name] = of(group.attrs[name])
    return kind(**values)
