"""The loop of Chen & Xu 2024, figure 1: train, reduce layer by layer, retrain, test, roll back.

Takes a network and the caller's `train` and `metric`; gives an `AutomaticReduction`. The equations
are in `criteria`, the layers in `plan`, state and events in `progress`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.automatic.plan import make_plan
from combred.reduction.automatic.progress import Progress
from combred.reduction.automatic.state import AutomaticReduction, Event, Found
from combred.reduction.fit.calibration import Calibration
from combred.reduction.network.merge import apply_merge

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
    """Condense a network layer by layer, with retraining, as long as it meets the criteria.

    network: any that torch.fx traces; it is not modified. example_input (n, ...): an input it runs
    on. train(network, steps, rate) and metric(network): see `combred.reduction.automatic`.
    calibration: inputs (n, ...) or an iterable of batches, for least squares in place of ratios of
    norms; the reference is the network right before each reduction. folder: where the state is
    stored after every event; the same call goes on from it. on_event: is given each new event,
    after it is stored.

    Raises ValueError for a network or a layer that cannot be reduced, a target that is not below
    the network's size, and a folder that holds another reduction.
    """
    plan = make_plan(network, example_input, settings or AutomaticSettings(), calibration)
    loop = _Loop(network, plan, folder, on_event)
    loop.train, loop.metric = train, metric
    return loop.run()


class _Loop(Progress):
    """Figure 1 as a state machine. Each method from `begin` to `finish` is one step of it, and
    ends by recording one event."""

    train: Train
    metric: Metric

    def run(self) -> AutomaticReduction:
        """Go on from the present state to the end."""
        steps = {
            "start": self.begin,
            "train": self.train_until_met,
            "layer": self.reduce_layer,
            "final": self.reduce_layer,
            "finish": self.finish,
        }
        while self.state.phase != "end":
            steps[self.state.phase]()
        return self.result()

    def begin(self) -> None:
        """Test the network as it was given."""
        self.current.metric = float(self.metric(self.current.network))
        self.keep_best(self.state.standard)
        event = self.describe("test", self.state.standard)
        self.state.phase = "train"
        self.commit(event)

    def train_until_met(self) -> None:
        """Train until the main criterion is met; then begin a main reduction, or end."""
        state, criterion = self.state, self.main_criterion()
        if self.current.metric >= criterion and not state.train_first:
            if state.reason:
                state.phase = "final" if self.plan.final else "finish"
                return
            state.main += 1
            state.index, state.failures = 0, 0
            state.begun_with = self.current.parameters
            event = self.describe("main", criterion)
            state.phase = "layer"
            self.commit(event)
        elif state.step >= self.settings.max_steps:
            state.reason, state.phase = "steps", "finish"
        else:
            loss = self.train_chunk(self.settings.test_every)
            state.train_first = False
            self.keep_best(state.standard)
            self.commit(self.describe("test", criterion, loss))

    def reduce_layer(self) -> None:
        """Condense the layer whose turn it is, or train and judge the one that is condensed."""
        state = self.state
        if self.saved is not None:
            self.retrain()
        elif state.step >= self.settings.max_steps:
            state.reason, state.phase = "steps", "finish"
        elif state.phase == "layer" and state.failures >= self.settings.attempts:
            event = self.describe("left", self.criterion())
            self.go_on(final=False)
            self.commit(event)
        else:
            self.condense()

    def condense(self) -> None:
        """Condense the layer at its threshold; the network before it is the save point."""
        state, settings, current = self.state, self.settings, self.current
        name, final = self.layer_name(), state.phase == "final"
        threshold = settings.final_threshold if final else settings.threshold(state.t_fail[name])
        layer = replace(self.plan.all[name], units=current.units[name])
        merge = self.plan.condense(current.network, layer, threshold)
        state.threshold, state.trained = threshold, 0
        if merge.changes:
            reduced = apply_merge(current.network, layer, merge)
            self.plan.require_runs(reduced, layer)
            units = current.units | {name: len(merge.kept)}
            metric = float(self.metric(reduced))
            self.saved = current
            self.current = Found(reduced, units, metric, state.step, state.events)
            state.metric_cut, state.metric_first = metric, None
            self.commit(self.describe("cut", self.criterion()))
            return
        event = self.describe("unchanged", self.criterion())
        state.threshold = None
        if not final:
            state.t_fail[name] -= 1
        self.go_on(final)
        self.commit(event)

    def retrain(self) -> None:
        """Train the condensed network for a while and judge it: accept, roll back, or go on."""
        state, settings = self.state, self.settings
        limit, criterion, before = self.limit(), self.criterion(), state.step
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
        """Keep the condensed layer and go on to the next."""
        state, final = self.state, self.state.phase == "final"
        share = self.current.parameters / self.saved.parameters
        state.reductions += not final
        event = self.describe("met", criterion, loss)
        state.standard, state.threshold, self.saved = criterion, None, None
        self.keep_best(criterion)
        if not final and share > self.settings.too_little:
            state.t_fail[event.layer] -= 1  # equation (25)
        self.go_on(final)
        self.commit(event)

    def roll_back(self, why: str, criterion: float, loss: float | None) -> None:
        """Return to the save point; the next attempt has more steps and a stricter threshold."""
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

    def go_on(self, final: bool) -> None:
        """Go on after a layer: to the next, after the last one or at the target to training; after
        the final cut to the end."""
        state, target = self.state, self.settings.target
        if final:
            state.phase = "finish"
            return
        parameters = self.current.parameters
        state.index, state.failures = state.index + 1, 0
        if target is not None and parameters <= target:
            state.reason, state.phase = "target", "train"
        elif state.index == len(self.plan.layers):
            unchanged = parameters == state.begun_with
            state.stalled = state.stalled + 1 if unchanged else 0
            state.reason = "nothing" if state.stalled >= self.settings.patience else ""
            state.train_first = unchanged and not state.reason
            state.phase = "train"

    def finish(self) -> None:
        """Record the end and its reason."""
        event = self.describe("end", self.main_criterion(), reason=self.state.reason)
        self.state.phase = "end"
        self.commit(event)

    def train_chunk(self, steps: int) -> float | None:
        """Train at most so many steps, and test. The state changes only after both are done.

        Returns the training loss, if the caller's `train` gives one.
        """
        state, current = self.state, self.current
        steps = min(steps, self.settings.max_steps - state.step)
        loss = self.train(current.network, steps, self.settings.rate(state.reductions))
        current.metric = float(self.metric(current.network))
        state.step += steps
        current.step, current.number = state.step, state.events
        return None if loss is None else float(loss)
