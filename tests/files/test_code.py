"""The digest of code: it changes with whatever may change a number, and with nothing else."""

import shutil

import pytest

from combred.files.code import ROOT, code_digest

START = "combred.skeletal.references"
CRITERION = "combred/experiments/ignition/maxima.py"


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The package, its code alone."""
    root = tmp_path_factory.mktemp("code")
    code = lambda _, names: [x for x in names if x == "__pycache__"]  # noqa: E731
    shutil.copytree(ROOT / "combred", root / "combred", ignore=code)
    return root


@pytest.fixture
def changed(copied):
    """The digest after a change of a file, which is then taken back."""

    def digest_after(file, old, new):
        path = copied / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        found = code_digest.__wrapped__(START, copied)
        path.write_text(text)
        return found

    return digest_after


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (CRITERION, "LULL = 0.3", "LULL = 0.4"),
        (CRITERION, "lull.any()", "lull.all()"),
        ("combred/skeletal/delays.py", "LATEST = 1.75", "LATEST = 2"),
        ("combred/chemistry/equilibrium.py", "RTOL = 1e-7", "RTOL = 1e-6"),
        ("combred/native/source/solver/control.hpp", "return ", "return 1.0 * "),
    ],
)
def test_a_change_of_code_that_is_reached_changes_it(copied, changed, file, old, new):
    assert changed(file, old, new) != code_digest(START, copied) == code_digest(START)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("combred/skeletal/delays.py", "LATEST = 1.75", "# A comment.\n\nLATEST = 1.75"),
        ("combred/skeletal/delays.py", '"""Ignition delays as', '"""Delays as'),
        (CRITERION, "def maximum(", "def maximum(  # of one thing\n    "),
        ("combred/native/source/solver/control.hpp", "return ", "/* a remark */ return "),
        ("combred/report/check.py", "RECORD =", "OTHER ="),
    ],
)
def test_comments_docstrings_and_other_code_do_not_change_it(copied, changed, file, old, new):
    assert changed(file, old, new) == code_digest(START, copied)
