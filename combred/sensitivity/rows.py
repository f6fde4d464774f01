"""Labelled states with the sensitivity of a delay, a speed, a peak or a mass to errors.

With the sensitivity s at the end of a step, and an error e of Y there, the relative error of an
ignition's delay, a flame's speed, a counterflow flame's peak or a species' mass in a flame kernel
is the mean of s . e / dt over the rows of its trajectory (`combred.sensitivity.delay`,
`speed_sensitivity`, `counterflow_sensitivity`, `flame_kernel`).
`combred.sensitivity.sampling.sample` makes them, and the training loss computes these errors
(`combred.training.sensitivity_loss`).
"""

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class SensitiveStates:
    """Rows: T, T_next (n,) [K], p (n,) [Pa], Y, Y_next (n, n_species), dt (n,) [s];
    sensitivity (n, n_species) [s]; trajectory (n,): one number for all rows of an ignition, of
    each dt and quantity of a flame, and of each species of a flame kernel."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    dt: np.ndarray
    T_next: np.ndarray
    Y_next: np.ndarray
    sensitivity: np.ndarray
    trajectory: np.ndarray

    @classmethod
    def join(cls, parts: list["SensitiveStates"]) -> "SensitiveStates":
        """The rows of all parts (one at least), in order."""
        return cls(*(np.concatenate(c) for c in zip(*(p.columns() for p in parts), strict=True)))

    def columns(self) -> list[np.ndarray]:
        """All arrays, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]
