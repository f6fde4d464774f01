"""A whole check: its numbers, its verdict, and what is done again."""

import json
from dataclasses import replace
from pathlib import Path

import cantera as ct
import numpy as np
import pytest

from combred.check import check_mechanism, checking, flows, states
from combred.check.verdict import CVODE, judge, shares_cause
from combred.chemistry.mechanism import mechanism_of_text
from combred.experiments.premixed.flame import FlameMarch
from combred.native.solver import Solver
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.library import Integrator
from combred.report.check import sentence, value


def test_the_solver_of_hydrogen_is_right(checked, tmp_path):
    assert json.loads((tmp_path / "check.json").read_text())["verdict"] == checked["verdict"]
    assert len(checked["verdict"]) == 11
    for row in checked["verdict"]:
        assert row["right"] and row["worst"] is not None and not row["skipped"], row
    parts = checked["parts"]
    assert sum(len(rows) for name, rows in parts.items() if name.startswith("ignitions")) == 8
    assert parts["states of flows"]["checked"] == 256
    flame = parts["premixed flame"]["errors"]
    assert 2.0 < flame["reference_speed"] < 2.6  # m/s, of the stoichiometric mixture at 1 atm
    assert parts["counterflow flame"]["strain"] == pytest.approx(100.0, rel=0.01)
    assert all(0 < row["seconds"] < row["cvode_seconds"] for row in checked["times"])
    assert checked["about"]["species"] == 10 and checked["about"]["rates"]["Arrhenius"] > 20


def test_what_is_there_is_not_done_again_and_what_is_missing_is(checked, tmp_path, monkeypatch):
    path, done = tmp_path / "check.json", []
    part = {name: lambda *_: pytest.fail("done again") for name in checking.parts(0.05)}
    part["stirred reactors"] = checking.parts(0.05)["stirred reactors"]
    monkeypatch.setattr(checking, "parts", lambda size: part)
    record = dict(checked, parts=dict(checked["parts"]))
    del record["parts"]["stirred reactors"]
    checking.write_record(path, record)

    def on_progress(*said):
        assert (tmp_path / "lock").read_text().startswith("process")
        done.append(said)

    found = check_mechanism(
        "h2o2.yaml", folder=tmp_path, workers=1, size=0.05, on_progress=on_progress
    )
    assert found["parts"] == checked["parts"] and found["times"] == checked["times"]
    assert done[0][:2] == (7, 9) and done[-1][:2] == (9, 9)


@pytest.mark.parametrize(
    ("gas", "message"),
    [({}, "several fuels: .*Name one"), ({"fuel": "AR:1"}, "does not burn|cannot mix")],
)
def test_a_gas_that_cannot_be_checked_is_told_before_the_compiler_starts(
    gas, message, tmp_path, monkeypatch
):
    monkeypatch.setattr(checking, "Solver", lambda _: pytest.fail("compiled"))
    with pytest.raises(ValueError, match=message):
        check_mechanism("gri30.yaml", "gri30", folder=tmp_path, **gas)


def test_a_folder_of_another_check_is_refused(checked, tmp_path):
    with pytest.raises(ValueError, match="another check, with other size: .*another folder"):
        check_mechanism("h2o2.yaml", folder=tmp_path, workers=1, size=0.1)
    text = Path(ct.__file__).with_name("data").joinpath("h2o2.yaml").read_text()
    other = tmp_path / "h2o2.yaml"
    other.write_text(text.replace("diameter: 2.92", "diameter: 3.92"))
    with pytest.raises(ValueError, match="another check, with other .*text"):
        check_mechanism(other, folder=tmp_path, workers=1, size=0.05)


def test_wrong_numbers_are_above_their_limits(checked):
    def verdict(change):
        record = json.loads(json.dumps(checked))
        change(record["parts"])
        return [row["what"] for row in judge(record) if not row["right"]]

    def late(parts):
        parts["ignitions, dt 1e-06 s"][0]["errors"]["0.001"] = -0.01

    def never(parts):
        parts["ignitions, dt 1e-06 s"][0]["errors"]["0.001"] = None

    assert verdict(lambda parts: None) == []
    assert verdict(late) == verdict(never) == ["ignition delay"]
    assert verdict(lambda parts: parts["states of flows"].update(failed=1)) == [
        "states of flows that fail"
    ]
    for wrong in (1e-2, None):
        assert verdict(lambda parts, x=wrong: parts["premixed flame"].update(reference=x)) == [
            "premixed flame: one step, in doubles"
        ]

    def nothing(parts):
        for name in [name for name in parts if name.startswith("ignitions")]:
            parts[name] = []

    assert verdict(nothing) == ["ignition delay"]

    def skipped(dt, rows):
        parts = checked["parts"] | {f"ignitions, dt {dt} s": rows}
        return [row["skipped"] for row in judge(checked | {"parts": parts}) if row["skipped"]]

    of = checked["parts"]["ignitions, dt 1e-06 s"]
    assert skipped("1e-06", []) == ["no ignition that was drawn suits this dt"]
    lost = [of[0] | {"delay": None}, *of[1:]]
    assert skipped("1e-06", lost) == ["CVODE fails in 1 of 2 ignitions"]
    assert verdict(lambda parts: parts["premixed flame"]["errors"].update(speed_error=None)) == [
        "premixed flame: speed"
    ]
    skipped = {"skipped": "no transport data"}
    assert verdict(lambda parts: parts.update({"counterflow flame": skipped})) == []


EXPERIMENTS = {
    "ignition delay", "states of flows", "stirred reactors", "premixed flame", "counterflow flame",
}  # fmt: skip


@pytest.mark.slow
def test_wrong_rates_are_told_in_every_experiment(h2o2, tmp_path, monkeypatch, in_process, coarse):
    """Of a library whose rate of OH + H2 is a fifth too high, which stands for the right one
    everywhere: a row of CVODE is above its limit in each experiment, and the page says that those
    of the solver beside itself, which are right, share the cause."""
    text = h2o2.text.replace("A: 2.16e+08", "A: 2.6e+08")
    assert text != h2o2.text
    wrong = Solver(mechanism_of_text(text, "h2o2.yaml", "")).library

    def begin(self, mechanism, tolerance=TOLERANCE, volume=False, folder=None, enthalpy=False):
        Integrator.__init__(self, wrong, tolerance, volume, enthalpy)
        self.mechanism = mechanism

    monkeypatch.setattr(Solver, "__init__", begin)
    with in_process():
        found = check_mechanism("h2o2.yaml", folder=tmp_path, workers=1, size=0.05)
    rows = found["verdict"]
    bad = {row["what"] for row in rows if row["reference"] == CVODE and not row["right"]}
    assert {what.split(":")[0] for what in bad} == EXPERIMENTS
    names = shares_cause(rows)
    assert "premixed flame: speed" in names and "stirred reactors: mean T" in names
    assert "share the cause" in sentence(found)


def test_each_experiment_has_a_row_of_cvode(checked):
    beside = {row["what"].split(":")[0] for row in checked["verdict"] if row["reference"] == CVODE}
    assert beside == EXPERIMENTS and shares_cause(checked["verdict"]) == []


def test_a_flame_that_goes_out_is_compared_before(h2o2, solver, conditions, monkeypatch):
    """With CVODE, in the cells of Cantera's flame."""
    monkeypatch.setattr(flows, "PREMIXED", FlameMarch(cells=40, tolerance=0.02))
    monkeypatch.setattr(flows, "beside_itself", lambda *_: (None, None))
    found = flows.where_possible(flows.premixed_flame, h2o2, solver, conditions)
    assert "goes out" in found["skipped"] and 0.0 < found["reference"] < 1e-6


def test_what_fails_is_told_by_its_outcome(checked):
    """And not as a number that is missing."""
    parts = json.loads(json.dumps(checked["parts"]))
    parts["ignitions, dt 1e-06 s"][0]["errors"]["0.001"] = None
    parts["premixed flame"]["errors"] |= {"outcome": "went out", "speed_error": None}
    parts["counterflow flame"] |= {"outcome": "not finite"}
    parts["stirred reactors"]["cases"][1]["outcome"] = "went out"
    told = {row["what"]: value(row) for row in judge(checked | {"parts": parts})}
    assert told["ignition delay"] == "**a case does not ignite**"
    assert told["premixed flame: speed"] == "**went out**"
    assert told["counterflow flame: peak T"] == "**not finite**"
    assert told["stirred reactors: mean T"] == "**went out**"


def test_a_solver_that_fails_in_a_flow_is_wrong(h2o2, solver, conditions, monkeypatch):
    """One that cannot advance gas above 1500 K: neither flames nor reactors are left out."""

    class Cold(Solver):
        def attempt(self, T, p, Y, dt, tolerance=None, max_steps=0):
            found = super().attempt(T, p, Y, dt, tolerance, max_steps)
            found.error[np.asarray(T) > 1500.0] = np.inf
            return found

    monkeypatch.setattr(flows, "PREMIXED", FlameMarch(cells=40, tolerance=0.02))
    monkeypatch.setattr(flows, "STEPS_PER_TIME", 250)
    cold = Cold(h2o2)
    flame = flows.where_possible(flows.premixed_flame, h2o2, cold, conditions)
    assert flame["errors"]["outcome"] == "not finite" and np.isnan(flame["errors"]["speed_error"])
    reactors = flows.where_possible(flows.stirred, h2o2, cold, conditions)
    assert reactors["cases"][0]["errors"]["T"]["largest"] == np.inf


def test_flames_are_left_out_where_a_species_lacks_transport_data(h2o2, solver, conditions):
    start = h2o2.text.index("  transport:", h2o2.text.index("- name: H2O2"))
    text = h2o2.text[:start] + h2o2.text[h2o2.text.index("- name: AR") :]
    found = flows.where_possible(
        flows.premixed_flame, mechanism_of_text(text, "m.yaml", ""), solver, conditions
    )
    assert found == {"skipped": "m.yaml has no transport data of H2O2"}


def test_a_reactor_that_goes_out_is_not_compared(h2o2, solver, conditions):
    thin = replace(conditions, oxidizer="O2:1, N2:30")
    assert "1 atm" in flows.stirred(h2o2, solver, thin)["skipped"]


@pytest.mark.parametrize(
    "wrong", [{"size": float("nan")}, {"size": -3.0}, {"workers": -1}, {"workers": 1.5}]
)
def test_numbers_that_are_none_are_refused(wrong, tmp_path):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        check_mechanism("h2o2.yaml", folder=tmp_path, **wrong)


def test_bad_states_are_counted(h2o2, conditions):
    """A solver that stops half-way is bad where much happens; one that fails is counted."""

    class Half(Solver):
        def attempt(self, T, p, Y, dt, tolerance=None, max_steps=0):
            found = super().attempt(T, p, Y, dt, tolerance, max_steps)
            if tolerance == states.TOLERANCE and np.ndim(dt):
                found.T[:] = 0.5 * (found.T + T)
                found.error[:3] = np.inf if len(T) > 1 else 1.0
            return found

    found = states.compare(h2o2, Half(h2o2), conditions, 512)
    assert found["failed"] == 3 and 75 < found["bad"] < 768 and found["labels"] < 1e-5
