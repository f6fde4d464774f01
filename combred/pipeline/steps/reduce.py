"""The step `reduce`: the networks of the stages after stage 0, each reduced from the one before.

Takes `Data` and the surrogate of stage 0; writes stageN.safetensors, stageN.jsonl and reduce.json,
and hands on the surrogates of all stages.
"""

import copy

import torch

from combred.pipeline import artefacts
from combred.pipeline.console import console
from combred.pipeline.run import Run
from combred.pipeline.stages import Stage, reduce_stage, stage_table
from combred.pipeline.steps.networks import load_reduced, read_entry, write_entry
from combred.pipeline.steps.sample import Data
from combred.pipeline.steps.search import search_smallest
from combred.pipeline.steps.train import train_stage
from combred.pipeline.tables import shape
from combred.reduction.network.size import count_parameters
from combred.surrogate.storage import load_surrogate, made_from, save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training.loop import forget_checkpoint
from combred.training.validation_loss import ValidationLoss


def reduce(run: Run, data: Data, first: Surrogate) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for."""
    surrogates = [first]
    if run.settings.stage == 0:
        return surrogates
    if run.settings.reduction.criteria:
        return [first, search_smallest(run, data, first)]
    for stage in stage_table(run.settings.reduction)[: run.settings.stage]:
        i = stage.index
        if run.weights(i).exists():
            surrogate = load_reduced(run, i)
            run.merged(i).unlink(missing_ok=True)
            console.print(f"stage {i}: {shape(surrogate.network)}, reused")
        else:
            surrogate = make_stage(run, data, stage, surrogates)
        surrogates.append(surrogate)
    return surrogates


def make_stage(run: Run, data: Data, stage: Stage, before: list[Surrogate]) -> Surrogate:
    """Reduce the last of the surrogates `before` and retrain the result, which is the surrogate of
    `stage`; writes stageN.safetensors. An interrupted retraining is resumed."""
    i, inputs = stage.index, artefacts.reduced_network(run, stage.index).inputs
    known = read_entry(run, i).get("inputs") == inputs
    if not known:
        forget_checkpoint(run.metrics(i))  # of other settings
    if not (known and run.merged(i).exists() and made_from(run.merged(i)) == inputs):
        merge_stage(run, data, stage, before, inputs)
    surrogate = load_surrogate(run.merged(i), run.mechanism)

    def record(numbers: dict) -> None:
        write_entry(run, i, {**read_entry(run, i), "retraining": numbers})

    train_stage(run, data, i, surrogate, record, inputs)
    run.merged(i).unlink()
    return surrogate


def merge_stage(run: Run, data: Data, stage: Stage, before: list[Surrogate], inputs: dict) -> None:
    """Write the reduced network, and the record of what the reduction did to the losses."""
    first, parent, reduction = before[0], before[-1], run.settings.reduction
    x, full = data.calibration_inputs(parent), count_parameters(first.network)
    with torch.no_grad():
        network, record = reduce_stage(parent.network, stage, reduction, x, full)
    loss = ValidationLoss(data.table, parent.transform, data.held_out, torch.device("cpu"))
    record["validation_before"] = loss(parent.network)["validation"]
    record["validation_merged"] = loss(network)["validation"]
    reduced = copy.deepcopy(parent)
    reduced.network = network
    write_entry(run, stage.index, {"inputs": inputs, **record})
    save_surrogate(run.merged(stage.index), reduced, run.mechanism, inputs=inputs)
    console.print(f"stage {stage.index}: {stage.what}: {shape(network)}")
