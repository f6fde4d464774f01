"""The search for the smallest network that meets the acceptance criteria: stage 1 of such a run.

Gives `combred.reduction.shrink_until` the cut, the training and a judge, and the folder search/ as
its memory; writes stage1.safetensors and reduce.json.
"""

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from combred.config.reduction import ReductionSettings
from combred.experiments.accuracy import ALONE, NAMES
from combred.experiments.judges import SEED
from combred.pipeline.console import console, progress
from combred.pipeline.files import NetworkArtefact
from combred.pipeline.stages import Stage, reduce_stage, sizes
from combred.pipeline.steps.train import Trainer
from combred.pipeline.tables import shape
from combred.reduction import AttemptFolder, shrink_until
from combred.reduction.network.size import count_parameters
from combred.reduction.search.attempts import Attempt, NotPassed, Shrunk, format_errors
from combred.reduction.search.shrink import FACTOR, MAX_KEEP_RATIO
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.training.loop import forget_checkpoint


def search_smallest(
    artefact: NetworkArtefact,
    first: Surrogate,
    reduction: ReductionSettings,
    trainer: Trainer,
    judge: Callable[[Surrogate], dict[str, float]],
) -> Surrogate:
    """The smallest network found that meets the criteria, as the surrogate of stage 1.

    judge: the errors of a surrogate by kind. Raises ValueError where stage 0 does not meet the
    criteria itself, and where search/ holds a search with other settings.
    """
    if artefact.path.exists():
        surrogate, done = artefact.load(first.mechanism), artefact.numbers().get("criteria")
        # Without its record the network stays as it is.
        if not done or done["reason"] != "attempts" or len(done["trace"]) > reduction.attempts:
            console.print(f"stage 1: {shape(surrogate.network)}, reused")
            return surrogate
    search = _Search(artefact, first, reduction, trainer)
    try:
        found = shrink_until(
            first,
            reduction.limits,
            search.cut,
            search.train,
            judge,
            reduction.attempts,
            memory=AttemptFolder(
                search_folder(artefact),
                artefact.inputs,
                lambda file, one: search.attempt(file).save(one),
                lambda file: search.attempt(file).load(first.mechanism),
                ".safetensors",
            ),
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


@dataclass(frozen=True)
class _Search:
    """What `shrink_until` calls, for the networks of a run; the folder search/ is its memory."""

    artefact: NetworkArtefact
    first: Surrogate
    settings: ReductionSettings
    trainer: Trainer

    def attempt(self, file: Path) -> NetworkArtefact:
        """The network of an attempt, made from the inputs of the search, and its name."""
        return NetworkArtefact(file, self.artefact.inputs | {"attempt": file.name}, 1)

    @cached_property
    def inputs(self) -> Tensor:
        """Network inputs of the calibration states."""
        return self.trainer.data.calibration_inputs(self.first)

    def cut(self, surrogate: Surrogate, share: float) -> Surrogate:
        """A copy of a surrogate with the `share` of its parameters, by the method of the
        settings."""
        full = count_parameters(self.first.network)
        of_first = share * count_parameters(surrogate.network) / full
        stage = Stage(1, parameters=of_first, method=self.settings.method)
        smaller = copy.deepcopy(surrogate)
        with torch.no_grad(), progress("cutting"):
            smaller.network, _ = reduce_stage(
                surrogate.network, stage, self.settings, self.inputs, full
            )
        return smaller

    def metrics(self, number: int) -> Path:
        """The training metrics of an attempt; its checkpoint lies beside."""
        return search_folder(self.artefact) / f"attempt{number}.jsonl"

    def train(self, surrogate: Surrogate, number: int) -> dict:
        """Retrain the surrogate of an attempt; from its checkpoint, if there is one."""
        return self.trainer.train(surrogate, self.metrics(number), f"attempt {number}")

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
        console.print(f"criteria, {NAMES[ALONE]}: {said}")


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
        "stage": 1,
        "method": reduction.method,
        "parameters": smallest.share,
        "compensation": reduction.compensation,
        **sizes(first.network, found.network.network),
        "retraining": smallest.training,
        "criteria": criteria,
    }
    artefact.write_numbers(record)
    artefact.save(found.network)
    for scrap in search_folder(artefact).glob("*.checkpoint"):
        scrap.unlink()
    why = {
        "max_keep_ratio": "no gentler cut is tried",
        "attempts": f"all {reduction.attempts} attempts are used up (reduction.attempts)",
    }
    console.print(
        f"stage 1: {shape(found.network.network)}, the smallest that meets the criteria: "
        f"{why[found.reason]}"
    )
    if not smallest.number:
        console.print(
            "  [bold yellow]nothing smaller than stage 0 meets the criteria: it is stage 1 too[/]"
        )
