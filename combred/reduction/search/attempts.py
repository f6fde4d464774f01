"""The attempts of a search for the smallest network: what each gave, and where they are kept.

Takes attempts and networks from `shrink`; gives them back to a search that goes on. The folder
holds attempts.json and a network for each attempt that passed, or is in flight.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from torch import nn

from combred.records import read_json, write_json


@dataclass
class Attempt:
    """One cut and what came of it; number 0: the network as it was given.

    parent: the attempt whose network was cut, to `factor` of its parameters. share: the parameters
    it has, of those of the first network. errors_cut: right after the cut; errors: after the
    retraining. passed: None while it is in flight. seconds: all that it took. note: why it failed
    unjudged. training, shape: what `train` and `describe` told.
    """

    number: int
    parent: int
    factor: float
    parameters: int = 0
    share: float = 0.0
    errors_cut: dict[str, float] | None = None
    errors: dict[str, float] | None = None
    passed: bool | None = None
    seconds: float = 0.0
    note: str = ""
    training: dict = field(default_factory=dict)
    shape: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Shrunk:
    """The smallest network that passed, its attempt (0: the one given), all attempts, and why the
    search ended: "max_keep_ratio" (no gentler cut is tried) or "attempts" (they are used up)."""

    network: nn.Module
    smallest: Attempt
    trace: list[Attempt]
    reason: str


class NotPassed(ValueError):
    """The network that is to be made smaller does not do its job itself."""


class Memory(Protocol):
    """Where a search keeps what it has done."""

    def trace(self) -> list[Attempt]: ...

    def network(self, number: int) -> nn.Module: ...

    def store(self, trace: list[Attempt], network: nn.Module) -> None: ...


class NoMemory:
    """Nothing is kept: a search that is killed starts anew."""

    def trace(self) -> list[Attempt]:
        return []

    def network(self, number: int) -> nn.Module:
        raise LookupError(f"the network of attempt {number} was not kept")

    def store(self, trace: list[Attempt], network: nn.Module) -> None:
        pass


class AttemptFolder:
    """A `Memory` on disk, written so that a kill at any moment leaves a whole one: a network first,
    then attempts.json, which tells of it.

    inputs: JSON of all that decides the outcome (the network given, the limits, the settings);
    save(path, network) and load(path): how a network is written and read. leads: whether this
    process writes. A folder in which nothing but attempt 0 was judged, with other inputs, is begun
    anew; one that holds more raises ValueError.
    """

    def __init__(
        self,
        path: Path,
        inputs: dict,
        save: Callable[[Path, nn.Module], None],
        load: Callable[[Path], nn.Module],
        leads: bool = True,
    ):
        self.path, self.save, self.load, self.leads = Path(path), save, load, leads
        self.inputs = json.loads(json.dumps(inputs))  # as they are read again
        if leads:
            self.path.mkdir(parents=True, exist_ok=True)

    def trace(self) -> list[Attempt]:
        """What the folder holds."""
        stored = read_json(self.path / "attempts.json")
        trace = [Attempt(**entry) for entry in stored.get("trace", [])]
        if not trace or stored["inputs"] == self.inputs:
            return trace
        if len(trace) == 1:
            return []
        was, now = stored["inputs"], self.inputs
        other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
        told = "; ".join(f"{key}: then {was.get(key)}, now {now.get(key)}" for key in other)
        raise ValueError(
            f"{self.path} holds a search with other settings ({told}). Give those again to go on "
            "with it, or another folder."
        )

    def file(self, number: int, flying: bool = False) -> Path:
        """The network of an attempt: as it passed, or right after its cut."""
        return self.path / f"attempt{number}{'.cut' if flying else ''}.safetensors"

    def network(self, number: int) -> nn.Module:
        """The network of an attempt that is in flight or passed: attempts.json says which."""
        path = self.file(number, flying=self.trace()[number].passed is None)
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing, which attempts.json tells of: delete {self.path} to start anew"
            )
        return self.load(path)

    def store(self, trace: list[Attempt], network: nn.Module) -> None:
        """The last attempt, and its network unless it failed or is the one given."""
        if not self.leads:
            return
        attempt = trace[-1]
        if attempt.number and attempt.passed is not False:
            self.save(self.file(attempt.number, attempt.passed is None), network)
        content = {"inputs": self.inputs, "trace": [asdict(one) for one in trace]}
        write_json(self.path / "attempts.json", content)
        for cut in self.path.glob("*.cut.safetensors"):
            if cut != self.file(attempt.number, flying=True) or attempt.passed is not None:
                cut.unlink()


def passes(errors: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    """Whether every kind of error is known and within its limit."""
    return all(errors.get(kind, math.inf) <= limit for kind, limit in limits.items())


def format_errors(errors: Mapping[str, float] | None, limits: Mapping[str, float]) -> str:
    """Errors and their limits in words, as in "ignition 3.2 % (at most 1 %)"."""
    parts = []
    for kind, limit in limits.items():
        error = (errors or {}).get(kind)
        value = "not judged" if error is None else f"{100 * error:.3g} %"
        if error is not None and not math.isfinite(error):
            value = "failed"
        parts.append(f"{kind} {value} (at most {100 * limit:.3g} %)")
    return ", ".join(parts)
