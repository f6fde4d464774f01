"""The step `reduce`: the networks of the stages after the first, one reduced from the other."""

import torch

from combred.pipeline.console import say, shape
from combred.pipeline.run import Run
from combred.pipeline.steps.search import reduce_to_criteria
from combred.pipeline.steps.train import train_stage
from combred.records import read_json, write_json
from combred.reduction import Stage, reduce_stage, stage_table
from combred.reduction.size import count_parameters
from combred.surrogate.storage import load_surrogate, save_surrogate
from combred.training.progress import forget_checkpoint
from combred.training.validation_loss import ValidationLoss


def reduce_stages(run: Run) -> None:
    """stageN.safetensors for every stage up to the one asked for, and reduce.json."""
    if run.settings.reduction.criteria and run.settings.stage:
        reduce_to_criteria(run)
        return
    for stage in stage_table(run.settings.reduction)[: run.settings.stage]:
        i = stage.index
        run.surrogate(i - 1)  # the stage before is there, and of these settings
        if run.weights(i).exists():
            shown = shape(run.surrogate(i).network)
            if run.device.leads:
                run.merged(i).unlink(missing_ok=True)
            say(run, f"stage {i}: {shown}, reused")
            continue
        known = run.reduction_entry(i).get("inputs") == run.reduce_inputs(i)
        if run.device.leads and not (known and run.merged(i).exists()):
            forget_checkpoint(run.metrics(i))
            merge_stage(run, stage)
        run.barrier()
        surrogate = load_surrogate(run.merged(i), run.mechanism)

        def record(numbers: dict, i: int = i) -> None:
            write_entry(run, i, {**run.reduction_entry(i), "retraining": numbers})

        train_stage(run, i, surrogate, run.retraining(i), record)
        if run.device.leads:
            run.merged(i).unlink()


def merge_stage(run: Run, stage: Stage) -> None:
    """Reduce the previous stage's network; record what that did to the losses."""
    s, table = run.settings, run.states()
    surrogate = run.surrogate(stage.index - 1)
    held_out = table.held_out(s.training.held_out, s.seed)
    states = torch.from_numpy(table.draw(~held_out, s.reduction.calibration, s.seed))
    x = surrogate.transform.inputs(states)
    with torch.no_grad():
        full = count_parameters(run.surrogate(0).network)
        network, record = reduce_stage(surrogate.network, stage, s.reduction, x, full)
    loss = ValidationLoss(
        table, surrogate.transform, held_out, s.retraining.loss, torch.device("cpu")
    )
    record["validation_before"] = loss(surrogate.network)["validation"]
    record["validation_merged"] = loss(network)["validation"]
    surrogate.network = network
    write_entry(run, stage.index, {"inputs": run.reduce_inputs(stage.index), **record})
    save_surrogate(run.merged(stage.index), surrogate, run.mechanism)
    say(
        run,
        f"stage {stage.index}: {stage.what}: {shape(network)}",
    )


def write_entry(run: Run, stage: int, entry: dict) -> None:
    """Put a stage's record into reduce.json; those of later stages stay."""
    entries = read_json(run.path("reduce.json")).get("stages", [])
    entries[stage - 1 : stage] = [entry]
    write_json(run.path("reduce.json"), {"stages": entries})
