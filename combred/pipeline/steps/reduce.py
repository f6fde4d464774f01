"""The step `reduce`: the networks of the stages after stage 0, each reduced from the one before.

Takes `Data` and the surrogates before; writes stageN.safetensors, stageN.jsonl and reduce.json, and
hands on the surrogate of the stage.
"""

import copy

import torch

from combred.config import ReductionSettings, TrainingSettings
from combred.pipeline.artefacts import NetworkArtefact
from combred.pipeline.console import console
from combred.pipeline.stages import Stage, reduce_stage
from combred.pipeline.steps.networks import load_network, read_entry, write_entry
from combred.pipeline.steps.sample import Data
from combred.pipeline.steps.train import train_stage
from combred.pipeline.tables import shape
from combred.reduction.network.size import count_parameters
from combred.surrogate.storage import load_surrogate, made_from, save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training.loop import forget_checkpoint
from combred.training.validation_loss import ValidationLoss


def make_stage(
    artefact: NetworkArtefact,
    stage: Stage,
    before: list[Surrogate],
    data: Data,
    reduction: ReductionSettings,
    retraining: TrainingSettings,
) -> Surrogate:
    """The surrogate of a stage, reused, or reduced from the last of those `before` and retrained.
    An interrupted retraining is resumed."""
    mechanism, inputs = before[0].mechanism, artefact.inputs
    if artefact.path.exists():
        surrogate = load_network(artefact, mechanism)
        artefact.merged.unlink(missing_ok=True)
        console.print(f"stage {stage.index}: {shape(surrogate.network)}, reused")
        return surrogate
    known = read_entry(artefact).get("inputs") == inputs
    if not known:
        forget_checkpoint(artefact.metrics)  # of other settings
    if not (known and artefact.merged.exists() and made_from(artefact.merged) == inputs):
        merge_stage(artefact, stage, before, data, reduction)
    surrogate = load_surrogate(artefact.merged, mechanism)

    def record(numbers: dict) -> None:
        write_entry(artefact, {**read_entry(artefact), "retraining": numbers})

    train_stage(artefact, surrogate, data, retraining, record)
    artefact.merged.unlink()
    return surrogate


def merge_stage(
    artefact: NetworkArtefact,
    stage: Stage,
    before: list[Surrogate],
    data: Data,
    reduction: ReductionSettings,
) -> None:
    """Write the reduced network, and the record of what the reduction did to the losses."""
    parent, full = before[-1], count_parameters(before[0].network)
    x = data.calibration_inputs(parent)
    with torch.no_grad():
        network, record = reduce_stage(parent.network, stage, reduction, x, full)
    loss = ValidationLoss(data.table, parent.transform, data.held_out, torch.device("cpu"))
    record["validation_before"] = loss(parent.network)["validation"]
    record["validation_merged"] = loss(network)["validation"]
    reduced = copy.deepcopy(parent)
    reduced.network = network
    write_entry(artefact, {"inputs": artefact.inputs, **record})
    save_surrogate(artefact.merged, reduced, parent.mechanism, inputs=artefact.inputs)
    console.print(f"stage {stage.index}: {stage.what}: {shape(network)}")
