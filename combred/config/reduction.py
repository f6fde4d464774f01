"""Settings of the reduction: the stage table, or the acceptance criteria of a search."""

import difflib
from dataclasses import dataclass

from combred.config.fields import check, is_positive, require, setting, shown

REDUCTIONS = (
    *("condensation", "brain_surgeon", "interpolative", "folding"),
    *("neuron_merging", "channel_similarity", "magnitude"),
)
COMPENSATIONS = ("own", "least_squares")
CRITERIA = {
    "ignition": "worst relative error of the ignition delay",
    "ignition_mean": "mean relative error of the ignition delay",
    "flame": "worst relative error of the laminar flame speed",
}


def parse_criteria(text: str) -> dict[str, float]:
    """The limits by kind of error, as shares: "ignition:1%,flame:0.005" -> 0.01 and 0.005.

    Raises ValueError for a kind that is not in `CRITERIA`, naming the nearest, for one given twice,
    and for a limit that is no positive number. A plain number of 1 or more is refused, since a
    percent sign was probably forgotten.
    """
    limits: dict[str, float] = {}
    for item in text.split(",") if text.strip() else []:
        name, _, amount = (part.strip() for part in item.partition(":"))
        if name not in CRITERIA:
            near = difflib.get_close_matches(name, CRITERIA, n=1, cutoff=0.4)
            raise ValueError(
                f"reduction.criteria: {shown(name)!r} is none of {', '.join(CRITERIA)}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        require(name not in limits, f"reduction.criteria: {name} is given twice")
        number = amount.removesuffix("%").strip()
        require(
            is_positive(number),
            f"reduction.criteria: {shown(item.strip())!r} wants a positive limit, as in {name}:1%",
        )
        require(
            amount.endswith("%") or float(number) < 1,
            f"reduction.criteria: {item.strip()!r}: a plain number is a share (0.01 is 1 %); for "
            f"percent write {name}:{number}%",
        )
        limits[name] = float(number) / (100 if amount.endswith("%") else 1)
    return limits


@dataclass(frozen=True)
class ReductionSettings:
    """How each stage makes the network of the stage before it smaller; one of three ways.

    `parameters`: stage i leaves the share parameters[i-1] of the first network's parameters, by any
    method. `layers` and `thresholds`: stage i condenses hidden layer layers[i-1] at the cosine
    threshold thresholds[i-1]. `criteria`: stage 1 is the smallest network found that meets them.
    """

    method: str = setting(
        "brain_surgeon", f"how units are chosen: {', '.join(REDUCTIONS)}", among=REDUCTIONS
    )
    parameters: list[float] = setting(
        [0.115, 0.033, 0.012],
        "share of stage 0's parameters that each stage leaves, widths of all layers chosen; "
        "empty: the table of reduction.layers and reduction.thresholds",
        within=(1e-6, 1.0),
    )
    layers: list[int] = setting(
        [1, 1, 1],
        "hidden layer that each stage condenses (1 is the first); takes the place of "
        "reduction.parameters",
        within=(1, 100),
    )
    thresholds: list[float] = setting(
        [0.9, 0.8, 0.7],
        "cosine threshold of each stage; goes with reduction.layers",
        within=(-1.0, 1.0),
    )
    compensation: str = setting(
        "least_squares",
        "how the next layer is corrected: 'least_squares', or 'own', the method's own rule (the "
        "norm ratios of Chen & Xu 2024)",
        among=COMPENSATIONS,
    )
    criteria: str = setting(
        "",
        "largest errors that are accepted, as ignition:1%,flame:0.5%: stage 1 is then the smallest "
        f"network found that meets them; of {', '.join(CRITERIA)}",
    )
    attempts: int = setting(
        12, "networks that the search for the criteria may judge", within=(1, 1e4)
    )

    def __post_init__(self):
        parse_criteria(self.criteria)
        check(self, "reduction")
        require(
            len(self.layers) == len(self.thresholds) > 0,
            f"reduction.layers={self.layers} and reduction.thresholds={self.thresholds} need one "
            "entry each for every stage",
        )
        falling = all(a > b for a, b in zip([1.0, *self.parameters], self.parameters, strict=False))
        require(
            falling,
            f"reduction.parameters={self.parameters} are shares of the first network's: they lie "
            "between 1 and 0 and fall from stage to stage",
        )
        require(
            bool(self.parameters or self.criteria) or self.method == "condensation",
            f"reduction.method={self.method} needs reduction.parameters=[...], the share of the "
            "parameters that each stage leaves: only condensation has a cosine threshold",
        )

    @property
    def limits(self) -> dict[str, float]:
        """The largest accepted error of each kind, a share; {} where there are no criteria."""
        return parse_criteria(self.criteria)

    @property
    def stages(self) -> int:
        """Number of stages after stage 0."""
        return 1 if self.criteria else len(self.parameters) or len(self.layers)
