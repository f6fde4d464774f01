"""The events of an automatic reduction, its networks, and what it comes to."""

import math
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Event:
    """One line of the trace.

    kind: "test" (in training, or of a condensed layer not yet decided on), "main" (a main reduction
    begins), "cut" (a layer is condensed), "met" (it stays so), "rollback" (reason: "limit",
    "deviated" or "steps"), "unchanged" (the threshold merges nothing), "left" (too many failures),
    "end" (reason as in `AutomaticReduction`). phase: "train", "layer" or "final". main: number of
    the main reduction, from 1. reductions: done so far.

    Of the layer in turn: attempt (from 1, in this main reduction), threshold at which it is
    condensed, t_fail, step_limit, and trained (training steps since it was condensed).

    metric: of the network at this event; in a rollback, of the one that is given up. criterion:
    that the metric is compared with. parameters and units (by layer): of the network that the loop
    goes on with. rate: learning rate. loss: of the training, as the caller gave it.
    """

    event: int
    step: int
    kind: str
    phase: str
    main: int
    reductions: int
    layer: str
    attempt: int
    parameters: int
    units: dict[str, int]
    metric: float
    criterion: float
    threshold: float | None
    t_fail: int | None
    step_limit: int | None
    trained: int
    rate: float
    loss: float | None
    reason: str


@dataclass
class Found:
    """A network of the loop, in training or found.

    units: by layer. metric: of the caller. step: training steps done by then. number: of the event
    that made it; networks of one number are equal. criterion: the one that it met, None for none.
    """

    network: nn.Module
    units: dict[str, int]
    parameters: int
    metric: float = math.nan
    step: int = 0
    number: int = 0
    criterion: float | None = None

    @property
    def rank(self) -> tuple[bool, int, float]:
        """The larger, the better: first a criterion met, then fewer parameters, then the metric."""
        metric = -math.inf if math.isnan(self.metric) else self.metric
        return self.criterion is not None, -self.parameters, metric


@dataclass(frozen=True)
class AutomaticReduction:
    """The result of an automatic reduction.

    smallest: the smallest network that met its criterion: that of the layer whose reduction gave it
    its size, or of the final cut, or the main criterion where nothing was reduced. Among networks
    of this size, the one with the best metric. Where no criterion was ever met, the given network
    at its best. main: the smallest that met the main criterion of its time, or None; it is at least
    as large as `smallest`. reason: why the loop ended, "target" (reached), "nothing" (nothing more
    can be reduced) or "steps" (max_steps are used up). untouched: why other layers were left alone.
    """

    smallest: Found
    main: Found | None
    reason: str
    trace: list[Event]
    untouched: dict[str, str]

    @property
    def network(self) -> nn.Module:
        """The smallest that met its criterion."""
        return self.smallest.network
