"""Every setting refuses hostile values in one line that names it, or takes values in range."""

import pytest

from benchmarks.hostile import settings
from combred.config import keys

DRAWN = 8  # of some 90 values for each key: a different eight for each


@pytest.mark.parametrize("profile", ["default", "smoke"])
def test_hostile_values_of_every_setting(tmp_path, profile):
    counts = settings.attack(tmp_path, profile, DRAWN, seed=len(profile))
    assert counts.through == []
    assert counts.tried == DRAWN * len(keys()) and counts.refused > 0.8 * counts.tried


def test_a_value_out_of_range_would_be_seen():
    class Answer:
        status, silence, errors = 2, 0.0, ["error: no"]

    assert settings.judge("seed", Answer, []) == "wrong"  # it does not name the key
    Answer.status = 0
    assert settings.judge("seed", Answer, []) == "wrong"  # nothing was accepted
