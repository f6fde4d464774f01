"""Labelled states with the sensitivity of a delay, a speed, a peak or a mass to errors.

With the sensitivity s at the end of a step, and an error e of Y there, the relative error of an
ignition's delay, a flame's speed, a counterflow flame's peak or a species' mass in a flame kernel
is the mean of s . e / dt over the rows of its trajectory (`sensitivity.delay`,
`flame_speed`, `counterflow`, `sensitivity.flame_kernel`).
`sensitivity.sampling.sample` makes them, and the training loss computes these errors
(`training.sensitivity_loss`).
"""

from dataclasses import dataclass

import numpy as np

from combred.experiments.labelled import LabelledStates


@dataclass
class SensitiveStates(LabelledStates):
    """Rows with the sensitivity (n, n_species) [s]; trajectory (n,): one number for all rows of an
    ignition, of each dt and quantity of a flame, and of each species of a flame kernel."""

    sensitivity: np.ndarray
    trajectory: np.ndarray
