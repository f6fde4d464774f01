"""How far the loop is: its state and networks, and the events it records.

Takes a `Plan` and, where there is one, the `Folder` that holds an earlier state; gives the loop
criteria and limits of the moment, and stores each event. Between two events everything that decides
what comes next is in here.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import replace

from torch import nn

from combred.reduction.automatic.folder import Folder
from combred.reduction.automatic.plan import Plan
from combred.reduction.automatic.state import Point, State
from combred.reduction.automatic.trace import AutomaticReduction, Event


class Progress:
    """State, networks and trace of an automatic reduction.

    current: the network in training. saved: the save point while a reduced layer is being judged,
    else None. points: the networks that come out, by role: "smallest" and "main".
    """

    def __init__(
        self,
        network: nn.Module,
        plan: Plan,
        store: Folder | None,
        on_event: Callable[[Event], None],
    ):
        self.plan, self.settings, self.store, self.on_event = plan, plan.settings, store, on_event
        self.trace: list[Event] = []
        self.state = State(
            self.settings.step_limit,
            {layer.name: 0 for layer in plan.layers},
            self.settings.main_criterion(0),
        )
        units = {name: layer.units for name, layer in plan.all.items()}
        self.current = Point(copy.deepcopy(network), units, math.nan, 0)
        self.saved: Point | None = None
        self.points: dict[str, Point] = {}
        stored = store.load() if store else None
        if stored:
            self.state, self.points, self.trace = stored
            self.current, self.saved = self.points.pop("current"), self.points.pop("saved", None)

    def result(self) -> AutomaticReduction:
        """What the reduction comes to, at its end."""
        main = self.points["main"].found() if "main" in self.points else None
        smallest = self.points["smallest"].found()
        return AutomaticReduction(
            smallest, main, self.state.reason, self.trace, self.plan.untouched
        )

    def is_last(self) -> bool:
        """Whether the layer being reduced is the last one of a main reduction."""
        return self.state.index == len(self.plan.layers) - 1

    def layer_name(self) -> str:
        """The layer being reduced, "" in training."""
        if self.state.phase == "final":
            return self.plan.final.name
        return self.plan.layers[self.state.index].name if self.state.phase == "layer" else ""

    def main_criterion(self) -> float:
        """The main criterion of the moment."""
        return self.settings.main_criterion(self.state.reductions)

    def criterion(self) -> float:
        """The criterion that the layer being reduced has to meet."""
        special = None
        if self.state.phase == "final":
            special = self.settings.final_criterion
        elif self.is_last():
            special = self.settings.last_criterion
        if special is not None:
            return special
        return self.settings.layer_criterion(self.state.reductions)

    def limit(self) -> int:
        """Training steps within which the layer being reduced has to meet its criterion."""
        if self.state.phase == "final":
            return self.settings.final_steps
        if self.is_last() and self.settings.last_steps is not None:
            return self.settings.last_steps
        return self.state.step_limit

    def keep_best(self, criterion: float) -> None:
        """Keep a copy of the current network where it is the best so far.

        "smallest": of those judged by `criterion`, the one under which its shape was accepted;
        "main": of those that meet the main criterion of the moment.
        """
        now = self.current
        for role, asked in (("smallest", criterion), ("main", self.main_criterion())):
            met = now.metric >= asked
            new, old = replace(now, criterion=asked if met else None), self.points.get(role)
            if (met or role == "smallest") and (old is None or new.rank > old.rank):
                self.points[role] = replace(new, network=copy.deepcopy(now.network))

    def describe(
        self, kind: str, criterion: float, loss: float | None = None, reason: str = ""
    ) -> Event:
        """The event of this moment; to be called before the state changes by it."""
        state, name = self.state, self.layer_name()
        judged, stays = self.saved is not None, self.saved if kind == "rollback" else self.current
        before = (self.saved or self.current).units.get(name)
        after = self.current.units.get(name)
        return Event(
            event=state.events,
            step=state.step,
            kind=kind,
            phase=state.phase if state.phase in ("layer", "final") else "train",
            main=state.main,
            reductions=state.reductions,
            layer=name,
            attempt=state.failures + 1 if name else 0,
            parameters_before=(self.saved or self.current).parameters,
            parameters_after=stays.parameters,
            units_before=before,
            units_after=after,
            ratio=after / before if name else None,
            metric=self.current.metric,
            metric_cut=state.metric_cut if judged else None,
            metric_first=state.metric_first if judged else None,
            criterion=criterion,
            threshold=state.threshold,
            t_fail=state.t_fail.get(name) if state.phase == "layer" else None,
            step_limit=self.limit() if name else None,
            trained=state.trained if state.threshold is not None else 0,
            rate=self.settings.rate(state.reductions),
            loss=loss,
            reason=reason,
            units=dict(stays.units),
        )

    def commit(self, event: Event) -> None:
        """Store an event that has happened, and then report it to the caller."""
        self.trace.append(event)
        self.state.events += 1
        if self.store:
            points = self.points | {"current": self.current}
            points |= {"saved": self.saved} if self.saved else {}
            self.store.save(self.state, points, event)
        self.on_event(event)
