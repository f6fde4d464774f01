"""Settings of the reduction: the stage table, the automatic loop, or the criteria of a search."""

import difflib
from dataclasses import dataclass

from combred.config.fields import require, shown
from combred.config.values import check, is_positive, number, setting

REDUCTIONS = (
    *("condensation", "brain_surgeon", "interpolative", "folding"),
    *("neuron_merging", "channel_similarity", "magnitude"),
)
COMPENSATIONS = ("own", "least_squares")
# Arguments of a method: the range of a number, or the texts that are possible.
OPTIONS: dict[str, dict[str, tuple]] = {
    "magnitude": {"criterion": ("l1", "l2", "l2-gm")},
    "neuron_merging": {"criterion": ("l1", "l2", "l2-gm"), "t": (-1.0, 1.0), "weight": (0.0, 1.0)},
}
CRITERIA = {
    "ignition": "worst relative error of the ignition delay",
    "ignition_mean": "mean relative error of the ignition delay",
    "flame": "worst relative error of the laminar flame speed",
}


def parse_method(text: str) -> tuple[str, dict[str, str | float]]:
    """The name of a method and its arguments: "neuron_merging:criterion=l1,t=0.45" ->
    "neuron_merging", {"criterion": "l1", "t": 0.45}.

    Raises ValueError, naming what is possible, for another method, argument or value.
    """
    method, _, rest = text.partition(":")
    possible, options = OPTIONS.get(method, {}), dict[str, str | float]()
    require(
        method in REDUCTIONS,
        f"reduction.method={shown(text)}: {', '.join(REDUCTIONS)} are possible",
    )
    for item in rest.split(",") if rest else []:
        name, _, value = item.partition("=")
        takes = f"takes {', '.join(f'{key}=' for key in possible)}, each once"
        require(
            name in possible and name not in options,
            f"reduction.method={shown(text)}: {method} "
            + (takes if possible else "takes no arguments"),
        )
        low, high = possible[name][0], possible[name][-1]
        if isinstance(low, str):
            right, options[name] = value in possible[name], value
            allowed = f"one of {', '.join(possible[name])}"
        else:
            options[name] = number(value)
            right = low <= options[name] <= high
            allowed = f"a number from {low:g} to {high:g}"
        require(right, f"reduction.method={shown(text)}: {name} is {allowed}")
    return method, options


def parse_criteria(text: str, name: str = "reduction.criteria") -> dict[str, float]:
    """The limits by kind of error, as shares: "ignition:1%,flame:0.005" -> 0.01 and 0.005.

    name: of the setting. Raises ValueError for a kind that is not in `CRITERIA`, naming the
    nearest, for one given twice, and for a limit that is no positive number. A plain number of 1 or
    more is refused, since a percent sign was probably forgotten.
    """
    limits: dict[str, float] = {}
    for item in text.split(",") if text.strip() else []:
        kind, _, amount = (part.strip() for part in item.partition(":"))
        if kind not in CRITERIA:
            near = difflib.get_close_matches(kind, CRITERIA, n=1, cutoff=0.4)
            raise ValueError(
                f"{name}: {shown(kind)!r} is none of {', '.join(CRITERIA)}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        require(kind not in limits, f"{name}: {kind} is given twice")
        digits = amount.removesuffix("%").strip()
        require(
            is_positive(digits),
            f"{name}: {shown(item.strip())!r} wants a positive limit, as in {kind}:1%",
        )
        limits[kind] = number(digits) / (100 if amount.endswith("%") else 1)
        require(
            amount.endswith("%") or limits[kind] < 1,
            f"{name}: {item.strip()!r}: a plain number is a share (0.01 is 1 %); for percent write "
            f"{kind}:{digits}%",
        )
    return limits


@dataclass(frozen=True)
class ReductionSettings:
    """How each stage makes the network of the stage before it smaller; one of four ways.

    `parameters`: stage i leaves the share parameters[i-1] of the first network's parameters, by any
    method. `layers` and `thresholds`: stage i condenses hidden layer layers[i-1] at the cosine
    threshold thresholds[i-1]. `criteria`: stage 1 is the smallest network found that meets them.
    `automatic`: stage 1 is the result of the loop of Chen & Xu 2024, figure 1.
    """

    method: str = setting(
        "condensation",
        f"how units are chosen: {', '.join(REDUCTIONS)}; the last three but channel_similarity "
        "take arguments, as neuron_merging:criterion=l1,t=0.45,weight=0.7",
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
        "largest errors that are accepted of the network alone, without the solver behind it, as "
        "ignition:1%,flame:0.5%: stage 1 is then the smallest network found that meets them; of "
        f"{', '.join(CRITERIA)}",
    )
    automatic: float = setting(
        0.0,
        "share of stage 0's parameters at which the automatic loop ends (Chen & Xu 2024, figure 1: "
        "condense a layer, retrain, test, restore), whose network is stage 1; 0: no loop",
        within=(0.0, 0.999),
    )
    attempts: int = setting(
        12,
        "networks that the search for the criteria may judge; retrainings that the loop may take",
        within=(1, 1e4),
    )

    def __post_init__(self):
        parse_criteria(self.criteria)
        parse_method(self.method)
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
            not self.automatic or self.method == "condensation" and not self.criteria,
            f"reduction.automatic={self.automatic:g} is a loop of condensation with criteria of "
            "its own: leave reduction.method and reduction.criteria out",
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
        return 1 if self.criteria or self.automatic else len(self.parameters) or len(self.layers)
