"""The events of an automatic reduction, its networks, its result, and the folder that has them."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from combred.files.trace import Trace, load_tensors, save_tensors
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge, apply_merge_in_place
from combred.reduction.network.tensors import tensor_of


@dataclass(frozen=True)
class Event:
    """One line of the trace.

    kind: "test" (in training, or of a condensed layer not yet decided on), "main" (a main reduction
    begins), "cut" (a layer is condensed), "met" (it stays so), "rollback" (reason: "limit",
    "deviated" or "steps"), "unchanged" (the threshold merges nothing), "left" (too many failures),
    "end" (reason as in `AutomaticReduction`). phase: "train", "layer" or "final". main: number of
    the main reduction, from 1. reductions: done so far.

    Of the layer in turn: attempt (from 1, in this main reduction), threshold at which it is
    condensed, t_fail, step_limit, and trained (training steps since it was condensed).

    metric: of the network at this event; in a rollback, of the one that is given up. criterion:
    that the metric is compared with. parameters and units (by layer): of the network that the loop
    goes on with. rate: learning rate. loss: of the training, as the caller gave it.
    """

    event: int
    step: int
    kind: str
    phase: str
    main: int
    reductions: int
    layer: str
    attempt: int
    parameters: int
    units: dict[str, int]
    metric: float
    criterion: float
    threshold: float | None
    t_fail: int | None
    step_limit: int | None
    trained: int
    rate: float
    loss: float | None = None
    reason: str = ""


@dataclass
class Found:
    """A network of the loop. units: by layer. metric: of the caller. step: training steps done by
    then. number: of the event that made it; networks of one number are equal. criterion: the one
    that it met, None for none."""

    network: nn.Module
    units: dict[str, int]
    parameters: int
    metric: float = math.nan
    step: int = 0
    number: int = 0
    criterion: float | None = None

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


class Record:
    """The events so far and, where there is a folder, the networks from which to go on.

    The events are the state: a loop that goes on takes its steps again with the stored events in
    place of cuts, training and tests (`replaying`), and then loads the networks that it holds.
    given: the network and its hidden layers by name. inputs: JSON of all that decides the outcome.
    """

    def __init__(
        self,
        given: nn.Module,
        layers: dict[str, HiddenLayer],
        folder: Path | None,
        inputs: dict,
        on_event: Callable[[Event], None],
    ):
        self.given, self.layers, self.on_event = given, layers, on_event
        self.folder, self.on_disk = folder and Path(folder), set[int]()
        self.events: list[Event] = []
        self.trace = Trace(self.folder and self.folder / "trace.state", inputs)
        self.random = (self.trace.load() or {}).get("random", torch.get_rng_state())
        self.stored = [Event(**row) for row in self.trace.rows]

    @property
    def next(self) -> Event | None:
        """The stored event that comes next; None where it has yet to happen."""
        return self.stored[len(self.events)] if len(self.events) < len(self.stored) else None

    def replaying(
        self, train: Callable, metric: Callable, cut: Callable
    ) -> tuple[Callable, Callable, Callable]:
        """The three functions of the loop, which give what the stored event that comes next has,
        where there is one. Networks are loaded when all events are replayed."""

        def train_again(*arguments):
            return self.next.loss if self.next else train(*arguments)

        def test_again(network):
            return self.next.metric if self.next else metric(network)

        def cut_again(before: Found, *arguments) -> Found | None:
            if not self.next:
                return cut(before, *arguments)
            repeated = Found(before.network, self.next.units, self.next.parameters)
            return repeated if self.next.kind == "cut" else None

        return train_again, test_again, cut_again

    def add(self, event: Event, held: Iterable[Found]) -> None:
        """Add an event that has happened, after which the loop holds these networks."""
        stored = self.next
        self.events.append(event)
        if stored and (stored.kind, stored.step) != (event.kind, event.step):
            raise ValueError(f"{self.folder} is of another version: move it away to start anew")
        if stored and not self.next:
            for state in held:
                self.rebuild(state)
            torch.set_rng_state(self.random)
        elif not stored and self.folder:
            self.store(event, {state.number: state.network for state in held})
        self.on_event(event)

    def store(self, event: Event, networks: dict[int, nn.Module]) -> None:
        """Write an event, the networks that are new, and the state; then remove other networks."""
        assert self.folder
        self.trace.add(asdict(event))
        for number in networks.keys() - self.on_disk:
            save_tensors(self.file(number), {"weights": networks[number].state_dict()})
        self.trace.save({"random": torch.get_rng_state()})
        self.on_disk = set(networks)
        for path in self.trace.path.parent.glob("network*.state"):
            if path not in map(self.file, networks):
                path.unlink()

    def rebuild(self, state: Found) -> None:
        """Make a network anew: the given one with its units and the stored weights."""
        file = self.file(state.number)
        if not file.exists():
            raise ValueError(f"{file} is missing: move {self.folder} away to start anew")
        network, weights = copy.deepcopy(self.given), load_tensors(file)["weights"]
        for name, units in state.units.items():
            layer = self.layers[name]
            if units < layer.units:
                apply_merge_in_place(network, layer, Merge.prune(torch.arange(units), layer.units))
        for key in weights.keys() - network.state_dict().keys():
            # A merge with an offset gives its readers a bias where they had none.
            module = network.get_submodule(key.removesuffix(".bias"))
            weight = tensor_of(module)
            new = weight.detach().new_zeros(weights[key].shape)
            module.bias = nn.Parameter(new, requires_grad=weight.requires_grad)
        network.load_state_dict(weights)
        state.network = network

    def file(self, number: int) -> Path:
        """The file with the weights of a network."""
        assert self.folder
        return self.folder / f"network{number}.state"
