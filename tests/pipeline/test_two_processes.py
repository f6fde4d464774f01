"""Two processes of torchrun: trainings, a search and a shipped network, beside one process."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tiny import HERE, TINY, merged, run_process

from combred import data
from combred.pipeline.ship import ship

SEARCH = (
    "only=reduce stage=1 reduction.method=brain_surgeon reduction.criteria=ignition:300% "
    "reduction.attempts=1 validation.T0=[1750,1850]"
)
# A network that is shipped is taken where no setting of a training is given.
SHIPPED = [word for word in TINY.split() if not word.startswith("training.")]


def copy_of(finished: Path, folder: Path, without: tuple[str, ...]) -> Path:
    """A copy of the finished run, without the files of some patterns."""
    shutil.copytree(finished / "runs", folder / "runs")
    for pattern in without:
        for path in (folder / "runs/tiny").glob(pattern):
            path.unlink()
    return folder


@pytest.fixture(scope="module")
def two(finished, tmp_path_factory) -> Path:
    """A folder of runs that two processes went on with, by name."""
    root = tmp_path_factory.mktemp("two")
    whole = ("stage*", "*.json", "validation.h5", "surrogate.pt")
    train = copy_of(finished, root / "train", ("stage0.safetensors", "train.json"))
    reduce = copy_of(finished, root / "reduce", ("stage[12].safetensors",))
    search = copy_of(finished, root / "search", ("stage[12]*", "reduce.json"))
    shipped = copy_of(finished, root / "shipped", whole)
    (root / "data").mkdir()
    (root / "data/mechanisms").symlink_to(data.FOLDER / "mechanisms")
    ship(finished / "runs/tiny", 0, "small", root / "data/models")
    words = {
        train: f"{TINY} only=train",
        reduce: " ".join(merged(TINY, "stage=1 only=reduce")),
        search: " ".join(w for w in merged(TINY, SEARCH) if "thresholds" not in w),
        shipped: " ".join([*SHIPPED, "only=train"]),
    }
    jobs = [word for pair in words.items() for word in map(str, pair)]
    torchrun = ["-m", "torch.distributed.run", "--nproc_per_node", "2"]
    status, output = run_process(*torchrun, str(HERE / "several.py"), str(root / "data"), *jobs)
    told = "".join(path.read_text() for path in root.glob("*/output0"))
    assert status == 0, output + told
    assert not any(path.read_text() for path in root.glob("*/output1"))  # one process speaks
    return root


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / "runs/tiny" / name).read_text())


def test_two_processes_train_the_same_network(finished, two):
    # Halves of each batch, gradients averaged: the same step but for rounding, which 300 steps
    # of training amplify; losses of different seeds differ by more than 3 %.
    losses = [read(folder, "train.json")["validation"] for folder in (two / "train", finished)]
    assert losses[0] == pytest.approx(losses[1], rel=0.03) and losses[0] != losses[1]
    assert (two / "train/output0").read_text().count("\nstage 0:") == 1


def test_two_processes_retrain_the_same_network(finished, two):
    folders = two / "reduce", finished
    retrained = [read(folder, "reduce.json")["stages"][0]["retraining"] for folder in folders]
    losses = [numbers["validation"] for numbers in retrained]
    assert losses[0] == pytest.approx(losses[1], rel=0.03) and losses[0] != losses[1]


def test_a_search_by_two_processes_comes_to_one_result(two):
    assert (two / "search/output0").read_text().count("criteria: attempt 1 ") == 1
    assert len(read(two / "search", "reduce.json")["stages"][0]["criteria"]["trace"]) == 2


def test_one_of_two_processes_takes_a_shipped_network(finished, two):
    assert read(two / "shipped", "train.json")["shipped"] == "small"
    name = "runs/tiny/stage0.safetensors"
    taken, trained = load_file(two / "shipped" / name), load_file(finished / name)
    assert {k: v.shape for k, v in taken.items()} == {k: v.shape for k, v in trained.items()}
