"""A table of flame speeds over equivalence ratio, pressure and unburnt temperature: `combred
flames`.

Takes a mechanism and ranges; writes flames.json, speeds.csv and speeds.h5 to a folder, from which
`combred.report.flames` makes a page.
"""

import csv
import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import name_mixture
from combred.chemistry.mechanism import load_mechanism
from combred.files.records import strict, write_record
from combred.flames.grid import Criteria
from combred.flames.problems import describe
from combred.flames.speeds import PRUNE, speeds_and_failures
from combred.processes.machine import machine

RECORD, CSV, HDF5 = "flames.json", "speeds.csv", "speeds.h5"
ATM = 101325.0  # Pa
COLUMNS = {"T0": "K", "p": "Pa", "phi": "1", "speed": "m/s"}


@dataclass(frozen=True)
class Ranges:
    """Unburnt temperatures [K], pressures [atm] and equivalence ratios, of which all combinations
    are solved."""

    T0: Sequence[float] = (300.0,)
    p: Sequence[float] = (1.0,)
    phi: Sequence[float] = (0.6, 0.8, 1.0, 1.2, 1.4)


@dataclass(frozen=True)
class Request:
    """What is asked for: a mechanism file and phase, fuel and oxidizer in moles or "auto", the
    model of transport, and the criteria of the grids."""

    file: str
    phase: str = ""
    fuel: str = "auto"
    oxidizer: str = "auto"
    transport: str = "mixture-averaged"
    criteria: Criteria = Criteria(prune=PRUNE)


def default_folder(file: str, phase: str = "") -> Path:
    """Where a table is kept if no folder is named."""
    return Path("-".join(["flames", Path(file).stem, *([phase] if phase else [])]))


def survey(request: Request, ranges: Ranges, folder: Path, workers: int = 1) -> dict:
    """Solve the flames of all combinations and write the files; the record of flames.json. Raises
    ValueError as `combred.flame_speed`."""
    mechanism = load_mechanism(request.file, request.phase)
    mixture = name_mixture(mechanism, request.fuel, request.oxidizer)
    rows = np.array(list(itertools.product(ranges.T0, ranges.p, ranges.phi)))
    T0, p, phi = rows[:, 0], ATM * rows[:, 1], rows[:, 2]
    Y = mechanism.mixture(mixture.fuel, mixture.oxidizer, phi)
    options = request.transport, request.criteria, workers
    speeds, failures = speeds_and_failures(mechanism, T0, p, Y, *options)
    table = [
        dict(zip(COLUMNS, values, strict=True))
        for values in np.column_stack([T0, p, phi, speeds]).tolist()
    ]
    gases = {i: describe(mechanism, T0[i], p[i], Y[i]) for i in failures}
    record = {
        "mechanism": mechanism.name, "sha256": mechanism.sha256, "species": mechanism.n_species,
        "fuel": mixture.fuel, "oxidizer": mixture.oxidizer, "transport": request.transport,
        "criteria": vars(request.criteria), "machine": machine(),
        "failures": {str(i): f"{gases[i]}: {why}" for i, why in failures.items()},
        "flames": table,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / CSV, table)
    _write_hdf5(folder / HDF5, table, record)
    write_record(folder / RECORD, strict(record))
    return record


def _write_csv(path: Path, table: list[dict]) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([f"{name} [{unit}]" for name, unit in COLUMNS.items()])
        rows.writerows([[repr(row[name]) for name in COLUMNS] for row in table])


def _write_hdf5(path: Path, table: list[dict], record: dict) -> None:
    """The columns with their units, where h5py is installed."""
    if importlib.util.find_spec("h5py") is None:
        return
    import h5py

    with h5py.File(path, "w") as file:
        for name, unit in COLUMNS.items():
            column = np.array([row[name] for row in table])
            file.create_dataset(name, data=column).attrs["units"] = unit
        for key in ("mechanism", "sha256", "fuel", "oxidizer", "transport"):
            file.attrs[key] = record[key]
