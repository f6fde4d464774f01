"""Settings of the reduction: the stage table, or the criteria."""

from dataclasses import dataclass, replace

from combred.config.criteria import CRITERIA, parse_criteria
from combred.config.fields import require, setting
from combred.config.learning import TrainingSettings

REDUCTIONS = (
    *("condensation", "brain_surgeon", "interpolative", "folding"),
    *("neuron_merging", "channel_similarity", "magnitude"),
)


@dataclass(frozen=True)
class ReductionSettings:
    """The stage table: stage i condenses hidden layer layers[i-1] at thresholds[i-1]; or, where
    `parameters` are given, leaves parameters[i-1] of the first network's, by any method; or, where
    a `criteria` is given, stage 1 is the smallest network found that passes it."""

    method: str = setting("brain_surgeon", f"how units are chosen: {', '.join(REDUCTIONS)}")
    parameters: list[float] = setting(
        [0.115, 0.033, 0.012],
        "share of stage 0's parameters that each stage leaves, widths of all layers chosen; "
        "empty: the table of reduction.layers and reduction.thresholds",
    )
    layers: list[int] = setting(
        [1, 1, 1],
        "hidden layer condensed in each stage (1 is the first); given, it takes the place of "
        "reduction.parameters",
    )
    thresholds: list[float] = setting(
        [0.9, 0.8, 0.7], "cosine threshold of each stage; given, as reduction.layers"
    )
    compensation: str = setting(
        "least_squares",
        "how the next layer reads a reduced one: 'own' (the method's own mixing: for condensation "
        "the paper's ratios of norms) or 'least_squares'",
    )
    ridge: float = setting(1e-6, "relative ridge of the least squares")
    calibration: int = setting(20_000, "training states that least squares and errors use")
    min_width: int = setting(16, "a stage that would leave fewer units is refused")
    rates: list[float] = setting([], "retraining rate of each stage; empty: retraining.lr for all")
    criteria: str = setting(
        "",
        "errors that may be, as ignition:1%,flame:0.5%: stage 1 is then the smallest network found "
        f"that keeps them, widths of all layers chosen; of {', '.join(CRITERIA)}",
    )
    criteria_ignitions: int = setting(
        12, "ignitions of the criteria, drawn inside the validation's range"
    )
    criteria_flames: int = setting(3, "flames of the criteria, drawn inside the validation's range")
    criteria_seed: int = setting(1, "seed of the criteria's cases")
    factor: float = setting(0.5, "share of the parameters that the criteria's first cuts leave")
    max_keep_ratio: float = setting(0.88, "a criteria's cut that would leave more is not tried")
    attempts: int = setting(12, "cuts that the criteria may judge")

    def __post_init__(self):
        self._require_criteria()
        require(
            len(self.layers) == len(self.thresholds) > 0,
            f"reduction.layers={self.layers} and reduction.thresholds={self.thresholds} need one "
            "entry each for every stage",
        )
        require(min(self.layers) > 0, f"reduction.layers={self.layers}: hidden layers count from 1")
        require(
            self.method in REDUCTIONS,
            f"reduction.method={self.method!r} is none of {', '.join(REDUCTIONS)}",
        )
        falling = all(a > b for a, b in zip([1.0, *self.parameters], self.parameters, strict=False))
        require(
            falling and min(self.parameters, default=1.0) > 0,
            f"reduction.parameters={self.parameters} are shares of the first network's: they lie "
            "between 1 and 0 and fall from stage to stage",
        )
        require(
            bool(self.parameters or self.criteria) or self.method == "condensation",
            f"reduction.method={self.method} wants reduction.parameters=[...], the share of the "
            "parameters that each stage leaves: a cosine threshold means nothing to it",
        )
        require(
            all(-1 <= t <= 1 for t in self.thresholds),
            f"reduction.thresholds={self.thresholds} must lie in [-1, 1]",
        )
        require(
            self.compensation != "norm",
            "reduction.compensation=norm is called own now: give reduction.compensation=own",
        )
        require(
            self.compensation in ("own", "least_squares"),
            f"reduction.compensation={self.compensation!r}: own or least_squares",
        )
        require(
            not self.rates
            or bool(self.criteria)
            or (len(self.rates) == self.stages and min(self.rates) > 0),
            f"reduction.rates={self.rates} needs one positive rate for each of {self.stages} "
            "stages, or none",
        )
        require(
            self.calibration > 0 and self.min_width > 0 and self.ridge >= 0,
            "reduction.calibration and min_width must be positive, ridge not negative",
        )

    def _require_criteria(self) -> None:
        parse_criteria(self.criteria)
        require(
            0 < self.factor <= self.max_keep_ratio < 1,
            f"reduction.factor={self.factor} and reduction.max_keep_ratio={self.max_keep_ratio} are shares of "
            "the parameters that a cut leaves: 0 < factor <= max_keep_ratio < 1",
        )
        for name in ("criteria_ignitions", "criteria_flames", "attempts"):
            value = getattr(self, name)
            require(value > 0, f"reduction.{name}={value} must be at least 1")
        require(
            self.criteria_seed >= 0,
            f"reduction.criteria_seed={self.criteria_seed} must not be negative",
        )

    @property
    def limits(self) -> dict[str, float]:
        """What the criteria asks for: the largest error of each kind, a share. {}: there is no criteria."""
        return parse_criteria(self.criteria)

    @property
    def stages(self) -> int:
        """How many stages the table has."""
        return 1 if self.criteria else len(self.parameters) or len(self.layers)

    def retraining_of(self, stage: int, settings: TrainingSettings) -> TrainingSettings:
        """The training settings after the reduction of a stage (1 is the first)."""
        if self.criteria or not self.rates:
            return settings
        return replace(settings, lr=self.rates[stage - 1])
