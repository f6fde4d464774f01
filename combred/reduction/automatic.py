"""Automatic condensation reduction: cut a layer, retrain, test, and go back where it failed.

Chen & Xu 2024, section 2.4.2 (figure 1) and equations (21) to (25). Takes a network and two
functions of the caller, so that one loop serves images and flames; gives the smallest network that
met its criterion, and a trace of every event.

    train(network, steps, rate)   trains in place for so many of the caller's steps (in the paper a
                                  step is an epoch) from the initial learning rate `rate`; may
                                  return a training loss, which goes into the trace
    metric(network) -> float      higher is better: accuracy, minus a loss, minus an ignition error

    settings = AutomaticSettings(main_max=0.97, main_min=0.95, layer_max=0.95, layer_min=0.93,
                                 last_criterion=0.92, target=50_000)
    found = reduce_automatically(network, images[:1], train, metric, settings, folder=Path("run"))
    found.network, found.parameters, found.metric, found.main, found.reason, found.trace

The loop. Train until the metric meets the main criterion; then a *main reduction*: for each layer
in order, keep a save point, condense the layer at its threshold, train up to the step limit,
testing. Met: the next layer, and criteria and learning rate fall. Not met, or far off: back to the
save point, with more steps and a stricter threshold. Then train until the main criterion again, and
so on until the target is reached or nothing more reduces; last, the final cut of the classifier.

What is the caller's: the mode of the network (`train` and `metric` set the one they need), batch
norm statistics, and the optimiser. Each call of `train` may start a fresh one; or it keeps one for
as long as it is given the same parameters, which is until the next cut or rollback (a resumed run
starts a fresh one all the same). `metric` should be a plain function of the network.

With a `folder` the loop can be killed anywhere: it writes its state after every event, and the same
call goes on where it stood, losing at most one chunk of training. torch's CPU generator is stored
as well: a `train` that depends on the network, its arguments and that generator alone gives the
same trace and network, interrupted or not. Files: state.json, trace.jsonl (one `Event` a line,
drawn by `combred.report.automatic`), network-<event>.safetensors (weights alone: shapes are rebuilt
from the network given and the units of each layer).

Where the paper leaves a choice:

- *t_reduction* is the number of reductions done, less one: its criteria "after 16 reductions"
  (0.87837, 0.83837) are equation (22) at 15. Equation (21) has no end; beyond T_lr the rate stays
  at its minimum, as the criteria do.
- *When to test.* Every `test_every` steps; a layer is done as soon as it meets its criterion
  (section 3.2.2), but not before it has been trained once.
- *Deviation* counts as any other failure, in t_fail and in the step limit.
- *The last layer* keeps its own step limit; its failures leave that of the others alone.
- *A layer in which nothing merges* is done. It is no reduction (t_reduction stays), but a success
  that left more than 0.999 of the parameters: its threshold becomes laxer.
- *The end.* Exact copies merge at any threshold, a laxer threshold may always be tried, and a
  metric need not recover. So there are limits: `attempts`, `patience`, `max_steps`.
- *The final cut* is tried once, on a network that meets the main criterion. It is asked to meet the
  layer criterion: the paper's own final network, 83.21 %, does not meet its main one, 85 %.
"""

import base64
import copy
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from combred.config import require
from combred.records import read_json, write_bytes, write_json
from combred.reduction.calibration import Calibration
from combred.reduction.layers import HiddenLayer, evaluation, find_layers
from combred.reduction.merge import Merge, apply_merge, perform
from combred.reduction.reduce import COMPENSATIONS, METHODS, Job, count_parameters, refusal

Train = Callable[[nn.Module, int, float], float | None]
Metric = Callable[[nn.Module], float]
OUTPUT = "its units are the network's output"  # as `find_layers` says it of the output layer
OUTPUT = "its units are the network's output"  # as `find_layers` says it of the output layer


# -- the equations ---------------------------------------------------------------------------------


def fall(t: int, high: float, low: float, period: int) -> float:
    """From `high` at t = 0 to `low` at t >= period along a cosine (equations 21 and 22):

    low + 0.5 (high - low) (1 + cos(pi t / period)).
    """
    if t <= 0:
        return high
    if t <= 0:
        return high
    if t >= period:
        return low
    return low + 0.5 * (high - low) * (1.0 + math.cos(math.pi * t / period))


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), for any x."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


@dataclass(frozen=True)
class AutomaticSettings:
    """How far, how fast and how long. Defaults are the paper's, for an accuracy and for steps that
    are epochs; criteria are in the units of the caller's metric. ValueError refuses nonsense."""

    # equation (22)
    main_max: float = 0.88  # main criterion: what starts a main reduction
    main_min: float = 0.85
    layer_max: float = 0.84  # layer-by-layer criterion: what completes a layer
    layer_min: float = 0.81
    criterion_period: int = 100  # T_Acc, reductions
    # equation (21)
    rate_max: float = 0.01
    rate_min: float = 1e-4
    rate_period: int = 200  # T_lr, reductions
    # equations (23) to (25): threshold 1 / (1 + exp(-logit - logit_step t_fail))
    logit: float = 2.0
    logit_step: float = 0.1
    too_little: float = 0.999  # a success that leaves a larger share of the parameters: t_fail - 1
    step_limit: int = 20  # training steps after a cut, all layers but the last
    step_increment: int = 10  # more of them after each failure, for good
    last_steps: int | None = 200  # of the last layer; None: as the others
    last_criterion: float | None = 0.8  # of the last layer; None: as the others
    deviation: float | None = 0.5  # a metric below it means that the network has deviated; None: no
    deviation_steps: int = 10  # ... from so many steps after the cut on
    final_threshold: float | None = 0.4  # of the layer in front of the output layer; None: no cut
    final_steps: int = 200
    final_criterion: float | None = None  # None: the layer criterion of the moment
    test_every: int = 1  # steps between tests, the chunk that `train` is asked for
    target: int | None = None  # parameters at which cutting ends; None: when nothing more reduces
    max_steps: int = 20_000  # of all training together (the paper: some 15,200)
    attempts: int = 20  # failures of one layer in one main reduction, after which it is left
    patience: int = 10  # main reductions in a row that remove nothing, after which cutting ends
    layers: tuple[str | int, ...] | None = None  # in order; None: all but the final cut's
    compensation: str | None = None  # as in `combred.reduce`
    ridge: float = 1e-6

    def __post_init__(self):
        for name, value in asdict(self).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name}={value} must be finite")
        for kind in ("main", "layer", "rate"):
            low, high = getattr(self, f"{kind}_min"), getattr(self, f"{kind}_max")
            require(low <= high, f"{kind}_min={low} lies above {kind}_max={high}: it falls to it")
        require(self.rate_min >= 0, f"rate_min={self.rate_min} must not be negative")
        require(self.rate_max > 0, f"rate_max={self.rate_max} must be positive")
        for end in ("min", "max"):
            layer, main = getattr(self, f"layer_{end}"), getattr(self, f"main_{end}")
            require(
                layer <= main,
                f"layer_{end}={layer} lies above main_{end}={main}: a layer just cut is asked for "
                "less than the network that is to be reduced",
            )
        for name in ("last_criterion", "final_criterion"):
            value = getattr(self, name)
            require(
                value is None or value <= self.main_max,
                f"{name}={value} lies above main_max={self.main_max}: give it in the units of the "
                "metric, or None",
            )
        criteria = (self.layer_min, self.last_criterion, self.final_criterion)
        lowest = min(value for value in criteria if value is not None)
        require(
            self.deviation is None or self.deviation <= lowest,
            f"deviation={self.deviation} lies above a criterion (the lowest is {lowest}): "
            "give it in the units of the metric, or None",
        )
        whole = ("criterion_period", "rate_period", "step_limit", "deviation_steps", "final_steps")
        whole += ("test_every", "max_steps", "attempts", "patience", "last_steps", "target")
        for name in whole:
            value = getattr(self, name)
            if value is None and name in ("last_steps", "target"):
                continue
            sound = isinstance(value, int) and not isinstance(value, bool) and value > 0
            require(sound, f"{name}={value} must be a whole number above 0")
        require(
            isinstance(self.step_increment, int) and self.step_increment >= 0,
            f"step_increment={self.step_increment} must be a whole number, 0 or more",
        )
        require(self.logit_step > 0, f"logit_step={self.logit_step} must be positive")
        require(0 < self.too_little <= 1, f"too_little={self.too_little} must lie in (0, 1]")
        require(
            self.final_threshold is None or -1 <= self.final_threshold <= 1,
            f"final_threshold={self.final_threshold} is a cosine, in [-1, 1]",
        )
        require(
            self.compensation in (None, *COMPENSATIONS),
            f"compensation={self.compensation!r} is none of {', '.join(COMPENSATIONS)}",
        )
        require(self.ridge >= 0, f"ridge={self.ridge} must not be negative")
        require(self.layers is None or len(self.layers) > 0, "layers=() names no layer")
        if self.layers is not None:
            object.__setattr__(self, "layers", tuple(self.layers))

    def main_criterion(self, reductions: int) -> float:
        """The main criterion after so many reductions (equation 22)."""
        return fall(reductions - 1, self.main_max, self.main_min, self.criterion_period)

    def layer_criterion(self, reductions: int) -> float:
        """The layer-by-layer criterion after so many reductions (equation 22)."""
        return fall(reductions - 1, self.layer_max, self.layer_min, self.criterion_period)

    def rate(self, reductions: int) -> float:
        """The initial learning rate after so many reductions (equation 21)."""
        return fall(reductions - 1, self.rate_max, self.rate_min, self.rate_period)

    def threshold(self, t_fail: int) -> float:
        """The condensation threshold of a layer (equations 23 to 25)."""
        return logistic(self.logit + self.logit_step * t_fail)


# -- what comes out --------------------------------------------------------------------------------


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
    plan = _plan(network, example_input, settings or AutomaticSettings(), calibration)
    store = None if folder is None else _Folder(Path(folder), network, plan)
    return _Loop(network, train, metric, plan, store, on_event).run()


# -- which layers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """What is to be done: the settings, the layers of the main reductions in order, that of the
    final cut, and the compensation with its inputs."""

    settings: AutomaticSettings
    example_input: Tensor
    layers: list[HiddenLayer]
    final: HiddenLayer | None
    compensation: str
    calibration: Calibration | None
    untouched: dict[str, str]

    @property
    def all(self) -> dict[str, HiddenLayer]:
        final = [self.final] if self.final else []
        return {layer.name: layer for layer in [*self.layers, *final]}

    def condense(self, network: nn.Module, layer: HiddenLayer, threshold: float) -> Merge:
        """The merge of a layer at a threshold, compensated."""
        job = Job(
            network,
            self.example_input,
            self.calibration,
            METHODS["condensation"],
            "condensation",
            self.compensation,
            self.settings.ridge,
        )
        return job.merge(None, layer, {"threshold": threshold})[0]

    def require_runs(self, network: nn.Module, name: str) -> None:
        """ValueError where a network does not run with fewer units in a layer."""
        try:
            with evaluation(network), torch.no_grad():
                network(self.example_input)
        except RuntimeError as problem:
            raise ValueError(
                f"with fewer units in {name} the network no longer runs ({problem}): its forward "
                "has the old width written into it"
            ) from problem


def _plan(
    network: nn.Module,
    example_input: Tensor,
    settings: AutomaticSettings,
    calibration: Calibration | None,
) -> _Plan:
    """What is to be reduced. ValueError where that cannot be."""
    compensation = settings.compensation
    compensation = compensation or ("own" if calibration is None else "least_squares")
    if compensation == "least_squares" and calibration is None:
        raise ValueError("compensation='least_squares' fits activations: give calibration=inputs")
    if isinstance(calibration, Iterator):
        raise ValueError(
            "calibration is run through at every cut, an iterator only once: give inputs (n, ...), "
            "or list(batches)"
        )
    size = count_parameters(network)
    if settings.target is not None and settings.target >= size:
        raise ValueError(
            f"target={settings.target} parameters, and the network has {size}: ask for fewer"
        )
    survey = find_layers(network, example_input)
    refused = {
        layer.name: refusal(METHODS["condensation"], layer, compensation) for layer in survey.layers
    }
    final = None
    if settings.final_threshold is not None:
        outputs = {name for name, why in survey.untouched.items() if why == OUTPUT}
        before = [
            layer
            for layer in survey.layers
            if outputs.intersection(name for name, _ in layer.readers) and not refused[layer.name]
        ]
        if not before:
            raise ValueError(
                f"final_threshold={settings.final_threshold} cuts the layer in front of the output "
                f"layer ({', '.join(outputs) or 'there is none'}), and that layer cannot be "
                "condensed: set final_threshold=None"
            )
        final = before[-1]
    if settings.layers is not None:
        layers = [survey[name] for name in settings.layers]
        for layer in layers:
            if refused[layer.name]:
                raise ValueError(f"layer {layer.name} cannot be reduced: {refused[layer.name]}")
        if len({layer.name for layer in layers}) < len(layers):
            raise ValueError(f"layers={settings.layers} names a layer twice")
    else:
        layers = [la for la in survey.layers if not refused[la.name] and la is not final]
    untouched = survey.untouched | {name: why for name, why in refused.items() if why}
    if not layers:
        told = "; ".join(f"{name}: {why}" for name, why in untouched.items())
        raise ValueError(
            f"there is no layer for a main reduction. {told}"
            + (f"; {final.name}: left to the final cut" if final else "")
        )
    return _Plan(settings, example_input, layers, final, compensation, calibration, untouched)


# -- the loop --------------------------------------------------------------------------------------


@dataclass
class _Point:
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
class _State:
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


class _Loop:
    """Figure 1 as a machine of states; between two events everything is in `state` and `points`."""

    def __init__(
        self,
        network: nn.Module,
        train: Train,
        metric: Metric,
        plan: _Plan,
        store: "_Folder | None",
        on_event: Callable[[Event], None],
    ):
        self.train, self.metric, self.plan, self.settings = train, metric, plan, plan.settings
        self.store, self.on_event = store, on_event
        settings = self.settings
        self.trace: list[Event] = []
        self.state = _State(
            settings.step_limit,
            {layer.name: 0 for layer in plan.layers},
            settings.main_criterion(0),
        )
        units = {name: layer.units for name, layer in plan.all.items()}
        self.current = _Point(copy.deepcopy(network), units, math.nan, 0)
        self.saved: _Point | None = None  # the save point, while a cut is being judged
        self.points: dict[str, _Point] = {}  # "smallest" and "main": what comes out
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
            self.plan.require_runs(reduced, name)
            units = self.current.units | {name: len(merge.kept)}
            point = _Point(reduced, units, float(self.metric(reduced)), state.events, state.step)
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


# -- the folder ------------------------------------------------------------------------------------


class _Folder:
    """state.json, trace.jsonl and the networks of the loop, written so that a kill at any moment
    leaves a whole state: networks first, under names of their own, then state.json, which names
    them; lines of the trace beyond state.json's count are of an event that did not happen."""

    def __init__(self, path: Path, network: nn.Module, plan: _Plan):
        self.path, self.network, self.plan = path, network, plan
        given = isinstance(plan.calibration, Tensor)
        self.signature = json.loads(json.dumps(asdict(plan.settings))) | {
            "network": _digest(repr(network), network.state_dict()),
            "calibration": _digest("", {"": plan.calibration}) if given else None,
            "layers": [layer.name for layer in plan.layers],
            "compensation": plan.compensation,
        }

    def load(self) -> tuple[_State, dict[str, _Point], list[Event]] | None:
        """What the folder holds, None if nothing; torch's generator is set to what it was."""
        self.path.mkdir(parents=True, exist_ok=True)
        stored = read_json(self.path / "state.json")
        if not stored:
            (self.path / "trace.jsonl").unlink(missing_ok=True)
            return None
        was, now = stored["signature"], self.signature
        other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
        if other:
            told = "; ".join(f"{key}: then {was.get(key)}, now {now.get(key)}" for key in other)
            raise ValueError(
                f"{self.path} holds another automatic reduction ({told}). Give the same network "
                "and settings to go on with it, or another folder."
            )
        path, events = self.path / "trace.jsonl", stored["state"]["events"]
        lines = path.read_text().splitlines()[:events] if path.exists() else []
        if len(lines) < events:
            raise ValueError(
                f"{path} has {len(lines)} of the {events} events that state.json counts: delete "
                "the folder to start anew"
            )
        trace = [Event(**json.loads(line)) for line in lines]
        write_bytes(path, "".join(map(_line, trace)).encode())
        points = {role: self.rebuild(entry) for role, entry in stored["points"].items()}
        random = bytearray(base64.b64decode(stored["random"]))
        torch.set_rng_state(torch.frombuffer(random, dtype=torch.uint8))
        return _State(**stored["state"]), points, trace

    def rebuild(self, entry: dict) -> _Point:
        """A stored network: a copy of the original, cut to the stored shapes, with the stored
        weights."""
        network = copy.deepcopy(self.network)
        for name, units in entry["units"].items():
            layer = self.plan.all[name]
            if units < layer.units:
                perform(network, layer, Merge.prune(torch.arange(units), layer.units))
        path = self.path / file_name(entry["event"])
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing, which state.json names: delete the folder to start anew"
            )
        weights = load_file(path)
        for key in weights.keys() - network.state_dict().keys():
            # A merge with an offset gives its readers a bias, where they had none.
            module = network.get_submodule(key.removesuffix(".bias"))
            new = module.weight.detach().new_zeros(weights[key].shape)
            module.bias = nn.Parameter(new, requires_grad=module.weight.requires_grad)
        network.load_state_dict(weights)
        return _Point(network, **entry)

    def save(self, state: _State, points: dict[str, _Point], event: Event) -> None:
        """Write the state after an event."""
        new = [point for point in points.values() if point.event == event.event]
        if new:  # several are copies of one
            tensors = new[0].network.state_dict().items()
            plain = {k: v.detach().cpu().contiguous().clone() for k, v in tensors}
            write_bytes(self.path / file_name(event.event), to_bytes(plain))
        with (self.path / "trace.jsonl").open("a") as file:
            file.write(_line(event))
        content = {
            "signature": self.signature,
            "state": asdict(state),
            "points": {role: _entry(point) for role, point in points.items()},
            "random": base64.b64encode(torch.get_rng_state().numpy().tobytes()).decode(),
        }
        write_json(self.path / "state.json", content)
        needed = {file_name(point.event) for point in points.values()}
        for path in self.path.glob("network-*.safetensors"):
            if path.name not in needed:
                path.unlink()


def file_name(event: int) -> str:
    """The file of a network whose weights were last changed at an event."""
    return f"network-{event}.safetensors"


def _entry(point: _Point) -> dict:
    return {key: value for key, value in vars(point).items() if key != "network"}


def _line(event: Event) -> str:
    return json.dumps(asdict(event)) + "\n"


def _digest(what: str, tensors: dict[str, Tensor]) -> str:
    """A short hash of a text and named tensors: names, shapes, dtypes and values."""
    sha = hashlib.sha256(what.encode())
    for name, tensor in sorted(tensors.items()):
        sha.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        flat = tensor.detach().cpu().contiguous().flatten()
        sha.update(flat.view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]
