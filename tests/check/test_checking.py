"""A whole check: its numbers, its verdict, and what is done again."""

import json

import numpy as np
import pytest

from combred.check import check_mechanism, checking, states
from combred.check.verdict import judge
from combred.native.solver import Solver


def test_the_solver_of_hydrogen_is_right(checked, tmp_path):
    assert json.loads((tmp_path / "check.json").read_text())["verdict"] == checked["verdict"]
    assert len(checked["verdict"]) == 10
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
    found = check_mechanism(
        "h2o2.yaml", folder=tmp_path, workers=1, size=0.05, on_progress=lambda *a: done.append(a)
    )
    assert found["parts"] == checked["parts"] and found["times"] == checked["times"]
    assert done[0][:2] == (7, 9) and done[-1][:2] == (9, 9)


def test_a_folder_of_another_check_is_refused(checked, tmp_path):
    with pytest.raises(ValueError, match="check.json is of .*another folder"):
        check_mechanism("h2o2.yaml", folder=tmp_path, workers=1, size=0.1)


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
    assert verdict(lambda parts: parts["premixed flame"].update(reference=1e-2)) == [
        "solver in doubles, premixed flame"
    ]
    assert verdict(lambda parts: parts["premixed flame"]["errors"].update(speed_error=None)) == [
        "premixed flame: speed"
    ]
    skipped = {"skipped": "no transport data"}
    assert verdict(lambda parts: parts.update({"counterflow flame": skipped})) == []


def test_bad_states_are_counted(h2o2, conditions):
    """A solver that stops half-way is bad where much happens; one that fails is counted."""

    class Half(Solver):
        def integrate(self, T, p, Y, dt, tolerance=None, max_steps=0):
            found = super().integrate(T, p, Y, dt, tolerance, max_steps)
            if tolerance == states.TOLERANCE and np.ndim(dt):
                found.T[:] = 0.5 * (found.T + T)
                found.error[:3] = np.inf
            return found

    found = states.compare(h2o2, Half(h2o2), conditions, 512)
    assert found["failed"] == 3 and 50 < found["bad"] < 512 and found["labels"] < 1e-5
