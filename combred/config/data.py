"""Settings of the data: CVODE, the states, and what a training is made accurate in."""

from dataclasses import dataclass

from combred.config.fields import check, require, setting


@dataclass(frozen=True)
class ChemistrySettings:
    """Tolerances of CVODE, the reference."""

    rtol: float = setting(1e-8, "relative tolerance of CVODE", within=(1e-13, 1e-2))
    atol: float = setting(1e-16, "absolute tolerance of CVODE", within=(1e-30, 1e-3))

    def __post_init__(self):
        check(self, "chemistry")


@dataclass(frozen=True)
class SamplingSettings:
    """The states that the network is trained on: their number, kinds and ranges.

    `ignitions` and the settings of flames are of the sampler 'premixed' alone, and say so in their
    help; all others are of both samplers.
    """

    states: int = setting(110_000, "rows of the state file", within=(1, 1e8))
    sampler: str = setting(
        "flow",
        "'flow': mixtures of fresh and burnt gas, air and fuel, ignitions, mixing layers, flames; "
        "'premixed': ignitions and premixed flames",
        among=("flow", "premixed"),
    )
    dt: list[float] = setting(
        [1e-8, 1e-5],
        "range of the time steps, log-uniform over the rows",
        "s",
        within=(1e-12, 1e-2),
    )
    fuel: str = setting(
        "auto", "fuel in moles, as in CH4:1; auto: that of the mechanism, where it has only one"
    )
    oxidizer: str = setting("O2:1, N2:3.76", "oxidizer in moles")
    T0: list[float] = setting(
        [],
        "range of the initial temperature of ignitions; empty: to 2300 K, from 100 K below the "
        "lowest at which a stoichiometric mixture ignites within 50 ms at 20 atm",
        "K",
        within=(200.0, 4000.0),
    )
    p: list[float] = setting(
        [30_398.0, 6_079_500.0],
        "range of the pressure, log-uniform",
        "Pa",
        within=(100.0, 1e8),
    )
    phi: list[float] = setting(
        [0.25, 4.0],
        "range of the equivalence ratio of premixed gas; log-uniform for 'flow', uniform for "
        "'premixed'",
        within=(0.01, 100.0),
    )
    held_out: float = setting(
        0.05,
        "share of the blocks of rows ('flow') or of the ignitions and flames ('premixed') held out "
        "of training, for the validation loss",
        within=(1e-4, 0.9),
    )
    ignitions: int = setting(1200, "'premixed' only: number of 0D ignitions", within=(1, 1e6))
    flames: int = setting(80, "'premixed' only: number of 1D flames", within=(0, 1e5))
    flame_phi: list[float] = setting(
        [0.5, 1.7],
        "'premixed' only: range of the equivalence ratio of flames",
        within=(0.1, 10.0),
    )
    flame_T: list[float] = setting(
        [300.0, 450.0, 600.0, 800.0],
        "'premixed' only: unburnt temperatures of flames",
        "K",
        within=(200.0, 1500.0),
    )
    flame_share: float = setting(
        0.4, "'premixed' only: share of the rows that come from flames", within=(0.0, 0.99)
    )

    def __post_init__(self):
        check(self, "sampling")
        for name in ("T0", "p", "phi", "dt", "flame_phi"):
            low_high = getattr(self, name)
            open_range = name == "T0" and not low_high
            require(
                open_range or (len(low_high) == 2 and low_high[0] <= low_high[1]),
                f"sampling.{name}={low_high} must be [low,high] with low <= high",
            )
        require(len(self.flame_T) > 0, "sampling.flame_T needs at least one temperature")
        trajectories = self.ignitions + self.flames
        require(
            self.sampler == "flow" or self.states >= 10 * trajectories,
            f"sampling.states={self.states} are fewer than ten for each of {trajectories} "
            "trajectories: ask for more states, or fewer sampling.ignitions or sampling.flames",
        )


@dataclass(frozen=True)
class SensitivitySettings:
    """The ignitions, flames and flame kernels whose delays, speeds, peaks and masses a training
    makes accurate; of networks that correct QSS steps. Fuel, oxidizer and ranges are those of the
    sampling."""

    ignitions: int = setting(
        40,
        "number of ignitions with the sensitivity of their delay, for the training; 0: none",
        within=(0, 1e5),
    )
    flames: int = setting(
        12,
        "number of premixed flames with the sensitivity of their speed, for the training; 0: none",
        within=(0, 1e4),
    )
    counterflows: int = setting(
        3,
        "number of counterflow flames with the sensitivities of their peaks, for the training; 0: "
        "none",
        within=(0, 1e4),
    )
    kernels: int = setting(
        6,
        "number of flame kernels, which grow or go out, with the sensitivities of the masses of "
        "their species, for the training; 0: none",
        within=(0, 1e4),
    )

    def __post_init__(self):
        check(self, "sensitivity")
