"""Ignition rollouts, flames and stirred reactors on disk, in HDF5: one group for the
reference, one for the solver and one for each network. Numbers are float64: errors must not depend
on whether the solutions were read from a file, as after an interruption.

<group>/<i> is a `Rollout`, `Flame` or `StirredRun`, field by field: a dataset for an array, with
its unit as attribute, an attribute for a number or a word, a group for a field that has fields
(`case`, `profile`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config.fields import shown
from combred.experiments.experiment import Experiment, Progress, Run
from combred.files.hdf5 import UNREADABLE, new_file, opened, remedy_for, require_space
from combred.processes.threads import one_thread
from combred.processes.workers import Processes

UNITS = {
    **{"t": "s", "x": "m", "T": "K", "particles_T": "K", "speeds": "m/s"},
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
    items = [getattr(run, one.name) for one in fields(run)]
    nested = sum(_values(item) for item in items if is_dataclass(item))
    return nested + sum(item.size for item in items if isinstance(item, np.ndarray))


def _write(group: h5py.Group, run: Any) -> None:
    """Write a dataclass into an empty group."""
    for one in fields(run):
        item = getattr(run, one.name)
        if is_dataclass(item):
            _write(group.create_group(one.name), item)
        elif isinstance(item, np.ndarray):
            packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
            data = group.create_dataset(one.name, data=item, **packed)
            data.attrs["units"] = UNITS[one.name]
        else:
            group.attrs[one.name] = item


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
            f"{path} cannot be used ({shown(error, 200)}). "
            + remedy_for(error, "Move it away and run the same command again.")
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


# -- answers ---------------------------------------------------------------------------------------


@dataclass
class Answers:
    """The reference ("reference") of an experiment and the answers of solvers to it, by name, in
    the file `path`, which is written after each: what is interrupted goes on from there.

    inputs: all that the cases and the reference depend on; solvers: what tells one solver from
    another, as the digest of a network, by name. What the file holds of other inputs or another
    solver is computed anew. Raises ValueError where the file is damaged.
    """

    path: Path
    experiment: Experiment
    inputs: dict
    solvers: dict[str, str]
    runs: dict[str, list] = field(init=False)

    def __post_init__(self):
        stored, made_with = read_runs(self.path, self.experiment.mechanism, self.experiment.kind)
        same = made_with.get("cases") == self.inputs and "reference" in stored
        known = made_with.get("networks", {}) if same else {}
        kept = [name for name, of in self.solvers.items() if known.get(name) == of]
        names = ("reference", *kept) if same else ()
        self.runs = {name: stored[name] for name in names if name in stored}

    @property
    def complete(self) -> bool:
        """Whether the reference and all solvers have answered."""
        return self.runs.keys() == {"reference", *self.solvers}

    def refer(self, workers: int, progress: Progress) -> list:
        """The reference, from the file if it is there. Raises ValueError as
        `Experiment.reference`."""
        if "reference" not in self.runs:
            with progress(f"references of {self.experiment.name}") as bar:
                self._keep("reference", self.experiment.reference(Processes(workers, bar)))
        return self.runs["reference"]

    def ask(self, solvers: Mapping[str, Callable[[], Advance]], progress: Progress) -> None:
        """Ask the solvers that have not answered; each is made here, by its name. The reference is
        there."""
        for name, make in solvers.items():
            if name not in self.runs:
                with progress(f"{self.experiment.name} of {name}") as bar, one_thread():
                    followed = self.experiment.follow(make(), self.runs["reference"], bar)
                self._keep(name, followed)

    def compare(self, name: str) -> Any:
        """The errors of a solver against the reference."""
        return self.experiment.compare(self.runs[name], self.runs["reference"])

    def _keep(self, name: str, runs: list) -> None:
        self.runs[name] = runs
        known = {name: of for name, of in self.solvers.items() if name in self.runs}
        inputs = {"cases": self.inputs, "networks": known}
        write_runs(self.path, self.runs, self.experiment.mechanism, inputs)
