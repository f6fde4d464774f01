"""The attempts of a search for the smallest network, and the folder that stores them.

Takes attempts and networks from `shrink`; gives them back to a search that goes on. The folder
holds attempts.json, and the network of each attempt that passed or is in flight.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from combred.files.records import read_record, write_record


@dataclass
class Attempt:
    """One cut, its retraining and its errors; number 0 is the given network.

    parent: number of the attempt whose network was cut to the share `factor` of its parameters.
    parameters; share: parameters over those of the given network. errors_cut: by kind, right after
    the cut; errors: after the retraining. passed: None while the attempt is in flight. seconds:
    wall time of the attempt. note: why it failed without being judged. training, shape: numbers
    that `train` and `describe` gave.
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
    """The result of a search: the smallest network that passed (of the class of the given network),
    its attempt (number 0: the given network), all attempts, and why the search ended,
    "max_keep_ratio" or "attempts"."""

    network: Any
    smallest: Attempt
    trace: list[Attempt]
    reason: str


class NotPassed(ValueError):
    """The network that is to be made smaller does not keep the limits itself."""


class Memory(Protocol):
    """Where a search stores its attempts."""

    def trace(self) -> list[Attempt]:
        """All attempts stored so far."""

    def network(self, number: int) -> nn.Module:
        """The network of an attempt that passed or is in flight."""

    def store(self, trace: list[Attempt], network: nn.Module) -> None:
        """Store the last attempt of a trace, and its network."""


class NoMemory:
    """A `Memory` that stores nothing: a search that is killed starts anew."""

    def trace(self) -> list[Attempt]:
        """No attempts."""
        return []

    def network(self, number: int) -> nn.Module:
        """Raises LookupError."""
        raise LookupError(f"the network of attempt {number} was not kept")

    def store(self, trace: list[Attempt], network: nn.Module) -> None:
        """Stores nothing."""


class AttemptFolder:
    """A `Memory` on disk. A kill at any moment leaves it complete: a network is written first, then
    attempts.json, which names it.

    inputs: JSON of everything that decides the outcome (the given network, limits, settings).
    save(path, network) and load(path): how a network is written and read. leads: whether this
    process writes. A folder with other inputs is begun anew if it holds attempt 0 alone; if it
    holds more, ValueError is raised.
    """

    def __init__(
        self,
        path: Path,
        inputs: dict,
        save: Callable[[Path, Any], None],
        load: Callable[[Path], Any],
        leads: bool = True,
    ):
        self.path, self.save, self.load, self.leads = Path(path), save, load, leads
        self.inputs = json.loads(json.dumps(inputs))  # as they are read again
        if leads:
            self.path.mkdir(parents=True, exist_ok=True)

    def trace(self) -> list[Attempt]:
        """All attempts in the folder; raises ValueError where they have other inputs."""
        stored = read_record(self.path / "attempts.json")
        trace = [Attempt(**entry) for entry in stored.get("trace", [])]
        if not trace or stored["inputs"] == self.inputs:
            return trace
        if len(trace) == 1:
            return []
        was, now = stored["inputs"], self.inputs
        other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
        changes = "; ".join(f"{k}: then {was.get(k)}, now {now.get(k)}" for k in other)
        raise ValueError(
            f"{self.path} holds a search with other settings ({changes}). Give those again to "
            "go on with it, or another folder."
        )

    def file(self, number: int, flying: bool = False) -> Path:
        """The file of an attempt's network: right after its cut (`flying`), or as it passed."""
        return self.path / f"attempt{number}{'.cut' if flying else ''}.safetensors"

    def network(self, number: int) -> nn.Module:
        """The network of an attempt that passed or is in flight, as attempts.json says.

        Raises FileNotFoundError where its file is missing.
        """
        path = self.file(number, flying=self.trace()[number].passed is None)
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing, which attempts.json names: move {self.path} away to start anew"
            )
        return self.load(path)

    def store(self, trace: list[Attempt], network: nn.Module) -> None:
        """Store the last attempt, and its network unless it failed or is the given one."""
        if not self.leads:
            return
        attempt = trace[-1]
        if attempt.number and attempt.passed is not False:
            self.save(self.file(attempt.number, attempt.passed is None), network)
        content = {"inputs": self.inputs, "trace": [asdict(one) for one in trace]}
        write_record(self.path / "attempts.json", content)
        for cut in self.path.glob("*.cut.safetensors"):
            if cut != self.file(attempt.number, flying=True) or attempt.passed is not None:
                cut.unlink()


def passes(errors: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    """Whether every kind of error that has a limit is present and within it."""
    return all(errors.get(kind, math.inf) <= limit for kind, limit in limits.items())


def format_errors(errors: Mapping[str, float] | None, limits: Mapping[str, float]) -> str:
    """Errors and their limits in words, as "ignition 3.2 % (at most 1 %)". Errors are shares; one
    that is missing is "not judged", one that is infinite or NaN "failed"."""
    parts = []
    for kind, limit in limits.items():
        error = (errors or {}).get(kind)
        value = "not judged" if error is None else f"{100 * error:.3g} %"
        if error is not None and not math.isfinite(error):
            value = "failed"
        parts.append(f"{kind} {value} (at most {100 * limit:.3g} %)")
    return ", ".join(parts)
