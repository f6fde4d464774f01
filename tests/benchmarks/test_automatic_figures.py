"""Figures of an automatic reduction, drawn from a written trace."""

import json
from dataclasses import asdict

import pytest

from benchmarks.vision.automatic_figures import draw_course, draw_main_reduction, draw_trace
from combred.reduction.automatic import Event


def event(kind: str, phase: str, step: int, **changes) -> dict:
    """A line of a trace; without changes, a test in training."""
    numbers = {
        "event": 0, "step": step, "kind": kind, "phase": phase, "main": 1, "reductions": 0,
        "layer": "", "attempt": 0, "parameters_before": 100, "parameters_after": 100,
        "units_before": None, "units_after": None, "ratio": None, "metric": 0.9,
        "metric_cut": None, "metric_first": None, "criterion": 0.88, "threshold": None,
        "t_fail": None, "step_limit": None, "trained": 0, "rate": 0.01, "loss": 0.3, "reason": "",
        "units": {},
    }  # fmt: skip
    return asdict(Event(**{**numbers, **changes}))


LAYER = {"units_before": 8, "units_after": 6, "ratio": 0.75, "metric_cut": 0.5, "metric_first": 0.8}
TRACE = [
    event("test", "train", 0, main=0),
    event("main", "train", 5),
    event("cut", "layer", 5, layer="a", metric=0.5),
    event("rollback", "layer", 9, layer="a", metric=0.4, reason="limit"),
    event("met", "layer", 12, layer="b", parameters_after=80, **LAYER),
    event("unchanged", "layer", 12, layer="c", ratio=1.0, units_before=4, units_after=4),
    event("end", "train", 14, parameters_after=80, loss=None),
]


def write(folder, events: list[dict]):
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in events))
    return path


def test_both_figures_of_a_trace_are_written(tmp_path):
    drawn = draw_trace(write(tmp_path, TRACE), tmp_path / "figures", "accuracy [-]")
    assert [path.name for path in drawn] == ["automatic-course.png", "automatic-layers.png"]
    assert all(path.stat().st_size > 5000 for path in drawn)


def test_a_trace_without_reduced_layers_or_losses_has_one_figure_of_two_panels(tmp_path):
    events = [line | {"loss": None} for line in TRACE if line["phase"] == "train"]
    drawn = draw_trace(write(tmp_path, events), tmp_path)
    assert [path.name for path in drawn] == ["automatic-course.png"]
    assert len(draw_course(events).axes) == 2 and len(draw_course(TRACE).axes) == 3


def test_layers_of_a_main_reduction():
    figure = draw_main_reduction(TRACE, 1)
    bars = figure.axes[1].patches
    assert [bar.get_height() for bar in bars] == [0.75, 1.0]
    with pytest.raises(ValueError, match="main reduction 99"):
        draw_main_reduction(TRACE, 99)


def test_an_empty_trace_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no event"):
        draw_trace(write(tmp_path, []), tmp_path)
