"""A run of a general network that comes with combred: to the end, reused, trained, and refused."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from tiny import finished_run, merged

import combred
from combred import data
from combred.chemistry.mechanism import load_mechanism
from combred.config.command import resolve
from combred.config.learning import NetworkSettings
from combred.files.records import read_json, write_json, write_record
from combred.pipeline import artefacts
from combred.pipeline.command import prepare
from combred.surrogates.dataset.table import open_states
from combred.surrogates.files import shipped
from combred.surrogates.files.storage import load_surrogate, made_from, save_surrogate

MODEL, TAKEN = "small", combred.models()["drm19-11k"]
HIDDEN = TAKEN["network"]["widths"][1:-1]
START = (
    f"stage=1 run=tiny workers=1 sampling.states=300 network.hidden=[{','.join(map(str, HIDDEN))}] "
    "retraining.steps=20 reduction.parameters=[0.35] "
    "validation.T0=[2000] validation.phi=[1] validation.p=[101325] validation.burnt_time=2e-5 "
    "validation.flame_phi=[] "
    "export.accept= "
    "validation.dt=4e-6 sensitivity.ignitions=2 sensitivity.flames=0 "
    "sensitivity.counterflows=0 sensitivity.kernels=0"
)


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory):
    """One model comes with combred, `MODEL`: the network drm19-11k, as if it had been trained
    as it is."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "mechanisms").symlink_to(data.FOLDER / "mechanisms")
    (folder / "models").mkdir()
    shutil.copy(
        shipped.FOLDER / "drm19-11k.safetensors", folder / "models" / f"{MODEL}.safetensors"
    )
    network = asdict(NetworkSettings(hidden=HIDDEN))
    made = TAKEN["training"] | {"stage": 0, "start": "scratch", "network": network}
    card = TAKEN | {"training": made}
    write_json(folder / "models" / f"{MODEL}.json", card)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "FOLDER", folder)
        patch.setattr(shipped, "FOLDER", folder / "models")
        yield card


@pytest.fixture(scope="module")
def finished(tmp_path_factory, in_process, small) -> Path:
    """A tiny run from the shipped network, done in one go."""
    return finished_run(in_process, tmp_path_factory.mktemp("shipped"), *START.split())


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
    states = torch.from_numpy(open_states(folder / "states.h5", drm19).read(0, 300).state())
    hotter = states[states[:, 0] == states[:, 0].max()] + torch.eye(23)[0] * 100.0
    assert start.in_training_range(states).double().mean() > 0.8
    assert not start.in_training_range(hotter).any()


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
    before = {p: p.read_bytes() for p in (copy / "runs/tiny").glob("*.*") if p.suffix != ".log"}
    for only in ("train", "reduce"):
        status, output = call(copy, START, argument, f"only={only}")
        assert status == 2 and message in output
        assert f"is {MODEL}, which came with combred" in output
        assert "run=NAME" in output and "move stage*.safetensors" in output
    assert before == {p: p.read_bytes() for p in before}


def remade(folder, inputs):
    """Write the network of stage 0 as one that was made from other `inputs`."""
    path, mechanism = folder / "stage0.safetensors", load_mechanism("drm19.yaml")
    save_surrogate(path, load_surrogate(path, mechanism), mechanism, inputs=inputs)


def test_another_network_of_the_same_name_is_refused_and_taken_once_deleted(copy, call):
    folder = copy / "runs/tiny"
    remade(folder, made_from(folder / "stage0.safetensors") | {"digest": "of an earlier version"})
    status, output = call(copy, START)
    assert status == 2 and f"{MODEL} of this version, another network" in output
    for path in folder.glob("stage*.safetensors"):
        path.unlink()
    status, output = call(copy, START, "only=train")
    assert status == 0 and "comes with combred; start=scratch trains one" in output


def test_one_that_was_trained_here_stays(copy, call, monkeypatch):
    monkeypatch.chdir(copy)
    inputs = artefacts.trained_network(prepare(resolve(START.split()))).inputs
    remade(copy / "runs/tiny", inputs)
    (copy / "runs/tiny/stage1.safetensors").unlink()  # which was made from the other
    write_record(copy / "runs/tiny/train.json", {"inputs": inputs, "validation": 0.1})
    for start in ("shipped", "scratch"):
        status, output = call(copy, START, f"start={start}", "only=train")
        assert status == 0 and "reused" in output and "comes with combred" not in output


def test_a_general_network_is_trained_where_it_is_asked_for(copy, call):
    folder = copy / "runs/tiny"
    for path in [*folder.glob("stage*"), *folder.glob("*.json")]:
        path.unlink()
    asked = "network.hidden=[24] training.steps=20 training.batch=64 training.batch_final=64"
    status, output = call(copy, START, asked, "only=train")
    assert status == 0 and "stage 0 is trained" in output and "corrects quasi-steady" in output
    trained = combred.load(folder / "stage0.safetensors")
    assert trained.kinetics and trained.network.widths == [84, 24, 24]
    low, high = trained.dt_range
    assert 1e-8 < low < 2e-8 and 8e-6 < high < 1e-5


def test_stage_0_alone_is_the_shipped_network_validated_and_exported(copy, call, small):
    status, output = call(copy, START, "stage=0")
    assert status == 0, output
    folder = copy / "runs/tiny"
    assert read_json(folder / "export.json")["weights"] == small["network"]["weights"]
    assert read_json(folder / "validation.json")["stages"].keys() == {"stage0"}
    assert "which comes with combred" in (folder / "report.html").read_text()


def test_a_network_says_which_sensitivities_it_was_trained_with(finished):
    made = made_from(finished / "runs/tiny/stage1.safetensors")["sensitive"]
    assert (made["ignitions"], made["flames"], made["fuel"]) == (2, 0, "CH4:1")
    assert "sensitive" not in made_from(finished / "runs/tiny/stage0.safetensors")


def test_a_training_without_the_sensitivities_that_are_asked_for_is_refused(copy, call):
    folder = copy / "runs/tiny"
    whole = (folder / "sensitive.h5").read_bytes()
    for name in ("sensitive.h5", "stage1.safetensors"):
        (folder / name).unlink()
    (folder / "sensitive.0123.partial").mkdir()  # of other settings
    status, output = call(copy, START, "only=reduce")
    assert status == 2 and "no sensitivities at" in output and "only=sample" in output
    status, output = call(copy, START, "only=sample")
    assert status == 0 and "states of 2 ignitions and flames with sensitivities: 160 rows" in output
    assert (folder / "sensitive.h5").read_bytes() == whole and not list(folder.glob("*.partial"))
    assert call(copy, START, "only=reduce")[0] == 0


def test_other_sensitivities_are_refused(copy, call):
    status, output = call(copy, START, "sensitivity.ignitions=3")
    assert status == 2 and "2 then, 3 now" in output and "run=NAME" in output


def test_a_run_without_sensitivities_is_one_of_before_there_were_any(copy, monkeypatch):
    monkeypatch.chdir(copy)
    run = prepare(resolve(merged(START, "sensitivity.ignitions=0")))
    assert artefacts.sensitive(run).inputs == {}
    assert "sensitive" not in artefacts.reduced_network(run, 1).inputs
    assert "sensitive" not in artefacts.trained_network(run).inputs


def test_a_run_that_trains_nothing_makes_no_sensitivities(copy, call):
    (copy / "runs/tiny/sensitive.h5").unlink()
    status, output = call(copy, START, "stage=0", "only=sample")
    assert status == 0 and "sensitivities" not in output
    assert not (copy / "runs/tiny/sensitive.h5").exists()
