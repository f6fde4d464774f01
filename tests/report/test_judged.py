"""`combred.judge`: figures and page of any chemistry, from CVODE itself to a network that fails."""

from dataclasses import replace

import numpy as np
import pytest
from compiled_program import compile_quickly
from run_folder import Page, flame_rows
from torch import nn

import combred
from combred.experiments.accuracy import ALONE, BEHIND, NAMES, exceeded
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch
from combred.files.records import read_record, strict, write_record
from combred.judging import OTHER, SOLVER
from combred.report.formats import NBSP
from combred.report.judged import sentence, write_judged
from combred.surrogates.files.export import load_torchscript
from combred.surrogates.library import choice

NAN = float("nan")
pytestmark = pytest.mark.usefixtures("in_this_process")
CASES = {"T0": [1300.0, 1500.0], "phi": [1.0], "p": [101325.0], "dt": 2e-6, "burnt_time": 2e-4}


@pytest.fixture(scope="module")
def solver():
    return combred.solver("h2o2.yaml")


def test_a_chemistry_that_is_late_is_found_to_be_late(solver, tmp_path):
    """A function that advances by 0.95 dt has delays 1 / 0.95 - 1 = 5.3 % late."""

    def slow(T, p, Y, dt):
        return solver.advance(T, p, Y, 0.95 * dt)

    found = combred.judge(
        slow, "h2o2.yaml", tmp_path, fuel="H2:1", accept="ignition:4%", workers=1, **CASES
    )
    errors = found["errors"]
    late = [row["delay"] / row["reference_delay"] - 1 for row in errors[OTHER]["cases"]]
    assert late == pytest.approx([1 / 0.95 - 1] * 2, rel=0.05)  # CVODE ends the last step
    assert errors[SOLVER]["delay_error"]["worst"] < 1e-3
    why = f"the worst relative error of the ignition delay is {100 * max(late):.2f} %, above 4 %"
    assert found["verdict"] == {SOLVER: "", OTHER: why}
    assert {OTHER, SOLVER} < found["times"].keys() and "card" not in found
    assert read_record(tmp_path / "judge.json")["errors"].keys() == errors.keys()
    page = Page(tmp_path / "judge.html")
    assert "Not accepted" in page.text and (tmp_path / "figures/temperature.png").is_file()
    row = next(row for row in page.tables[0] if row[0] == OTHER)
    assert row[1].startswith("5.1") and row[2].startswith("5.1")


def test_a_network_is_judged_alone_and_with_the_solver(solver, tmp_path, monkeypatch):
    """A network that changes nothing does not ignite; the solver behind it does not help, since
    no change conserves all: the card, the page and all files of that network say so."""
    monkeypatch.setattr(choice, "build", compile_quickly(monkeypatch))
    mechanism, n = solver.mechanism, 12
    Y = mechanism.mixture("H2:1", "O2:1, N2:3.76", np.linspace(0.9, 1.1, 50))
    T, p = np.linspace(1000.0, 1600.0, 50), np.linspace(0.9, 1.1, 50) * 101325.0
    states = [np.column_stack([T, p, Y])]
    for _ in range(100):
        T, Y = solver.advance(T, p, Y, 2e-6)
        states.append(np.column_stack([T, p, Y]))
    network = nn.Sequential(nn.Linear(n, 4), nn.ReLU(), nn.Linear(4, n))
    nn.init.zeros_(network[2].weight)
    nn.init.zeros_(network[2].bias)
    rows = np.concatenate(states)
    transform = combred.Transform.fit(rows[:-50], rows[50:])
    made = combred.surrogate(network, mechanism, transform, dt=2e-6, states=rows)
    cases = CASES | {"T0": [1500.0]}
    found = combred.judge(made, folder=tmp_path, fuel="H2:1", workers=1, **cases)
    assert not any(found["errors"][name]["all_ignite"] for name in NAMES.values())
    assert found["verdict"][NAMES[BEHIND]] == "a case does not ignite"
    page = Page(tmp_path / "judge.html")
    assert "Not accepted" in page.text and "no ignition" in page.row(NAMES[ALONE])
    refused = "network alone: a case does not ignite; network with the solver behind it: a case"
    with pytest.raises(ValueError, match=rf"{refused}.*accept=True .*`combred export --accept`"):
        combred.export_surrogate(made, tmp_path / "export", found["card"])
    with pytest.raises(ValueError, match="accept=True"):
        combred.native.export(made, tmp_path / "export", found["card"])
    assert not (tmp_path / "export").exists()
    monkeypatch.setenv("CXX", "no-such-compiler")
    written = combred.export_surrogate(made, tmp_path / "export", found["card"], accept=True)
    names = ["rejected.pt", "rejected.json", "rejected.cpp", "combred.h"]
    assert [path.name for path in written] == names
    loaded, card = load_torchscript(tmp_path / "export/rejected.pt")
    assert loaded.species == list(mechanism.species_names)
    first = {"this_file": "network alone", "exceeds": "a case does not ignite"}
    assert list(card["accuracy"].items())[:2] == list(first.items())
    head = (tmp_path / "export/rejected.cpp").read_text().partition("// ---")[0]
    assert "this file   network with the solver behind it: a case does not ignite" in head
    assert head.count("ABOVE ITS LIMITS: a case does not ignite") == 2


def test_a_flame_that_goes_out_is_told(solver, tmp_path):
    """And not that the file of the numbers is damaged."""
    cases = CASES | {"T0": [1500.0]}
    found = combred.judge(solver, folder=tmp_path, fuel="H2:1", workers=1, **cases)
    row = flame_rows([NAN])[0] | {"profile_T_error": None, "speed_error": None}
    row |= {"thickness_error": None, "peak_errors": {"OH": None}, "speed": None}
    late = {"median": None, "mean": None, "worst": None}
    flame = {"cases": [row], "speed_error": late, "worst_case": row["case"], "outcome": "went out"}
    for errors in found["errors"].values():
        errors["flame"] = flame
    found["verdict"][OTHER] = exceeded(found["errors"][OTHER], {"flame": 0.1})
    write_record(tmp_path / "judge.json", strict(found))
    page = Page(write_judged(tmp_path))
    assert "Not accepted (chemistry): a flame went out." in page.text
    assert page.row(OTHER)[3] == "went out" and f"{OTHER}: {row['case']}: went out." in page.text
    assert "missing or lacks" not in page.text


def test_of_a_network_that_costs_time_the_solver_is_recommended():
    both = NAMES[BEHIND]
    record = {
        "verdict": {"solver": "", both: ""}, "solved": 0.99,
        "errors": {NAMES[ALONE]: {"delay_error": {"worst": 0.87}, "worst_case": "1300 K"},
                   both: {"delay_error": {"worst": 8e-3}, "worst_case": "1300 K"}},
        "times": {"solver": 4e-7, both: 8e-7},
    }  # fmt: skip
    assert "should take the generated solver" in sentence(record)
    said = sentence(record | {"times": {"solver": 9e-7, both: 8e-7}}).replace(NBSP, " ")
    assert said.startswith(f"Accepted ({both})")
    assert "by at most 0.80 %, at 1300 K; network alone: 87.0 %." in said


@pytest.mark.slow
def test_flames_are_judged_if_asked_for(solver, tmp_path, monkeypatch):
    usual = PremixedFlames.of.__func__

    def coarse(cls, *given):
        return replace(usual(cls, *given), march=FlameMarch(cells=40, longest=1.0), dt=4e-6)

    monkeypatch.setattr(PremixedFlames, "of", classmethod(coarse))
    monkeypatch.setattr(PremixedFlames, "settle", PremixedFlames.burn)  # one flame time
    cases = CASES | {"T0": [1500.0], "flame_phi": [1.0]}
    found = combred.judge(solver, folder=tmp_path, fuel="H2:1", workers=1, **cases)
    assert found["errors"][OTHER]["flame"]["speed_error"]["worst"] < 5e-3
    assert found["curves"].keys() == {"ignition", "flame"}
    assert "flame speed, worst" in Page(tmp_path / "judge.html").tables[0][0]


@pytest.mark.parametrize(
    ("given", "cases", "said"),
    [
        ((1.0, "h2o2.yaml"), {}, "a function"),
        ((lambda *_: None,), {}, "mechanism"),
        ((lambda *_: None, "h2o2.yaml"), {"temperature": 1.0}, "cases have"),
        ((lambda *_: None, "h2o2.yaml"), {"T0": 1300.0}, "list"),
        ((lambda *_: None, "h2o2.yaml"), CASES | {"dt": [1e-6]}, r"dt=\[1e-06\] .*one number"),
        ((lambda *_: None, "h2o2.yaml"), {"burnt_time": (1e-3, 1e-2)}, "burnt_time.*one number"),
        ((lambda *_: None, "h2o2.yaml"), CASES, "the pair"),
        ((lambda T, p, Y, dt: (T, Y[0]), "h2o2.yaml"), CASES, "Y of shape"),
        ((lambda T, p, Y, dt: (T[:1], Y[:1] + 0j), "h2o2.yaml"), CASES, "real numbers"),
        ((lambda T, p, Y, dt: (T, Y[:, :3]), "h2o2.yaml"), CASES, "10 species"),
        (("volume",), CASES, "constant pressure"),
        (("solver", "drm19.yaml"), CASES, "its own"),
    ],
)
def test_wrong_arguments_are_refused(given, cases, said, solver, tmp_path):
    made = {"solver": solver, "volume": combred.solver("h2o2.yaml", volume=True)}
    given = made.get(given[0], given[0]), *given[1:]
    with pytest.raises(ValueError, match=said):
        combred.judge(*given, folder=tmp_path, fuel="H2:1", **cases)
