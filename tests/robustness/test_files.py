"""Damaged and exchanged files of a run are refused, made again, or make no difference.

A copy of a run has one of its files damaged, and the command is given again. It may refuse, in one
line with the name of the file; then the file is moved away, as the line advises, and the command
has to go on to the same networks. Or it ends well; then its results have to be those of the run.
"""

import contextlib
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from damages import Damage, damages
from killed import Killed
from small_run import NAME, OTHER, SMALL, STOPS, ask, differing, results, unfinished, without

pytestmark = pytest.mark.slow
DRAWN, REMEDIES = 30, 3
UNREAD = ("report.html", "lock", "run.log", "finished.json")


@contextlib.contextmanager
def copied(run: Path) -> Iterator[Path]:
    """A copy of a run folder, in a new working folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(run, Path("runs") / NAME)
        yield Path("runs") / NAME


def is_refused(
    run: Path, whole: dict, name: str, damage: Damage, words: list[str], remedy: bool
) -> bool:
    """Whether the command is refused after a damage to the file `name` of a copy of `run`; that it
    is refused clearly or gives `whole`, the results of the finished run, is asserted.

    words: the command; remedy: also follow the advice of a refusal.
    """
    with copied(run) as here:
        sound = {path.name: path.read_bytes() for path in here.glob("stage?.safetensors")}
        sound.pop(name, None)
        damage(here / name)
        answer = ask(words)
        refused = answer.refuses(name)
        if refused and not remedy:
            return True
        if refused:
            shutil.move(here / name, Path.cwd() / "away")
            answer = ask(words)
            assert answer.status == 0, answer
        different = [one for one in differing(whole, results(here)) if one in whole]
        if refused:  # a record that was moved away takes its numbers with it; all else stays
            different = [one for one in different if not one.endswith((".json", ".jsonl"))]
        assert not different, answer
        assert all((here / one).read_bytes() == before for one, before in sound.items())
        return refused


def drawn(names: list[str], pair: tuple[Path, Path], seed: int, flips: int) -> list:
    """All damages to files of a run, with those of another one: names, words and functions, in
    random order. names: patterns."""
    rng = random.Random(seed)
    files = [sorted(run.glob(name)) for name in names for run in pair]
    plan = [
        (one.relative_to(pair[0]).as_posix(), what, damage)
        for ours, theirs in zip(files[::2], files[1::2], strict=True)
        for one, other in zip(ours, theirs, strict=True)
        for what, damage in damages(one, other, rng, flips)
    ]
    rng.shuffle(plan)
    return plan


def test_damaged_files_of_a_finished_run(runs):
    names = sorted(p.name for p in runs[0].iterdir() if p.is_file() and p.name not in UNREAD)
    refused, whole = 0, results(runs[0])
    for number, (name, what, damage) in enumerate(drawn(names, runs, 0, 3)[:DRAWN]):
        try:
            refused += is_refused(runs[0], whole, name, damage, SMALL, number < REMEDIES)
        except Exception as error:
            error.add_note(f"{name}, {what}")
            raise
    assert DRAWN // 3 < refused < DRAWN - 3


@pytest.mark.parametrize("step", [name for name, stop in STOPS.items() if stop.left])
def test_damaged_files_of_an_unfinished_run(runs, tmp_path, step):
    stop, whole = STOPS[step], results(runs[0])
    one = unfinished(runs[0], SMALL, tmp_path / "one", stop)
    two = unfinished(runs[1], OTHER, tmp_path / "two", stop)
    aim = {name: whole[name] for name in stop.gives}
    for name, what, damage in drawn(list(stop.left), (one, two), 1, 1)[:2]:
        try:
            is_refused(one, aim, name, damage, stop.words, remedy=True)
        except Exception as error:
            error.add_note(f"{name}, {what}")
            raise


@pytest.mark.parametrize("step", list(STOPS))
def test_an_interrupted_step_goes_on_to_the_same_results(runs, tmp_path, monkeypatch, step):
    stop, whole = STOPS[step], results(runs[0])
    here = unfinished(runs[0], SMALL, tmp_path, stop)
    monkeypatch.chdir(tmp_path)
    answer = ask(stop.words)
    assert answer.status == 0, answer
    found = results(here)
    assert all(found[name] == whole[name] for name in stop.gives)
    assert not list(here.glob("*.partial")) + list(here.glob("*.checkpoint"))


@pytest.mark.parametrize("number", [1, -2, -40])
def test_a_process_that_ends_while_it_replaces_a_file(runs, tmp_path, monkeypatch, number):
    """It ends when it replaces a file for the `number`-th time: before it, or, for negative
    numbers, after it. The step, done again, gives the same results."""
    stop, whole, calls = STOPS["retraining"], results(runs[0]), iter(range(1, 1_000_000))
    here, replace = without(runs[0], tmp_path, stop.without), os.replace

    def ending(*paths, **options) -> None:
        last = next(calls) == abs(number)
        if last and number > 0:
            raise Killed
        replace(*paths, **options)
        if last:
            raise Killed

    monkeypatch.chdir(tmp_path)
    with mock.patch("os.replace", ending), pytest.raises(Killed):
        ask(stop.words)
    answer = ask(stop.words)
    assert answer.status == 0, answer
    found = results(here)
    assert all(found[name] == whole[name] for name in stop.gives)
