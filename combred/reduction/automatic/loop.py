"""Figure 1 of Chen & Xu 2024: train, cut layer by layer, retrain, test, go back where it failed."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.automatic.folder import Folder
from combred.reduction.automatic.plan import Plan, make_plan
from combred.reduction.automatic.state import Point, State
from combred.reduction.automatic.trace import AutomaticReduction, Event
from combred.reduction.calibration import Calibration
from combred.reduction.merge import apply_merge

Train = Callable[[nn.Module, int, float], float | None]
Metric = Callable[[nn.Module], float]


def reduce_automatically(
    network: nn.Module,
    example_input: Tensor,
    train: Train,
    metric: Metric,
    settings: AutomaticSettings | None = None,
    *,
    calibration: Calibration | None = None,
    folder: Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> AutomaticReduction:
    """Condense a network layer by layer, retraining, for as long as it meets the criteria.

    network: any that torch.fx traces; it is not modified. example_input (n, ...): one input it runs
    on. train, metric, settings: see the module. calibration: inputs (n, ...) or an iterable of
    batches, for least squares instead of norm ratios (the reference is the network right before
    each cut). folder: where the state is kept after every event; the same call goes on from it.
    on_event: told each new event, after it is stored.

    Raises ValueError for a network or a layer that cannot be reduced, a target that is not below
    the network's size, and a folder that holds another reduction.
    """
    plan = make_plan(network, example_input, settings or AutomaticSettings(), calibration)
    store = None if folder is None else Folder(Path(folder), network, plan)
    return Loop(network, train, metric, plan, store, on_event).run()


class Loop:
    """Figure 1 as a machine of states; between two events everything is in `state` and `points`."""

    def __init__(
        self,
        network: nn.Module,
        train: Train,
        metric: Metric,
        plan: Plan,
        store: "Folder | None",
        on_event: Callable[[Event], None],
    ):
        self.train, self.metric, self.plan, self.settings = train, metric, plan, plan.settings
        self.store, self.on_event = store, on_event
        settings = self.settings
        self.trace: list[Event] = []
        self.state = State(
            settings.step_limit,
            {layer.name: 0 for layer in plan.layers},
            settings.main_criterion(0),
        )
        units = {name: layer.units for name, layer in plan.all.items()}
        self.current = Point(copy.deepcopy(network), units, math.nan, 0)
        self.saved: Point | None = None  # the save point, while a cut is being judged
        self.points: dict[str, Point] = {}  # "smallest" and "main": what comes out
        stored = store.load() if store else None
        if stored:
            self.state, self.points, self.trace = stored
            self.current, self.saved = self.points.pop("current"), self.points.pop("saved", None)

    def run(self) -> AutomaticReduction:
        steps = {
            "start": self.begin,
            "train": self.wait,
            "layer": self.reduce_layer,
            "final": self.reduce_layer,
            "finish": self.finish,
        }
        while self.state.phase != "end":
            steps[self.state.phase]()
        main = self.points["main"].found() if "main" in self.points else None
        return AutomaticReduction(
            self.points["smallest"].found(),
            main,
            self.state.reason,
            self.trace,
            self.plan.untouched,
        )

    # each of these does one thing, and records it as one event

    def begin(self) -> None:
        """The metric of the network as it was given."""
        self.current.metric = float(self.metric(self.current.network))
        self.remember(self.state.standard)
        event = self.describe("test", self.state.standard)
        self.state.phase = "train"
        self.commit(event)

    def wait(self) -> None:
        """Train until the main criterion is met."""
        state, settings = self.state, self.settings
        criterion = settings.main_criterion(state.reductions)
        if self.current.metric >= criterion and not state.train_first:
            if not state.reason:
                state.main += 1
                state.index, state.failures = 0, 0
                state.begun_with = self.current.parameters
                event = self.describe("main", criterion)
                state.phase = "layer"
                self.commit(event)
            else:
                state.phase = "final" if self.plan.final else "finish"
        elif state.step >= settings.max_steps:
            state.reason, state.phase = "steps", "finish"
        else:
            loss = self.train_chunk(settings.test_every)
            state.train_first = False
            self.remember(state.standard)
            self.commit(self.describe("test", criterion, loss))

    def reduce_layer(self) -> None:
        """One event of a layer's reduction: its cut, or a chunk of training and its judgement."""
        if self.saved is not None:
            self.retrain()
        elif self.state.step >= self.settings.max_steps:
            self.state.reason, self.state.phase = "steps", "finish"
        elif self.state.phase == "layer" and self.state.failures >= self.settings.attempts:
            event = self.describe("left", self.criterion())
            self.next_layer()
            self.commit(event)
        else:
            self.cut()

    def cut(self) -> None:
        state, settings, final = self.state, self.settings, self.state.phase == "final"
        name = self.layer_name()
        threshold = settings.final_threshold if final else settings.threshold(state.t_fail[name])
        network = self.current.network
        layer = replace(self.plan.all[name], units=self.current.units[name])
        merge = self.plan.condense(network, layer, threshold)
        state.threshold, state.trained = threshold, 0
        if merge.changes:
            reduced = apply_merge(network, layer, merge)
            self.plan.require_runs(reduced, layer)
            units = self.current.units | {name: len(merge.kept)}
            point = Point(reduced, units, float(self.metric(reduced)), state.events, state.step)
            self.saved, self.current = self.current, point
            state.metric_cut, state.metric_first = point.metric, None
            self.commit(self.describe("cut", self.criterion()))
            return
        event = self.describe("unchanged", self.criterion())
        state.threshold = None
        if final:
            state.phase = "finish"
        else:
            state.t_fail[name] -= 1
            self.next_layer()
        self.commit(event)

    def retrain(self) -> None:
        state, settings = self.state, self.settings
        limit, criterion = self.limit(), self.criterion()
        before = state.step
        loss = self.train_chunk(min(settings.test_every, limit - state.trained))
        state.trained += state.step - before
        metric = self.current.metric
        if state.metric_first is None:
            state.metric_first = metric
        deviated = (
            settings.deviation is not None
            and state.trained >= settings.deviation_steps
            and not metric >= settings.deviation
        )
        if metric >= criterion:
            self.accept(criterion, loss)
        elif deviated:
            self.roll_back("deviated", criterion, loss)
        elif state.trained >= limit:
            self.roll_back("limit", criterion, loss)
        elif state.step >= settings.max_steps:
            self.roll_back("steps", criterion, loss)
        else:
            self.commit(self.describe("test", criterion, loss))

    def accept(self, criterion: float, loss: float | None) -> None:
        """The cut stays."""
        state = self.state
        share = self.current.parameters / self.saved.parameters
        final = state.phase == "final"
        state.reductions += not final
        event = self.describe("met", criterion, loss)
        state.standard, state.threshold, self.saved = criterion, None, None
        self.remember(criterion)
        if final:
            state.phase = "finish"
        else:
            if share > self.settings.too_little:
                state.t_fail[event.layer] -= 1  # equation (25)
            self.next_layer()
        self.commit(event)

    def roll_back(self, why: str, criterion: float, loss: float | None) -> None:
        """Back to the save point; more steps and a stricter threshold the next time."""
        state = self.state
        event = self.describe("rollback", criterion, loss, why)
        self.current, self.saved, state.threshold = self.saved, None, None
        if why == "steps":
            state.reason, state.phase = "steps", "finish"
        elif state.phase == "final":
            state.phase = "finish"
        else:
            state.failures += 1
            state.t_fail[event.layer] += 1  # equation (24)
            if not self.is_last():
                state.step_limit += self.settings.step_increment
        self.commit(event)

    def next_layer(self) -> None:
        """On to the next layer; after the last one, or at the target, back to training."""
        state, settings, parameters = self.state, self.settings, self.current.parameters
        state.index, state.failures = state.index + 1, 0
        if settings.target is not None and parameters <= settings.target:
            state.reason, state.phase = "target", "train"
        elif state.index == len(self.plan.layers):
            stuck = parameters == state.begun_with
            state.stalled = state.stalled + 1 if stuck else 0
            state.reason = "nothing" if state.stalled >= settings.patience else ""
            state.train_first = stuck and not state.reason
            state.phase = "train"

    def finish(self) -> None:
        state = self.state
        criterion = self.settings.main_criterion(state.reductions)
        event = self.describe("end", criterion, reason=state.reason)
        state.phase = "end"
        self.commit(event)

    # what they share

    def is_last(self) -> bool:
        return self.state.index == len(self.plan.layers) - 1

    def layer_name(self) -> str:
        """The layer being reduced, "" in training."""
        if self.state.phase == "final":
            return self.plan.final.name
        return self.plan.layers[self.state.index].name if self.state.phase == "layer" else ""

    def limit(self) -> int:
        """Training steps that the layer being reduced has to meet its criterion."""
        settings = self.settings
        if self.state.phase == "final":
            return settings.final_steps
        if self.is_last() and settings.last_steps is not None:
            return settings.last_steps
        return self.state.step_limit

    def criterion(self) -> float:
        """The criterion of the layer being reduced."""
        settings = self.settings
        special = None
        if self.state.phase == "final":
            special = settings.final_criterion
        elif self.is_last():
            special = settings.last_criterion
        return settings.layer_criterion(self.state.reductions) if special is None else special

    def train_chunk(self, steps: int) -> float | None:
        """At most so many steps, and a test. Nothing is noted before both are done."""
        state = self.state
        steps = min(steps, self.settings.max_steps - state.step)
        loss = self.train(self.current.network, steps, self.settings.rate(state.reductions))
        self.current.metric = float(self.metric(self.current.network))
        state.step += steps
        self.current.event, self.current.step = state.events, state.step
        return None if loss is None else float(loss)

    def remember(self, standard: float) -> None:
        """Keep a copy of the present network if it is the best so far, by its own standard and by
        the main criterion."""
        now, main = self.current, self.settings.main_criterion(self.state.reductions)
        for role, criterion in (("smallest", standard), ("main", main)):
            met = now.metric >= criterion
            new, old = replace(now, criterion=criterion if met else None), self.points.get(role)
            if (met or role == "smallest") and (old is None or new.rank > old.rank):
                self.points[role] = replace(new, network=copy.deepcopy(now.network))

    def describe(
        self, kind: str, criterion: float, loss: float | None = None, reason: str = ""
    ) -> Event:
        """The event of this moment; to be called before what it leads to is done."""
        state, settings, name = self.state, self.settings, self.layer_name()
        judged, stays = self.saved is not None, self.saved if kind == "rollback" else self.current
        cut = state.threshold is not None
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
            trained=state.trained if cut else 0,
            rate=settings.rate(state.reductions),
            loss=loss,
            reason=reason,
            units=dict(stays.units),
        )

    def commit(self, event: Event) -> None:
        """The event has happened: stored, then told."""
        self.trace.append(event)
        self.state.events += 1
        if self.store:
            points = self.points | {"current": self.current}
            points |= {"saved": self.saved} if self.saved else {}
            self.store.save(self.state, points, event)
        self.on_event(event)
