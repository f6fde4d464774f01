"""A run with acceptance criteria: tiny, to the end, killed, continued, refused; and its report."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from killed import Killed
from safetensors.torch import load_file
from tiny import TINY, finished_run

from combred.experiments import judges
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.storage import read_runs
from combred.files.trace import Trace
from combred.surrogates.training import loop

pytestmark = pytest.mark.slow
# Delays of a network this small are half of CVODE's, or it does not ignite.
CRITERIA = "reduction.criteria=ignition:300%"
SEARCH = (
    " ".join(word for word in TINY.split() if "thresholds" not in word)
    + " stage=1 start=scratch validation.T0=[1750,1850] reduction.method=brain_surgeon "
    "reduction.attempts=3"
)


def record(folder: Path) -> dict:
    return json.loads((folder / "runs/tiny/reduce.json").read_text())["stages"][0]


def without_time(criteria: dict) -> list[dict]:
    trace = []
    for attempt in criteria["trace"]:
        told = {k: v for k, v in attempt["training"].items() if "second" not in k}
        trace.append({k: v for k, v in attempt.items() if k != "seconds"} | {"training": told})
    return trace


def tensors_equal(a: Path, b: Path) -> bool:
    ours, theirs = load_file(a), load_file(b)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, in_process) -> Path:
    """A tiny run with a search, done in one go."""
    return finished_run(in_process, tmp_path_factory.mktemp("search"), *SEARCH.split(), CRITERIA)


@pytest.fixture
def trained(copy) -> Path:
    """The run before its reduction."""
    folder = copy / "runs/tiny"
    shutil.rmtree(folder / "search")
    for path in [*folder.glob("stage1*"), folder / "reduce.json", folder / "validation.json"]:
        path.unlink()
    return copy


def test_the_record_is_the_search(finished):
    told = record(finished)
    criteria = told["criteria"]
    assert criteria["limits"] == {"ignition": 3.0} and 2 <= len(criteria["trace"]) <= 4
    for attempt in criteria["trace"]:
        assert attempt["passed"] == (attempt["errors"]["ignition"] <= 3.0)
        widths = attempt["shape"]["widths"]
        assert attempt["shape"]["weights"] == sum(np.multiply(widths[1:], widths[:-1]))
    for attempt in criteria["trace"][1:]:
        parent = criteria["trace"][attempt["parent"]]
        assert parent["passed"] and parent["number"] < attempt["number"]
        assert attempt["parameters"] <= attempt["factor"] * parent["parameters"]
        assert attempt["training"]["steps"] == 80 and attempt["errors_cut"].keys() == {"ignition"}
    passed = [a for a in criteria["trace"] if a["passed"]]
    assert criteria["smallest"] == min(passed, key=lambda a: a["parameters"])["number"]
    assert told["weights_after"] == criteria["trace"][criteria["smallest"]]["shape"]["weights"]


def test_the_cases_of_the_criteria_are_not_those_of_the_validation(finished, drm19):
    folder = finished / "runs/tiny"
    own, _ = read_runs(folder / "search/ignitions.h5", drm19, Rollout)
    validated, _ = read_runs(folder / "validation.h5", drm19, Rollout)
    cases = {rollout.case for rollout in own["reference"]}
    assert len(cases) == 3 and not cases & {rollout.case for rollout in validated["reference"]}
    assert all(1750 < case.T0 < 1850 for case in cases)


def test_a_second_run_reuses_everything(copy, call):
    before = {p: p.stat().st_mtime_ns for p in (copy / "runs/tiny").rglob("*.safetensors")}
    status, output = call(copy, SEARCH, CRITERIA, "only=reduce")
    assert status == 0 and "stage 1" in output and "reused" in output and "attempt" not in output
    assert before == {p: p.stat().st_mtime_ns for p in before}


def test_killed_in_two_attempts_it_resumes_to_the_same_result(finished, trained, call, monkeypatch):
    folder, whole = trained / "runs/tiny", Trace.save

    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    for name in ("attempt1", "attempt2"):

        def save_and_die(self, state, name=name):
            whole(self, state)
            if self.path.stem == name:
                raise Killed(name)

        with monkeypatch.context() as patch, pytest.raises(Killed, match=name):
            patch.setattr(Trace, "save", save_and_die)
            call(trained, SEARCH, CRITERIA, "only=reduce")
        assert (folder / f"search/{name}.checkpoint").exists()
        assert not (folder / "stage1.safetensors").exists()
    made = (folder / "search/ignitions.h5").stat().st_mtime_ns
    status, output = call(trained, SEARCH, CRITERIA, "only=reduce")
    assert status == 0, output
    assert "attempt 1 " not in output  # judged before the second kill
    assert made == (folder / "search/ignitions.h5").stat().st_mtime_ns
    assert without_time(record(trained)["criteria"]) == without_time(record(finished)["criteria"])
    assert tensors_equal(folder / "stage1.safetensors", finished / "runs/tiny/stage1.safetensors")
    assert not list((folder / "search").glob("*.checkpoint"))


def test_other_settings_are_refused_finished_or_not(copy, call, monkeypatch):
    for _ in range(2):
        status, output = call(copy, SEARCH, "reduction.criteria=ignition:200%", "only=reduce")
        assert status == 2 and "limits.ignition: 3.0 then, 2.0 now" in output
        (copy / "runs/tiny/stage1.safetensors").unlink(missing_ok=True)
    with monkeypatch.context() as patch:  # undone before `cheap_steps`, which it lies over
        patch.setattr(judges, "IGNITIONS", 4)
        status, output = call(copy, SEARCH, CRITERIA, "only=reduce")
    assert status == 2 and "criteria.cases" in output and "move search" in output


def test_a_stage_0_that_fails_is_one_clear_error_and_may_be_asked_for_less(trained, call):
    status, output = call(trained, SEARCH, "reduction.criteria=ignition:1%", "only=reduce")
    assert status == 2
    assert re.search(
        r"does not meet reduction.criteria itself: ignition [\d.]+ % \(at most 1 %\)", output
    )
    assert "Loosen the criteria" in output and "training.steps" in output
    assert not list((trained / "runs/tiny").glob("stage1*"))
    status, output = call(trained, SEARCH, CRITERIA, "only=reduce", "reduction.attempts=1")
    assert status == 0 and len(record(trained)["criteria"]["trace"]) == 2
    # Attempts used up: more of them go on from there.
    assert record(trained)["criteria"]["reason"] == "attempts"
    status, output = call(trained, SEARCH, CRITERIA, "only=reduce", "reduction.attempts=2")
    assert status == 0 and "attempt 2 " in output and "attempt 1 " not in output
    assert len(record(trained)["criteria"]["trace"]) == 3


def test_a_validation_of_one_point_leaves_no_room(trained, call):
    status, output = call(trained, SEARCH, CRITERIA, "only=reduce", "validation.T0=[1800]")
    assert status == 2 and "validation.T0" in output and "Give T0 two values" in output
