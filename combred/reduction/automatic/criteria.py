"""Settings, criteria, rates and thresholds of the loop: Chen & Xu 2024, equations 21 to 25."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass


def fall(t: int, high: float, low: float, period: int) -> float:
    """A cosine from `high` at t <= 0 to `low` at t >= period (equations 21 and 22):

    low + 0.5 (high - low) (1 + cos(pi t / period))
    """
    if t <= 0:
        return high
    if t >= period:
        return low
    return low + 0.5 * (high - low) * (1.0 + math.cos(math.pi * t / period))


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


@dataclass(frozen=True)
class AutomaticSettings:
    """Criteria, learning rates, thresholds and limits of an automatic reduction.

    Defaults are the paper's, where the metric is an accuracy and a training step is an epoch.
    Criteria are in the units of the caller's metric. Raises ValueError, naming the setting, for
    values that contradict each other or lie outside of their range.
    """

    # equation (22)
    main_max: float = 0.88  # main criterion: meeting it starts a main reduction
    main_min: float = 0.85
    layer_max: float = 0.84  # layer-by-layer criterion: meeting it completes a layer
    layer_min: float = 0.81
    criterion_period: int = 100  # T_Acc, reductions
    # equation (21)
    rate_max: float = 0.01
    rate_min: float = 1e-4
    rate_period: int = 200  # T_lr, reductions
    # equations (23) to (25): threshold 1 / (1 + exp(-logit - logit_step t_fail))
    logit: float = 2.0
    logit_step: float = 0.1
    too_little: float = 0.999  # a success that leaves a larger share of the parameters: t_fail - 1
    step_limit: int = 20  # training steps after a reduction, of all layers but the last
    step_increment: int = 10  # steps added to the limit after each failure, for all later ones
    last_steps: int | None = 200  # of the last layer; None: as the others
    last_criterion: float | None = 0.8  # of the last layer; None: as the others
    deviation: float | None = 0.5  # with a metric below it the network has deviated; None: never
    deviation_steps: int = 10  # ... from so many steps after the reduction on
    final_threshold: float | None = 0.4  # of the layer in front of the output layer; None: no cut
    final_steps: int = 200
    target: int | None = None  # parameters at which the reduction ends; None: when none is left
    max_steps: int = 20_000  # of all training together (the paper: some 15,200)
    attempts: int = 20  # failures of one layer in one main reduction, after which it is left
    patience: int = 10  # main reductions in a row that remove nothing, after which it ends
    layers: tuple[str | int, ...] | None = None  # in order; None: all but the final cut's

    def __post_init__(self):
        if self.layers is not None:
            object.__setattr__(self, "layers", tuple(self.layers))
        for name, value in asdict(self).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name}={value} must be finite")
        for right, message in [*self._criteria(), *self._ranges()]:
            if not right:
                raise ValueError(message)

    def _criteria(self) -> Iterator[tuple[bool, str]]:
        """Each criterion falls, and none asks for more than the one before it."""
        pairs = (
            ("main_min", "main_max", "it falls to it"),
            ("layer_min", "layer_max", "it falls to it"),
            ("rate_min", "rate_max", "it falls to it"),
            ("layer_min", "main_min", "a condensed layer has to meet less"),
            ("layer_max", "main_max", "a condensed layer has to meet less"),
            ("last_criterion", "main_max", "give it in the units of the metric, or None"),
            ("deviation", "layer_min", "give it in the units of the metric, or None"),
            ("deviation", "last_criterion", "give it in the units of the metric, or None"),
        )
        for name, upper, why in pairs:
            low, high = getattr(self, name), getattr(self, upper)
            right = low is None or high is None or low <= high
            yield right, f"{name}={low} lies above {upper}={high}: {why}"

    def _ranges(self) -> Iterator[tuple[bool, str]]:
        """Ranges; numbers of steps, reductions and attempts are whole."""
        for name, lowest in (
            *(("criterion_period", 1), ("rate_period", 1), ("step_limit", 1), ("last_steps", 1)),
            *(("deviation_steps", 1), ("final_steps", 1), ("max_steps", 1), ("attempts", 1)),
            *(("patience", 1), ("target", 1), ("step_increment", 0)),
        ):
            value = getattr(self, name)
            right = type(value) is int and value >= lowest
            right = right or value is None and name in ("last_steps", "target")
            yield right, f"{name}={value} must be a whole number, at least {lowest}"
        yield self.rate_min >= 0, f"rate_min={self.rate_min} must not be negative"
        yield self.rate_max > 0, f"rate_max={self.rate_max} must be positive"
        yield self.logit_step > 0, f"logit_step={self.logit_step} must be positive"
        yield 0 < self.too_little <= 1, f"too_little={self.too_little} must lie in (0, 1]"
        cut = self.final_threshold
        yield cut is None or -1 <= cut <= 1, f"final_threshold={cut} is a cosine, in [-1, 1]"
        yield self.layers != (), "layers=() names no layer"

    def main_criterion(self, reductions: int) -> float:
        """The main criterion after so many reductions (equation 22)."""
        return fall(reductions - 1, self.main_max, self.main_min, self.criterion_period)

    def layer_criterion(self, reductions: int) -> float:
        """The layer-by-layer criterion after so many reductions (equation 22)."""
        return fall(reductions - 1, self.layer_max, self.layer_min, self.criterion_period)

    def rate(self, reductions: int) -> float:
        """The initial learning rate after so many reductions (equation 21)."""
        return fall(reductions - 1, self.rate_max, self.rate_min, self.rate_period)

    def threshold(self, t_fail: int) -> float:
        """The condensation threshold of a layer (equations 23 to 25)."""
        return logistic(self.logit + self.logit_step * t_fail)
