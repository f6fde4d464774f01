"""The record of an automatic reduction: its events and networks, in a folder if there is one."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from combred.files.trace import Trace, load_tensors, save_tensors
from combred.reduction.automatic.events import Event, Found
from combred.reduction.network.layers import HiddenLayer
from combred.reduction.network.merge import Merge, apply_merge_in_place


class Record:
    """The events so far and, where there is a folder, the networks from which to go on.

    The events are the state: a loop that goes on takes its steps again with the stored events in
    place of training and tests, and then loads the networks that it holds. given: the network and
    its hidden layers by name. inputs: JSON of all that decides the outcome.
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
        self.random = (self.trace.load() or {}).get("random")
        self.stored = [Event(**row) for row in self.trace.rows]

    @property
    def next(self) -> Event | None:
        """The stored event that comes next; None where it has yet to happen."""
        return self.stored[len(self.events)] if len(self.events) < len(self.stored) else None

    def add(self, event: Event, held: Iterable[Found]) -> None:
        """Add an event that has happened, after which the loop holds these networks."""
        again = self.next is not None
        self.events.append(event)
        if not again and self.folder:
            self.store(event, {found.number: found.network for found in held})
        elif again and self.next is None:
            for found in held:
                self.rebuild(found)
            torch.set_rng_state(self.random)
        self.on_event(event)

    def store(self, event: Event, networks: dict[int, nn.Module]) -> None:
        """Write an event, the networks that are new, and the state; then remove other networks."""
        self.trace.add(asdict(event))
        for number in networks.keys() - self.on_disk:
            save_tensors(self.file(number), {"weights": networks[number].state_dict()})
        self.trace.save({"random": torch.get_rng_state()})
        self.on_disk = set(networks)
        for path in self.folder.glob("network*.state"):
            if path not in map(self.file, networks):
                path.unlink()

    def rebuild(self, found: Found) -> None:
        """Make a network anew: the given one with its units and the stored weights."""
        file = self.file(found.number)
        if not file.exists():
            raise ValueError(f"{file} is missing: move {self.folder} away to start anew")
        network, weights = copy.deepcopy(self.given), load_tensors(file)["weights"]
        for name, units in found.units.items():
            layer = self.layers[name]
            if units < layer.units:
                apply_merge_in_place(network, layer, Merge.prune(torch.arange(units), layer.units))
        for key in weights.keys() - network.state_dict().keys():
            # A merge with an offset gives its readers a bias where they had none.
            module = network.get_submodule(key.removesuffix(".bias"))
            new = module.weight.detach().new_zeros(weights[key].shape)
            module.bias = nn.Parameter(new, requires_grad=module.weight.requires_grad)
        network.load_state_dict(weights)
        found.network = network

    def file(self, number: int) -> Path:
        """The file with the weights of a network."""
        return self.folder / f"network{number}.state"
