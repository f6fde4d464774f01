"""The search for the smallest network that meets the acceptance criteria: stage 1 of such a run.

Gives `combred.reduction.shrink_until` the cut, the training and the judge of the run, and the
folder search/ as its memory; writes stage1.safetensors and reduce.json.
"""

import copy
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from combred.experiments.answers import Answers
from combred.experiments.judges import SEED, AcceptanceCriteria, References, judge
from combred.files.records import ANOTHER_RUN, require_same, write_record
from combred.native import fastest
from combred.pipeline import artefacts
from combred.pipeline.artefacts import Artefact
from combred.pipeline.console import console, progress
from combred.pipeline.run import Run
from combred.pipeline.stages import Stage, reduce_stage
from combred.pipeline.steps.networks import load_reduced, read_entry
from combred.pipeline.steps.sample import Data
from combred.pipeline.steps.train import train_network
from combred.pipeline.steps.validate import complete
from combred.pipeline.tables import shape
from combred.reduction import AttemptFolder, shrink_until
from combred.reduction.network.size import count_parameters
from combred.reduction.search.attempts import Attempt, NotPassed, Shrunk, format_errors
from combred.reduction.search.shrink import FACTOR, MAX_KEEP_RATIO
from combred.surrogate.storage import load_surrogate, made_from, save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.training.loop import forget_checkpoint


def search_smallest(run: Run, data: Data, first: Surrogate) -> Surrogate:
    """The smallest network found that meets the criteria, as the surrogate of stage 1.

    Raises ValueError where stage 0 does not meet them itself, and where search/ holds a search with
    other settings.
    """
    r = run.settings.reduction
    if run.weights(1).exists():
        surrogate, done = load_reduced(run, 1), read_entry(run, 1).get("criteria")
        # Without its record the network stays as it is.
        if not done or done["reason"] != "attempts" or len(done["trace"]) > r.attempts:
            console.print(f"stage 1: {shape(surrogate.network)}, reused")
            return surrogate
    search = _Search(run, data, first)
    try:
        found = shrink_until(
            first,
            r.limits,
            search.cut,
            search.train,
            search.judge,
            r.attempts,
            memory=AttemptFolder(search.folder, search.artefact.inputs, search.save, search.load),
            describe=lambda s: {"widths": s.network.widths, "weights": s.network.n_weights},
            on_attempt=search.print,
        )
    except NotPassed as error:
        raise ValueError(
            f"the network of stage 0 ({shape(first.network)}) does not meet reduction.criteria "
            f"itself: {error}. No smaller one is looked for. Loosen the criteria, or train a "
            "better stage 0 (training.steps, sampling.states, network.hidden)"
        ) from error
    finish(run, search.artefact, first, found)
    return found.network


class _Search:
    """What `shrink_until` calls, for the networks of a run; the folder search/ is its memory."""

    def __init__(self, run: Run, data: Data, first: Surrogate):
        self.run, self.data, self.first = run, data, first
        self.settings, self.folder = run.settings.reduction, run.path("search")
        self.artefact = artefacts.reduced_network(run, 1)
        self.criteria = AcceptanceCriteria.of(self.settings, run.settings.validation)
        self.full = count_parameters(first.network)

    def made_from(self, file: Path) -> dict:
        """What the network of an attempt is made from: the inputs of the search, and its name."""
        return self.artefact.inputs | {"attempt": file.name}

    def save(self, file: Path, surrogate: Surrogate) -> None:
        """Write the surrogate of an attempt."""
        save_surrogate(file, surrogate, self.run.mechanism, inputs=self.made_from(file))

    def load(self, file: Path) -> Surrogate:
        """The surrogate of an attempt. Raises ValueError where it is of another search."""
        surrogate = load_surrogate(file, self.run.mechanism)
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
        settings, what = self.run.settings.retraining_settings, f"attempt {number}"
        return train_network(self.run, self.data, surrogate, settings, self.metrics(number), what)

    @cached_property
    def references(self) -> list[References]:
        """The references of the cases, computed once and kept in search/."""
        run, inputs = self.run, artefacts.criteria(self.run)
        of = run.mechanism, run.mixture, run.settings.validation
        return [
            References(one, complete(run, Answers(self.folder / f"{one.name}.h5", one, inputs, {})))
            for one in self.criteria.experiments(*of)
        ]

    def judge(self, surrogate: Surrogate) -> dict[str, float]:
        """The errors of a surrogate's network alone, without the solver behind it, in the cases of
        the criteria, by kind."""
        return judge(
            fastest(surrogate, alone=True), self.settings.limits, self.references, progress
        )

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


def finish(run: Run, artefact: Artefact, first: Surrogate, found: Shrunk) -> None:
    """Store the network found as that of stage 1, after its record."""
    smallest, r = found.smallest, run.settings.reduction
    criteria = {
        "limits": r.limits,
        "cases": AcceptanceCriteria.of(r, run.settings.validation).cases(),
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
    write_record(run.path("reduce.json"), {"stages": [record]})
    save_surrogate(run.weights(1), found.network, run.mechanism, inputs=artefact.inputs)
    for scrap in run.path("search").glob("*.checkpoint"):
        scrap.unlink()
    why = {
        "max_keep_ratio": "no gentler cut is tried",
        "attempts": f"all {r.attempts} attempts are used up (reduction.attempts)",
    }
    console.print(
        f"stage 1: {shape(found.network.network)}, the smallest that meets the criteria: "
        f"{why[found.reason]}",
    )
    if not smallest.number:
        console.print(
            "  [bold yellow]nothing smaller than stage 0 meets the criteria: it is stage 1 too[/]",
        )
