"""A run of seconds: its command, its results, and its interruption in each step."""

import contextlib
import io
import json
import pkgutil
import shutil
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import h5py

from combred.files.records import digest
from combred.pipeline import command

NAME = "small"
# Two reductions of a network that sees the state alone.
SMALL = (
    f"profile=smoke run={NAME} stage=2 workers=1 sampling.states=120 sampling.ignitions=3 "
    "sampling.dt=[4e-6,4e-6] network.hidden=[12,8] training.steps=60 training.batch=64 "
    "training.batch_final=64 retraining.steps=40 reduction.method=brain_surgeon "
    "reduction.parameters=[0.8,0.6] validation.T0=[1800] validation.burnt_time=4e-5 "
    "validation.dt=4e-6"
).split()
OTHER = [*SMALL, "seed=1"]  # another run, whose files are exchanged
# What a run takes anew every time, or measures: no result. The bytes of surrogate.pt count the
# letters of TorchScript's names, which tell how many other classes the process has scripted before.
UNSTABLE = (
    *("seconds", "samples_per_second", "timing", "metrics", "digest", "versions"),
    *("only", "lost_trajectories", "bytes"),
)


@dataclass(frozen=True)
class Answer:
    """The answer of a command: its exit status and its output."""

    status: int
    output: str

    @property
    def errors(self) -> list[str]:
        """The lines of the output from the first error on."""
        lines = self.output.splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("error:")), len(lines))
        return lines[first:]

    def refuses(self, name: str) -> bool:
        """Whether the command was refused, by one line that names a file and does not advise to
        delete; otherwise it has ended well."""
        if self.status == 0:
            return False
        (line,) = self.errors
        assert name in line and "elete" not in line, self
        return True


def ask(words: list[str]) -> Answer:
    """The answer of the pipeline's command in this process; its exceptions are not caught."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = command.main(words)
    return Answer(status, output.getvalue())


def finished(folder: Path, words: list[str]) -> Path:
    """The folder of a finished run, made in `folder`."""
    with contextlib.chdir(folder):
        answer = ask(words)
    assert answer.status == 0, answer
    return folder / "runs" / NAME


def results(run: Path) -> dict:
    """What a run has found, by file: contents of networks, states and solutions, and numbers of the
    records without times."""
    found: dict = {}
    for path in sorted(run.iterdir()):
        if path.suffix in (".safetensors", ".jsonl"):
            found[path.name] = digest(path)
        elif path.suffix == ".h5":
            found[path.name] = datasets(path)
        elif path.suffix == ".json":
            found[path.name] = stable(json.loads(path.read_text()))
    return found


def datasets(path: Path) -> dict:
    """The datasets of an HDF5 file, by name, as bytes."""
    found: dict = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[...].tobytes()

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    return found


def stable(value):
    """A record without what differs between two runs of the same settings."""
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in UNSTABLE}
    return [stable(item) for item in value] if isinstance(value, list) else value


def differing(one: dict, other: dict) -> list[str]:
    """The files whose results differ."""
    return [name for name in one | other if one.get(name) != other.get(name)]


@dataclass(frozen=True)
class Stop:
    """An interruption: Ctrl-C at call number `call` of the function `target`, in a folder without
    the files of `without`, during the step `only`. It leaves the files `left`, patterns; the step,
    given again, makes the files `gives`."""

    target: str
    call: int
    without: tuple[str, ...]
    only: str
    left: tuple[str, ...]
    gives: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The command of the step."""
        return [*SMALL, f"only={self.only}"]


SAVE = "combred.files.trace.Trace.save"
STOPS = {
    "labelling": Stop(
        "combred.files.parts.Parts.write", 3, ("*",), "sample",
        ("states.*.partial/*",), ("states.h5", "sample.json"),
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
        "combred.experiments.ignition.experiment.Ignitions.follow", 2, ("validation.*",),
        "validate", ("validation.h5",), ("validation.h5", "validation.json"),
    ),
    "export": Stop(
        "combred.surrogates.files.export.write_json", 1, ("surrogate.*", "export.json"), "export",
        (), ("surrogate.json", "export.json"),
    ),
    "report": Stop("combred.report.pages.render", 1, ("report.*",), "report", (), ()),
}  # fmt: skip


def without(run: Path, folder: Path, patterns: tuple[str, ...]) -> Path:
    """A copy of a run in `folder`, without the files of some patterns; the folder of the run."""
    here = Path(shutil.copytree(run, folder / "runs" / NAME))
    for pattern in patterns:
        for path in here.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return here


def unfinished(run: Path, words: list[str], folder: Path, stop: Stop) -> Path:
    """A copy in `folder` of a run of that command, interrupted; the folder of the run."""
    here, calls = without(run, folder, stop.without), iter(range(1, 1_000_000))
    whole = pkgutil.resolve_name(stop.target)

    def interrupted(*arguments, **options):
        if next(calls) == stop.call:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    with contextlib.chdir(folder), mock.patch(stop.target, interrupted):
        answer = ask([*words, f"only={stop.only}"])
    assert answer.status == 130 and all(any(here.glob(name)) for name in stop.left), answer
    return here
