"""The stage table: how far each stage reduces the network, and the record of a stage.

Takes the network of one stage and calibration inputs; gives the network of the next stage, reduced
by `combred.reduction.reduce`, and a record of numbers. The steps of the pipeline retrain it.
"""

import warnings
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, cast

from torch import Tensor

from combred.config.reduction import ReductionSettings, parse_method
from combred.reduction.methods import METHODS
from combred.reduction.network.size import Unchanged, count_parameters
from combred.reduction.reduce import reduce
from combred.surrogates.model.network import Network

MULTIPLE = 16  # of chosen widths: floats of a vector of AVX-512, and rows of a GPU's matrix tiles


@dataclass(frozen=True)
class Stage:
    """One row of the stage table.

    index: number of the stage, from 1. method: a name in `METHODS`. How far the stage reduces:

    layer > 0: hidden layer `layer` (1 is the first) alone, by condensation at the cosine
    `threshold`. Else parameters: the share of the first network's parameters that the stage leaves,
    widths of all layers chosen. criteria: not empty where that share is searched for
    (`shrink_until`), so that it is not known beforehand. automatic: whether the automatic loop
    looks for it.
    """

    index: int
    layer: int = 0
    threshold: float = 0.0
    parameters: float = 0.0
    method: str = "condensation"
    criteria: str = ""
    automatic: bool = False

    @property
    def what(self) -> str:
        """In words, as in "hidden layer 1 condensed at 0.9"."""
        if self.layer:
            return f"hidden layer {self.layer} condensed at {self.threshold}"
        if self.criteria:
            return f"as few parameters left by {self.method} as pass {self.criteria}"
        how = "the automatic loop" if self.automatic else self.method
        return f"{100 * self.parameters:g} % of the parameters left by {how}"


def stage_table(settings: ReductionSettings) -> list[Stage]:
    """Stages 1, 2, ... of the settings: by criteria or the loop, by parameters, or by layers."""
    if settings.criteria:
        return [Stage(1, method=settings.method, criteria=settings.criteria)]
    if settings.automatic:
        return [Stage(1, parameters=settings.automatic, automatic=True)]
    if settings.parameters:
        return [
            Stage(i, parameters=share, method=settings.method)
            for i, share in enumerate(settings.parameters, start=1)
        ]
    pairs = zip(settings.layers, settings.thresholds, strict=True)
    return [Stage(i, layer, threshold) for i, (layer, threshold) in enumerate(pairs, start=1)]


def sizes(before: Network, after: Network) -> dict:
    """Widths and weights of a network before and after its reduction, for the record of a stage."""
    return {
        "widths_before": before.widths,
        "widths_after": after.widths,
        "weights_before": before.n_weights,
        "weights_after": after.n_weights,
    }


def reduce_stage(
    network: Network, stage: Stage, settings: ReductionSettings, calibration: Tensor, full: int
) -> tuple[Network, dict]:
    """The network of a stage before it is retrained, and its record.

    network: that of the stage before; it is not modified. calibration (n, n_inputs): network
    inputs, to which least squares fits and on which errors are measured. full: number of parameters
    of the first network.

    Raises ValueError where the stage changes nothing, `Unreachable` where one unit in each layer is
    more than its share of the parameters.
    """
    amount: dict[str, Any] = {"layer": stage.layer, "threshold": stage.threshold}
    how: dict[str, Any] = {"layers": [stage.layer], "threshold": stage.threshold}
    remedy = "Lower reduction.thresholds, or train from a smaller initialisation (network.scales)."
    if not stage.layer:
        size, amount = count_parameters(network), {"parameters": stage.parameters}
        how = {"parameters": stage.parameters * full / size, "multiple": MULTIPLE}
        remedy = "Lower reduction.parameters."
        if how["parameters"] >= 1:
            raise ValueError(
                f"stage {stage.index} is to leave {100 * stage.parameters:g} % of {full:,} "
                f"parameters, but the network has only {size:,}: lower reduction.parameters"
            )
    name, options = parse_method(stage.method)
    how["method"] = partial(METHODS[name].choose, **options)
    how |= {"calibration": calibration, "compensation": settings.compensation}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Unchanged)
            found = reduce(network, calibration[:1], **how)
    except Unchanged as reason:
        raise ValueError(f"stage {stage.index} ({stage.what}): {reason} {remedy}") from reason
    reduced = cast(Network, found.network)
    return reduced, {
        "stage": stage.index,
        "method": stage.method,
        **amount,
        "compensation": settings.compensation,
        **sizes(network, reduced),
        "trace": [asdict(layer) for layer in found.trace],
        "output_error": found.output_error,
    }
