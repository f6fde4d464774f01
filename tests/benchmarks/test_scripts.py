"""The benchmarks: imports, help, list of scripts, and what they compute themselves."""

import importlib
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import combred
from benchmarks import accuracy, flow_states, kernels, reduction, trust_states
from combred.experiments.ignition.rollout import Case, Rollout
from combred.files.records import digest, read_json, write_json
from combred.kernels import group

FOLDER = Path(accuracy.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for path in FOLDER.glob("*.py")
    if path.stem != "__init__"
)
SCRIPTS = [name for name in MODULES if hasattr(importlib.import_module(name), "main")]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself(name, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__")
    printed = capsys.readouterr().out
    assert not ended.value.code
    assert f"python -m {name}" in printed
    assert importlib.import_module(name).__doc__.strip().splitlines()[0] in printed


def test_the_readme_lists_every_script_and_existing_results():
    text = (FOLDER / "README.md").read_text()
    listed = re.findall(r"^\|.*`python -m (benchmarks[\w.]+)", text, flags=re.M)
    assert sorted(listed) == SCRIPTS
    assert all((FOLDER / file).is_file() for file in re.findall(r"\]\(([^)]+)\)", text))


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.999])
@pytest.mark.parametrize("kind", ["random", "clustered"])
def test_the_literal_loop_groups_as_the_kernel_does(kind, threshold):
    weights = kernels.rows(80, kind)
    assert kernels.literal(weights, threshold) == group(weights, threshold)[0].tolist()


def test_a_random_choice_keeps_as_many_units_as_asked_and_the_same_for_a_seed():
    network = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3))
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    cuts = [
        combred.reduce(network, x[:1], method=reduction.random_choice, ratio=1 / 3, calibration=x)
        for _ in range(2)
    ]
    assert cuts[0].trace[0].units_after == 3
    assert torch.equal(cuts[0].network[0].weight, cuts[1].network[0].weight)


# -- accuracy: the errors that every model is judged by --------------------------------------------


def rise(at, sharpness=6.0, n=400):
    """A rollout whose T and Y rise together around step `at`, over some `sharpness` steps."""
    steps = np.arange(n)
    done = 0.5 * (1 + np.tanh((steps - at) / sharpness))
    Y = np.column_stack([0.06 * (1 - done), 0.94 + 0.06 * done])
    return Rollout(Case(1500.0, accuracy.ATM, 1.0), steps * 1e-6, 1500.0 + 1000.0 * done, Y)


@pytest.mark.parametrize("shift", [0.0, 0.37, 5.0, -17.8])
def test_a_shift_of_ignition_is_no_error_of_an_aligned_path(shift):
    far = accuracy.distances(rise(100.0 + shift), rise(100.0))
    # Cubic splines over a tanh of six steps.
    assert far["aligned"]["T"] < 1e-5 and far["aligned"]["Y"] < 1e-6
    assert far["end"]["T"] < 1e-12
    assert far["after"]["T"] <= 1000.0 / 1500.0


def test_planted_errors_are_found_where_they_were_planted():
    ref, rollout = rise(100.0), rise(108.0)
    rollout.T[-1] += 25.0
    rollout.T[300] += 50.0
    rollout.Y[300] += [0.01, -0.01]
    far = accuracy.distances(rollout, ref)
    assert far["end"] == {"T": pytest.approx(0.01), "Y": pytest.approx(0.0, abs=1e-12)}
    for place in ("after", "aligned"):  # whole steps apart: the spline passes the planted point
        assert far[place] == {"T": pytest.approx(0.02), "Y": pytest.approx(0.01)}


def test_a_rollout_that_stays_cold_or_breaks_has_no_finite_distance():
    ref, cold, broken = rise(100.0), rise(100.0), rise(100.0)
    cold.T[:], broken.T[200:] = 1500.0, np.nan
    assert accuracy.distances(cold, ref)["aligned"]["T"] == np.inf
    assert accuracy.distances(cold, ref)["end"]["T"] == pytest.approx(0.4)
    for place in ("end", "after", "aligned"):
        assert accuracy.distances(broken, ref)[place] == {"T": np.inf, "Y": np.inf}


def test_the_moment_of_half_the_rise_is_found_between_steps():
    found = accuracy.half_way(rise(100.3), 2000.0)
    assert found == pytest.approx(100.3e-6, abs=1e-11)  # cubic through eight steps
    assert np.isnan(accuracy.half_way(rise(100.3), 3000.0))


def test_a_summary_names_the_worst_case_and_counts_those_that_do_not_ignite():
    row = {"ignited": True, "burnt_T_error": 1.0}
    rows = [row | {"case": str(e), "delay_error": e} for e in (0.01, 0.03, 0.02)]
    found = accuracy.summary(rows)
    assert (found["median"], found["worst"], found["worst_case"]) == (0.02, 0.03, "0.03")
    assert (found["cases"], found["not_ignited"]) == (3, 0)
    not_ignited = row | {"case": "cold", "delay_error": np.nan, "ignited": False}
    found = accuracy.summary([*rows, not_ignited])
    assert (found["not_ignited"], found["worst"], found["worst_case"]) == (1, np.inf, "cold")


def test_the_cases_fill_the_range_and_are_the_same_for_a_seed():
    cases = accuracy.all_cases()
    assert [len(cases[group]) for group in ("grid", "drawn", "long")] == [90, 48, 27]
    assert accuracy.drawn_cases() == cases["drawn"] and len(set(cases["drawn"])) == 48
    assert all(1300 <= c.T0 <= 1800 and 0.5 <= c.phi <= 2 for c in cases["drawn"])
    p = np.array([c.p for c in cases["drawn"]]) / accuracy.ATM
    assert p.min() > 0.5 and p.max() < 2 and 0.8 < np.median(p) < 1.25  # log-uniform: about 1
    assert set(cases["long"]) <= set(cases["grid"])


def test_a_row_of_other_cases_is_not_used_again(tmp_path):
    store, row = tmp_path / "accuracy.json", {"model": "a/stage0", "file": "0"}
    write_json(store, {"cases": "a digest", "rows": [row]})
    assert accuracy.measured(store, "a digest") == {"a/stage0": row}
    assert accuracy.measured(store, "another") == {}
    assert accuracy.measured(tmp_path / "none.json", "a digest") == {}


def test_results_of_shipped_models_are_of_their_files():
    rows = read_json(accuracy.RESULTS)["rows"]
    rows = [row for row in rows if row["model"] in combred.models()]
    assert "drm19-full" in [row["model"] for row in rows]
    for row in rows:
        file = combred.surrogate.shipped.FOLDER / f"{row['model']}.safetensors"
        assert row["file"] == digest(file), row["model"]


# -- states around a training ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(drm19, sampling_settings):
    """Twelve states of each kind, with ignitions in place of flames."""
    settings = replace(sampling_settings, p=[5e4, 2e5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust_states.States, "flames", trust_states.States.ignitions)
        patch.setattr(trust_states, "TRAJECTORIES", 3)
        return settings, trust_states.draw(drm19, settings, count=12, seed=3)


def test_every_kind_holds_valid_states(drm19, drawn):
    _, kinds = drawn
    assert len(kinds) == 29
    for name, states in kinds.items():
        assert states.shape == (12, 23), name
        assert np.isfinite(states).all() and (states[:, 2:] >= -1e-12).all(), name
        assert np.abs(states[:, 2:].sum(1) - 1).max() < 1e-8, name
        assert len(np.unique(states, axis=0)) == 12, name
        assert (states[:, 0] > 200).all() and (states[:, 0] < 4000).all(), name


def test_each_kind_is_beyond_training_as_its_name_says(drm19, drawn):
    settings, kinds = drawn
    low, high = settings.p
    for name, states in kinds.items():
        p = states[:, 1]
        if name.startswith("pressure"):
            near, far = (float(word) for word in name.split()[1:4:2])
            off = np.maximum(low / p, p / high)
            assert (off > 0.999 * near).all() and (off < 1.001 * far).all(), name
        elif not name.startswith(("perturbed", "as trained")):  # these may move p
            assert (p > 0.8 * low).all() and (p < 1.2 * high).all(), name
    OH = 2 + drm19.index("OH")
    assert (kinds["changed: no radicals"][:, OH] == 0).all()
    assert (kinds["changed: cold, with radicals"][:, 0] <= 1000).all()
    assert (kinds["fuel: CO:1, H2:1"][:, 2 + drm19.index("CH4")] < 1e-6).all()
    air = kinds["mixed: air and burnt"]
    assert (air[:, 2 + drm19.index("O2")] > 0).all()


def test_a_mixture_keeps_enthalpy_and_mass(drm19, sampling_settings):
    s = trust_states.States(drm19, sampling_settings, 5, 0)
    cold = s.gases(s.phis(), s.pressures(), False)
    burnt, gas = cold.copy(), s.gas
    for row in burnt:
        gas.TPY = row[0], row[1], row[2:]
        gas.equilibrate("HP")
        row[0], row[2:] = gas.T, gas.Y
    for one, other, both in zip(cold, burnt, s.mixed(cold, burnt), strict=True):
        h = []
        for state in (one, other, both):
            gas.TPY = state[0], state[1], state[2:]
            h.append(gas.enthalpy_mass)
        # Burnt at constant enthalpy: so is every mixture of the two. J/kg, of some 1e5.
        assert h[2] == pytest.approx(h[0], abs=1.0) and h[1] == pytest.approx(h[0], abs=1.0)
        elements = drm19.elements @ np.array([one[2:], other[2:], both[2:]]).T
        assert np.ptp(elements, axis=1).max() < 1e-10
        assert one[0] < both[0] < other[0]


def test_bad_is_a_share_of_the_change_and_a_floor():
    state = np.array([[1000.0, 1e5, 0.5, 0.5]] * 4)
    later = state + [100.0, 0.0, 0.1, -0.1]
    said = later + [[0, 0, 0, 0], [10.9, 0, 0, 0], [11.1, 0, 0, 0], [0, 0, 0.02, -0.02]]
    bad = flow_states.is_bad(state, said, later, (0.1, 1.0, 1e-4))
    assert bad.tolist() == [False, False, True, True]
    assert flow_states.is_bad(state, said * np.nan, later, (0.1, 1.0, 1e-4)).all()
