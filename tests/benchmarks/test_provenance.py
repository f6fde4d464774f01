"""Stamps of results: each part has one, and a changed script or source makes a result old."""

import json
import subprocess

import pytest

from benchmarks import provenance

RESULTS = sorted((provenance.ROOT / "benchmarks/results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_their_scripts_commits_and_dates(path):
    stamps = list(provenance.stamps(json.loads(path.read_text())))
    assert stamps
    for stamp in stamps:
        assert set(stamp) == {"commit", "date", "script"} and len(stamp["commit"]) == 8
        assert (provenance.ROOT / f"benchmarks/{stamp['script']}.py").is_file()


@pytest.mark.parametrize(
    ("changed", "current"),
    [
        ("benchmarks/flames.py", False),
        ("combred/native/source/step.hpp", False),
        ("benchmarks/large.py", True),
        ("combred/report/style.py", True),
    ],
)
def test_results_are_old_once_their_script_or_the_solver_changes(
    tmp_path, monkeypatch, changed, current
):
    def git(*arguments: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *own, *arguments], cwd=tmp_path, check=True, capture_output=True)

    for name in ("benchmarks/flames.py", changed):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    part = {"errors": [1.0]} | provenance.stamp("/somewhere/benchmarks/flames.py")
    assert provenance.is_current(part)
    (tmp_path / changed).write_text("2")
    assert provenance.is_current(part) == current


def test_results_without_a_stamp_or_of_an_unknown_commit_are_old():
    assert not provenance.is_current(None) and not provenance.is_current({})
    code = {"commit": "0" * 8, "date": "2026-01-01", "script": "flames"}
    assert not provenance.is_current({provenance.KEY: code})


def test_every_script_that_writes_results_stamps_them():
    texts = {path.name: path.read_text() for path in (provenance.ROOT / "benchmarks").glob("*.py")}
    scripts = {name: text for name, text in texts.items() if "\nRESULTS = " in text}
    assert len(scripts) > 10
    assert [name for name, text in scripts.items() if "stamp(__file__" not in text] == []


def test_references_depend_on_script_rooms_and_cantera(tmp_path, monkeypatch):
    (tmp_path / "combred/chemistry").mkdir(parents=True)
    script, module = tmp_path / "script.py", tmp_path / "combred/chemistry/thermo.py"
    script.write_text("1")
    module.write_text("1")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    digests = {provenance.digest(str(script), "chemistry"), provenance.digest(str(script))}
    script.write_text("2")
    digests.add(provenance.digest(str(script), "chemistry"))
    module.write_text("2")
    digests.add(provenance.digest(str(script), "chemistry"))
    monkeypatch.setattr(provenance.ct, "__version__", "4.0")
    digests.add(provenance.digest(str(script), "chemistry"))
    assert len(digests) == 5
