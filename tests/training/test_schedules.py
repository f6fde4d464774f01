"""Schedules of the learning rate and of the batch size."""

import numpy as np
import pytest

from combred.config import TrainingSettings
from combred.training import schedules
from combred.training.schedules import batch_sizes, learning_rate


@pytest.mark.parametrize("warmup", [0.0, schedules.WARMUP, 0.25])
def test_the_cosine_falls_from_lr_to_its_end(warmup, monkeypatch):
    monkeypatch.setattr(schedules, "WARMUP", warmup)
    monkeypatch.setattr(schedules, "LR_FINAL", 1e-5)
    settings = TrainingSettings(steps=1000, lr=1e-2)
    warm = int(warmup * 1000)
    assert learning_rate(settings, warm) == pytest.approx(1e-2, rel=1e-12)
    # The last step is one before the end: (pi / steps)^2 / 4 of the range above LR_FINAL.
    end = 1e-5 + 1e-2 * (np.pi / (1000 - warm)) ** 2 / 4
    assert learning_rate(settings, 999) == pytest.approx(end, rel=1e-3)
    middle = warm + (1000 - warm) // 2
    assert learning_rate(settings, middle) == pytest.approx(0.5 * (1e-2 + 1e-5), rel=0.01)
    rates = [learning_rate(settings, step) for step in range(1000)]
    assert np.all(np.diff(rates[:warm]) > 0) and np.all(np.diff(rates[warm:]) < 0)
    assert 0 < min(rates) and max(rates) == pytest.approx(1e-2, rel=1e-12)


@pytest.mark.parametrize("phases", [2, 3, 5])
def test_batches_grow_geometrically_from_first_to_last(phases):
    settings = TrainingSettings(steps=100, batch=100, batch_final=1600, batch_phases=phases)
    sizes = batch_sizes(settings)
    assert len(sizes) == 100
    assert (sizes[0], sizes[-1]) == (100, 1600)
    values, lengths = np.unique(sizes, return_counts=True)
    assert len(values) == phases
    assert lengths.max() - lengths.min() <= 1  # phases of equal length
    ratios = values[1:] / values[:-1]
    assert np.allclose(ratios, 16 ** (1 / (phases - 1)), rtol=0.02)  # rounded to whole rows


def test_one_phase_keeps_the_batch_size():
    settings = TrainingSettings(steps=10, batch=128, batch_final=128, batch_phases=1)
    assert batch_sizes(settings) == [128] * 10
