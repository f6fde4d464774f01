"""Runs that are interrupted in a step, in this process: what they leave, damaged or not, is gone on
from to the results of an undisturbed run.
"""

import contextlib
import os
import pkgutil
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from benchmarks.hostile.damages import damages
from benchmarks.hostile.files import NAME, OTHER, SMALL, attack, differing, results
from benchmarks.hostile.outcome import Counts, ask


@dataclass(frozen=True)
class Stop:
    """An interruption: Ctrl-C at call number `call` of the function `target`, in a folder without
    the files of `without`, during the step `only`. It leaves the files `left`; the step, given
    again, makes the files `gives`."""

    target: str
    call: int
    without: tuple[str, ...]
    only: str
    left: tuple[str, ...]
    gives: tuple[str, ...]


SAVE = "combred.training.progress.TrainingCheckpoint.save"
STOPS = {
    "labelling": Stop(
        "combred.dataset.writer.StateWriter.write", 3, ("*",), "sample",
        ("states.partial.h5",), ("states.h5", "sample.json"),
    ),
    "training": Stop(
        SAVE, 30, ("stage*", "train.json", "reduce.json"), "train",
        ("stage0.checkpoint", "stage0.jsonl"), ("stage0.safetensors", "stage0.jsonl", "train.json"),
    ),
    "retraining": Stop(
        SAVE, 25, ("stage[12]*", "reduce.json"), "reduce",
        ("stage1.merged.safetensors", "stage1.checkpoint", "stage1.jsonl", "reduce.json"),
        ("stage1.safetensors", "stage2.safetensors", "stage1.jsonl", "stage2.jsonl"),
    ),
    "validation": Stop(
        "combred.validation.ignition.cases.follow", 2, ("validation.*",), "validate",
        ("validation.h5",), ("validation.h5", "validation.json"),
    ),
    "export": Stop(
        "combred.surrogate.export.write_json", 1, ("surrogate.*", "export.json"), "export",
        (), ("surrogate.json", "export.json"),
    ),
    "report": Stop("combred.report.pages.render", 1, ("report.*",), "report", (), ()),
}  # fmt: skip


def without(run: Path, folder: Path, stop: Stop) -> Path:
    """A copy of a run in `folder`, without the files of `stop.without`; the folder of the run."""
    here = Path(shutil.copytree(run, folder / "runs" / NAME))
    for pattern in stop.without:
        for path in here.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return here


def unfinished(run: Path, arguments: list[str], folder: Path, stop: Stop) -> Path:
    """A copy in `folder` of a run with these arguments, interrupted; the folder of the run."""
    here, calls = without(run, folder, stop), iter(range(1, 1_000_000))
    whole = pkgutil.resolve_name(stop.target)

    def interrupted(*arguments, **options):
        if next(calls) == stop.call:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    with contextlib.chdir(folder), mock.patch(stop.target, interrupted):
        answer = ask([*arguments, f"only={stop.only}"])
    missing = [name for name in stop.left if not (here / name).exists()]
    assert answer.status == 130 and not missing, (answer, missing)
    return here


def attack_unfinished(
    run: Path, other: Path, folder: Path, step: str, seed: int, draw: int | None = None
) -> Counts:
    """Damages to the files that an interruption in a step of `STOPS` has left: all of them with one
    flipped bit, or `draw` of them, drawn at random. Both runs are copied into `folder`."""
    counts, rng, stop, whole = Counts(), random.Random(seed), STOPS[step], results(run)
    one = unfinished(run, SMALL, folder / "one", stop)
    two = unfinished(other, OTHER, folder / "two", stop)
    plan = [
        (name, what, damage)
        for name in stop.left
        for what, damage in damages(one / name, two / name, rng, 1)
    ]
    rng.shuffle(plan)
    aim = {name: whole[name] for name in stop.gives}
    words = (f"only={stop.only}",)
    for name, what, damage in plan[:draw]:
        kind, reason = attack(one, two, aim, name, damage, words, remedy=True)
        counts.add(kind, f"{step}, {name}, {what}: {reason}")
    return counts


class Killed(BaseException):
    """The end of a process, which nothing in it can handle."""


def crash(run: Path, folder: Path, step: str, number: int) -> tuple[str, str]:
    """A step of `STOPS`, of a copy of a run in `folder`, that ends at the moment when it replaces a
    file for the `number`-th time: before it, or, for negative numbers, after it. Then the step is
    done again. The kind of the outcome (`Counts.add`), and a reason."""
    stop, whole, calls = STOPS[step], results(run), iter(range(1, 1_000_000))
    here = without(run, folder, stop)
    replace = os.replace

    def ending(*paths, **options) -> None:
        last = next(calls) == abs(number)
        if last and number > 0:
            raise Killed
        replace(*paths, **options)
        if last:
            raise Killed

    words = [*SMALL, f"only={stop.only}"]
    with contextlib.chdir(folder):
        with mock.patch("os.replace", ending), contextlib.suppress(Killed):
            ask(words)
        answer = ask(words)
        found = {name: results(here).get(name) for name in stop.gives}
    different = differing(found, {name: whole[name] for name in stop.gives})
    if answer.status != 0 or different:
        return "wrong", f"{step}, replacement {number}: {different} {answer.output[-400:]}"
    return "harmless", ""
