"""Settings of the data: the states, and what a training is made accurate in."""

from dataclasses import dataclass

from combred.config.fields import require
from combred.config.values import check, setting


@dataclass(frozen=True)
class SamplingSettings:
    """The states that the network is trained on: their number, kinds and ranges.

    `ignitions` is of the sampler 'premixed' alone; all others are of both samplers.
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
        [30_398.0, 6_079_500.0], "range of the pressure, log-uniform", "Pa", within=(100.0, 1e8)
    )
    phi: list[float] = setting(
        [0.25, 4.0],
        "range of the equivalence ratio of premixed gas; log-uniform for 'flow', uniform for "
        "'premixed'",
        within=(0.01, 100.0),
    )
    ignitions: int = setting(
        1200,
        "'premixed' only: number of 0D ignitions; for every 37 of them there is a 1D flame, where "
        "the mechanism has transport data",
        within=(1, 1e6),
    )

    def __post_init__(self):
        check(self, "sampling")
        for name in ("T0", "p", "phi", "dt"):
            low_high = getattr(self, name)
            open_range = name == "T0" and not low_high
            require(
                open_range or (len(low_high) == 2 and low_high[0] <= low_high[1]),
                f"sampling.{name}={low_high} must be [low,high] with low <= high",
            )
        require(
            self.sampler == "flow" or self.states >= 10 * self.ignitions,
            f"sampling.states={self.states} are fewer than ten for each of {self.ignitions} "
            "ignitions: ask for more states, or fewer sampling.ignitions",
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
