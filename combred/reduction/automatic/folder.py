"""The state of the loop on disk: written after every event, and read when it goes on.

Takes state, networks and events; gives them back to a loop with the same network and settings.
"""

import base64
import copy
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from combred.files.records import read_json, write_bytes, write_json
from combred.reduction.automatic.plan import Plan
from combred.reduction.automatic.state import Point, State
from combred.reduction.automatic.trace import Event
from combred.reduction.network.merge import Merge, apply_merge_in_place


class Folder:
    """state.json, trace.jsonl and the networks of an automatic reduction.

    A kill at any moment leaves a complete state: networks are written first, under new names, then
    state.json, which names them. It also counts the events; lines of the trace beyond that count
    are ignored.
    """

    def __init__(self, path: Path, network: nn.Module, plan: Plan):
        self.path, self.network, self.plan = path, network, plan
        given = isinstance(plan.calibration, Tensor)
        self.signature = json.loads(json.dumps(asdict(plan.settings))) | {
            "network": _digest(repr(network), network.state_dict()),
            "calibration": _digest("", {"": plan.calibration}) if given else None,
            "layers": [layer.name for layer in plan.layers],
            "compensation": plan.compensation,
        }

    def load(self) -> tuple[State, dict[str, Point], list[Event]] | None:
        """State, networks by role and trace of the folder, or None where it is empty.

        Sets torch's generator to its stored state. Raises ValueError for a folder of another
        reduction or with a short trace, FileNotFoundError where a network is missing.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        stored = read_json(self.path / "state.json")
        if not stored:
            (self.path / "trace.jsonl").unlink(missing_ok=True)
            return None
        was, now = stored["signature"], self.signature
        other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
        if other:
            changes = "; ".join(f"{key}: then {was.get(key)}, now {now.get(key)}" for key in other)
            raise ValueError(
                f"{self.path} holds another automatic reduction ({changes}). Give the same network "
                "and settings to go on with it, or another folder."
            )
        path, events = self.path / "trace.jsonl", stored["state"]["events"]
        lines = path.read_text().splitlines()[:events] if path.exists() else []
        if len(lines) < events:
            raise ValueError(
                f"{path} has {len(lines)} of the {events} events that state.json counts: move "
                "the folder away to start anew"
            )
        trace = [Event(**json.loads(line)) for line in lines]
        write_bytes(path, "".join(map(_line, trace)).encode())
        points = {role: self.rebuild(entry) for role, entry in stored["points"].items()}
        random = bytearray(base64.b64decode(stored["random"]))
        torch.set_rng_state(torch.frombuffer(random, dtype=torch.uint8))
        return State(**stored["state"]), points, trace

    def rebuild(self, entry: dict) -> Point:
        """A stored network: the given one with the stored units and weights."""
        network = copy.deepcopy(self.network)
        for name, units in entry["units"].items():
            layer = self.plan.all[name]
            if units < layer.units:
                apply_merge_in_place(network, layer, Merge.prune(torch.arange(units), layer.units))
        path = self.path / file_name(entry["event"])
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing, which state.json names: move the folder away to start anew"
            )
        weights = load_file(path)
        for key in weights.keys() - network.state_dict().keys():
            # A merge with an offset gives its readers a bias where they had none.
            module = network.get_submodule(key.removesuffix(".bias"))
            new = module.weight.detach().new_zeros(weights[key].shape)
            module.bias = nn.Parameter(new, requires_grad=module.weight.requires_grad)
        network.load_state_dict(weights)
        return Point(network, **entry)

    def save(self, state: State, points: dict[str, Point], event: Event) -> None:
        """Write the state after an event, and delete networks that are no longer needed."""
        new = [point for point in points.values() if point.event == event.event]
        if new:  # if there are several, they are copies of one
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


def _entry(point: Point) -> dict:
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
