"""Trajectory segments: a state of an ignition or a flame, and CVODE's states 1, 2, 4, ..., K steps
dt later, at constant pressure and enthalpy. The file segments.h5: schema, writer and reader.

`combred.dataset.segment_sampling` makes the file; the loss over many steps
(`combred.training.rollout_loss`) is computed from it. Its datasets are

    T (n, m) [K]      p (n,) [Pa]      Y (n, m, n_species) [-]
    trajectory (n,)   index of the ignition or flame
    dt (n,) [s]       time step of each segment
    offset (m,) [dt]  0, 1, 2, 4, ..., K
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.dataset.states import StateFileError, require_space, state_attributes

FORMAT = 2  # 1: of combred 0.2, with one dt for all segments
UNITS = {"T": "K", "p": "Pa", "Y": "1", "trajectory": "1", "dt": "s", "offset": "dt"}


def offsets(steps: int) -> list[int]:
    """The steps at which a segment has states: 0, 1, 2, 4, ..., `steps`, a power of two. A longer
    segment begins with the offsets of a shorter one."""
    return [0, *(1 << i for i in range(steps.bit_length()))]


@dataclass(frozen=True)
class Segments:
    """Trajectory segments, in memory.

    steps: K; states (n, m, 2 + n_species): [T, p, Y] at the m `offsets` of K; dt (n,) [s]: time
    step of each segment; trajectories (n,): the index of an ignition in the plan of segments, or,
    of a flame, the number of these ignitions plus the flame's source in the state file; provenance:
    the settings they were made with.
    """

    steps: int
    states: np.ndarray
    dt: np.ndarray
    trajectories: np.ndarray
    provenance: dict


def write_segments(path: Path, segments: Segments, mechanism: Mechanism) -> None:
    """Write a segment file: it appears complete, or not at all. Raises OSError where the disk is
    too full."""
    path, states = Path(path), segments.states
    require_space(path.parent, states.nbytes)
    attributes = state_attributes(mechanism, segments.provenance) | {"format": FORMAT}
    del attributes["samplers"]
    columns = {
        "T": states[:, :, 0],
        "p": states[:, 0, 1],
        "Y": states[:, :, 2:],
        "trajectory": segments.trajectories,
        "dt": segments.dt,
        "offset": np.array(offsets(segments.steps), "i4"),
    }
    new = path.with_suffix(".new")
    with h5py.File(new, "w") as file:
        for name, data in columns.items():
            file.create_dataset(
                name, data=data, compression="gzip", compression_opts=1, shuffle=True
            ).attrs["units"] = UNITS[name]
        file.attrs.update(attributes)
        file.attrs["steps"] = segments.steps
    os.replace(new, path)


def open_segments(path: Path, mechanism: Mechanism) -> Segments:
    """Read a segment file, and check that it is complete and was made for this mechanism.

    Raises FileNotFoundError, or StateFileError (a ValueError), with the remedy.
    """
    path = Path(path)
    again = "Move it away and run `python -m combred.pipeline only=sample` with the same settings."
    if not path.is_file():
        raise FileNotFoundError(
            f"no segments at {path}: run `python -m combred.pipeline only=sample` with the same "
            "settings"
        )
    try:
        with h5py.File(path, "r") as file:
            attributes = dict(file.attrs)
            columns = {name: file[name][...] for name in UNITS}
            steps, made_by = int(attributes["steps"]), str(attributes["mechanism"])
    except (OSError, KeyError) as error:
        raise StateFileError(f"{path} is not a complete segment file ({error}). {again}") from error
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds segments of {made_by} "
            f"(sha256 {str(attributes['mechanism_sha256'])[:12]}), but this run has the mechanism "
            f"{mechanism.name} ({mechanism.sha256[:12]}). " + mechanism.mend_mismatch(made_by)
        )
    T, Y = columns["T"][..., None], columns["Y"]
    p = np.broadcast_to(columns["p"][:, None, None], T.shape)
    states = np.concatenate([T, p, Y], axis=2)
    expected = len(columns["trajectory"]), len(offsets(steps)), 2 + mechanism.n_species
    if states.shape != expected:
        raise StateFileError(
            f"{path} should have states of shape {expected}, but they have {states.shape}. {again}"
        )
    if not np.isfinite(states).all():
        bad = int((~np.isfinite(states)).sum())
        raise StateFileError(f"{path} has {bad} values that are not finite. {again}")
    plain = {name: attributes[name].item() for name in ("rtol", "atol", "seed")}
    provenance = {**plain, "segments": json.loads(attributes["segments"])}
    return Segments(steps, states, columns["dt"], columns["trajectory"], provenance)
