"""Settings of the validation."""

from dataclasses import dataclass

from combred.config.fields import require
from combred.config.values import check, setting


@dataclass(frozen=True)
class ValidationSettings:
    """The ignitions and flames in which every stage is compared with a reference."""

    T0: list[float] = setting(
        [],
        "initial temperatures; empty: three, 150 K apart, from the lowest at which stoichiometric "
        "mixtures ignite within 1600 steps",
        "K",
        (250.0, 4000.0),
    )
    phi: list[float] = setting([0.6, 1.0, 1.4], "equivalence ratios", within=(0.01, 100.0))
    p: list[float] = setting([101325.0, 2026500.0], "pressures", "Pa", (100.0, 1e8))
    dt: float = setting(1e-6, "time step of the simulations", "s", (1e-12, 1e-2))
    burnt_time: float = setting(1e-3, "time simulated after 1.3 ignition delays", "s", (1e-9, 10.0))
    flame_phi: list[float] = setting(
        [1.0],
        "equivalence ratios of 1D flames; empty, or without transport data: no flames",
        within=(0.1, 10.0),
    )
    flame_T: list[float] = setting([300.0], "unburnt temperatures of flames", "K", (200.0, 1500.0))
    flame_cells: int = setting(
        60, "cells of a flame, over eight of its thicknesses", within=(40, 1000)
    )

    def __post_init__(self):
        check(self, "validation")
        for name in ("phi", "p", "flame_T"):
            require(len(getattr(self, name)) > 0, f"validation.{name}=[] needs at least one value")
