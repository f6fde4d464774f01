"""The benchmarks: imports, help, list of scripts, and what some of them compute themselves."""

import importlib
import re
import runpy
from pathlib import Path

import pytest

from benchmarks import kernels

FOLDER = Path(kernels.__file__).parent
FILES = [path for path in sorted(FOLDER.glob("*.py")) if "\ndef main(" in path.read_text()]
SCRIPTS = [f"benchmarks.{path.stem}" for path in FILES]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself(name, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__")
    printed = capsys.readouterr().out
    assert not ended.value.code and f"python -m {name}" in printed
    assert importlib.import_module(name).__doc__.strip().splitlines()[0] in printed


def test_the_readme_lists_every_script_and_existing_results():
    text = (FOLDER / "README.md").read_text()
    listed = re.findall(r"^\|.*`python -m (benchmarks[\w.]+)", text, flags=re.M)
    assert sorted(set(listed)) == SCRIPTS
    assert all((FOLDER / file).is_file() for file in re.findall(r"\]\(([^)]+)\)", text))
