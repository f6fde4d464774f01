"""Settings of the validation."""

from dataclasses import dataclass

from combred.config.fields import require, setting


@dataclass(frozen=True)
class ValidationSettings:
    """The ignitions and flames in which every stage is compared with CVODE."""

    T0: list[float] = setting([1400.0, 1500.0, 1600.0, 1700.0, 1800.0], "initial temperatures", "K")
    phi: list[float] = setting([0.6, 1.0, 1.4], "equivalence ratios")
    p: list[float] = setting([101325.0], "pressures", "Pa")
    dt: float = setting(1e-6, "time step of the marches", "s")
    burnt_time: float = setting(2e-3, "time marched after 1.3 ignition delays", "s")
    flame_phi: list[float] = setting([], "equivalence ratios of 1D flames; empty: no flames")
    flame_T: list[float] = setting([300.0], "unburnt temperatures of flames", "K")

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
        require(self.dt > 0, f"validation.dt={self.dt} must be positive")
        require(self.burnt_time > 0, f"validation.burnt_time={self.burnt_time} must be positive")
