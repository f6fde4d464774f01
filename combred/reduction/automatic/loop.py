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
    return Loop(train, metric, Progress(network, plan, folder, on_event)).run()


class Loop:
    """Figure 1 as a state machine. Each method from `begin` to `finish` is one step of it, and
    ends by recording one event."""

    def __init__(self, train: Train, metric: Metric, progress: Progress):
        self.train, self.metric, self.progress = train, metric, progress
        self.plan, self.settings, self.state = progress.plan, progress.settings, progress.state

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
        return self.progress.result()

    def begin(self) -> None:
        """Test the network as it was given."""
        progress, state = self.progress, self.state
        progress.current.metric = float(self.metric(progress.current.network))
        progress.keep_best(state.standard)
        event = progress.describe("test", state.standard)
        state.phase = "train"
        progress.commit(event)

    def train_until_met(self) -> None:
        """Train until the main criterion is met; then begin a main reduction, or end."""
        progress, state, settings = self.progress, self.state, self.settings
        criterion = progress.main_criterion()
        if progress.current.metric >= criterion and not state.train_first:
            if not state.reason:
                state.main += 1
                state.index, state.failures = 0, 0
                state.begun_with = progress.current.parameters
                event = progress.describe("main", criterion)
                state.phase = "layer"
                progress.commit(event)
            else:
                state.phase = "final" if self.plan.final else "finish"
        elif state.step >= settings.max_steps:
            state.reason, state.phase = "steps", "finish"
        else:
            loss = self.train_chunk(settings.test_every)
            state.train_first = False
            progress.keep_best(state.standard)
            progress.commit(progress.describe("test", criterion, loss))

    def reduce_layer(self) -> None:
        """Condense the layer whose turn it is, or train and judge the one that is condensed."""
        progress, state = self.progress, self.state
        if progress.saved is not None:
            self.retrain()
        elif state.step >= self.settings.max_steps:
            state.reason, state.phase = "steps", "finish"
        elif state.phase == "layer" and state.failures >= self.settings.attempts:
            event = progress.describe("left", progress.criterion())
            self.next_layer()
            progress.commit(event)
        else:
            self.condense()

    def condense(self) -> None:
        """Condense the layer at its threshold; the network before it is the save point."""
        progress, state, settings = self.progress, self.state, self.settings
        name, final = progress.layer_name(), state.phase == "final"
        threshold = settings.final_threshold if final else settings.threshold(state.t_fail[name])
        network = progress.current.network
        layer = replace(self.plan.all[name], units=progress.current.units[name])
        merge = self.plan.condense(network, layer, threshold)
        state.threshold, state.trained = threshold, 0
        if merge.changes:
            reduced = apply_merge(network, layer, merge)
            self.plan.require_runs(reduced, layer)
            units = progress.current.units | {name: len(merge.kept)}
            found = Found(reduced, units, float(self.metric(reduced)), state.step)
            progress.saved, progress.current = progress.current, found
            state.metric_cut, state.metric_first = found.metric, None
            progress.commit(progress.describe("cut", progress.criterion()))
            return
        event = progress.describe("unchanged", progress.criterion())
        state.threshold = None
        if final:
            state.phase = "finish"
        else:
            state.t_fail[name] -= 1
            self.next_layer()
        progress.commit(event)

    def retrain(self) -> None:
        """Train the condensed network for a while and judge it: accept, roll back, or go on."""
        progress, state, settings = self.progress, self.state, self.settings
        limit, criterion = progress.limit(), progress.criterion()
        before = state.step
        loss = self.train_chunk(min(settings.test_every, limit - state.trained))
        state.trained += state.step - before
        metric = progress.current.metric
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
            progress.commit(progress.describe("test", criterion, loss))

    def accept(self, criterion: float, loss: float | None) -> None:
        """Keep the condensed layer and go on to the next."""
        progress, state = self.progress, self.state
        share = progress.current.parameters / progress.saved.parameters
        final = state.phase == "final"
        state.reductions += not final
        event = progress.describe("met", criterion, loss)
        state.standard, state.threshold, progress.saved = criterion, None, None
        progress.keep_best(criterion)
        if final:
            state.phase = "finish"
        else:
            if share > self.settings.too_little:
                state.t_fail[event.layer] -= 1  # equation (25)
            self.next_layer()
        progress.commit(event)

    def roll_back(self, why: str, criterion: float, loss: float | None) -> None:
        """Return to the save point; the next attempt has more steps and a stricter threshold."""
        progress, state = self.progress, self.state
        event = progress.describe("rollback", criterion, loss, why)
        progress.current, progress.saved, state.threshold = progress.saved, None, None
        if why == "steps":
            state.reason, state.phase = "steps", "finish"
        elif state.phase == "final":
            state.phase = "finish"
        else:
            state.failures += 1
            state.t_fail[event.layer] += 1  # equation (24)
            if not progress.is_last():
                state.step_limit += self.settings.step_increment
        progress.commit(event)

    def next_layer(self) -> None:
        """Go on to the next layer; after the last one, or at the target, back to training."""
        state, settings = self.state, self.settings
        parameters = self.progress.current.parameters
        state.index, state.failures = state.index + 1, 0
        if settings.target is not None and parameters <= settings.target:
            state.reason, state.phase = "target", "train"
        elif state.index == len(self.plan.layers):
            unchanged = parameters == state.begun_with
            state.stalled = state.stalled + 1 if unchanged else 0
            state.reason = "nothing" if state.stalled >= settings.patience else ""
            state.train_first = unchanged and not state.reason
            state.phase = "train"

    def finish(self) -> None:
        """Record the end and its reason."""
        progress, state = self.progress, self.state
        event = progress.describe("end", progress.main_criterion(), reason=state.reason)
        state.phase = "end"
        progress.commit(event)

    def train_chunk(self, steps: int) -> float | None:
        """Train at most so many steps, and test. The state changes only after both are done.

        Returns the training loss, if the caller's `train` gives one.
        """
        state, current = self.state, self.progress.current
        steps = min(steps, self.settings.max_steps - state.step)
        loss = self.train(current.network, steps, self.settings.rate(state.reductions))
        current.metric = float(self.metric(current.network))
        state.step += steps
        current.step = state.step
        return None if loss is None else float(loss)
