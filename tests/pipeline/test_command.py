"""The command: a tiny run to its end, the same run continued and broken, and bad input."""

import json
import re
import resource
import shutil

import h5py
import numpy as np
import pytest
from run_folder import Page
from tiny import TINY

import combred
from combred.config.command import keys, resolve
from combred.experiments.accuracy import ALONE, BEHIND, NAMES, percent
from combred.experiments.premixed import flame
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch
from combred.files.hdf5 import seal
from combred.files.records import read_json
from combred.pipeline import command as pipeline
from combred.report.formats import NBSP, worst_delay
from combred.surrogates.files.export import load_torchscript
from combred.surrogates.files.shipped import card_of, last_stage
from combred.surrogates.library import generator
from combred.surrogates.sampling.premixed.states import PremixedStates


def test_a_run_leaves_every_artefact_and_no_scraps(finished):
    names = {path.name for path in (finished / "runs/tiny").iterdir()}
    known = "lock run.log states.h5 validation.h5 surrogate.pt report.html figures"
    records = "finished settings sample train reduce export validation surrogate"
    assert names == {*known.split(), *(f"{name}.json" for name in records.split())} | {
        f"stage{i}.{kind}" for i in range(3) for kind in ("safetensors", "jsonl")
    }


def test_a_second_run_reuses_everything(copy, call):
    before = {p: p.stat().st_mtime_ns for p in (copy / "runs/tiny").glob("*.safetensors")}
    status, output = call(copy, TINY)
    assert status == 0 and output.count("reused") == 5
    assert before == {p: p.stat().st_mtime_ns for p in before}


FLAMES = "stage=0", "only=validate", "validation.flame_phi=[1.0]", "validation.flame_T=[800.0]"


@pytest.mark.slow
def test_flames_are_marched_where_they_are_asked_for_and_reused(copy, call, monkeypatch):
    # Coarse, one flame time long, and references that are marched once: 5 cells to a thickness.
    monkeypatch.setattr(PremixedFlames, "settle", PremixedFlames.burn)
    monkeypatch.setattr(flame, "MARCH", FlameMarch(cells=40, tolerance=0.05, longest=1.0))
    folder = copy / "runs/tiny"
    ignitions = (folder / "validation.h5").stat().st_mtime_ns
    status, output = call(copy, TINY, *FLAMES)
    assert status == 0, output
    numbers = json.loads((folder / "validation.json").read_text())
    (row,) = numbers["stages"]["stage0"][ALONE]["flame"]["cases"]
    # The speed of CVODE's flame, DRM19 at 800 K; a network trained on 240 states has none.
    assert row["case"] == "800 K, phi 1, 1 atm"
    assert row["reference_speed"] == pytest.approx(2.3, rel=0.15)
    assert (folder / "validation.h5").stat().st_mtime_ns == ignitions  # reused
    stored = (folder / "flames.h5").stat().st_mtime_ns
    status, output = call(copy, TINY, *FLAMES)
    assert "validation: reused" in output and "flame speed" in output
    assert (folder / "flames.h5").stat().st_mtime_ns == stored
    assert call(copy, TINY, "only=report", "stage=0", *FLAMES[2:])[0] == 0
    assert (folder / "figures/flames.png").is_file()
    assert call(copy, TINY, "only=validate")[0] == 0
    numbers = json.loads((folder / "validation.json").read_text())
    assert "flame" not in numbers["stages"]["stage0"][ALONE]
    assert (folder / "validation.h5").stat().st_mtime_ns == ignitions


def remove(path):
    path.unlink()


def copy_of_stage_0(path):
    shutil.copy(path.with_name("stage0.safetensors"), path)


def cut(path):
    path.write_bytes(path.read_bytes()[: min(5000, path.stat().st_size - 100)])


@pytest.mark.parametrize(
    ("arguments", "change", "file", "said"),
    [
        # Other settings are not mixed with those of the run.
        ("network.hidden=[24,10]", None, "", ["network.hidden: [24, 12] then, [24, 10] now",
                                              "run=NAME"]),
        ("mechanism=h2o2.yaml run=tiny", None, "", ["Give the mechanism drm19.yaml", "run=NAME"]),
        # A network that was trained on other states, or reduced from another one.
        ("sampling.states=260", remove, "states.h5",
         ["stage0.safetensors was made with other settings",
          "states.sampling.states: 240 then, 260 now"]),
        ("only=reduce", copy_of_stage_0, "stage1.safetensors",
         ["stage1.safetensors was made with other settings"]),
        # What is damaged or missing.
        ("", cut, "states.h5", ["truncated", "Move it away"]),
        ("only=validate", cut, "stage1.safetensors",
         ["stage1.safetensors is not", "move it away"]),
        ("only=validate", remove, "stage1.safetensors",
         ["stage1.safetensors", "python -m combred.pipeline stage=N"]),
        ("only=export", remove, "validation.json", ["only=validate"]),
    ],
)  # fmt: skip
def test_what_is_of_another_run_damaged_or_missing_is_refused(
    copy, call, arguments, change, file, said
):
    if change is not None:
        change(copy / "runs/tiny" / file)
    status, output = call(copy, TINY, arguments)
    assert status == 2 and all(text in output for text in said), output
    assert "Traceback" not in output and "[24, 12][1]" not in output


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("reduction.criteria=ignition:1%", "reduction.criteria, validation.T0.*a single point"),
        ("validation.T0=[300]", "validation.T0.*300 K.*does not ignite.*hotter T0"),
    ],
)
def test_cases_that_cannot_be_are_refused_before_anything_is_made(tmp_path, call, setting, said):
    small = "profile=smoke stage=1 training.steps=30 validation.T0=[1800]"
    status, output = call(tmp_path, small, setting)
    assert status == 2 and re.search(said, output) and not (tmp_path / "runs").exists(), output


def own(folder, change):
    """Makes the states of a run those of a user, changed."""
    path = folder / "states.h5"
    with h5py.File(path, "r+") as file:
        file.attrs.pop("sampling", None)
        change(file)
    seal(path)
    (folder / "sample.json").unlink(missing_ok=True)


def turned(file):
    for name in ("Y", "Y_next"):
        file[name][...] = file[name][...][:, ::-1]


def of_two_dt(file):
    file["dt"][::2] *= 3.0


def hotter(file):
    file["T_next"][...] += 50.0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (turned, "the elements"),
        (hotter, "the enthalpy"),
        (of_two_dt, "validation.dt=4e-06"),
        (lambda file: None, "stage0.safetensors was made with other settings"),
    ],
)
def test_states_of_ones_own_are_those_of_the_reactor(copy, call, change, told):
    own(copy / "runs/tiny", change)
    status, output = call(copy, TINY, "only=reduce")
    assert status == 2 and told in output, output


def test_an_exported_run_has_its_card_and_its_verdict(copy, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    folder = copy / "runs/tiny"
    known = read_json(folder / "surrogate.json")
    written = combred.export_surrogate(folder, tmp_path)
    assert read_json(tmp_path / "surrogate.json")["accuracy"] == known["accuracy"] != {}
    assert tmp_path / "surrogate.pt" in written
    known = card_of(last_stage(folder))
    of_own = known | {"training": known["training"] | {"sampling": {}, "states_of": "the user"}}
    assert generator.extension(combred.load(folder), of_own, "").files
    (folder / "rejected.json").write_text(json.dumps(known | {"training": "none"}))
    (folder / "surrogate.json").rename(tmp_path / "kept.json")
    with pytest.raises(ValueError, match="rejected.json is no card of a run"):
        combred.export_surrogate(folder, tmp_path)
    known["accuracy"]["limits"] = {"ignition": 1e-9}
    (folder / "rejected.json").write_text(json.dumps(known))
    for export in (combred.export_surrogate, combred.native.export):
        with pytest.raises(ValueError, match="behind it: the worst .* above 1e-07 %.*accept=True"):
            export(folder, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    names = {path.name for path in combred.export_surrogate(folder, tmp_path, accept=True)}
    assert names == {"rejected.pt", "rejected.json", "rejected.cpp", "combred.h"}


def test_every_place_tells_the_errors_of_the_network_alone_and_with_the_solver(finished):
    """The tiny network is bad alone; with the solver behind it, which takes most states, it is
    good. Neither number stands for the other in the record, on the page, on the console, in the
    card, in surrogate.pt, in the head of the C++ file."""
    folder = finished / "runs/tiny"
    stage = read_json(folder / "validation.json")["stages"]["stage2"]
    alone, both = (stage[key]["delay_error"]["worst"] for key in (ALONE, BEHIND))
    assert 100.0 * both < alone and 0.1 < stage["left_to_solver"] <= 1.0
    words = {key: worst_delay(stage[key]).replace(NBSP, " ") for key in (ALONE, BEHIND)}
    page = Page(folder / "report.html")
    for key, name in NAMES.items():
        assert page.row(f"stage 2, {name}")[1] == words[key].strip("*")
    assert "left to the solver" in page.tables[0][0]
    heads = page.table("delay, CVODE [ms]")[0]
    assert {f"stage 2, {name}" for name in NAMES.values()} < set(heads)
    log = " ".join((folder / "run.log").read_text().split())
    for key, name in NAMES.items():
        assert re.search(rf"stage 2, {name} [\d,]+ {re.escape(words[key].strip('*'))}", log), name
    assert f"{NAMES[ALONE]}: " in log and "of the states left to the solver" in log
    card = read_json(folder / "surrogate.json")
    in_file = load_torchscript(folder / "surrogate.pt")[1]
    head = generator.extension(combred.load(folder), card).facts
    for accuracy in (card["accuracy"], in_file["accuracy"]):
        assert list(accuracy)[:2] == ["this_file", ALONE]
        assert accuracy["this_file"] == "network alone"
        assert accuracy[ALONE]["delay_error"] == stage[ALONE]["delay_error"]
        assert accuracy[BEHIND]["delay_error"] == stage[BEHIND]["delay_error"]
        assert accuracy["left_to_solver"] == stage["left_to_solver"]
    of_library = generator.extension(combred.load(folder), card).identity.card["accuracy"]
    assert list(of_library)[:2] == ["this_file", BEHIND]
    lines = [line for line in head.splitlines() if "delays off by" in line]
    assert "this file   network with the solver behind it" in lines[0] and len(lines) == 2
    assert f"{percent(both)} (worst), {percent(stage['left_to_solver'])} of the states" in lines[0]
    assert "TorchScript network alone" in lines[1] and f"{percent(alone)} (worst)" in lines[1]


def test_a_network_outlives_a_damaged_record(copy, call):
    folder = copy / "runs/tiny"
    before = (folder / "stage2.safetensors").read_bytes()
    (folder / "reduce.json").unlink()
    (folder / "train.json").unlink()
    status, output = call(copy, TINY, "only=reduce")
    assert status == 0 and "stage 2" in output and "reused" in output
    assert (folder / "stage2.safetensors").read_bytes() == before


@pytest.mark.parametrize("step", ["sample", "train", "reduce", "export"])
def test_a_full_disk_is_one_clear_error_and_nothing_half_written(copy, call, step):
    made = {"sample": "states.h5", "train": "stage0.safetensors", "reduce": "stage2.safetensors",
            "export": "surrogate.pt"}[step]  # fmt: skip
    (copy / "runs/tiny" / made).unlink()

    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel then refuses to write longer files, nearly as it does on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, usual[1]))
    try:
        status, output = call(copy, TINY, f"only={step}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert status == 2 and "ulimit -f unlimited" in " ".join(output.split()), output
    assert "Traceback" not in output
    assert not (copy / "runs/tiny" / made).exists()
    assert not list((copy / "runs/tiny").glob("*.new"))


def test_a_network_beyond_the_limits_is_rejected_until_they_are_raised(copy, call):
    """The tiny network has not learnt anything: no flow code gets its file."""
    folder, strict = copy / "runs/tiny", "export.accept=ignition:0.001%"
    status, output = call(copy, TINY, "only=export", strict)
    told = "rejected for flow codes, network with the solver behind it: the worst relative error"
    assert status == 1 and told in output
    assert not (folder / "surrogate.pt").exists() and not (folder / "surrogate.json").exists()
    _, card = load_torchscript(folder / "rejected.pt")
    assert "above 0.001 %" in card["accuracy"]["exceeds"]
    status, _ = call(copy, TINY, "only=report", strict)
    page = (folder / "report.html").read_text()
    assert status == 0 and "This network is rejected for flow codes, network with" in page
    status, _ = call(copy, TINY, "only=export")
    assert status == 0 and (folder / "surrogate.pt").exists()
    assert not list(folder.glob("rejected.*"))


def test_a_network_that_is_bad_alone_has_no_surrogate_pt(copy, call):
    """With the solver behind it, it keeps the limit, and the run succeeds."""
    folder, between = copy / "runs/tiny", "export.accept=ignition:1%"
    status, output = call(copy, TINY, "only=export", between)
    assert status == 0 and "network alone: the worst relative error" in output
    assert not (folder / "surrogate.pt").exists()
    _, card = load_torchscript(folder / "rejected.pt")
    assert "above 1 %" in card["accuracy"]["exceeds"]
    assert call(copy, TINY, "only=report", between)[0] == 0
    assert "network alone is named <code>rejected.pt</code>" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    "bad", ["sampling.oxidizer=Air:1,H2:1", "sampling.fuel=CH4:x", "mechanism=gri30.yaml"]
)
def test_a_mixture_that_is_none_or_not_plain_is_refused(tmp_path, bad, call):
    status, output = call(tmp_path, TINY, bad)
    assert status == 2 and "error: sampling.fuel" in output and "Traceback" not in output


def test_what_cvode_cannot_do_is_counted(tmp_path, call, monkeypatch):
    whole = PremixedStates.label

    def broken(self, rng, T, p, Y):  # a third of the labels fails
        block = whole(self, rng, T, p, Y)
        block.T_next[::3] = np.nan
        return block

    monkeypatch.setattr(PremixedStates, "label", broken)
    status, output = call(tmp_path, TINY, "only=sample")
    assert status == 0
    numbers = json.loads((tmp_path / "runs/tiny/sample.json").read_text())
    assert numbers["failed_rows"] > 10 and "more than 2 % failed" in output
    with h5py.File(tmp_path / "runs/tiny/states.h5") as file:
        assert len(file["failed"]) == numbers["failed_rows"]
        assert np.isfinite(file["T_next"][...]).all()


def test_no_argument_prints_stages_settings_and_units(capsys):
    assert pipeline.main([]) == 0
    output = capsys.readouterr().out
    assert "stage 2" in output and "sampling.states" in output and "K" in output
    assert all(key in output for key in keys())


def test_help_prints_the_values_of_a_profile_wherever_it_is_asked_for(capsys):
    for arguments in (["profile=smoke", "--help"], ["-h", "stage=1", "profile=smoke"]):
        assert pipeline.main(arguments) == 0
        output = capsys.readouterr().out
        assert "3000" in output and "[64, 32]" in output and "400000" not in output
    assert pipeline.main(["--help", "stge=1"]) == 2
    assert "did you mean stage" in capsys.readouterr().out


PRESSURE_TABLE = """
phases:
- {name: gas, thermo: ideal-gas, elements: [H, O, N], kinetics: gas,
   species: [{gri30.yaml/species: [H2, H, O, O2, OH, H2O, N2]}]}
reactions:
- equation: O + H2 <=> H + OH
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 0.1 atm, A: 1.0e+10, b: 0.0, Ea: 0.0}
  - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 0.0}
"""


def test_rates_that_are_not_known_are_refused_before_anything_is_sampled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.yaml").write_text(PRESSURE_TABLE)
    asked = [
        "mechanism=table.yaml", "sampling.fuel=H2:1", "sampling.T0=[1e3,2e3]", "validation.T0=[1e3]"
    ]  # fmt: skip
    told = r"network\.kinetics=true: .*H2 \+ O <=> H \+ OH.*state-only"
    with pytest.raises(ValueError, match=told):
        pipeline.prepare(resolve(asked))
    assert not (tmp_path / "runs").exists()
    alone = ["only=sample", "network.kinetics=false", "sampling.dt=[1e-6,1e-6]"]
    assert pipeline.prepare(resolve([*asked, *alone])).folder.is_dir()
