"""The file of `SensitiveStates`: made by several processes, and read.

Takes settings; gives sensitive.h5. Each finished trajectory lies in a folder beside it until all
are there; the folder's name tells the settings.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import resolve_fuel
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE
from combred.config.data import SamplingSettings, SensitivitySettings
from combred.config.fields import shown
from combred.files.hdf5 import UNREADABLE, new_file, opened, remedy_for, require_space
from combred.files.parts import Parts, forget_parts
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import STATE_UNITS, StateFileError
from combred.surrogates.sensitivity.rows import SensitiveStates
from combred.surrogates.sensitivity.sampling.sample import SensitiveSampler, plan

RANGES = "fuel", "oxidizer", "p", "phi", "T0", "dt"  # of SamplingSettings, which the rows depend on
UNITS = STATE_UNITS | {"sensitivity": "s", "trajectory": "1"}


def sensitive_provenance(
    mechanism: Mechanism, settings: SensitivitySettings, sampling: SamplingSettings, seed: int
) -> dict:
    """All that the rows depend on, as plain JSON."""
    ranges = {name: getattr(sampling, name) for name in RANGES}
    ranges["fuel"] = resolve_fuel(mechanism, sampling.fuel)
    made_with = asdict(settings) | ranges | REFERENCE._asdict() | {"tolerance": PRECISE}
    return made_with | {"seed": seed, "mechanism": mechanism.sha256}


def make_sensitive(
    path: Path,
    mechanism: Mechanism,
    settings: SensitivitySettings,
    sampling: SamplingSettings,
    seed: int,
    processes: Processes,
) -> dict:
    """Write the file `path`; an interrupted call goes on. Progress is told in trajectories.

    Returns the numbers of trajectories and rows, and why trajectories are lost. Raises ValueError
    where none could be computed."""
    provenance = sensitive_provenance(mechanism, settings, sampling, seed)
    planned, files = plan(mechanism, settings), Parts(path, provenance)
    stored = {t.index: files.read(t.index) for t in planned}
    trajectories = {
        index: SensitiveStates(*arrays) if arrays else None for index, arrays in stored.items()
    }
    waiting = [t for t in planned if trajectories[t.index] is None]
    lost: list[str] = []
    finished = len(planned) - len(waiting)
    processes.on_progress(finished, len(planned))
    sampling = replace(sampling, fuel=provenance["fuel"])
    if waiting:
        Solver(mechanism)  # compiled here, before the processes ask for it
        job = SensitiveSampler, (mechanism, sampling, seed), SensitiveSampler.attempt
        with processes.completed(*job, waiting) as results:
            for trajectory, (rows, reason) in results:
                trajectories[trajectory.index], finished = rows, finished + 1
                if rows is None:
                    lost.append(reason)
                else:
                    files.write(trajectory.index, rows.columns().values())
                processes.on_progress(finished, len(planned))
    rows_of_all = [rows for _, rows in sorted(trajectories.items()) if rows is not None]
    if not rows_of_all:
        raise ValueError(
            "none of the ignitions and flames whose sensitivities are asked for can be computed "
            f"({shown(lost[0], 200)}): widen the ranges of T0, phi or dt, or ask for none"
        )
    rows = SensitiveStates.join(rows_of_all)
    require_space(path.parent, sum(column.nbytes for column in rows.columns().values()))
    with new_file(path) as file:
        for name, column in rows.columns().items():
            data = file.create_dataset(name, data=column, compression="gzip", shuffle=True)
            data.attrs["units"] = UNITS[name]
        file.attrs["provenance"] = json.dumps(provenance)
    forget_parts(path)
    return {"trajectories": len(planned), "lost": lost, "rows": len(rows)}


def read_sensitive(path: Path) -> tuple[SensitiveStates, dict]:
    """The rows of a file of `make_sensitive`, and what they depend on. Raises StateFileError where
    the file is damaged, or has values that are not finite."""
    remedy = "Move it away, and the pipeline makes it again."
    try:
        with opened(path) as file:
            rows = SensitiveStates(*(file[name][...] for name in UNITS))
            provenance = json.loads(file.attrs["provenance"])
    except UNREADABLE as error:
        raise StateFileError(
            f"{path} cannot be read ({shown(error, 200)}). {remedy_for(error, remedy)}"
        ) from error
    if not all(np.isfinite(column).all() for column in rows.columns().values()):
        raise StateFileError(f"{path} has values that are not finite. {remedy}")
    return rows, provenance
