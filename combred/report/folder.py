"""A run folder, read once for its report.

Takes the files of numbers in the folder; gives a `Folder`. Only validation.json is required. Other
files that are missing are empty here, and the report says that they are missing.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import h5py

from combred.chemistry.mechanism import Mechanism
from combred.files.records import digest, read_json
from combred.simulation.ignition import Rollout
from combred.simulation.premixed.flame import Flame
from combred.simulation.stirred.reactor import StirredRun
from combred.surrogate.network import Network
from combred.surrogate.storage import load_surrogate
from combred.training.progress import read_metrics
from combred.validation.storage import read_flames, read_rollouts, read_stirred

PAPER_WEIGHTS = 6_802_800  # 23-3200-1600-800-400-23: Chen & Xu 2024, section 3.1.3
PAPER_MECHANISM = "drm19.yaml"


@dataclass(frozen=True)
class Folder:
    """The artefacts of a run: the contents of its JSON files, losses by stage, and rollouts, flames
    and stirred reactors by network.

    `reductions`: the records of reduce.json by stage, from 1. `methods`: reduction.json, or {}.
    """

    path: Path
    mechanism: Mechanism
    settings: dict
    sample: dict
    train: dict
    reductions: dict[int, dict]
    validation: dict
    export: dict
    card: dict
    losses: dict[int, list[dict]]
    rollouts: dict[str, list[Rollout]]
    flames: dict[str, list[Flame]]
    stirred: dict[str, list[StirredRun]]
    methods: dict

    @property
    def stages(self) -> list[int]:
        """The validated stages: 0 is the trained network, the last one the result."""
        return sorted(int(name.removeprefix("stage")) for name in self.validation["stages"])

    @property
    def last(self) -> int:
        """The last validated stage."""
        return self.stages[-1]

    @property
    def one_layer_each(self) -> bool:
        """Whether every reduction that is described merged the units of one layer."""
        return all("layer" in record for record in self.reductions.values())

    def measured(self, stage: int) -> dict:
        """The results of a stage in validation.json."""
        return self.validation["stages"][f"stage{stage}"]

    @property
    def inputs(self) -> dict:
        """The inputs of the validation: cases, tolerances of CVODE, dt [s], mixture."""
        return self.validation.get("inputs", {})

    @property
    def times(self) -> dict[str, dict]:
        """Time per state [s] by name: median, fastest, slowest. Not of the networks alone, which
        earlier versions timed, too."""
        times = self.validation.get("timing", {}).get("times", {})
        return {name: t for name, t in times.items() if not name.endswith(", network alone")}

    def seconds(self, stage: int) -> float | None:
        """Median time per state [s] of a stage's surrogate."""
        return self.times.get(f"stage {stage}", {}).get("median")

    @property
    def solver_seconds(self) -> float | None:
        """Median time per state [s] of the generated solver."""
        found = [t["median"] for name, t in self.times.items() if name.startswith("solver")]
        return found[0] if found else None

    def solved(self, stage: int) -> float | None:
        """The share of states that a stage's surrogate leaves to the solver behind its network."""
        return self.validation.get("timing", {}).get("solved", {}).get(f"stage {stage}")

    @property
    def cvode_seconds(self) -> dict[str, float]:
        """Median time per state [s] of CVODE at each tolerance, first that of the training data."""
        return {name: t["median"] for name, t in self.times.items() if name.startswith("CVODE")}

    def loss(self, stage: int) -> float | None:
        """The validation loss of a stage at the end of its training or retraining, if known."""
        record = self.reductions.get(stage, {}).get("retraining", {}) if stage else self.train
        return record.get("validation")

    def weights(self, stage: int) -> Path:
        """The file with the weights of a stage."""
        return self.path / f"stage{stage}.safetensors"

    @cached_property
    def networks(self) -> dict[int, Network]:
        """The networks by stage, of the stages whose weights are in the folder."""
        there = [stage for stage in self.stages if self.weights(stage).is_file()]
        return {
            stage: load_surrogate(self.weights(stage), self.mechanism).network for stage in there
        }

    @cached_property
    def outdated(self) -> list[int]:
        """Stages whose weights in the folder differ from those that were validated."""
        known = self.validation.get("networks", {})
        return [
            stage
            for stage in self.stages
            if self.weights(stage).is_file()
            and known.get(f"stage{stage}") not in (None, digest(self.weights(stage)))
        ]

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of the software that made the folder, from the card and states.h5."""
        found = dict(self.card.get("versions", {}))
        states = self.path / "states.h5"
        if states.is_file():
            with h5py.File(states, "r") as file:
                found |= json.loads(file.attrs.get("versions", "{}"))
        return found


def read_folder(path: Path, mechanism: Mechanism) -> Folder:
    """Read a run folder.

    Raises FileNotFoundError, with the command to type, if it has not been validated; ValueError if
    validation.h5 and validation.json do not belong together.
    """
    path = Path(path)
    validation = read_json(path / "validation.json")
    if not validation.get("stages"):
        raise FileNotFoundError(
            f"no results in {path / 'validation.json'}: run `python -m combred.pipeline "
            "only=validate` with the settings of this run; a report is made from its results"
        )
    rollouts, inputs = read_rollouts(path / "validation.h5", mechanism)
    networks = validation.get("networks", {})
    known = inputs.get("networks", {}).items()
    of_others = any(networks.get(name, digest) != digest for name, digest in known)
    if rollouts and (inputs.get("cases") != validation.get("inputs") or of_others):
        raise ValueError(
            f"{path}: validation.h5 and validation.json have different cases, settings or "
            "networks. Move validation.h5 away and run the same command with only=validate."
        )
    flames, inputs = read_flames(path / "flames.h5", mechanism)
    if inputs.get("cases") != validation.get("flame_inputs") or not inputs:
        flames = {}  # of other settings: the report then shows the table alone
    stirred, inputs = read_stirred(path / "stirred.h5", mechanism)
    if inputs.get("cases") != validation.get("stirred_inputs") or not inputs:
        stirred = {}  # likewise
    stages = [int(name.removeprefix("stage")) for name in validation["stages"]]
    entries = read_json(path / "reduce.json").get("stages", [])
    reductions = {entry["stage"]: entry for entry in entries if entry["stage"] in stages}
    losses = {stage: read_metrics(path / f"stage{stage}.jsonl") for stage in sorted(stages)}
    return Folder(
        path=path,
        mechanism=mechanism,
        settings=read_json(path / "settings.json"),
        sample=read_json(path / "sample.json"),
        train=read_json(path / "train.json"),
        reductions=reductions,
        validation=validation,
        export=read_json(path / "export.json"),
        card=read_json(path / "surrogate.json"),
        losses={stage: lines for stage, lines in losses.items() if lines},
        rollouts=rollouts,
        flames=flames,
        stirred=stirred,
        methods=read_json(path / "reduction.json"),
    )
