"""What the loop knows between two events, the events, and what it comes to."""

import math
from dataclasses import dataclass

from torch import nn

from combred.reduction.network.size import count_parameters


@dataclass(frozen=True)
class Event:
    """One line of the trace.

    kind: "test" (in training, or of a condensed layer not yet decided on), "main" (a main reduction
    begins), "cut" (a layer is condensed), "met" (it stays so), "rollback" (reason: "limit",
    "deviated" or "steps"), "unchanged" (the threshold merges nothing), "left" (too many failures),
    "end" (reason as in `AutomaticReduction`). phase: "train", "layer" or "final". main: number of
    the main reduction, from 1. attempt: of this layer in it, from 1.

    Of the condensed layer being judged: units_before, units_after, ratio (the share of its units
    that stays), t_fail and threshold with which it was condensed, metric_cut (right after it),
    metric_first (after the first training), trained (training steps since).

    metric: of the network at this event; in a rollback, of the one that is given up. criterion:
    that the metric is compared with. parameters_before: of the network before the layer was
    condensed; parameters_after and units (by layer): of the one that the loop goes on with. rate:
    learning rate. loss: of the training, as the caller gave it.
    """

    event: int
    step: int
    kind: str
    phase: str
    main: int
    reductions: int
    layer: str
    attempt: int
    parameters_before: int
    parameters_after: int
    units_before: int | None
    units_after: int | None
    ratio: float | None
    metric: float
    metric_cut: float | None
    metric_first: float | None
    criterion: float
    threshold: float | None
    t_fail: int | None
    step_limit: int | None
    trained: int
    rate: float
    loss: float | None
    reason: str
    units: dict[str, int]


@dataclass
class Found:
    """A network of the loop, in training or found.

    units: by layer. metric: of the caller. step: training steps done by then. number: of the event
    that made it; networks of one number are equal. criterion: the one that it met, None for none.
    """

    network: nn.Module
    units: dict[str, int]
    metric: float
    step: int = 0
    number: int = 0
    criterion: float | None = None

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return count_parameters(self.network)

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

    @property
    def parameters(self) -> int:
        """Its number of parameters."""
        return self.smallest.parameters

    @property
    def metric(self) -> float:
        """Its metric."""
        return self.smallest.metric


@dataclass
class State:
    """The state of the loop but for its networks. Numbers of a layer are of the one in turn."""

    step_limit: int
    t_fail: dict[str, int]
    standard: float  # the criterion under which the present shape was accepted
    events: int = 0
    step: int = 0
    reductions: int = 0
    phase: str = "start"  # then train, layer, final, finish, end
    main: int = 0  # main reductions begun
    begun_with: int = 0  # parameters at the beginning of this one
    index: int = 0  # of the layer, in the order of the plan
    failures: int = 0  # of the layer in this main reduction
    threshold: float | None = None  # at which the layer being judged was condensed; None: none is
    trained: int = 0  # training steps since then
    metric_cut: float | None = None  # right after it
    metric_first: float | None = None  # after the first training
    stalled: int = 0  # main reductions in a row that removed nothing
    train_first: bool = False  # before the next main reduction, whatever the metric
    reason: str = ""  # why no further layer is reduced
