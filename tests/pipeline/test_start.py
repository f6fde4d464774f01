"""A run that starts from a network that comes with combred: to the end, reused, and refused."""

import json
from pathlib import Path

import pytest
import torch
from tiny import Command, finished_run

import combred
from combred.config import Settings, resolve
from combred.pipeline import artefacts
from combred.pipeline.command import prepare
from combred.records import read_json

# The model that the default profile starts from.
MODEL, CARD = next(
    (name, card)
    for name, card in combred.models().items()
    if card["network"]["widths"][1:-1] == Settings().network.hidden
    and card["training"]["stage"] == 0
)
TINY = Command(
    """stage=1 run=tiny workers=1 sampling.states=400 sampling.ignitions=8 sampling.flames=0
    segments.steps=0 retraining.steps=20 retraining.batch=64
    reduction.parameters=[0.35] validation.T0=[1800] validation.phi=[1]
    validation.burnt_time=5e-5"""
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A tiny run from the shipped network, done in one go."""
    return finished_run(TINY, tmp_path_factory.mktemp("shipped"))


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


def test_every_record_says_where_stage_0_comes_from(finished):
    folder = finished / "runs/tiny"
    record = read_json(folder / "train.json")
    assert record["shipped"] == MODEL and record["validation"] > 0 and "steps" not in record
    assert not (folder / "stage0.jsonl").exists() and not (folder / "stage0.checkpoint").exists()
    assert MODEL in read_json(folder / "surrogate.json")["training"]["start"]
    report = (folder / "report.md").read_text()
    assert f"stage 0, {MODEL}" in report and "not trained here" in report
    assert "stage0.jsonl" not in report and "training stage 0" not in report


def test_a_second_run_reuses_everything(copy, call):
    before = {p: p.read_bytes() for p in (copy / "runs/tiny").glob("*.safetensors")}
    status, output = call(TINY, copy)
    assert status == 0 and output.count("reused") == 4, output
    assert f"{MODEL}, which comes with combred, reused" in output
    assert before == {p: p.read_bytes() for p in before}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("start=scratch", "one that is trained (start=scratch)"),
        ("training.steps=5000", "training.steps=5000 is asked for"),
    ],
)
def test_a_run_from_a_shipped_network_is_not_mixed_with_a_trained_one(
    copy, call, argument, message
):
    before = {p: p.read_bytes() for p in (copy / "runs/tiny").glob("*.*")}
    for only in ("train", "reduce"):
        status, output = call(TINY, copy, argument, f"only={only}")
        assert (
            status == 2 and f"is {MODEL}, which came with combred" in output and message in output
        )
        assert "run=NAME" in output and "delete stage*.safetensors" in output
    assert before == {p: p.read_bytes() for p in before}


def test_another_network_of_the_same_name_is_refused_and_taken_once_deleted(copy, call):
    folder = copy / "runs/tiny"
    record = read_json(folder / "train.json")
    record["inputs"]["digest"] = "of an earlier version"
    (folder / "train.json").write_text(json.dumps(record))
    status, output = call(TINY, copy)
    assert status == 2 and f"{MODEL} of this version, another network" in output
    for path in folder.glob("stage*.safetensors"):
        path.unlink()
    status, output = call(TINY, copy, "only=train")
    assert status == 0 and "comes with combred; start=scratch trains one" in output


def test_one_that_was_trained_here_stays(copy, call, monkeypatch):
    monkeypatch.chdir(copy)
    inputs = artefacts.trained_network(prepare(resolve(TINY.arguments))).inputs
    record = {"inputs": inputs, "validation": 0.1}
    (copy / "runs/tiny/train.json").write_text(json.dumps(record))
    for start in ("shipped", "scratch"):
        status, output = call(TINY, copy, f"start={start}", "only=train")
        assert status == 0 and "reused" in output and "comes with combred" not in output


def test_states_of_other_settings_are_refused(copy, call):
    (copy / "runs/tiny/states.h5").unlink()
    status, output = call(TINY, copy, "sampling.states=420")
    assert status == 2 and "states.sampling.states: 400 then, 420 now" in output


def test_what_an_unfinished_training_left_is_cleared_away(copy, call):
    folder = copy / "runs/tiny"
    for name in ("stage0.jsonl", "stage0.checkpoint"):
        (folder / name).write_text("")
    (folder / "stage0.safetensors").unlink()
    status, _ = call(TINY, copy, "only=train")
    assert status == 0 and not list(folder.glob("stage0.[cj]*"))


def test_stage_0_alone_is_the_shipped_network_validated_and_exported(copy, call):
    status, output = call(TINY, copy, "stage=0")
    assert status == 0, output
    folder = copy / "runs/tiny"
    assert read_json(folder / "export.json")["weights"] == CARD["network"]["weights"]
    assert read_json(folder / "validation.json")["stages"].keys() == {"stage0"}
    assert "not trained here" in (folder / "report.md").read_text()


def test_one_of_two_processes_takes_it(copy):
    folder = copy / "runs/tiny"
    first = (folder / "stage0.safetensors").read_bytes()
    (folder / "stage0.safetensors").unlink()
    status, output = TINY.finish(copy, TINY.torchrun("only=train"))
    assert status == 0, output
    assert output.count("stage 0:") == 1
    assert (folder / "stage0.safetensors").read_bytes() == first
