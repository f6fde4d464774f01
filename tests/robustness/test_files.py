"""Damaged and exchanged files of a run are refused, made again, or make no difference."""

import pytest

from benchmarks.hostile import files

DRAWN, REMEDIES = 45, 4


def test_damaged_files_of_a_finished_run(runs, fast):
    counts = files.attack_all(*runs, seed=0, flips=3, draw=DRAWN, remedies=REMEDIES)
    assert counts.through == []
    assert counts.tried == DRAWN and counts.refused > DRAWN // 3 and counts.harmless > 3


@pytest.mark.parametrize("step", list(files.STOPS))
def test_damaged_files_of_an_unfinished_run(runs, fast, tmp_path, step):
    counts = files.attack_unfinished(*runs, tmp_path, step, seed=1, draw=3)
    assert counts.through == [] and counts.tried == 3


def test_another_result_without_a_word_would_be_seen(runs):
    run, other = runs
    one, two = files.results(run), files.results(other)
    assert {"states.h5", "stage2.safetensors", "validation.json"} <= set(files.differing(one, two))
    assert files.differing(one, files.results(run)) == []
