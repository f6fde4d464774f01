"""Settings of the data: CVODE, the states, the segments."""

from dataclasses import dataclass

from combred.config.fields import require, setting


@dataclass(frozen=True)
class ChemistrySettings:
    """CVODE, as it labels states and serves as the reference."""

    rtol: float = setting(1e-8, "relative tolerance of CVODE")
    atol: float = setting(1e-16, "absolute tolerance of CVODE")

    def __post_init__(self):
        require(0 < self.rtol < 1, f"chemistry.rtol={self.rtol} must lie in (0, 1)")
        require(self.atol > 0, f"chemistry.atol={self.atol} must be positive")


@dataclass(frozen=True)
class SamplingSettings:
    """Which states the network is trained on."""

    states: int = setting(400_000, "rows of the state file")
    fuel: str = setting(
        "auto", "fuel, moles, as in CH4:1; auto: the first of CH4, H2, ... there is"
    )
    oxidizer: str = setting("O2:1, N2:3.76", "oxidizer, moles")
    ignitions: int = setting(1200, "0D ignition trajectories")
    T0: list[float] = setting([1150.0, 2100.0], "initial temperature of ignitions", "K")
    p: list[float] = setting([40_530.0, 253_312.0], "pressure, log-uniform", "Pa")
    phi: list[float] = setting([0.35, 2.3], "equivalence ratio of ignitions")
    longest: float = setting(1.0, "longest time an ignition is followed", "s")
    burnt_time: float = setting(5e-3, "time followed past ignition", "s")
    flames: int = setting(80, "1D premixed flames")
    flame_phi: list[float] = setting([0.5, 1.7], "equivalence ratio of flames")
    flame_T: list[float] = setting(
        [300.0, 450.0, 600.0, 800.0], "unburnt temperatures of flames", "K"
    )
    flame_share: float = setting(0.4, "share of the rows that come from flames")
    exact: float = setting(1.0, "weight of unperturbed states in the mix")
    perturbed: float = setting(1.0, "weight of perturbed states in the mix")
    relaxed: float = setting(1.0, "weight of perturbed and relaxed states in the mix")
    perturbation: list[float] = setting([1e-3, 0.1], "width s of perturbed states, log-uniform")
    relaxed_perturbation: list[float] = setting([1e-2, 0.16], "width s before relaxation")
    relaxation: list[float] = setting([1e-7, 1e-4], "relaxation time, log-uniform", "s")
    keep_elements: bool = setting(True, "perturbed states keep the mass of every element")

    def __post_init__(self):
        for name in (
            "T0",
            "p",
            "phi",
            "flame_phi",
            "perturbation",
            "relaxed_perturbation",
            "relaxation",
        ):
            low_high = getattr(self, name)
            require(
                len(low_high) == 2 and 0 < low_high[0] <= low_high[1],
                f"sampling.{name}={low_high} must be [low, high] with 0 < low <= high",
            )
        require(self.ignitions > 0, "sampling.ignitions must be at least 1")
        require(self.flames >= 0, "sampling.flames must not be negative")
        require(len(self.flame_T) > 0, "sampling.flame_T needs at least one temperature")
        require(0 <= self.flame_share < 1, "sampling.flame_share must lie in [0, 1)")
        require(
            min(self.exact, self.perturbed, self.relaxed) >= 0 and self.exact > 0,
            "the mix needs sampling.exact > 0 and no negative weight",
        )
        trajectories = self.ignitions + self.flames
        require(
            self.states >= 10 * trajectories,
            f"sampling.states={self.states} are fewer than ten for each of {trajectories} "
            "trajectories: ask for more states, or fewer sampling.ignitions",
        )


@dataclass(frozen=True)
class SegmentSettings:
    """The segments that a training with rollout_steps marches: of ignitions, whose ranges, mixture
    and longest delay are those of the sampling, and from states of its flames."""

    trajectories: int = setting(500, "0D ignitions that segments are taken from")
    each: int = setting(120, "segments of each")
    T0_min: float = setting(1250.0, "their initial temperature, at least", "K")
    burnt_time: float = setting(4e-4, "time past ignition up to which segments begin", "s")
    flames: int = setting(
        40_000, "segments that begin at unperturbed flame states of the state file, if it has some"
    )

    def __post_init__(self):
        require(
            self.trajectories > 0 and self.each >= 4,
            f"segments.trajectories={self.trajectories} must be at least 1, and "
            f"segments.each={self.each} at least 4",
        )
        require(
            self.T0_min > 0 and self.burnt_time > 0,
            "segments.T0_min and segments.burnt_time must be positive",
        )
        require(self.flames >= 0, f"segments.flames={self.flames} must not be negative")
