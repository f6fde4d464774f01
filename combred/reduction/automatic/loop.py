"""The loop of Chen & Xu 2024, figure 1: train, reduce layer by layer, retrain, test, roll back."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from torch import nn

from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.automatic.events import Event, Found, Record
from combred.reduction.fit.units import describe_units
from combred.reduction.methods.condensation import condense
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import apply_merge
from combred.reduction.network.size import count_parameters

Train = Callable[[nn.Module, float], float | None]
Metric = Callable[[nn.Module], float]
Cut = Callable[[Found, HiddenLayer, float | None], Found | None]


def cut_layer(before: Found, layer: HiddenLayer, threshold: float | None) -> Found | None:
    """A network with a layer condensed at a threshold; None where nothing merges."""
    merge = condense(describe_units(before.network, layer), threshold=threshold)
    if not merge.changes:
        return None
    reduced = apply_merge(before.network, layer, merge)
    units = before.units | {layer.name: len(merge.kept)}
    return Found(reduced, units, count_parameters(reduced))


@dataclass
class Loop:
    """Figure 1, and where it stands.

    layers: of a main reduction, in order; final: of the final cut, or None. train, metric: of the
    caller; cut: `cut_layer`; all give what is stored where the loop goes on (`Record.replaying`).
    current: the network in training. saved: the save point while a condensed layer is being judged,
    else None. best: the networks that come out, by role: "smallest" and "main". standard: the
    criterion under which the present shape was accepted. phase: "train", "layer" or "final".
    attempt, trained, threshold: as in `Event`.
    """

    settings: AutomaticSettings
    layers: list[HiddenLayer]
    final: HiddenLayer | None
    train: Train
    metric: Metric
    cut: Cut
    record: Record
    current: Found
    saved: Found | None = None
    best: dict[str, Found] = field(default_factory=dict)
    step: int = 0
    reductions: int = 0
    main: int = 0
    reason: str = ""
    phase: str = "train"
    layer: str = ""
    attempt: int = 0
    trained: int = 0
    threshold: float | None = None

    def __post_init__(self):
        self.t_fail = {layer.name: 0 for layer in self.layers}
        self.step_limit, self.standard = self.settings.step_limit, self.main_criterion()

    def run(self) -> None:
        """The left side of figure 1, from the beginning to the end."""
        self.test(self.current)
        self.keep_best()
        self.commit("test")
        stalled, unchanged = 0, False
        while self.train_until_met(at_least_once=unchanged and not self.reason):
            if self.reason:
                if self.final:
                    self.reduce_layer(self.final, "final")
                break
            before, self.main = self.current.parameters, self.main + 1
            self.commit("main")
            for layer in self.layers:
                self.reduce_layer(layer, "layer")
                if not self.reason and self.current.parameters <= (self.settings.target or 0):
                    self.reason = "target"
                if self.reason:
                    break
            unchanged = self.current.parameters == before
            stalled = stalled + 1 if unchanged else 0
            if not self.reason and stalled >= self.settings.patience:
                self.reason = "nothing"
        self.commit("end", reason=self.reason)

    def train_until_met(self, at_least_once: bool) -> bool:
        """Train until the main criterion is met; False where the steps are used up before."""
        while self.reason != "steps":
            if self.current.metric >= self.main_criterion() and not at_least_once:
                return True
            if not self.out_of_steps():
                loss, at_least_once = self.train_step(), False
                self.keep_best()
                self.commit("test", loss=loss)
        return False

    def reduce_layer(self, layer: HiddenLayer, phase: str) -> None:
        """The right side of figure 1: condense a layer and retrain, anew from the save point after
        each failure; the final cut is tried once."""
        self.layer, self.phase, self.attempt = layer.name, phase, 1
        finished = False
        while not finished and not self.out_of_steps():
            if self.attempt > self.settings.attempts and phase == "layer":
                self.commit("left")
                break
            finished = not self.condense(layer) or self.retrain() or phase == "final"
            self.threshold, self.trained = None, 0
            self.attempt += 1
        self.layer, self.phase, self.attempt = "", "train", 0

    def condense(self, layer: HiddenLayer) -> bool:
        """Condense a layer at its threshold; the network before it is the save point. False where
        nothing merges."""
        threshold = self.settings.final_threshold
        if self.phase == "layer":
            threshold = self.settings.threshold(self.t_fail[layer.name])
        assert threshold is not None  # else there is no final cut
        self.threshold, cut = threshold, self.cut(self.current, layer, threshold)
        if cut is None:
            self.commit("unchanged")
            if self.phase == "layer":
                self.t_fail[layer.name] -= 1
            return False
        self.test(cut)
        self.saved, self.current = self.current, cut
        self.commit("cut")
        return True

    def retrain(self) -> bool:
        """Train the condensed network and test it after each step: True where it stays, False where
        the loop returns to the save point."""
        settings, criterion, why, saved = self.settings, self.criterion(), "", self.saved
        assert saved
        while not why:
            loss, metric = self.train_step(), self.current.metric
            self.trained += 1
            lowest = settings.deviation if self.trained >= settings.deviation_steps else None
            if metric >= criterion:
                share = self.current.parameters / saved.parameters
                self.reductions += self.phase == "layer"
                self.standard, self.saved = criterion, None
                self.keep_best()
                self.commit("met", loss=loss, criterion=criterion)
                if self.phase == "layer" and share > settings.too_little:
                    self.t_fail[self.layer] -= 1  # equation (25)
                return True
            if lowest is not None and not metric >= lowest:
                why = "deviated"
            elif self.trained >= self.limit():
                why = "limit"
            elif self.out_of_steps():
                why = "steps"
            else:
                self.commit("test", loss=loss)
        self.current, self.saved = saved, None
        self.commit("rollback", loss=loss, reason=why, metric=metric)
        if self.phase == "layer" and why != "steps":
            self.t_fail[self.layer] += 1  # equation (24)
            if not self.is_last():
                self.step_limit += settings.step_increment
        return False

    def train_step(self) -> float | None:
        """Train a step, and test; the training loss, if the caller's `train` gives one."""
        loss = self.train(self.current.network, self.settings.rate(self.reductions))
        self.step += 1
        self.test(self.current)
        return None if loss is None else float(loss)

    def test(self, state: Found) -> None:
        """Measure the metric of a network, as the next event has it."""
        state.metric, state.step = float(self.metric(state.network)), self.step
        state.number = len(self.record.events)

    def out_of_steps(self) -> bool:
        """Whether all training steps are used up, which is then the reason to end."""
        if self.step < self.settings.max_steps:
            return False
        self.reason = "steps"
        return True

    def is_last(self) -> bool:
        """Whether the layer being reduced is the last one of a main reduction."""
        return self.phase == "layer" and self.layer == self.layers[-1].name

    def main_criterion(self) -> float:
        """The main criterion of the moment."""
        return self.settings.main_criterion(self.reductions)

    def criterion(self) -> float:
        """The criterion that the layer being reduced has to meet."""
        if self.is_last() and self.settings.last_criterion is not None:
            return self.settings.last_criterion
        return self.settings.layer_criterion(self.reductions)

    def limit(self) -> int:
        """Training steps within which the layer being reduced has to meet its criterion."""
        if self.phase == "final":
            return self.settings.final_steps
        return (self.is_last() and self.settings.last_steps) or self.step_limit

    def keep_best(self) -> None:
        """Keep a copy of the current network where it is the best so far.

        "smallest": of those judged by the criterion under which their shape was accepted; "main":
        of those that meet the main criterion of the moment.
        """
        current = self.current
        for role, criterion in (("smallest", self.standard), ("main", self.main_criterion())):
            met = current.metric >= criterion
            new, old = replace(current, criterion=criterion if met else None), self.best.get(role)
            if (met or role == "smallest") and (old is None or new.rank > old.rank):
                self.best[role] = replace(new, network=copy.deepcopy(current.network))

    def commit(self, kind: str, **fields) -> None:
        """Record an event, once the networks are those that the loop goes on with.

        other: fields that have another value than the present one, or none by default.
        """
        current, training = self.current, self.phase == "train"
        event = Event(
            event=len(self.record.events),
            step=self.step,
            kind=kind,
            phase=self.phase,
            main=self.main,
            reductions=self.reductions,
            layer=self.layer,
            attempt=self.attempt,
            parameters=current.parameters,
            units=dict(current.units),
            metric=current.metric,
            criterion=self.main_criterion() if training else self.criterion(),
            threshold=self.threshold,
            t_fail=self.t_fail[self.layer] if self.phase == "layer" else None,
            step_limit=None if training else self.limit(),
            trained=self.trained,
            rate=self.settings.rate(self.reductions),
        )
        saved = [self.saved] if self.saved else []
        self.record.add(replace(event, **fields), [current, *saved, *self.best.values()])
