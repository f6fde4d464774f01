"""The state of the loop and its networks, as `folder` stores them between two events."""

import math
from dataclasses import dataclass

from torch import nn

from combred.reduction.automatic.trace import Found
from combred.reduction.network.size import count_parameters


@dataclass
class Point:
    """A network of the loop.

    units: by layer. metric: of the caller. event: the one at which its weights were last changed,
    which names its file. step: training steps done by then.
    """

    network: nn.Module
    units: dict[str, int]
    metric: float
    event: int
    step: int = 0
    criterion: float | None = None  # that it met, of the networks that come out

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return count_parameters(self.network)

    @property
    def rank(self) -> tuple[bool, int, float]:
        """The larger, the better: first a criterion met, then fewer parameters, then the metric."""
        metric = -math.inf if math.isnan(self.metric) else self.metric
        return self.criterion is not None, -self.parameters, metric

    def found(self) -> Found:
        """The network as a result."""
        return Found(self.network, self.parameters, self.metric, self.criterion, self.step)


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
