"""The step `reduce`: the networks of the stages after stage 0, each reduced from the one before.

Takes `Data` and the surrogates before; writes stageN.safetensors, stageN.jsonl and reduce.json, and
hands on the surrogate of the stage.
"""

import copy

import torch

from combred.config.reduction import ReductionSettings
from combred.pipeline.console import console
from combred.pipeline.files import NetworkArtefact
from combred.pipeline.stages import Stage, reduce_stage
from combred.pipeline.steps.automatic import condense_in_loop
from combred.pipeline.steps.train import Trainer
from combred.pipeline.tables import shape
from combred.reduction.network.size import count_parameters
from combred.surrogates.files.storage import load_surrogate, made_from
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.training.loop import forget_checkpoint
from combred.surrogates.training.validation_loss import ValidationLoss


def make_stage(
    artefact: NetworkArtefact,
    stage: Stage,
    before: list[Surrogate],
    reduction: ReductionSettings,
    trainer: Trainer,
) -> Surrogate:
    """The surrogate of a stage, reused, or reduced from the last of those `before` and retrained.
    An interrupted retraining is resumed."""
    mechanism, merged = before[0].mechanism, artefact.merged
    if artefact.path.exists():
        surrogate = artefact.load(mechanism)
        merged.unlink(missing_ok=True)
        console.print(f"stage {stage.index}: {shape(surrogate.network)}, reused")
        return surrogate
    known = artefact.numbers().get("inputs") == artefact.inputs
    if not known:
        forget_checkpoint(artefact.metrics)  # of other settings
    if not (known and merged.exists() and made_from(merged) == artefact.inputs):
        merge_stage(artefact, stage, before, reduction, trainer)
    surrogate = load_surrogate(merged, mechanism)
    trainer.make(artefact, surrogate)
    merged.unlink()
    return surrogate


def merge_stage(
    artefact: NetworkArtefact,
    stage: Stage,
    before: list[Surrogate],
    reduction: ReductionSettings,
    trainer: Trainer,
) -> None:
    """Write the reduced network, and the record of what the reduction did to the losses."""
    parent, full, data = before[-1], count_parameters(before[0].network), trainer.data
    x = data.calibration_inputs(parent)
    loss = ValidationLoss(data.table, parent.transform, data.held_out, torch.device("cpu"))
    if stage.automatic:
        network, record = condense_in_loop(artefact, parent, reduction, trainer, loss)
    else:
        with torch.no_grad():
            network, record = reduce_stage(parent.network, stage, reduction, x, full)
    record["validation_before"] = loss(parent.network)["validation"]
    record["validation_merged"] = loss(network)["validation"]
    reduced = copy.deepcopy(parent)
    reduced.network = network
    artefact.write_numbers(record)
    artefact.save(reduced, merged=True)
    console.print(f"stage {stage.index}: {stage.what}: {shape(network)}")
