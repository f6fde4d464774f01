"""The command `combred`: check, export, models, run."""

import json
import shutil

import pytest

import combred
from combred import check, command, data
from combred.pipeline.console import StatusConsole
from combred.report import check as page


def test_check_writes_a_page_and_tells_the_verdict(tmp_path, monkeypatch, capsys):
    rows = [
        {"what": what, "reference": "CVODE", "worst": worst, "limit": limit, "unit": unit,
         "right": worst <= limit, "skipped": "", "failure": ""}
        for what, worst, limit, unit in (
            ("ignition delay", 5e-4, 1e-3, "1"), ("peak T", 3.0, 1.0, "K"),
        )
    ]  # fmt: skip
    asked = []

    def checked(*arguments):
        asked.append(arguments[:7])
        return {"verdict": rows, "inputs": {"conditions": {"fuel": "H2:1"}}}

    monkeypatch.setattr(check.checking, "check_mechanism", checked)
    monkeypatch.setattr(page, "write_check", lambda folder: folder / "check.html")
    arguments = ["check", "h2o2.yaml", "--fuel", "H2:1", "--folder", str(tmp_path), "--size", "0.5"]
    assert command.main(arguments) == 1
    assert asked == [("h2o2.yaml", "", "H2:1", "auto", tmp_path, 0, 0.5)]
    said = " ".join(capsys.readouterr().out.split())
    assert "ignition delay CVODE 0.05 % 0.10 %" in said.replace("\u00a0", " ")
    assert (
        "peak T CVODE 3.0 K above 1.0 K" in said
        and "1 of 2 comparisons exceed their limit. The fuel is H2:1" in said
    )
    rows.pop()
    assert command.main(arguments) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.yaml"], "there is no mechanism 'none.yaml'"),
        (["check", "gri30.yaml"], "several fuels"),
        (["check", "drm19-99k"], "did you mean drm19-38k"),
        (["export", "drm20", "folder"], "did you mean drm19"),
        (["export", "drm20", "case", "--openfoam"], "did you mean drm19"),
    ],
)
def test_what_a_user_can_mend_is_one_message(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check.checking, "Solver", lambda mechanism: None)
    begun: list[str] = []
    monkeypatch.setattr(StatusConsole, "begin", lambda _, doing: begun.append(doing))
    assert command.main(arguments) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert message in said and "Traceback" not in said
    assert not any("compiling" in doing for doing in begun)


def test_models_are_listed(capsys):
    assert command.main(["models"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.startswith("drm19")}
    assert list(rows) == list(combred.models()) and "us a state" in head
    card = combred.models()["drm19-38k"]
    words = "CH4 drm19.yaml 21 37,184 0.3 to 60 1e-8 to 1e-5".split()
    for key in ("network_alone", "with_solver"):
        words += [f"{100 * card['accuracy'][key]['delay_error']['worst']:.2f}"]
    words += [f"{100 * card['accuracy']['left_to_solver']:.2f}"]
    assert "network alone" in head and "with the solver" in head and "left to the solver" in head
    words += [f"{1e6 * card['time']['seconds']:.1f}"]
    assert [word for word in rows["drm19-38k"].split()[1:] if word != "%"] == words
    assert rows["drm19-full"].split()[-1] == "-"


def test_the_card_of_a_model_is_printed(capsys):
    assert command.main(["models", "drm19-38k"]) == 0
    assert json.loads(capsys.readouterr().out) == combred.models()["drm19-38k"]
    assert command.main(["models", "drm19-39k"]) == 2
    assert "no model drm19-39k: drm19-full, " in capsys.readouterr().out


def test_without_a_command_the_help_is_printed(capsys):
    assert command.main([]) == 2
    assert "models" in capsys.readouterr().out


def test_check_says_what_a_library_or_a_network_is(tmp_path, capsys):
    library = combred.solver("h2o2.yaml").library.path
    assert command.main(["check", str(library)]) == 0
    said = capsys.readouterr().out
    assert "a stiff solver" in said and "yes, by its checksum" in said and "10: H2 H O" in said
    broken = tmp_path / "broken.so"
    broken.write_bytes(library.read_bytes()[:-5000])
    assert command.main(["check", str(broken)]) == 2
    assert "is damaged" in " ".join(capsys.readouterr().out.split())
    shutil.copy(data.FOLDER / "models/drm19-11k.safetensors", tmp_path / "stage1.safetensors")
    for network in ("drm19-11k", str(tmp_path / "stage1.safetensors"), str(tmp_path)):
        assert command.main(["check", network]) == 0
        said = capsys.readouterr().out
        assert "9,792 weights, 84-48-48-48-24, corrects" in said and "0.3 to 60 atm" in said
        told = "not measured" if network != "drm19-11k" else "delays off by"
        assert f"network alone: {told}" in said
        assert f"network with the solver behind it: {told}" in said


@pytest.mark.parametrize(
    "words, option",
    [
        (["check", "drm19-11k", "--fuel", "CH4:1"], "--fuel"),
        (["export", "drm19-11k", "folder", "--phase", "gas"], "--phase"),
    ],
)
def test_options_of_mechanisms_are_refused_elsewhere(words, option, capsys):
    assert command.main(words) == 2
    assert f"drm19-11k is no mechanism: leave out {option}" in capsys.readouterr().out


def test_export_tells_what_is_written(tmp_path, monkeypatch, capsys):
    asked = []

    def written(what, folder, accept=False):
        return asked.append(what) or [folder / "a.cpp"]

    monkeypatch.setattr(combred.native, "export", written)
    monkeypatch.setattr(combred, "export_surrogate", written)
    assert command.main(["export", "h2o2.yaml", str(tmp_path), "--phase", "ohmech"]) == 0
    assert command.main(["export", "drm19-38k", str(tmp_path)]) == 0
    assert asked[0].phase == "ohmech" and asked[1] == "drm19-38k"
    assert capsys.readouterr().out.split() == [str(tmp_path / "a.cpp")] * 2


@pytest.mark.parametrize("words, goes_on", [(["export", "x", "y"], False), (["check", "x"], True)])
def test_only_a_command_that_keeps_its_work_goes_on(words, goes_on, monkeypatch, capsys):
    def stop(_):
        raise KeyboardInterrupt

    # Imported for the first time after the other, this would keep `stop`.
    monkeypatch.setattr("combred.check.description.describe", stop)
    monkeypatch.setattr("combred.libraries.names_mechanism", stop)
    assert command.main(words) == 130
    said = " ".join(capsys.readouterr().out.split())
    assert said == "stopped." + " The same command goes on from here." * goes_on


@pytest.mark.parametrize("place", ["", "constant"])  # of an export, of a case of OpenFOAM
def test_the_folder_of_an_export_names_its_library(place, tmp_path, capsys):
    library = tmp_path / place / "libsolver.so"
    library.parent.mkdir(exist_ok=True)
    library.touch()
    assert command.main(["check", str(tmp_path)]) == 2
    assert f"`combred check {library}`" in capsys.readouterr().out


def test_run_is_the_pipeline_and_there_is_a_version(capsys):
    assert command.main(["run", "stge=2"]) == 2
    assert "did you mean stage" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["--version"])
    assert combred.__version__ in capsys.readouterr().out
