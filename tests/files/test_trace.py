"""Traces: the state is loaded by what wrote it; refused, with the difference, by anything else."""

import numpy as np
import pytest
import torch

from combred.files.trace import Trace


def test_a_saved_state_is_loaded_with_its_rows(tmp_path):
    path, state = tmp_path / "a.state", {"x": torch.arange(3), "step": 7}
    one = Trace(path, {"seed": (1, 2)})
    assert one.load() is None
    one.add({"loss": 0.5})
    one.save(state)
    one.add({"loss": 0.4})  # of an interrupted computation: no state is saved after it
    other = Trace(path, {"seed": (1, 2)})
    found = other.load()
    assert torch.equal(found["x"], state["x"]) and found["step"] == 7
    assert other.rows == [{"loss": 0.5}]
    assert {p.name for p in tmp_path.iterdir()} == {"a.state", "a.jsonl"}
    assert (tmp_path / "a.jsonl").read_text() == '{"loss": 0.5}\n'


def test_without_rows_there_is_the_state_alone(tmp_path):
    path = tmp_path / "a.checkpoint"
    Trace(path, {}).save({"step": 7})
    assert Trace(path, {}).load() == {"step": 7}
    assert [p.name for p in tmp_path.iterdir()] == ["a.checkpoint"]


def test_a_state_may_go_on_without_its_rows_where_it_says_so(tmp_path):
    one = Trace(tmp_path / "a.state", {})
    one.add({"loss": 0.5})
    one.save({"step": 7})
    (tmp_path / "a.jsonl").write_text('{"loss": 0.4}\n')
    for needs_rows, remedy in ((True, "Move both away"), (False, "Move it away: its rows are")):
        with pytest.raises(ValueError, match=remedy):
            Trace(tmp_path / "a.state", {}).load(needs_rows)
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(ValueError, match="it has 0"):
        Trace(tmp_path / "a.state", {}).load()
    other = Trace(tmp_path / "a.state", {})
    assert other.load(needs_rows=False) == {"step": 7} and other.rows == []
    other.add({"loss": 0.3})
    other.save({"step": 8})
    again = Trace(tmp_path / "a.state", {})
    assert again.load() == {"step": 8} and again.rows == [{"loss": 0.3}]


def test_without_a_path_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = Trace(None, {})
    assert trace.load() is None
    trace.add({"loss": 0.5})
    trace.save({"step": 7})
    assert trace.rows == [{"loss": 0.5}] and not list(tmp_path.iterdir())


def test_other_inputs_are_refused_with_both_sides_and_the_remedy(tmp_path):
    path = tmp_path / "a.state"
    Trace(path, {"x": "x" * 500, "training": {"lr": 0.1, "steps": 5}}).save({})
    told = "training.lr: 0.1 then, 0.2 now.*those again, or move"
    with pytest.raises(ValueError, match=told) as raised:
        Trace(path, {"x": "x" * 500, "training": {"lr": 0.2, "steps": 5}}).load()
    assert len(str(raised.value)) < 400


def test_a_flipped_bit_is_never_used(tmp_path):
    path, rng = tmp_path / "a.state", np.random.default_rng(0)
    state = {"x": torch.randn(500, generator=torch.Generator().manual_seed(0)), "step": 7}
    Trace(path, {}).save(state)
    whole = path.read_bytes()
    for place in rng.integers(len(whole), size=80):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:  # a flip in the zip's own tables may leave the content as it was
            found = Trace(path, {}).load()
        except ValueError:
            continue
        assert torch.equal(found["x"], state["x"]) and found["step"] == 7


@pytest.mark.parametrize("content", [[1, 2], {"x": 1}, {"kind": 3}])
def test_foreign_contents_are_refused(tmp_path, content):
    torch.save(content, tmp_path / "a.state")
    with pytest.raises(ValueError, match="no state that combred has saved"):
        Trace(tmp_path / "a.state", {}).load()
