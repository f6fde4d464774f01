"""Segments: a state on an ignition or of a flame, and where CVODE has it 1, 2, 4, ..., K steps of dt
later, at constant pressure and enthalpy.

The file segments.h5, its writer and its reader. `combred.dataset.segment_sampling` makes it, the loss of many
steps (`combred.training.rollout_loss`) is trained on it.

    T (n, m) [K]   p (n,) [Pa]   Y (n, m, n_species) [-]   trajectory (n,)
    offset (m,) [dt]: 0, 1, 2, 4, ..., K
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.dataset.states import StateFileError, require_space, state_attributes

FORMAT = 1
UNITS = {"T": "K", "p": "Pa", "Y": "1", "trajectory": "1", "offset": "dt"}


def offsets(steps: int) -> list[int]:
    """The steps at which a segment of `steps` (a power of two) has states: 0, 1, 2, 4, ..., steps.
    Those of a shorter segment are the first of a longer one."""
    return [0, *(1 << i for i in range(steps.bit_length()))]


@dataclass(frozen=True)
class Segments:
    """Segments in memory: `states` (n, m, 2 + n_species), [T, p, Y] at the m `offsets` of `steps`;
    `trajectories` (n,): of an ignition its number, of a flame its source in the state file after
    these; `provenance`: what they were made with."""

    steps: int
    states: np.ndarray
    trajectories: np.ndarray
    provenance: dict


def write_segments(path: Path, segments: Segments, mechanism: Mechanism) -> None:
    """Write segments, whole or not at all."""
    path, states = Path(path), segments.states
    require_space(path.parent, states.nbytes)
    attributes = state_attributes(mechanism, segments.provenance) | {"format": FORMAT}
    del attributes["samplers"]
    columns = {
        "T": states[:, :, 0],
        "p": states[:, 0, 1],
        "Y": states[:, :, 2:],
        "trajectory": segments.trajectories,
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


def open_segments(path: Path, mechanism: Mechanism, dt: float) -> Segments:
    """Read segments.h5 and check that it is whole and made for this mechanism and step.

    Raises FileNotFoundError or StateFileError (a ValueError) with the mend.
    """
    path = Path(path)
    again = "Delete it and run `python -m combred.pipeline only=sample` with the same settings."
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
        raise StateFileError(
            f"{path} is not a whole file of segments ({error}). {again}"
        ) from error
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds segments of {made_by}, but the mechanism asked for is {mechanism.name} "
            f"({mechanism.sha256[:12]}). " + mechanism.mend_mismatch(made_by)
        )
    if float(attributes["dt"]) != dt:
        raise StateFileError(
            f"{path} holds steps of dt = {float(attributes['dt'])} s, but dt = {dt} s is asked "
            f"for. Give dt={float(attributes['dt'])}, or another run=NAME."
        )
    T, Y = columns["T"][..., None], columns["Y"]
    p = np.broadcast_to(columns["p"][:, None, None], T.shape)
    states = np.concatenate([T, p, Y], axis=2)
    expected = len(columns["trajectory"]), len(offsets(steps)), 2 + mechanism.n_species
    if states.shape != expected or not np.isfinite(states).all():
        raise StateFileError(
            f"{path} should hold {expected} finite numbers, and holds {states.shape}. {again}"
        )
    plain = {name: attributes[name].item() for name in ("dt", "rtol", "atol", "seed")}
    provenance = {**plain, "segments": json.loads(attributes["segments"])}
    return Segments(steps, states, columns["trajectory"], provenance)
