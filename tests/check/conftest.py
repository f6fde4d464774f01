"""The solver of hydrogen, its conditions, and a whole small check of it."""

import json
import shutil

import pytest

from combred.check import check_mechanism, checking, find_conditions, flows
from combred.experiments.counterflow.flame import CounterflowMarch
from combred.experiments.premixed.flame import FlameMarch


@pytest.fixture(scope="session")
def solver(h2o2, solver_of):
    """The solver of hydrogen."""
    return solver_of(h2o2)


@pytest.fixture(scope="session")
def conditions(h2o2, solver):
    """Those of hydrogen in air."""
    return find_conditions(h2o2, solver)


@pytest.fixture(scope="session")
def checked_in(tmp_path_factory, in_process):
    """A check of hydrogen with coarse flames, in this process: its folder and its numbers."""
    folder = tmp_path_factory.mktemp("check")
    with pytest.MonkeyPatch.context() as patch, in_process():
        make_coarse(patch)
        return folder, check_mechanism("h2o2.yaml", folder=folder, workers=1, size=0.05)


def make_coarse(patch):
    """Coarse flames, and few states."""
    patch.setattr(flows, "PREMIXED", FlameMarch(cells=40, tolerance=0.02))
    patch.setattr(flows, "COUNTERFLOW", CounterflowMarch(cells=40, tolerance=3.0))
    patch.setattr(flows, "STEPS_PER_TIME", 100)
    patch.setattr(flows, "STEPS_PER_STRAIN", 100)
    patch.setattr(checking, "ROWS", 256)


@pytest.fixture
def coarse(monkeypatch):
    """As of `checked_in`."""
    make_coarse(monkeypatch)


@pytest.fixture
def checked(checked_in, tmp_path):
    """A copy of that check in `tmp_path`: its numbers."""
    shutil.copy(checked_in[0] / checking.RECORD, tmp_path)
    return json.loads(json.dumps(checked_in[1]))
