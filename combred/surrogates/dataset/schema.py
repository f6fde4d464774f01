"""The schema of the state file: states, each with a time step dt, and, as their labels, the states
dt later.

`dataset.writer` writes a file of this schema, `dataset.table` opens and
reads it; both pass
its rows on as a `Block` (`combred.experiments.labelled`). The datasets of the HDF5 file are

    T, T_next (n,) [K]      p (n,) [Pa]      Y, Y_next (n, n_species) [-]      dt (n,) [s]
    source (n,)             index of the trajectory
    sampler (n,)            kind of state: index into the attribute `samplers`
    failed (m, 2 + n_species)   T, p, Y of the states that could not be integrated
"""

import json

from combred.chemistry.mechanism import Mechanism

FORMAT = 3  # 1 and 2: of combred 0.1 and 0.2, with one dt for all rows
STATE_UNITS = {"T": "K", "p": "Pa", "Y": "1", "dt": "s", "T_next": "K", "Y_next": "1"}
UNITS = STATE_UNITS | {"source": "1", "sampler": "1"}
SAMPLERS = (
    "ignition",
    "ignition perturbed",
    "ignition relaxed",
    "flame",
    "flame perturbed",
    "flame relaxed",
    "flow ignition",
    "flow mixture",
    "flow layer",
    "flow flame",
)
FLAME = SAMPLERS.index("flame")  # exact states of flames; those of `FLAMES` are of flames
USUAL = SAMPLERS.index("ignition"), FLAME, SAMPLERS.index("flow ignition")
FLAMES = range(FLAME, FLAME + 3)
FLOW = SAMPLERS.index("flow ignition")  # the kinds of `combred.experiments.flow` begin here
CHUNK = 16_384  # rows
REACTOR = "adiabatic, constant pressure"


class StateFileError(ValueError):
    """A file of states that cannot be used; the message has the reason and the remedy."""


def state_attributes(mechanism: Mechanism, provenance: dict) -> dict:
    """The attributes of a state file. `provenance` has the settings that the rows were
    made with (`sampling.provenance`); a dict in it is stored as JSON text."""
    import cantera
    import h5py

    return {
        "format": FORMAT,
        "mechanism": mechanism.name,
        "mechanism_sha256": mechanism.sha256,
        "species": list(mechanism.species_names),
        "reactor": REACTOR,
        "samplers": list(SAMPLERS),
        "versions": json.dumps({"cantera": cantera.__version__, "h5py": h5py.__version__}),
        **{k: json.dumps(v) if isinstance(v, dict) else v for k, v in provenance.items()},
    }
