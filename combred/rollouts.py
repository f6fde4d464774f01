"""Rollouts on disk: validation.h5, one group for CVODE and one for each network.

<group>/<i>: t (n,) [s], T (n,) [K], Y (n, n_species) in float32, attributes T0, p, phi
"""

import json
import os
from pathlib import Path

import h5py
import numpy as np

from combred.ignition import Case, Rollout
from combred.mechanism import Mechanism
from combred.states import require_space


def write_rollouts(
    path: Path, groups: dict[str, list[Rollout]], mechanism: Mechanism, inputs: dict
) -> None:
    """Write the rollouts of each group and the `inputs` they depend on, whole or not at all."""
    new = Path(path).with_suffix(".new")
    values = sum(
        rollout.Y.size + 2 * len(rollout.t) for group in groups.values() for rollout in group
    )
    require_space(new.parent, 8 * values)
    with h5py.File(new, "w") as file:
        file.attrs["species"] = list(mechanism.species_names)
        file.attrs["inputs"] = json.dumps(inputs)
        for name, rollouts in groups.items():
            for i, rollout in enumerate(rollouts):
                group = file.create_group(f"{name}/{i:03d}")
                case = rollout.case
                group.attrs.update({"T0": case.T0, "p": case.p, "phi": case.phi})
                columns = {
                    "t": (rollout.t, "f8", "s"),
                    "T": (rollout.T, "f8", "K"),
                    "Y": (rollout.Y, "f8" if name == "cvode" else "f4", "1"),
                }
                for key, (data, dtype, unit) in columns.items():
                    group.create_dataset(
                        key,
                        data=data.astype(dtype),
                        compression="gzip",
                        compression_opts=1,
                        shuffle=True,
                    ).attrs["units"] = unit
    os.replace(new, path)


def read_rollouts(path: Path, mechanism: Mechanism) -> tuple[dict[str, list[Rollout]], dict]:
    """The groups of a file and their inputs; both {} if there is no file.

    Raises ValueError where the file is damaged, or of another mechanism.
    """
    path = Path(path)
    if not path.exists():
        return {}, {}
    try:
        with h5py.File(path, "r") as file:
            if list(file.attrs["species"]) != list(mechanism.species_names):
                raise ValueError("it holds the species of another mechanism")
            groups = {n: [_rollout(group[i]) for i in sorted(group)] for n, group in file.items()}
            return groups, json.loads(file.attrs["inputs"])
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be used ({error}). Delete it and run "
            "`python -m combred.pipeline only=validate` again."
        ) from error


def _rollout(group: h5py.Group) -> Rollout:
    case = Case(*(float(group.attrs[name]) for name in ("T0", "p", "phi")))
    return Rollout(case, group["t"][...], group["T"][...], np.asarray(group["Y"][...], float))
