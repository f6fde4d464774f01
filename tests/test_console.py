"""The command `combred`: check, export, models, run."""

import pytest

import combred
from combred import check, command
from combred.report import check as page


def test_check_writes_a_page_and_tells_the_verdict(tmp_path, monkeypatch, capsys):
    rows = [
        {"what": "ignition delay", "worst": 5e-4, "limit": 1e-3, "unit": "1", "right": True,
         "skipped": ""},
        {"what": "peak T", "worst": 3.0, "limit": 1.0, "unit": "K", "right": False, "skipped": ""},
    ]  # fmt: skip
    asked = []

    def checked(*arguments):
        asked.append(arguments[:7])
        return {"verdict": rows}

    monkeypatch.setattr(check.checking, "check_mechanism", checked)
    monkeypatch.setattr(page, "write_check", lambda folder: folder / "check.html")
    arguments = ["check", "h2o2.yaml", "--fuel", "H2:1", "--folder", str(tmp_path), "--size", "0.5"]
    assert command.main(arguments) == 1
    assert asked == [("h2o2.yaml", "", "H2:1", "auto", tmp_path, 0, 0.5)]
    said = " ".join(capsys.readouterr().out.split())
    assert "ignition delay: 0.05" in said and "within its limit" in said
    assert "peak T: 3.0 K, above its limit of 1.0 K" in said and "1 of 2 comparisons exceed" in said
    rows.pop()
    assert command.main(arguments) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.yaml"], "there is no mechanism 'none.yaml'"),
        (["check", "gri30.yaml"], "several fuels"),
        (["export", "drm20", "folder"], "did you mean drm19"),
    ],
)
def test_what_a_user_can_mend_is_one_message(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check.checking, "Solver", lambda mechanism: None)
    assert command.main(arguments) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert message in said and "Traceback" not in said


def test_models_are_listed(capsys):
    assert command.main(["models"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in combred.models()) and "37,184" in said


def test_export_tells_what_is_written(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        combred.native, "export", lambda what, folder: asked.append(what) or [folder / "a.cpp"]
    )
    assert command.main(["export", "h2o2.yaml", str(tmp_path), "--phase", "ohmech"]) == 0
    assert command.main(["export", "drm19-38k", str(tmp_path)]) == 0
    assert asked[0].phase == "ohmech" and asked[1] == "drm19-38k"
    assert capsys.readouterr().out.split() == [str(tmp_path / "a.cpp")] * 2


def test_run_is_the_pipeline_and_there_is_a_version(capsys):
    assert command.main(["run", "stge=2"]) == 2
    assert "did you mean stage" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["--version"])
    assert combred.__version__ in capsys.readouterr().out
