"""Where the loop stands: what a folder keeps between two events."""

import math
from dataclasses import dataclass

from torch import nn

from combred.reduction.automatic.trace import Found
from combred.reduction.size import count_parameters


@dataclass
class Point:
    """A network at some event: its units by layer, its metric, and the event at which its weights
    were last changed, which names its file."""

    network: nn.Module
    units: dict[str, int]
    metric: float
    event: int
    step: int = 0
    criterion: float | None = None  # what it met, of the networks that come out

    @property
    def parameters(self) -> int:
        return count_parameters(self.network)

    @property
    def rank(self) -> tuple[bool, int, float]:
        """One that met its criterion before one that did not, the smaller, the better."""
        metric = -math.inf if math.isnan(self.metric) else self.metric
        return self.criterion is not None, -self.parameters, metric

    def found(self) -> Found:
        return Found(self.network, self.parameters, self.metric, self.criterion, self.step)


@dataclass
class State:
    """Where the loop stands, beside its networks."""

    step_limit: int
    t_fail: dict[str, int]
    standard: float  # the criterion under which the present shape was accepted
    events: int = 0
    step: int = 0
    reductions: int = 0
    phase: str = "start"  # then train, layer, final, finish, end
    main: int = 0  # main reductions begun
    begun_with: int = 0  # parameters at the beginning of this one
    index: int = 0  # of the layer in it
    failures: int = 0  # of that layer in it
    threshold: float | None = None  # of the cut being judged; None: none is
    trained: int = 0  # steps since the cut
    metric_cut: float | None = None
    metric_first: float | None = None
    stalled: int = 0  # main reductions in a row that removed nothing
    train_first: bool = False  # before the next main reduction, whatever the metric
    reason: str = ""  # why cutting ended
