"""Schedules of the learning rate and of the batch; the precision of a device."""

import numpy as np
import pytest

from combred.config.learning import TrainingSettings
from combred.surrogates.training.devices import fastest_precision, open_device
from combred.surrogates.training.schedules import LR_FINAL, WARMUP, batch_sizes, learning_rate


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


@pytest.mark.parametrize("phases", [1, 2, 3, 5])
def test_batches_grow_geometrically_from_first_to_last(phases):
    last = 100 * 2 ** (phases - 1)
    settings = TrainingSettings(steps=100, batch=100, batch_final=last)
    sizes = batch_sizes(settings)
    assert settings.batch_phases == phases
    assert len(sizes) == 100
    assert (sizes[0], sizes[-1]) == (100, last)
    values, lengths = np.unique(sizes, return_counts=True)
    assert len(values) == phases
    assert lengths.max() - lengths.min() <= 1  # phases of equal length
    assert (values[1:] == 2 * values[:-1]).all()


def test_the_precision_is_told_with_its_reason():
    precision, reason = fastest_precision(open_device())
    assert precision in ("float32", "bf16") and ("no" in reason) == (precision == "float32")
