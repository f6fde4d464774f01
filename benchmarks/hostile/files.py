"""Damaged and exchanged files of a run: each is refused, or made again, or makes no difference.

A copy of a run has one of its files damaged, and the command is given again. It may refuse, in one
line with the name of the file; then the file is moved away, as the line advises, and the command
has to go on to the same networks. Or it ends well; then its results have to be those of the run. A
result that differs without a word is wrong.
"""

import contextlib
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py

from benchmarks.hostile.damages import Damage, damages
from benchmarks.hostile.outcome import SILENCE, Answer, Counts, ask
from combred.files.records import digest

NAME = "hostile"
# Two reductions of a network that sees the state alone, in seconds.
SMALL = (
    f"profile=smoke run={NAME} stage=2 workers=1 sampling.states=120 sampling.ignitions=3 "
    "sampling.flames=0 sampling.held_out=0.34 sampling.dt=[4e-6,4e-6] network.hidden=[12,8] "
    "training.steps=60 training.batch=64 training.batch_final=64 training.checkpoint_seconds=0 "
    "retraining.steps=40 retraining.batch=64 reduction.method=brain_surgeon "
    "reduction.parameters=[0.8,0.6] validation.T0=[1800] validation.burnt_time=4e-5 "
    "validation.dt=4e-6"
).split()
OTHER = [*SMALL, "seed=1"]  # another run, whose files are exchanged
# What a run takes anew every time, or measures: no result. The bytes of surrogate.pt count the
# letters of TorchScript's names, which tell how many other classes the process has scripted before.
UNSTABLE = (
    *("seconds", "samples_per_second", "timing", "segments", "metrics", "digest", "versions"),
    *("only", "lost_trajectories", "bytes"),
)
UNREAD = ("report.html", "report.md", "condensation.npz", "lock")


# -- results ---------------------------------------------------------------------------------------


def results(run: Path) -> dict:
    """What a run has found, by file: contents of networks, states and answers, and numbers of the
    records without times."""
    found: dict = {}
    for path in sorted(run.iterdir()):
        if path.suffix in (".safetensors", ".jsonl"):
            found[path.name] = digest(path)
        elif path.suffix == ".h5" and path.name != "segments.h5":  # of its own room
            found[path.name] = contents(path)
        elif path.suffix == ".json" and path.name != "condensation.json":
            found[path.name] = stable(json.loads(path.read_text()))
    return found


def contents(path: Path) -> dict:
    """The datasets of an HDF5 file, by name, as bytes."""
    found: dict = {}
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[...].tobytes()})
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
    return found


def stable(value):
    """A record without what differs between two runs of the same settings."""
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in UNSTABLE}
    return [stable(item) for item in value] if isinstance(value, list) else value


def differing(one: dict, other: dict, only: str = "") -> list[str]:
    """The files whose results differ, of those whose names contain `only`."""
    return [name for name in one | other if only in name and one.get(name) != other.get(name)]


# -- attacks ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def copied(run: Path) -> Iterator[Path]:
    """A copy of a run folder, in a new working folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(run, Path("runs") / NAME)
        yield Path("runs") / NAME


def attack(
    run: Path,
    other: Path,
    whole: dict,
    name: str,
    damage: Damage,
    words: tuple[str, ...] = (),
    remedy: bool = False,
) -> tuple[str, str]:
    """Damage the file `name` of a copy of `run`, and give the command again.

    other: another run; whole: the `results` of the finished run, with which those of the copy are
    compared; words: further arguments of the command; remedy: also follow the advice of a refusal.
    Returns the kind of the outcome (`Counts.add`) and a reason.
    """
    with copied(run) as here:
        sound = {path.name: path.read_bytes() for path in here.glob("stage?.safetensors")}
        sound.pop(name, None)
        damage(here / name)
        answer = ask([*SMALL, *words])
        kind, reason = judge(answer, Path(name).name)
        if kind == "refused" and remedy:
            shutil.move(here / name, Path.cwd() / "away")
            answer = ask([*SMALL, *words])
            if answer.status != 0:
                return "wrong", f"{reason} It does not help: {answer.output[-400:]}"
        if kind == "harmless" or (kind == "refused" and remedy):
            # A record that was moved away takes its numbers with it; all else stays.
            other_than = differing(whole, results(here))
            other_than = [one for one in other_than if one in whole]
            if kind == "refused":
                other_than = [one for one in other_than if not one.endswith((".json", ".jsonl"))]
            lost = [one for one, before in sound.items() if (here / one).read_bytes() != before]
            if other_than or lost:
                return "wrong", f"{kind}: {other_than} differ, {lost} made again. {reason}"
        return kind, reason


def attack_all(
    run: Path, other: Path, seed: int, flips: int, draw: int | None = None, remedies: int = 0
) -> Counts:
    """Every damage to every file of a finished run, or `draw` of them, drawn at random; the advice
    of every refusal is followed in the first `remedies` of them."""
    counts, rng, whole = Counts(), random.Random(seed), results(run)
    names = [path.name for path in run.iterdir() if path.is_file() and path.name not in UNREAD]
    plan = [
        (name, what, damage)
        for name in sorted(names)
        for what, damage in damages(run / name, other / name, rng, flips)
    ]
    rng.shuffle(plan)
    for number, (name, what, damage) in enumerate(plan[:draw]):
        kind, reason = attack(run, other, whole, name, damage, remedy=number < remedies)
        counts.add(kind, f"{name}, {what}: {reason}")
    return counts


def make(folder: Path, arguments: list[str]) -> Path:
    """The folder of a finished run, made in `folder`."""
    with contextlib.chdir(folder):
        answer = ask(arguments)
    assert answer.status == 0, answer
    return folder / "runs" / NAME


def judge(answer: Answer, name: str) -> tuple[str, str]:
    """The kind of an answer to a damaged file, and a reason."""
    if answer.status is None:
        return "tracebacks", answer.traceback[-600:]
    if answer.silence > SILENCE:
        return "silent", f"{answer.silence:.0f} s"
    if answer.status == 0:
        return "harmless", ""
    lines = answer.errors
    if len(lines) == 1 and name in lines[0] and "elete" not in lines[0]:
        return "refused", lines[0]
    return "wrong", f"no clear refusal: {answer.output[-400:]}"
