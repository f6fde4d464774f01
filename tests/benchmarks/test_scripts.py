"""The benchmarks: imports, help, list of scripts, and what some of them compute themselves."""

import importlib
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import flames, flow_states, kernels, trust_states
from combred.kernels import group

FOLDER = Path(kernels.__file__).parent
MODULES = [f"benchmarks.{path.stem}" for path in sorted(FOLDER.glob("*.py"))]
SCRIPTS = [name for name in MODULES if hasattr(importlib.import_module(name), "main")]


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
    assert sorted(listed) == SCRIPTS
    assert all((FOLDER / file).is_file() for file in re.findall(r"\]\(([^)]+)\)", text))


@pytest.mark.parametrize("threshold, kind", [(0.5, "random"), (0.8, "clustered")])
def test_the_literal_loop_groups_as_the_kernel_does(kind, threshold):
    weights = kernels.rows(80, kind)
    assert kernels.literal(weights, threshold) == group(weights, threshold)[0].tolist()


@pytest.mark.parametrize("q", [1.0, 2.0])
def test_the_order_of_convergence_is_found_by_regression(q):
    x = np.array([1.0, 0.7, 0.5, 0.35])
    found, limit = flames.order(list(x), list(0.39 - 0.004 * x**q))
    assert found == pytest.approx(q, rel=1e-4) and limit == pytest.approx(0.39, rel=1e-6)


def test_every_kind_of_states_around_a_training_is_valid_and_distinct(drm19, sampling_settings):
    with pytest.MonkeyPatch.context() as patch:  # ignitions in place of flames
        patch.setattr(trust_states.States, "flames", trust_states.States.ignitions)
        patch.setattr(trust_states, "TRAJECTORIES", 3)
        settings = replace(sampling_settings, p=[5e4, 2e5])
        kinds = trust_states.draw(drm19, settings, count=12, seed=3)
    assert len(kinds) == 29
    for name, states in kinds.items():
        assert states.shape == (12, 23) and len(np.unique(states, axis=0)) == 12, name
        assert np.isfinite(states).all() and (states[:, 2:] >= -1e-12).all(), name
        assert np.abs(states[:, 2:].sum(1) - 1).max() < 1e-8, name
        assert (states[:, 0] > 200).all() and (states[:, 0] < 4000).all(), name
        if name.startswith("pressure"):
            near, far = (float(word) for word in name.split()[1:4:2])
            off = np.maximum(5e4 / states[:, 1], states[:, 1] / 2e5)
            assert (off > 0.999 * near).all() and (off < 1.001 * far).all(), name
    assert (kinds["changed: no radicals"][:, 2 + drm19.index("OH")] == 0).all()
    assert (kinds["fuel: CO:1, H2:1"][:, 2 + drm19.index("CH4")] < 1e-6).all()


def test_an_undetected_error_is_a_share_of_the_change_above_a_floor():
    state = np.array([[1000.0, 1e5, 0.5, 0.5]] * 4)
    later = state + [100.0, 0.0, 0.1, -0.1]
    said = later + [[0, 0, 0, 0], [10.9, 0, 0, 0], [11.1, 0, 0, 0], [0, 0, 0.02, -0.02]]
    bad = flow_states.is_bad(state, said, later, (0.1, 1.0, 1e-4))
    assert bad.tolist() == [False, False, True, True]
    assert flow_states.is_bad(state, said * np.nan, later, (0.1, 1.0, 1e-4)).all()
