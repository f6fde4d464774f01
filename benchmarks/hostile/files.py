"""Damaged and exchanged files of a run: each is refused, or made again, or makes no difference.

A copy of a run has one of its files damaged, and the command is given again. It may refuse, in one
line with the name of the file; then the file is moved away, as the line advises, and the command
has to go on to the same networks. Or it ends well; then its results have to be those of the run. A
result that differs without a word is wrong.
"""

import contextlib
import json
import pkgutil
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
import torch
from safetensors.torch import save_file

from benchmarks.hostile.outcome import SILENCE, Answer, Counts, ask
from combred.records import digest

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
# What a run takes anew every time, or measures: no result.
UNSTABLE = (
    *("seconds", "samples_per_second", "timing", "segments", "metrics", "digest", "versions"),
    *("only", "lost_trajectories"),
)
UNREAD = ("report.html", "report.md", "condensation.npz", "lock")

Damage = Callable[[Path], None]


def damages(
    file: Path, other: Path, rng: random.Random, flips: int
) -> Iterator[tuple[str, Damage]]:
    """Names and functions of the damages to a file: `flips` single bits, truncations, the same file
    of another run, foreign contents of the same format, a folder in its place."""
    size = file.stat().st_size
    for _ in range(flips):
        place, bit = rng.randrange(size), rng.randrange(8)
        yield f"bit {bit} of byte {place}", lambda path, a=place, b=bit: flip(path, a, b)
    for length in (0, 1, size // 2, size - 1):
        yield f"cut to {length} bytes", lambda path, n=length: cut(path, n)
    yield "a byte more", lambda path: path.write_bytes(path.read_bytes() + b"\n0")
    if other.exists():
        yield "of another run", lambda path: shutil.copyfile(other, path)
    for number, foreign in enumerate(FOREIGN.get(file.suffix, [])):
        yield f"foreign content {number}", foreign
    yield "a folder", in_place


def flip(path: Path, place: int, bit: int) -> None:
    """Flip a bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def cut(path: Path, length: int) -> None:
    """Leave the first bytes of a file."""
    path.write_bytes(path.read_bytes()[:length])


def in_place(path: Path) -> None:
    """A folder in the place of a file."""
    path.unlink()
    path.mkdir()


def _text(text: str) -> Damage:
    return lambda path: path.write_text(text)


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["T"] = np.ones(3)
        file.attrs["inputs"] = "[1]"
        file.attrs["format"] = 3


def _network(**metadata: str) -> Damage:
    tensors = {"network.layers.0.weight": torch.ones(2, 3)}
    return lambda path: save_file(tensors, path, metadata=metadata or None)


IDENTITY = {"mechanism": "drm19.yaml", "mechanism_sha256": "", "widths": [3, 2]}
RECORDS = [_text(text) for text in ("[1, 2]", '"x"', "null", "{}", '{"stages": 3}', "{", "\x00")]
FOREIGN: dict[str, list[Damage]] = {
    ".json": RECORDS,
    ".jsonl": [_text(text) for text in ("[1]\n", '{"step": "x"}\n', "{\n{}\n", "\x00\n")],
    ".h5": [_hdf5, _text("x")],
    ".safetensors": [_network(), _network(combred="{}"), _network(combred=json.dumps(IDENTITY))],
    ".checkpoint": [
        lambda path: torch.save([1, 2], path),
        lambda path: torch.save({"x": torch.ones(2)}, path),
        lambda path: torch.save({"signature": "another", "network": 1}, path),
    ],
    ".pt": [lambda path: torch.save([1, 2], path)],
}


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
        "combred.dataset.states.StateWriter.write", 3, ("*",), "sample",
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
        "combred.simulation.ignition.follow", 2, ("validation.*",), "validate",
        ("validation.h5",), ("validation.h5", "validation.json"),
    ),
}  # fmt: skip


def unfinished(run: Path, arguments: list[str], folder: Path, stop: Stop) -> Path:
    """A copy in `folder` of a run with these arguments, interrupted; the folder of the run."""
    shutil.copytree(run, folder / "runs" / NAME)
    here, calls = folder / "runs" / NAME, iter(range(1, 1_000_000))
    for pattern in stop.without:
        for path in here.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
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
