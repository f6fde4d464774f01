"""What comes out of the loop: its events, the networks found, and the result."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Event:
    """One line of the trace.

    kind: "test" (in training, or of a cut not yet decided), "main" (a main reduction begins),
    "cut", "met" (the cut stays), "rollback" (reason: "limit", "deviated" or "steps"), "unchanged"
    (the threshold merges nothing), "left" (too many failures), "end" (reason as in
    `AutomaticReduction`). phase: "train", "layer" or "final". main: number of the main reduction,
    from 1. attempt: of this layer in it, from 1. Numbers of the cut being judged: units_before,
    units_after, ratio (the share of the layer that stays: all its parameters belong to units),
    metric_cut (right after it), metric_first (after the first training), trained (steps since).
    metric: at this event, in a rollback of the network that is given up. criterion: what it is held
    against. t_fail, threshold: those that the cut was made with. parameters_before: of the network
    before the cut; parameters_after and units (by layer): of the one that the loop goes on with.
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


@dataclass(frozen=True)
class Found:
    """A network of the loop: its metric, the criterion that it met (None: none), and the training
    step at which it did."""

    network: nn.Module
    parameters: int
    metric: float
    criterion: float | None
    step: int


@dataclass(frozen=True)
class AutomaticReduction:
    """What an automatic reduction came to.

    smallest: the smallest network that met its criterion: of the layer whose cut gave it its size,
    or of the final cut; for a network not reduced, the main one. Of those of its size, the one of
    the best metric. Where no criterion was ever met, the network given, at its best. main: the
    smallest that met the main criterion of its time, None if none did: no smaller, and better.
    reason: why the loop ended: "target" (reached), "nothing" (nothing more reduces) or "steps"
    (max_steps are used up). untouched: why other layers were left alone.
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
        """Its size."""
        return self.smallest.parameters

    @property
    def metric(self) -> float:
        """Its metric."""
        return self.smallest.metric
