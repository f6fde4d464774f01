"""A run and its folder: which file is which, and whether it was made with the settings of now.

The paths of a run stand here and nowhere else; only `pipeline` uses them.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from combred.chemistry.mechanism import Mechanism
from combred.config import Settings, TrainingSettings
from combred.dataset.sampling import provenance
from combred.dataset.segment_sampling import SegmentSampler
from combred.dataset.segments import Segments, open_segments
from combred.dataset.states import StateTable, open_states
from combred.pipeline.start import starting_point
from combred.records import digest, read_json
from combred.reduction import stage_table
from combred.surrogate.shipped import FOLDER
from combred.surrogate.storage import load_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training.devices import Device
from combred.training.progress import outcome_settings
from combred.training.rollout_loss import Rollouts
from combred.validation.acceptance import AcceptanceCriteria


@dataclass(frozen=True)
class Run:
    """A run: its settings, its mechanism, its folder, and the device it trains on."""

    settings: Settings
    mechanism: Mechanism
    folder: Path
    device: Device

    def path(self, name: str) -> Path:
        return self.folder / name

    def weights(self, stage: int) -> Path:
        """The trained network of a stage."""
        return self.path(f"stage{stage}.safetensors")

    def merged(self, stage: int) -> Path:
        """The network of a stage right after the merge; gone once it is retrained."""
        return self.path(f"stage{stage}.merged.safetensors")

    def metrics(self, stage: int) -> Path:
        """The training metrics of a stage; its checkpoint lies beside."""
        return self.path(f"stage{stage}.jsonl")

    def states(self) -> StateTable:
        """The states, if they were made with these settings."""
        table = open_states(self.path("states.h5"), self.mechanism, self.settings.dt)
        self.refuse_difference(self.path("states.h5"), table.provenance, self.sample_inputs())
        return table

    @property
    def rollout_steps(self) -> int:
        """The longest segments that a training of this run marches, 0 if none does."""
        s, (shipped, _) = self.settings, self.start
        trainings = [] if shipped else [s.training]
        trainings += [s.retraining] if s.stage else []
        return max((t.rollout_steps for t in trainings), default=0)

    @property
    def reference_task(self) -> tuple:
        """What CVODE's answers are computed with, as `ignition.reference` and `flame.reference`
        take it."""
        s = self.settings
        mixture = s.sampling.fuel, s.sampling.oxidizer
        return self.mechanism, s.validation, s.chemistry, s.dt, *mixture, self.workers

    @property
    def segment_sampler(self) -> SegmentSampler:
        """What makes segments for all trainings of this run."""
        s, steps = self.settings, self.rollout_steps
        how = s.segments, s.sampling, s.chemistry, s.dt, steps, s.seed, s.training.held_out
        return SegmentSampler(self.mechanism, *how)

    def segments(self, steps: int) -> Segments | None:
        """Segments of `steps` or more, if they were made with these settings; None for 0 steps."""
        if not steps:
            return None
        path = self.path("segments.h5")
        segments = open_segments(path, self.mechanism, self.settings.dt)
        self.refuse_difference(path, segments.provenance, self.segment_inputs())
        if segments.steps < steps:
            raise ValueError(
                f"{path} holds segments of {segments.steps} steps, and {steps} are asked for: run "
                "`python -m combred.pipeline only=sample` with the same settings, which makes "
                "longer ones"
            )
        return segments

    def rollouts(self, surrogate: Surrogate, settings: TrainingSettings) -> Rollouts | None:
        """What a training of a surrogate marches segments with, None where it marches none."""
        segments = self.segments(settings.rollout_steps)
        if segments is None:
            return None
        return Rollouts(surrogate, segments, settings, self.settings.seed, self.device.device)

    def surrogate(self, stage: int) -> Surrogate:
        """The trained surrogate of a stage, if it was made with these settings."""
        surrogate = load_surrogate(self.weights(stage), self.mechanism)
        if surrogate.dt != self.settings.dt:
            raise ValueError(
                f"{self.weights(stage)} advances by dt = {surrogate.dt} s, but dt = "
                f"{self.settings.dt} s is asked for. Give dt={surrogate.dt}, or another run=NAME."
            )
        made_with = self.reduction_entry(stage) if stage else read_json(self.path("train.json"))
        if "inputs" not in made_with:
            raise ValueError(
                f"nothing tells how {self.weights(stage)} was made: delete it, and the pipeline "
                "makes it again"
            )
        if stage == 0:
            self.refuse_other_start(made_with["inputs"])
            inputs = self.train_inputs(shipped="shipped" in made_with["inputs"])
        else:
            inputs = self.reduce_inputs(stage)
        self.refuse_difference(self.weights(stage), made_with["inputs"], inputs)
        return surrogate

    def refuse_other_start(self, stored: dict) -> None:
        """ValueError if stage 0 is a shipped model that is not the one of these settings now.

        One that was trained here is what start=shipped asks for too, where its settings are these.
        """
        (name, why_not), then, path = self.start, stored.get("shipped"), self.weights(0)
        if then is None or (then == name and stored["digest"] == shipped_digest(name)):
            return
        if name:
            now = f"{name} of this version, another network"
        elif self.settings.start == "scratch":
            now = "one that is trained (start=scratch)"
        else:
            now = f"one that is trained ({why_not})"
        raise ValueError(
            f"{path} is {then}, which came with combred; now asked for is {now}. Give the settings "
            f"of before again, name another run with run=NAME, or delete stage*.safetensors (and "
            f"search/, if there) in {self.folder}: the states stay."
        )

    def reduction_entry(self, stage: int) -> dict:
        """What reduce.json knows of a stage, {} if nothing."""
        entries = read_json(self.path("reduce.json")).get("stages", [])
        return entries[stage - 1] if len(entries) >= stage else {}

    @property
    def workers(self) -> int:
        return self.settings.workers or len(os.sched_getaffinity(0))

    def barrier(self) -> None:
        """Wait for the other processes of torchrun, if there are any."""
        if self.device.world > 1:
            torch.distributed.barrier()

    def shared(self, make: Callable[[], Any]) -> Any:
        """What `make` gives, or raises, in the first process of torchrun, in all of them."""
        if self.device.world == 1:
            return make()
        outcome: list = [None]
        if self.device.leads:
            try:
                outcome = [(make(), None)]
            except Exception as error:  # the others wait for it
                outcome = [(None, error)]
        torch.distributed.broadcast_object_list(outcome, src=0)
        made, error = outcome[0]
        if error is not None:
            raise error
        return made

    # -- what an artefact depends on: stored beside it, compared before it is reused --------------

    def sample_inputs(self) -> dict:
        s = self.settings
        return plain(provenance(s.sampling, s.chemistry, s.dt, s.seed))

    def segment_inputs(self) -> dict:
        return plain(self.segment_sampler.provenance)

    def training_inputs(self, settings: TrainingSettings) -> dict:
        """What a training depends on besides the states: its settings, and its segments if any."""
        marched = {"segments": self.segment_inputs()} if settings.rollout_steps else {}
        return outcome_settings(settings) | marched

    def train_inputs(self, shipped: bool) -> dict:
        """What stage 0 depends on: the shipped model of these settings, or a training."""
        s, states = self.settings, self.sample_inputs()
        if shipped:
            name, _ = self.start
            return plain({"shipped": name, "digest": shipped_digest(name), "states": states})
        network, how = asdict(s.network), self.training_inputs(s.training)
        return plain({"states": states, "network": network, "training": how})

    @cached_property
    def start(self) -> tuple[str, str]:
        """Name of the shipped model that is stage 0, "" where it is trained here; and why."""
        if self.settings.start == "scratch":
            return "", "start=scratch"
        return starting_point(self.settings, self.mechanism)

    def reduce_inputs(self, stage: int) -> dict:
        r = self.settings.reduction
        row = stage_table(r)[stage - 1]
        if r.criteria:
            how = {"method": r.method, "criteria": {"limits": r.limits, **self.criteria_inputs()}}
            how |= {key: getattr(r, key) for key in ("factor", "max_keep_ratio", "min_width")}
        elif row.layer:
            how = {"layer": row.layer, "threshold": row.threshold}
        else:
            how = {"method": row.method, "parameters": row.parameters}
        return plain(
            {
                "parent": digest(self.weights(stage - 1)),
                **how,
                "compensation": r.compensation,
                "ridge": r.ridge,
                "calibration": r.calibration,
                "retraining": self.training_inputs(self.retraining(stage)),
            }
        )

    def criteria_inputs(self) -> dict:
        """What CVODE's answers to the criteria's cases depend on."""
        s = self.settings
        criteria, v = AcceptanceCriteria.of(s.reduction, s.validation), s.validation
        marched = {"burnt_time": v.burnt_time, "longest": v.longest} if criteria.ignitions else {}
        if criteria.flames:
            flames = {k: value for k, value in asdict(v).items() if k.startswith("flame_")}
            marched |= {k: flames[k] for k in flames.keys() - {"flame_phi", "flame_T"}}
        how = {"chemistry": asdict(s.chemistry), "dt": s.dt}
        mixture = {"fuel": s.sampling.fuel, "oxidizer": s.sampling.oxidizer}
        return plain({"cases": criteria.cases(), **marched, **how, **mixture})

    def validate_inputs(self) -> dict:
        """What the ignitions of the validation depend on."""
        return self._validation(lambda key: not key.startswith("flame_"))

    def flame_inputs(self) -> dict:
        """What its flames depend on, {} if there are none."""
        if not self.settings.validation.flame_phi:
            return {}
        return self._validation(lambda key: key.startswith("flame_") or key == "p")

    def _validation(self, wanted: Callable[[str], bool]) -> dict:
        s = self.settings
        return plain(
            {
                "validation": {k: v for k, v in asdict(s.validation).items() if wanted(k)},
                "chemistry": asdict(s.chemistry),
                "dt": s.dt,
                "fuel": s.sampling.fuel,
                "oxidizer": s.sampling.oxidizer,
            }
        )

    def retraining(self, stage: int) -> TrainingSettings:
        """The training settings after the reduction of a stage."""
        return self.settings.reduction.retraining_of(stage, self.settings.retraining)

    def refuse_difference(self, artefact: Path, stored: dict | None, wanted: dict) -> None:
        """ValueError if what the artefact was made with is known and is not what is wanted."""
        differing = (
            []
            if stored is None
            else [
                f"{path}: {then!r} then, {now!r} now"
                for path, then, now in differences(stored, wanted)
            ]
        )
        if differing:
            raise ValueError(
                f"{artefact} was made with other settings ({'; '.join(differing[:4])}). Give those "
                f"again, name another run with run=NAME, or delete {artefact.name} and what was "
                "made from it."
            )


def shipped_digest(name: str) -> str:
    """Of the file of a model that comes with combred."""
    return digest(FOLDER / f"{name}.safetensors")


def plain(settings: dict) -> dict:
    """Settings as JSON gives them back."""
    return json.loads(json.dumps(settings))


def differences(a, b, path: str = ""):
    """(key, value in a, value in b) wherever two nested dicts differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from differences(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif a != b:
        yield path, a, b
