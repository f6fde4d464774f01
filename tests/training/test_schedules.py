"""Schedules of the learning rate and of the batch."""

import numpy as np
import pytest

from combred.config import TrainingSettings
from combred.training.schedules import LR_FINAL, WARMUP, batch_sizes, learning_rate


@pytest.mark.parametrize("steps", [1000, 200])
def test_the_cosine_starts_at_lr_and_ends_at_its_last_rate(steps):
    settings = TrainingSettings(steps=steps, lr=1e-2)
    warm = round(WARMUP * steps)
    assert learning_rate(settings, warm) == pytest.approx(1e-2, rel=1e-12)
    # The last step is one short of the end: (pi / steps)^2 / 4 of the range above LR_FINAL.
    end = LR_FINAL + 1e-2 * (np.pi / (steps - warm)) ** 2 / 4
    assert learning_rate(settings, steps - 1) == pytest.approx(end, rel=1e-3)
    middle = warm + (steps - warm) // 2
    assert learning_rate(settings, middle) == pytest.approx(0.5 * (1e-2 + LR_FINAL), rel=0.01)
    rates = [learning_rate(settings, step) for step in range(steps)]
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


def test_one_phase_keeps_the_batch():
    settings = TrainingSettings(steps=10, batch=128, batch_final=128, batch_phases=1)
    assert batch_sizes(settings) == [128] * 10
