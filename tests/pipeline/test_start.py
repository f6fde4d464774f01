"""A run that starts from a network that comes with combred: to the end, reused, and refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import combred
from combred.config import Settings, resolve
from combred.pipeline import command as pipeline
from combred.pipeline.command import prepare
from combred.records import read_json

PACKAGE = str(Path(pipeline.__file__).parents[1])
# The one that the default profile starts from.
MODEL, CARD = next(
    (name, card)
    for name, card in combred.models().items()
    if card["training"]["network"]["hidden"] == Settings().network.hidden
    and card["training"]["stage"] == 0
)
MADE = CARD["training"]
# Within what the model was trained on, whatever that is; real in every part, and tiny.
TINY = [
    *(f"sampling.{key}={MADE['sampling'][key]}".replace(" ", "") for key in ("T0", "p", "phi")),
    *(f"network.{key}={value}".replace(" ", "") for key, value in MADE["network"].items()),
    *"""stage=1 run=tiny workers=1 sampling.states=400 sampling.ignitions=8 sampling.flames=0
    sampling.burnt_time=1e-4 retraining.steps=20 retraining.batch=64 retraining.batch_final=64
    retraining.rollout_steps=0
    reduction.parameters=[0.35] reduction.calibration=300 validation.T0=[1800] validation.phi=[1]
    validation.burnt_time=5e-5""".split(),
]


@pytest.fixture
def here(monkeypatch, capsys):
    """The command in this process: (exit status, what it printed)."""

    def call(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        status = pipeline.main([*TINY, *arguments])
        return status, " ".join(capsys.readouterr().out.split())

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A tiny run from the shipped network, done in one go."""
    folder = tmp_path_factory.mktemp("shipped")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert pipeline.main(TINY) == 0
    return folder


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of the finished run, to break."""
    shutil.copytree(finished / "runs", tmp_path / "runs")
    return tmp_path


def test_stage_0_is_the_shipped_network_and_stage_1_is_smaller(finished, drm19):
    folder, first = finished / "runs/tiny", combred.load(MODEL)
    start = combred.load(folder / "stage0.safetensors")
    small = combred.load(folder / "stage1.safetensors")
    same, last = first.network.state_dict(), start.network.state_dict()
    assert all(torch.equal(last[key], value) for key, value in same.items())
    assert small.network.n_weights < 0.4 * start.network.n_weights
    # The states of the run are few: it is trusted where they are, and nowhere else.
    for surrogate in (start, small):
        assert (surrogate.transform.low >= first.transform.low).all()
        assert (surrogate.transform.high <= first.transform.high).all()
        assert surrogate.max_mahalanobis <= first.max_mahalanobis
    cold, hot = (
        [[T, 101325.0, *drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)]] for T in (300, 1600)
    )
    assert start.in_training_range(torch.tensor(hot)) and not start.in_training_range(
        torch.tensor(cold)
    )


def test_every_record_says_where_stage_0_is_from(finished):
    folder = finished / "runs/tiny"
    record = read_json(folder / "train.json")
    assert record["shipped"] == MODEL and record["validation"] > 0 and "steps" not in record
    assert not (folder / "stage0.jsonl").exists() and not (folder / "stage0.checkpoint").exists()
    assert MODEL in read_json(folder / "surrogate.json")["training"]["start"]
    told = (folder / "report.md").read_text()
    assert f"stage 0, {MODEL}" in told and "not trained here" in told
    assert "stage0.jsonl" not in told and "training stage 0" not in told


def test_a_second_run_reuses_everything(copy, here):
    before = {p: p.read_bytes() for p in (copy / "runs/tiny").glob("*.safetensors")}
    status, told = here(copy)
    assert status == 0 and told.count("reused") == 4, told
    assert f"{MODEL}, which comes with combred, reused" in told
    assert before == {p: p.read_bytes() for p in before}


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("start=scratch", "one that is trained (start=scratch)"),
        ("training.steps=5000", "training.steps=5000 is asked for"),
        ("seed=3", "seed=3 is asked for"),
    ],
)
def test_a_run_from_a_shipped_network_is_not_mixed_with_a_trained_one(copy, here, argument, told):
    before = {p: p.read_bytes() for p in (copy / "runs/tiny").glob("*.*")}
    for only in ("train", "reduce"):
        status, said = here(copy, argument, f"only={only}")
        assert status == 2 and f"is {MODEL}, which came with combred" in said and told in said
        assert "run=NAME" in said and "delete stage*.safetensors" in said
    assert before == {p: p.read_bytes() for p in before}


def test_another_network_of_the_same_name_is_refused_and_taken_once_deleted(copy, here):
    folder = copy / "runs/tiny"
    record = read_json(folder / "train.json")
    record["inputs"]["digest"] = "of an earlier version"
    (folder / "train.json").write_text(json.dumps(record))
    status, told = here(copy)
    assert status == 2 and f"{MODEL} of this version, another network" in told
    for path in folder.glob("stage*.safetensors"):
        path.unlink()
    status, told = here(copy, "only=train")
    assert status == 0 and "comes with combred; start=scratch trains one" in told


def test_one_that_was_trained_here_stays(copy, here, monkeypatch):
    monkeypatch.chdir(copy)
    run = prepare(resolve(TINY))
    (copy / "runs/tiny/train.json").write_text(
        json.dumps({"inputs": run.train_inputs(shipped=False), "validation": 0.1})
    )
    for start in ("shipped", "scratch"):
        status, told = here(copy, f"start={start}", "only=train")
        assert status == 0 and "reused" in told and "comes with combred" not in told


def test_states_of_other_settings_are_refused(copy, here):
    (copy / "runs/tiny/states.h5").unlink()
    status, told = here(copy, "sampling.states=420")
    assert status == 2 and "states.sampling.states: 400 then, 420 now" in told


def test_what_an_unfinished_training_left_is_cleared_away(copy, here):
    folder = copy / "runs/tiny"
    for name in ("stage0.jsonl", "stage0.checkpoint"):
        (folder / name).write_text("")
    (folder / "stage0.safetensors").unlink()
    status, _ = here(copy, "only=train")
    assert status == 0 and not list(folder.glob("stage0.[cj]*"))


def test_stage_0_alone_is_the_shipped_network_validated_and_exported(copy, here):
    status, told = here(copy, "stage=0")
    assert status == 0, told
    folder = copy / "runs/tiny"
    assert read_json(folder / "export.json")["weights"] == CARD["network"]["weights"]
    assert read_json(folder / "validation.json")["stages"].keys() == {"stage0"}
    assert "not trained here" in (folder / "report.md").read_text()


def test_one_of_two_processes_takes_it(copy):
    folder = copy / "runs/tiny"
    first = (folder / "stage0.safetensors").read_bytes()
    (folder / "stage0.safetensors").unlink()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "combred.pipeline", *TINY, "only=train"],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": PACKAGE, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("stage 0:") == 1
    assert (folder / "stage0.safetensors").read_bytes() == first
