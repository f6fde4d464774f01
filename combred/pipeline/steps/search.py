"""The stage that a criteria decides: part of the pipeline, which calls it where there is one.

Gives `combred.reduction.shrink_until` the run's cut, training and judge, and the folder search/ of
the run for its memory; leaves stage1.safetensors, stage1.jsonl and reduce.json.
"""

import copy
import json
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from combred.pipeline.console import progress, say, shape
from combred.pipeline.run import Run
from combred.pipeline.steps.judge import Judge
from combred.records import read_json, write_bytes, write_json
from combred.reduction import (
    Attempt,
    AttemptFolder,
    ShrinkSettings,
    Shrunk,
    Stage,
    reduce_stage,
    shrink_until,
)
from combred.reduction.search.attempts import NotPassed, format_errors
from combred.reduction.size import count_parameters
from combred.surrogate.storage import load_surrogate, save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training import loop as training
from combred.training.progress import forget_checkpoint
from combred.validation.acceptance import AcceptanceCriteria


def reduce_to_criteria(run: Run) -> None:
    """stage1.safetensors: the smallest network found that passes the criteria; reduce.json tells how.

    Raises ValueError where stage 0 does not pass itself, and where search/ holds a search with other
    settings.
    """
    r, first, entry = run.settings.reduction, run.surrogate(0), run.reduction_entry(1)
    if run.weights(1).exists():
        shown, done = shape(run.surrogate(1).network), entry["criteria"]
        if done["reason"] != "attempts" or len(done["trace"]) > r.attempts:
            say(run, f"stage 1: {shown}, reused")
            return
    try:
        found = shrink_until(
            first,
            r.limits,
            Cutter(run),
            lambda surrogate, number: train_attempt(run, surrogate, number),
            Judge(run),
            ShrinkSettings(r.factor, r.max_keep_ratio, r.attempts),
            memory=open_memory(run),
            describe=lambda s: {"widths": s.network.widths, "weights": s.network.n_weights},
            on_attempt=lambda attempt: tell(run, attempt),
        )
    except NotPassed as error:
        raise ValueError(
            f"the trained network (stage 0, {shape(first.network)}) does not pass reduction.criteria "
            f"itself: {error}. Nothing smaller is looked for. Loosen the criteria, or train a better "
            "stage 0 (training.steps, sampling.states, network.hidden)"
        ) from error
    if run.device.leads:
        finish(run, first, found)
    run.barrier()


def open_memory(run: Run) -> AttemptFolder:
    """The folder search/, if what it holds was made with these settings."""
    path, inputs = run.path("criteria"), run.reduce_inputs(1)
    stored = read_json(path / "attempts.json")
    if len(stored.get("trace", [])) > 1:
        run.refuse_difference(path, stored["inputs"], inputs)
    return AttemptFolder(
        path,
        inputs,
        lambda file, surrogate: save_surrogate(file, surrogate, run.mechanism),
        lambda file: load_surrogate(file, run.mechanism),
        run.device.leads,
    )


def metrics_of(run: Run, number: int) -> Path:
    """The training metrics of an attempt; its checkpoint lies beside."""
    return run.path(f"search/attempt{number}.jsonl")


class Cutter:
    """`cut` of the search: a surrogate's network by the method of the settings."""

    def __init__(self, run: Run):
        self.run, self.full = run, count_parameters(run.surrogate(0).network)

    @cached_property
    def inputs(self) -> Tensor:
        """Network inputs of the calibration states."""
        run, s = self.run, self.run.settings
        table, transform = run.states(), run.surrogate(0).transform
        held_out = table.held_out(s.training.held_out, s.seed)
        states = torch.from_numpy(table.draw(~held_out, s.reduction.calibration, s.seed))
        return transform.inputs(states)

    def __call__(self, surrogate: Surrogate, share: float) -> Surrogate:
        return self.run.shared(lambda: self.cut(surrogate, share))

    def cut(self, surrogate: Surrogate, share: float) -> Surrogate:
        settings = self.run.settings.reduction
        of_first = share * count_parameters(surrogate.network) / self.full
        stage = Stage(1, parameters=of_first, method=settings.method)
        smaller = copy.deepcopy(surrogate)
        with torch.no_grad(), progress("cutting"):
            smaller.network, _ = reduce_stage(
                surrogate.network, stage, settings, self.inputs, self.full
            )
        return smaller


def train_attempt(run: Run, surrogate: Surrogate, number: int) -> dict:
    """`train` of the search: it goes on from the checkpoint of the attempt, if there is one."""
    s, table = run.settings, run.states()
    with progress(f"retraining attempt {number}", show=run.device.leads) as bar:
        return training.train(
            surrogate.network,
            table,
            surrogate.transform,
            table.held_out(s.training.held_out, s.seed),
            run.retraining(1),
            metrics_of(run, number),
            s.seed,
            run.device,
            bar,
            run.rollouts(surrogate, run.retraining(1)),
        )


def tell(run: Run, attempt: Attempt) -> None:
    """Print an attempt, after its cut and after its judgement; its checkpoint is of no more use."""
    if run.device.leads and attempt.number:
        forget_checkpoint(metrics_of(run, attempt.number))
    limits = run.settings.reduction.limits
    size = f"{100 * attempt.share:.3g} % of the parameters"
    if attempt.number == 0:
        say(run, f"criteria: stage 0: {format_errors(attempt.errors, limits)}")
    elif attempt.passed is None:
        widths = "-".join(map(str, attempt.shape["widths"]))
        cut = format_errors(attempt.errors_cut, limits)
        say(
            run, f"criteria: attempt {attempt.number}: {widths}, {size}; right after the cut: {cut}"
        )
    else:
        verdict = "[green]passed[/]" if attempt.passed else "[yellow]failed[/]"
        found = attempt.note or f"retrained: {format_errors(attempt.errors, limits)}"
        say(run, f"criteria: attempt {attempt.number} {verdict}: {found}")


def finish(run: Run, first: Surrogate, found: Shrunk) -> None:
    """Store the network found as that of stage 1, after its record and its metrics."""
    smallest, r = found.smallest, run.settings.reduction
    passed = [attempt for attempt in found.trace[1:] if attempt.passed]
    if passed:
        join_metrics([metrics_of(run, attempt.number) for attempt in passed], run.metrics(1))
    criteria = {
        "limits": r.limits,
        "cases": AcceptanceCriteria.of(r, run.settings.validation).cases(),
        "seed": r.criteria_seed,
        "factor": r.factor,
        "max_keep_ratio": r.max_keep_ratio,
        "reason": found.reason,
        "smallest": smallest.number,
        "trace": [asdict(attempt) for attempt in found.trace],
    }
    record = {
        "inputs": run.reduce_inputs(1),
        "stage": 1,
        "method": r.method,
        "parameters": smallest.share,
        "compensation": r.compensation,
        "widths_before": first.network.widths,
        "widths_after": found.network.network.widths,
        "weights_before": first.network.n_weights,
        "weights_after": found.network.network.n_weights,
        "retraining": smallest.training,
        "criteria": criteria,
    }
    write_json(run.path("reduce.json"), {"stages": [record]})
    save_surrogate(run.weights(1), found.network, run.mechanism)
    for scrap in run.path("criteria").glob("*.checkpoint"):
        scrap.unlink()
    why = {
        "max_keep_ratio": "no gentler cut is tried (reduction.max_keep_ratio)",
        "attempts": f"all {r.attempts} attempts are used up (reduction.attempts)",
    }
    say(
        run,
        f"stage 1: {shape(found.network.network)}, the smallest that passes: {why[found.reason]}",
    )
    if not smallest.number:
        say(
            run,
            "  [bold yellow]nothing smaller than stage 0 passes the criteria: stage 1 is stage 0[/]",
        )


def join_metrics(parts: list[Path], whole: Path) -> None:
    """The metrics of the attempts that led to a network, one after another, steps counted on."""
    lines, before = [], 0
    for part in parts:
        own = [json.loads(line) for line in part.read_text().splitlines()]
        lines += [line | {"step": before + line["step"]} for line in own]
        before = lines[-1]["step"] if lines else before
    write_bytes(whole, "".join(json.dumps(line) + "\n" for line in lines).encode())
