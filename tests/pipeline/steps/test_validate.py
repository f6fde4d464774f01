"""The step `validate` with CVODE in the place of a network: stirred reactors in validation.json."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from combred.chemistry.mechanism import Mechanism, mechanism_of_text
from combred.chemistry.reactor import CVODE
from combred.config.command import resolve
from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.experiments.stirred import experiment as stirred
from combred.experiments.stirred.reactor import StirredRun
from combred.experiments.storage import read_runs
from combred.files.records import read_record, write_record
from combred.pipeline import artefacts
from combred.pipeline.run import Run
from combred.pipeline.steps import validate

ASKED = [
    "mechanism=h2o2.yaml", "sampling.fuel=H2:1", "stage=0", "workers=1", "validation.dt=4e-6",
    "validation.T0=[1800]", "validation.phi=[1]", "validation.burnt_time=5e-5",
    "validation.p=[101325,2026500]", "validation.flame_phi=[]",
]  # fmt: skip
OF_THE_STATE = ["network.kinetics=false", "sampling.dt=[4e-6,4e-6]"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, in_process):
    """Small reactors with a fast flow, no times, and "networks" that need not be scripted."""
    few = replace(stirred.CASE, residence=1e-4, particles=8, steps=12)
    monkeypatch.setattr(stirred, "CASE", few)
    monkeypatch.setattr(validate, "fastest", lambda surrogate, alone: surrogate)
    monkeypatch.setattr(validate, "with_solver", lambda surrogate: surrogate)
    names = "CVODE", "solver", named(0, ALONE), named(0, BEHIND)
    times = {"times": {name: {"median": 1e-5} for name in names}, "solved": {}}
    monkeypatch.setattr(validate, "measure_times", lambda *_: times)
    monkeypatch.setattr(validate, "compiling_ahead", lambda surrogates: nullcontext())
    with in_process():
        yield


class CountingCVODE(CVODE):
    """CVODE as the surrogate of a stage; `calls`: how often it was asked."""

    network = SimpleNamespace(n_weights=1, widths=[12, 10])
    calls = 0

    def attempt(self, T, p, Y, dt):
        self.calls += 1
        return super().attempt(T, p, Y, dt)


def open_run(folder: Path, mechanism: Mechanism, *arguments: str) -> Run:
    """A run in `folder` whose network of stage 0 is a file of a few bytes."""
    run = Run(resolve([*ASKED, *arguments]), mechanism, folder)
    if not run.weights(0).exists():
        run.weights(0).write_bytes(b"a network")
    return run


def solver(run: Run) -> CountingCVODE:
    return CountingCVODE(run.mechanism, 1e-9, 1e-17)


def test_cvode_in_the_place_of_a_network_agrees_with_the_references_and_is_reused(
    tmp_path, h2o2, capsys
):
    run = open_run(tmp_path, h2o2)
    surrogate = solver(run)
    validate.validate(run, None, [surrogate])
    numbers = json.loads((tmp_path / "validation.json").read_text())
    rows = numbers["stages"]["stage0"][ALONE]["stirred"]
    assert [row["case"] for row in rows] == ["1 atm", "20 atm"]
    assert all(row["outcome"] == "finished" for row in rows)
    for row in rows:
        assert row["errors"].keys() == {"T", "O"}
        assert all(0.0 < error["largest"] < 1e-5 for error in row["errors"].values())
    assert 0.0 < numbers["reference_difference"]["stirred"] < 1e-5  # tolerance 1e-6
    stored, inputs = read_runs(tmp_path / "stirred.h5", h2o2, StirredRun)
    assert [run.case.p for run in stored[f"stage0_{BEHIND}"]] == [101325.0, 2026500.0]
    assert inputs["cases"] == numbers["stirred_inputs"]
    assert numbers["stirred_inputs"]["dt"] == stirred.CASE.dt
    told = " ".join(capsys.readouterr().out.split())
    assert "stirred T" in told and "(worst of 2, at" in told
    calls = surrogate.calls
    again = validate.validate(run, None, [surrogate])
    assert surrogate.calls == calls and again["stages"] == numbers["stages"]
    assert "validation: reused" in capsys.readouterr().out


def test_usual_flames_that_have_no_reference_are_left_out(tmp_path, h2o2, monkeypatch, capsys):
    def fail(*_):
        raise ValueError("the flame is not steady [1]")

    monkeypatch.setattr(validate.PremixedFlames, "reference", fail)
    for asked, kept in (([], True), (["validation.flame_phi=[0.9]"], False)):
        words = [word for word in ASKED if "flame_phi" not in word]
        run = Run(resolve([*words, *asked]), h2o2, tmp_path)
        run.weights(0).write_bytes(b"a network")
        if not kept:
            with pytest.raises(ValueError, match="not steady"):
                validate.validate(run, None, [solver(run)])
            return
        numbers = validate.validate(run, None, [solver(run)])
        assert "flame" not in numbers["stages"]["stage0"][BEHIND] and numbers["flame_inputs"] == {}
        said = " ".join(capsys.readouterr().out.split())
        assert "no flame is validated:" in said and "not steady [1]" in said


def test_a_validation_killed_before_its_numbers_gives_those_of_the_solver(tmp_path, h2o2):
    run, path = open_run(tmp_path, h2o2), tmp_path / "validation.json"
    whole = validate.validate(run, None, [solver(run)])
    without = {key: value for key, value in whole.items() if not key.startswith("solver")}
    for stored in (without, whole | {"solver_inputs": "tolerance 1"}):  # all other files are new
        write_record(path, stored)
        again = validate.validate(run, None, [solver(run)])
        assert again["solver"]["stirred"] == whole["solver"]["stirred"]
        assert read_record(path)["solver_inputs"] == whole["solver_inputs"]


def test_another_network_is_followed_and_the_reference_stays(tmp_path, h2o2, monkeypatch, capsys):
    """A network that changes nothing, and CVODE in the place of the solver behind it."""
    run = open_run(tmp_path, h2o2)
    validate.validate(run, None, [solver(run)])
    run.weights(0).write_bytes(b"another network")
    monkeypatch.setattr(stirred, "Solver", None)  # is not asked again
    inert = SimpleNamespace(advance=lambda T, p, Y, dt: (T, Y), network=CountingCVODE.network)
    monkeypatch.setattr(validate, "fastest", lambda surrogate, alone: inert)
    stage = validate.validate(run, None, [solver(run)])["stages"]["stage0"]
    assert min(row["errors"]["O"]["largest"] for row in stage[ALONE]["stirred"]) > 0.01
    assert [row["outcome"] for row in stage[ALONE]["stirred"]] == ["went out"] * 2
    assert [row["outcome"] for row in stage[BEHIND]["stirred"]] == ["finished"] * 2
    assert max(row["errors"]["O"]["largest"] for row in stage[BEHIND]["stirred"]) < 1e-5
    told = " ".join(capsys.readouterr().out.split())
    assert "network alone 1 no ignition went out" in told and "2 of 2 cases do not ignite" in told


def test_a_network_of_the_state_alone_has_no_stirred_reactors(tmp_path, h2o2, capsys):
    run = open_run(tmp_path, h2o2, *OF_THE_STATE)
    numbers = validate.validate(run, None, [solver(run)])
    assert numbers["stirred_inputs"] == {} and "stirred" not in numbers["stages"]["stage0"][ALONE]
    assert not (tmp_path / "stirred.h5").exists()
    assert "stirred" not in capsys.readouterr().out


def test_flames_of_other_transport_data_are_marched_again(h2o2, tmp_path):
    other = mechanism_of_text(
        h2o2.text.replace("diameter: 2.92", "diameter: 3.92"), h2o2.name, h2o2.phase
    )
    settings = resolve(ASKED[:-1])
    runs = (Run(settings, of, tmp_path) for of in (h2o2, h2o2, other))
    one, same, changed = (artefacts.flames(run).inputs for run in runs)
    assert other.sha256 == h2o2.sha256 and one == same != changed
