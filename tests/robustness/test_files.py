"""Damaged and exchanged files of a run are refused, made again, or make no difference."""

import pytest

from benchmarks.hostile import files, interruptions
from benchmarks.hostile.outcome import ask

DRAWN, REMEDIES = 30, 3
STOPS = interruptions.STOPS


def test_damaged_files_of_a_finished_run(runs, fast):
    counts = files.attack_all(*runs, seed=0, flips=3, draw=DRAWN, remedies=REMEDIES)
    assert counts.through == []
    assert counts.tried == DRAWN and counts.refused > DRAWN // 3 and counts.harmless > 3


@pytest.mark.parametrize("step", [name for name, stop in STOPS.items() if stop.left])
def test_damaged_files_of_an_unfinished_run(runs, fast, tmp_path, step):
    counts = interruptions.attack_unfinished(*runs, tmp_path, step, seed=1, draw=2)
    assert counts.through == [] and counts.tried == 2


@pytest.mark.parametrize("step", list(STOPS))
def test_an_interrupted_step_goes_on_to_the_same_results(runs, fast, tmp_path, monkeypatch, step):
    stop, whole = STOPS[step], files.results(runs[0])
    here = interruptions.unfinished(runs[0], files.SMALL, tmp_path, stop)
    monkeypatch.chdir(tmp_path)
    answer = ask([*files.SMALL, f"only={stop.only}"])
    assert answer.status == 0, answer
    found = files.results(here)
    assert all(found[name] == whole[name] for name in stop.gives)
    assert not list(here.glob("*.partial.h5")) + list(here.glob("*.checkpoint"))


@pytest.mark.parametrize("number", [1, -2, -40])
def test_a_process_that_ends_while_it_replaces_a_file(runs, fast, tmp_path, number):
    assert interruptions.crash(runs[0], tmp_path, "retraining", number) == ("harmless", "")


def test_another_result_without_a_word_would_be_seen(runs):
    run, other = runs
    one, two = files.results(run), files.results(other)
    assert {"states.h5", "stage2.safetensors", "validation.json"} <= set(files.differing(one, two))
    assert files.differing(one, files.results(run)) == []
