"""The shipped models: they load by name, are complete, agree with their cards, and ignite."""

import hashlib
import re
import shutil

import pytest

import combred
from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import load_mechanism
from combred.config.validation import ValidationSettings
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.experiment import Ignitions
from combred.surrogates.files import shipped
from combred.surrogates.files.shipped import FOLDER
from combred.surrogates.files.storage import save_surrogate
from combred.surrogates.library.choice import StateFunction
from combred.surrogates.model.correction import make_transform
from combred.surrogates.model.forms import make_surrogate

NAMES = list(combred.models())


def test_models_are_listed_the_largest_first():
    weights = [card["network"]["weights"] for card in combred.models().values()]
    assert weights == sorted(weights, reverse=True) and len(weights) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_a_model_agrees_with_its_card(name):
    surrogate, card = combred.load(name), combred.models()[name]
    assert surrogate.network.widths == card["network"]["widths"]
    assert surrogate.network.n_weights == card["network"]["weights"]
    assert surrogate.kinetics == card["network"]["kinetics"]
    assert list(surrogate.dt_range) == card["dt"]
    accuracy = card["accuracy"]
    for key in ("network_alone", "with_solver"):
        assert accuracy[key]["all_ignite"] and accuracy[key]["delay_error"]["worst"] < 0.1
    assert 0.0 < accuracy["left_to_solver"] < 1.0


def test_every_file_of_the_data_folder_has_its_checksum():
    data = FOLDER.parent
    lines = (data / "SHA256SUMS").read_text().splitlines()
    known = {name: checksum for checksum, name in (line.split("  ") for line in lines)}
    parts = [data / "mechanisms", data / "models"]
    assert set(known) == {f"{part.name}/{path.name}" for part in parts for path in part.iterdir()}
    for name, checksum in known.items():
        assert hashlib.sha256((data / name).read_bytes()).hexdigest() == checksum, name


@pytest.mark.parametrize("damage", [b"x", b" "])
def test_a_changed_card_is_refused(tmp_path, monkeypatch, damage):
    shutil.copytree(FOLDER, tmp_path / "models", ignore=shutil.ignore_patterns("*.safetensors"))
    shutil.copy(FOLDER.parent / "SHA256SUMS", tmp_path)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "models")
    assert combred.models()["drm19-11k"]["network"]["kinetics"]
    card = shipped.FOLDER / "drm19-11k.json"
    card.write_bytes(card.read_bytes() + damage)
    with pytest.raises(ValueError, match=r"drm19-11k\.json is damaged: it differs from what came"):
        combred.models()


@pytest.fixture(scope="module")
def hot_ignition(drm19, in_process):
    """An ignition of methane at 2000 K, and CVODE's rollout of it."""
    case = ValidationSettings(T0=[2000.0], phi=[1.0], p=[101325.0], burnt_time=1e-5)
    ignitions = Ignitions.of(drm19, Mixture("CH4:1", "O2:1, N2:3.76"), case)
    with in_process():
        return ignitions, ignitions.reference()


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_the_ignition_delay_of_cvode(name, hot_ignition, drm19):
    ignitions, (reference,) = hot_ignition
    network = StateFunction(combred.load(name))  # whatever its error
    found = ignitions.follow(network, [reference])[0]
    delays = [ignition_delay(drm19, one, reference.T[-1]) for one in (found, reference)]
    # A fast case, far from the worst of any card; some tenths of a percent were measured.
    assert delays[0] == pytest.approx(delays[1], rel=0.05)


def test_an_unknown_name_is_refused_with_the_most_similar_one():
    with pytest.raises(FileNotFoundError, match="there is no model 'nnnn"):
        combred.load(300 * "n")  # a name that is too long for a file
    with pytest.raises(FileNotFoundError, match=f"did you mean {NAMES[0]}"):
        combred.load(NAMES[0] + "x")


def test_the_folder_of_a_run_is_its_last_stage(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no network.*stageN\.safetensors"):
        combred.load(tmp_path)
    (tmp_path / "h2o2-9.yaml").touch()  # as `combred reduce` leaves it
    with pytest.raises(FileNotFoundError, match=r"For a mechanism give .*h2o2-9\.yaml"):
        combred.load(tmp_path)
    stages = ("stage2", "stage10", "stage11.merged")
    for name, stage in zip((NAMES[-1], NAMES[-2], NAMES[-1]), stages, strict=True):
        shutil.copy(FOLDER / f"{name}.safetensors", tmp_path / f"{stage}.safetensors")
    assert combred.load(tmp_path).network.widths == combred.load(NAMES[-2]).network.widths


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("libsolver.so", b"\x7fELF...", "a compiled library, which combred.native.load reads"),
        ("surrogate.pt", b"PK\3\4...", "combred.export.load_torchscript reads"),
        ("states.h5", b"\x89HDF...", "HDF5"),
        ("mine.yaml", b"phases: []", "combred.solver takes it"),
        ("surrogate.json", b"{}", "a record"),
        ("solver.cpp", b"//", "the source of a library"),
        ("foreign", b"...", "no network of combred"),
    ],
)
def test_of_another_file_is_said_what_it_is(tmp_path, file, content, said):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(said)) as told:
        combred.load(tmp_path / file)
    assert "move it away" not in str(told.value) and "folder of a run" in str(told.value)


@pytest.mark.parametrize("name", ["gri30", "gri30.yaml"])
def test_of_a_mechanism_without_a_network_is_said_how_one_is_made(name):
    with pytest.raises(FileNotFoundError, match=r"combred run mechanism=gri30\.yaml") as told:
        combred.load(name)
    assert "combred.solver('gri30.yaml') needs no network" in str(told.value)


def test_a_mechanism_given_by_path_travels_with_its_network(
    kinds, make_network, tmp_path, monkeypatch
):
    """Its file may be gone, or another one."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(kinds.text)
    mechanism = load_mechanism(str(mine))
    transform = make_transform(mechanism, 0.1, 1e-13, 1 / 3, True)
    network = make_network([transform.n_inputs, 8, transform.n_outputs])
    surrogate = make_surrogate(mechanism, transform, network)
    save_surrogate(tmp_path / "it.safetensors", surrogate, mechanism)
    monkeypatch.chdir(tmp_path)
    mine.write_text("another")
    found = combred.load(tmp_path / "it.safetensors").mechanism
    assert found.sha256 == mechanism.sha256 and found.phase == mechanism.phase
    assert found.name == "mine.yaml" and found.text == mechanism.text


def test_a_mechanism_that_cantera_brings_is_not_carried(tmp_path):
    path = tmp_path / "it.safetensors"
    save_surrogate(path, combred.load("drm19-11k"), load_mechanism("drm19.yaml"))
    assert b"carried_mechanism" not in path.read_bytes()


def test_a_folder_of_an_export_is_told_what_reads_it(tmp_path):
    (tmp_path / "surrogate.pt").touch()
    for read in (combred.load, lambda folder: combred.export_surrogate(folder, tmp_path / "new")):
        with pytest.raises(FileNotFoundError, match=r"load_torchscript\('.*surrogate.pt'\) reads"):
            read(tmp_path)
