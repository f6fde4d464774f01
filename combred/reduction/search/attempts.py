"""The attempts of a search for the smallest network, and the folder that stores them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from combred.files.records import require_same
from combred.files.trace import Trace


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
    """The smallest network that passed, its attempt (number 0: the given network), all attempts,
    and why the search ended, "max_keep_ratio" or "attempts"."""

    network: Any
    smallest: Attempt
    trace: list[Attempt]
    reason: str


class NotPassed(ValueError):
    """The network that is to be made smaller does not keep the limits itself."""


class AttemptFolder:
    """The folder of a search: attempts.jsonl, an `Attempt` that was judged in each line;
    attempts.state, the one in flight; the networks of those that passed or are in flight.

    inputs: JSON of everything that decides the outcome. save(path, network) and load(path): how a
    network is written and read, in files that end in `suffix`. A folder of other inputs is begun
    anew if it holds attempt 0 alone.
    """

    def __init__(
        self,
        path: Path,
        inputs: dict,
        save: Callable[[Path, Any], None],
        load: Callable[[Path], Any],
        suffix: str = ".network",
    ):
        self.path, self.save, self.load, self.suffix = Path(path), save, load, suffix
        self.stored = Trace(self.path / "attempts.state", inputs)

    def trace(self) -> list[Attempt]:
        """All attempts in the folder; raises ValueError where they have other inputs."""
        stored = self.stored.peek()
        if stored and (stored["rows"] > 1 or stored["state"]["flying"]):
            require_same(self.path, stored["inputs"], self.stored.inputs)
        elif stored and stored["inputs"] != self.stored.inputs:
            self.stored.restart()
        state = self.stored.load()
        flying = [state["flying"]] if state and state["flying"] else []
        return [Attempt(**row) for row in [*self.stored.rows, *flying]]

    def file(self, number: int, flying: bool = False) -> Path:
        """The file of an attempt's network: right after its cut (`flying`), or as it passed."""
        return self.path / f"attempt{number}{'.cut' if flying else ''}{self.suffix}"

    def network(self, attempt: Attempt) -> nn.Module:
        """The network of an attempt that passed or is in flight."""
        path = self.file(attempt.number, flying=attempt.passed is None)
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing, which attempts.jsonl names: move {self.path} away to start "
                "anew"
            )
        return self.load(path)

    def store(self, attempt: Attempt, network: nn.Module) -> None:
        """Store the last attempt, after its network unless it failed or is the given one."""
        flying = attempt.passed is None
        if attempt.number and attempt.passed is not False:
            self.path.mkdir(parents=True, exist_ok=True)
            self.save(self.file(attempt.number, flying), network)
        if not flying:
            self.stored.add(asdict(attempt))
        self.stored.save({"flying": asdict(attempt) if flying else None})
        for cut in self.path.glob(f"*.cut{self.suffix}"):
            if not flying or cut != self.file(attempt.number, flying):
                cut.unlink()


def passes(errors: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    """Whether every kind of error that has a limit is present and within it."""
    return all(errors.get(kind, math.inf) <= limit for kind, limit in limits.items())


def format_errors(errors: Mapping[str, float] | None, limits: Mapping[str, float]) -> str:
    """Errors, which are shares, and their limits in words, as "ignition 3.2 % (at most 1 %)"."""

    def words(error: float | None) -> str:
        if error is None:
            return "not judged"
        return f"{100 * error:.3g} %" if math.isfinite(error) else "failed"

    values = errors or {}
    return ", ".join(
        f"{k} {words(values.get(k))} (at most {100 * x:.3g} %)" for k, x in limits.items()
    )
