"""Learning rate and batch size of every step of a training.

Takes `TrainingSettings`; gives numbers that depend on the step alone.
"""

import numpy as np

from combred.config.learning import TrainingSettings

WARMUP = 0.02  # share of the steps over which the learning rate rises from 0
LR_FINAL = 1e-6  # learning rate at the end of the cosine


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """Learning rate of a step: a linear warm-up to `lr`, then a cosine to `LR_FINAL`."""
    warm = WARMUP * settings.steps
    if step < warm:
        return settings.lr * (step + 1) / (warm + 1)
    progress = (step - warm) / max(settings.steps - warm, 1)
    fall = 0.5 * (1 + np.cos(np.pi * progress))
    return LR_FINAL + (settings.lr - LR_FINAL) * float(fall)


def batch_sizes(settings: TrainingSettings) -> list[int]:
    """Batch size of every step: from `batch` to `batch_final` in a geometric series, over
    `batch_phases` phases of equal length."""
    ratio = settings.batch_final / settings.batch
    phases = settings.batch_phases
    sizes = []
    for step in range(settings.steps):
        phase = step * phases // settings.steps
        sizes.append(round(settings.batch * ratio ** (phase / max(phases - 1, 1))))
    return sizes
