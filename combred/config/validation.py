"""Settings of the validation."""

from dataclasses import dataclass

from combred.config.fields import require, setting


@dataclass(frozen=True)
class ValidationSettings:
    """The ignitions, and the flames if any, that a network is judged by."""

    T0: list[float] = setting([1400.0, 1500.0, 1600.0, 1700.0, 1800.0], "initial temperatures", "K")
    phi: list[float] = setting([0.6, 1.0, 1.4], "equivalence ratios")
    p: list[float] = setting([101325.0], "pressures", "Pa")
    burnt_time: float = setting(2e-3, "time marched past ignition", "s")
    longest: float = setting(0.1, "longest ignition delay waited for", "s")
    flame_phi: list[float] = setting([], "equivalence ratios of 1D flames; empty: no flames")
    flame_T: list[float] = setting([300.0], "unburnt temperatures of flames", "K")
    flame_cells: int = setting(200, "cells of a flame, over eight thicknesses")
    flame_tolerance: float = setting(0.001, "a flame is steady when its speed changes by less")
    flame_longest: float = setting(6.0, "longest march of a flame", "flame times")

    def __post_init__(self):
        for name in ("T0", "phi", "p", "flame_T"):
            values = getattr(self, name)
            require(
                len(values) > 0 and min(values) > 0, f"validation.{name}={values} must be positive"
            )
        require(
            min(self.flame_phi, default=1.0) > 0,
            f"validation.flame_phi={self.flame_phi} must be positive",
        )
        require(
            self.flame_cells >= 40,
            f"validation.flame_cells={self.flame_cells}: a flame needs at least 40, five to its "
            "thickness",
        )
        require(
            0 < self.flame_tolerance < 0.1 and self.flame_longest >= 1,
            f"validation.flame_tolerance={self.flame_tolerance} must lie in (0, 0.1), and "
            f"flame_longest={self.flame_longest} be at least 1 flame time",
        )
        require(
            min(self.burnt_time, self.longest) > 0,
            "validation.burnt_time and validation.longest must be positive",
        )
