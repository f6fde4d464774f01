"""What the experiments have in common: cases, references, answers of any `Advance`, their errors.

`Ignitions`, `IgnitionDelays`, `PremixedFlames`, `CounterflowFlames` and `StirredReactors`, in the
module `experiment` of their rooms, are experiments. Each is asked by `combred check`, by the
validation of networks and by the search of a reduction (`combred.experiments.judges`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from combred.chemistry.agreement import difference_from_cvode, spread
from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes

Run = TypeVar("Run")
OnProgress = Callable[[int, int], None]  # (done, all)
Progress = Callable[[str], AbstractContextManager[OnProgress]]  # of a title
ALONE = Processes()  # one process
State = tuple[np.ndarray, float, np.ndarray, float]  # T (n,) [K], p [Pa], Y (n, n_species), dt [s]


def silent(done: int, total: int) -> None:
    """An `OnProgress` that tells nothing."""


@dataclass(frozen=True)
class Experiment(ABC, Generic[Run]):
    """Cases of one kind, of mixtures of a fuel and an oxidizer.

    name: in words; kind: the class of its runs; limits: the errors that can be limited, by the name
    of the limit: the keys of such a number in the result of `compare`, which is relative and
    infinite for a failure.
    """

    mechanism: Mechanism
    mixture: Mixture
    cases: list

    name: ClassVar[str]
    kind: ClassVar[type]
    limits: ClassVar[Mapping[str, tuple[str, str]]] = {}

    @abstractmethod
    def reference(self, processes: Processes = ALONE) -> list[Run]:
        """The reference of each case, from CVODE or from the solver in doubles. Raises ValueError
        where there is none."""

    @abstractmethod
    def follow(
        self, advance: Advance, references: list[Run], on_progress: OnProgress = silent
    ) -> list[Run]:
        """What `advance` makes of the cases, from the beginning of the `references`. A failure is
        told by the result, not by an exception."""

    @abstractmethod
    def compare(self, found: list[Run], references: list[Run]) -> Any:
        """The errors of `found` against the `references`, as plain numbers."""

    def end(self, run: Run) -> State:
        """The state in which a reference of the solver ends, and its time step."""
        raise NotImplementedError(f"CVODE itself gives the references of {self.name}")

    def differences_from_cvode(self, references: list[Run]) -> np.ndarray:
        """How far references of the solver in doubles are from CVODE: (n,) differences, n <= 256,
        in one more step of their last states (`combred.chemistry.agreement`). NaN where CVODE
        fails, infinite where the solver does."""
        return self.steps_from_cvode([self.end(run) for run in references])

    def steps_from_cvode(self, states: list[State]) -> np.ndarray:
        """As `differences_from_cvode`, of other states and their time steps."""
        gas = [np.column_stack(np.broadcast_arrays(T, p, dt)) for T, p, _, dt in states]
        T, p, dt = spread(np.concatenate(gas)).T
        Y = spread(np.concatenate([Y for _, _, Y, _ in states]).clip(min=0.0))
        after = Solver(self.mechanism).attempt(T, p, Y, dt, PRECISE).or_nan()
        off = difference_from_cvode(self.mechanism, (T, p, Y), dt, after)
        return np.where(np.isfinite(after[0]), off, np.inf)
