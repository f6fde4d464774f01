"""The search for the smallest network that meets the acceptance criteria: stage 1 of such a run.

Gives `combred.reduction.shrink_until` the cut, the training and a judge, and the folder search/ as
its memory; writes stage1.safetensors and reduce.json.
"""

import copy
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from combred.config import ReductionSettings, TrainingSettings
from combred.files.records import ANOTHER_RUN, require_same, write_record
from combred.pipeline.artefacts import NetworkArtefact
from combred.pipeline.console import console, progress
from combred.pipeline.stages import Stage, reduce_stage
from combred.pipeline.steps.networks import load_network, read_entry
from combred.pipeline.steps.sample import Data
from combred.pipeline.steps.train import train_network
from combred.pipeline.tables import shape
from combred.reduction import AttemptFolder, shrink_until
from combred.reduction.network.size import count_parameters
from combred.reduction.search.attempts import Attempt, NotPassed, Shrunk, format_errors
from combred.reduction.search.shrink import FACTOR, MAX_KEEP_RATIO
from combred.surrogate.storage import load_surrogate, made_from, save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training.loop import forget_checkpoint
from combred.validation.acceptance import SEED


def search_smallest(
    artefact: NetworkArtefact,
    first: Surrogate,
    data: Data,
    reduction: ReductionSettings,
    retraining: TrainingSettings,
    judge: Callable[[Surrogate], dict[str, float]],
) -> Surrogate:
    """The smallest network found that meets the criteria, as the surrogate of stage 1.

    judge: the errors of a surrogate by kind. Raises ValueError where stage 0 does not meet the
    criteria itself, and where search/ holds a search with other settings.
    """
    if artefact.path.exists():
        surrogate = load_network(artefact, first.mechanism)
        done = read_entry(artefact).get("criteria")
        # Without its record the network stays as it is.
        if not done or done["reason"] != "attempts" or len(done["trace"]) > reduction.attempts:
            console.print(f"stage 1: {shape(surrogate.network)}, reused")
            return surrogate
    search = _Search(artefact, first, data, reduction, retraining)
    try:
        found = shrink_until(
            first,
            reduction.limits,
            search.cut,
            search.train,
            judge,
            reduction.attempts,
            memory=AttemptFolder(search.folder, artefact.inputs, search.save, search.load),
            describe=lambda s: {"widths": s.network.widths, "weights": s.network.n_weights},
            on_attempt=search.print,
        )
    except NotPassed as error:
        raise ValueError(
            f"the network of stage 0 ({shape(first.network)}) does not meet reduction.criteria "
            f"itself: {error}. No smaller one is looked for. Loosen the criteria, or train a "
            "better stage 0 (training.steps, sampling.states, network.hidden)"
        ) from error
    finish(artefact, reduction, first, found)
    return found.network


class _Search:
    """What `shrink_until` calls, for the networks of a run; the folder search/ is its memory."""

    def __init__(
        self,
        artefact: NetworkArtefact,
        first: Surrogate,
        data: Data,
        reduction: ReductionSettings,
        retraining: TrainingSettings,
    ):
        self.artefact, self.first, self.data = artefact, first, data
        self.settings, self.retraining = reduction, retraining
        self.folder, self.full = search_folder(artefact), count_parameters(first.network)

    def made_from(self, file: Path) -> dict:
        """What the network of an attempt is made from: the inputs of the search, and its name."""
        return self.artefact.inputs | {"attempt": file.name}

    def save(self, file: Path, surrogate: Surrogate) -> None:
        """Write the surrogate of an attempt."""
        save_surrogate(file, surrogate, self.first.mechanism, inputs=self.made_from(file))

    def load(self, file: Path) -> Surrogate:
        """The surrogate of an attempt. Raises ValueError where it is of another search."""
        surrogate = load_surrogate(file, self.first.mechanism)
        require_same(file, made_from(file) or {}, self.made_from(file), ANOTHER_RUN)
        return surrogate

    @cached_property
    def inputs(self) -> Tensor:
        """Network inputs of the calibration states."""
        return self.data.calibration_inputs(self.first)

    def cut(self, surrogate: Surrogate, share: float) -> Surrogate:
        """A copy of a surrogate with the `share` of its parameters, by the method of the
        settings."""
        of_first = share * count_parameters(surrogate.network) / self.full
        stage = Stage(1, parameters=of_first, method=self.settings.method)
        smaller = copy.deepcopy(surrogate)
        with torch.no_grad(), progress("cutting"):
            smaller.network, _ = reduce_stage(
                surrogate.network, stage, self.settings, self.inputs, self.full
            )
        return smaller

    def metrics(self, number: int) -> Path:
        """The training metrics of an attempt; its checkpoint lies beside."""
        return self.folder / f"attempt{number}.jsonl"

    def train(self, surrogate: Surrogate, number: int) -> dict:
        """Retrain the surrogate of an attempt; from its checkpoint, if there is one."""
        metrics, what = self.metrics(number), f"attempt {number}"
        return train_network(surrogate, self.data, self.retraining, metrics, what)

    def print(self, attempt: Attempt) -> None:
        """Print an attempt, after its cut and after its judgement; its checkpoint is of no more
        use."""
        if attempt.number:
            forget_checkpoint(self.metrics(attempt.number))
        limits, size = self.settings.limits, f"{100 * attempt.share:.3g} % of the parameters"
        if attempt.number == 0:
            said = f"stage 0: {format_errors(attempt.errors, limits)}"
        elif attempt.passed is None:
            widths = "-".join(map(str, attempt.shape["widths"]))
            cut = format_errors(attempt.errors_cut, limits)
            said = f"attempt {attempt.number}: {widths}, {size}; right after the cut: {cut}"
        else:
            verdict = "[green]passed[/]" if attempt.passed else "[yellow]failed[/]"
            found = attempt.note or f"retrained: {format_errors(attempt.errors, limits)}"
            said = f"attempt {attempt.number} {verdict}: {found}"
        console.print(f"criteria: {said}")


def search_folder(artefact: NetworkArtefact) -> Path:
    """The memory of the search for a network."""
    return artefact.path.with_name("search")


def finish(
    artefact: NetworkArtefact, reduction: ReductionSettings, first: Surrogate, found: Shrunk
) -> None:
    """Store the network found as that of stage 1, after its record."""
    smallest = found.smallest
    criteria = {
        "limits": reduction.limits,
        "cases": artefact.inputs["criteria"]["cases"],
        "seed": SEED,
        "factor": FACTOR,
        "max_keep_ratio": MAX_KEEP_RATIO,
        "reason": found.reason,
        "smallest": smallest.number,
        "trace": [asdict(attempt) for attempt in found.trace],
    }
    record = {
        "inputs": artefact.inputs,
        "stage": 1,
        "method": reduction.method,
        "parameters": smallest.share,
        "compensation": reduction.compensation,
        "widths_before": first.network.widths,
        "widths_after": found.network.network.widths,
        "weights_before": first.network.n_weights,
        "weights_after": found.network.network.n_weights,
        "retraining": smallest.training,
        "criteria": criteria,
    }
    write_record(artefact.record, {"stages": [record]})
    save_surrogate(artefact.path, found.network, first.mechanism, inputs=artefact.inputs)
    for scrap in search_folder(artefact).glob("*.checkpoint"):
        scrap.unlink()
    why = {
        "max_keep_ratio": "no gentler cut is tried",
        "attempts": f"all {reduction.attempts} attempts are used up (reduction.attempts)",
    }
    console.print(
        f"stage 1: {shape(found.network.network)}, the smallest that meets the criteria: "
        f"{why[found.reason]}",
    )
    if not smallest.number:
        console.print(
            "  [bold yellow]nothing smaller than stage 0 meets the criteria: it is stage 1 too[/]",
        )
