"""How far the loop is: its state and networks, and the events it records.

Takes a `Plan` and, where there is one, the folder that holds an earlier state; gives the loop
criteria and limits of the moment, and stores each event. Between two events everything that decides
what comes next is in here.

In the folder: trace.jsonl, trace.state, and networkN.state with the weights of the network that
event N made. An event writes the network that it has made, if any; files that the state names no
more are removed after it is written.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from combred.files.trace import Trace, digest_of_tensors, load_tensors, save_tensors
from combred.reduction.automatic.plan import Plan
from combred.reduction.automatic.state import AutomaticReduction, Event, Found, State
from combred.reduction.network.merge import Merge, apply_merge_in_place


class Progress:
    """State, networks and trace of an automatic reduction.

    folder: where they are stored, None for nowhere; stored: numbers of the networks there. current:
    the network in training. saved: the save point while a reduced layer is being judged, else None.
    best: the networks that come out, by role: "smallest" and "main".
    """

    def __init__(
        self,
        network: nn.Module,
        plan: Plan,
        folder: Path | None,
        on_event: Callable[[Event], None],
    ):
        self.plan, self.settings, self.on_event = plan, plan.settings, on_event
        self.events: list[Event] = []
        self.state = State(
            self.settings.step_limit,
            {layer.name: 0 for layer in plan.layers},
            self.settings.main_criterion(0),
        )
        units = {name: layer.units for name, layer in plan.all.items()}
        self.current = Found(copy.deepcopy(network), units, math.nan)
        self.saved: Found | None = None
        self.best: dict[str, Found] = {}
        self.folder, self.stored = folder and Path(folder), set[int]()
        inputs = inputs_of(network, plan) if folder else {}
        self.trace = Trace(self.folder and self.folder / "trace.state", inputs)
        if stored := self.trace.load():
            self.resume(network, stored)

    def resume(self, given: nn.Module, stored: dict) -> None:
        """Go on from a stored state; torch's generator is set to its own."""
        self.state, self.events = State(**stored["state"]), [Event(**e) for e in self.trace.rows]
        self.best = {role: self.rebuild(given, entry) for role, entry in stored["networks"].items()}
        self.stored = {found.number for found in self.best.values()}
        self.current, self.saved = self.best.pop("current"), self.best.pop("saved", None)
        torch.set_rng_state(stored["random"])

    def rebuild(self, given: nn.Module, entry: dict) -> Found:
        """A stored network: the given one with the stored units and weights."""
        file = self.file(entry["number"])
        if not file.exists():
            raise ValueError(f"{file} is missing: move {self.folder} away to start anew")
        network, weights = copy.deepcopy(given), load_tensors(file)["weights"]
        for name, units in entry["units"].items():
            layer = self.plan.all[name]
            if units < layer.units:
                apply_merge_in_place(network, layer, Merge.prune(torch.arange(units), layer.units))
        for key in weights.keys() - network.state_dict().keys():
            # A merge with an offset gives its readers a bias where they had none.
            module = network.get_submodule(key.removesuffix(".bias"))
            new = module.weight.detach().new_zeros(weights[key].shape)
            module.bias = nn.Parameter(new, requires_grad=module.weight.requires_grad)
        network.load_state_dict(weights)
        return Found(network, **entry)

    def commit(self, event: Event) -> None:
        """Store an event that has happened, and then report it to the caller."""
        self.events.append(event)
        self.state.events += 1
        if self.folder:
            self.store(event)
        self.on_event(event)

    def store(self, event: Event) -> None:
        """Write an event, the networks that are new, and the state."""
        roles = self.best | {"current": self.current}
        roles |= {"saved": self.saved} if self.saved else {}
        networks = {found.number: found.network for found in roles.values()}
        self.trace.add(asdict(event))
        for number in networks.keys() - self.stored:
            save_tensors(self.file(number), {"weights": networks[number].state_dict()})
        entries = {role: dict(vars(found)) for role, found in roles.items()}
        for entry in entries.values():
            del entry["network"]
        random = torch.get_rng_state()
        self.trace.save({"state": asdict(self.state), "networks": entries, "random": random})
        self.stored = set(networks)
        for path in self.folder.glob("network*.state"):
            if path not in map(self.file, networks):
                path.unlink()

    def file(self, number: int) -> Path:
        """The file with the weights of a network."""
        return self.folder / f"network{number}.state"

    def result(self) -> AutomaticReduction:
        """What the reduction comes to, at its end."""
        best = self.best["smallest"], self.best.get("main")
        return AutomaticReduction(*best, self.state.reason, self.events, self.plan.untouched)

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
            new, old = replace(now, criterion=asked if met else None), self.best.get(role)
            if (met or role == "smallest") and (old is None or new.rank > old.rank):
                self.best[role] = replace(new, network=copy.deepcopy(now.network))

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


def inputs_of(network: nn.Module, plan: Plan) -> dict:
    """What decides the outcome: settings, and digests of network and calibration."""
    calibration = plan.reducer.calibration
    known = isinstance(calibration, Tensor)
    return asdict(plan.settings) | {
        "network": digest_of_tensors(network.state_dict(), repr(network)),
        "calibration": digest_of_tensors({"": calibration}) if known else None,
        "compensation": plan.reducer.compensation,
    }
