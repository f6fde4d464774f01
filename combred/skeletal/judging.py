"""Judges of skeletons, in as many processes as there are cores.

Takes judges; gives a `Panel`, which the search asks for the errors of many skeletons at once.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from combred.processes.workers import Ask, Processes
from combred.skeletal.cases import distinct
from combred.skeletal.extinction import Extinctions
from combred.skeletal.flames import Flame
from combred.skeletal.skeleton import ReactionNetwork, Skeleton


class Judge(Protocol):
    """Judges skeletons on its cases. values (n_cases,): of the detailed mechanism, in SI units."""

    name: str
    cases: list[str]
    values: np.ndarray

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n_cases,), infinite where a skeleton fails."""
        ...


@dataclass(frozen=True)
class Told:
    """Of each case of each kind of judges, the error of a skeleton and the value of the detailed
    mechanism."""

    errors: dict[str, dict[str, float]]
    values: dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Bench:
    """What a process judges with."""

    network: ReactionNetwork
    judges: list[Judge]


@dataclass(frozen=True, eq=False)
class Panel:
    """judges: the cheap ones, which see every candidate, and flames; ask(work, tasks): the results
    of work(bench, task) for each task, in order."""

    judges: list[Judge]
    ask: Ask

    @property
    def cheap(self) -> list[int]:
        """The numbers of the judges that are no flames."""
        return [i for i, judge in enumerate(self.judges) if not isinstance(judge, Flame)]

    @property
    def flames(self) -> list[Flame]:
        """The judges that are flames."""
        return [judge for judge in self.judges if isinstance(judge, Flame)]

    def errors(self, pairs: list[tuple[int, Skeleton]]) -> list[np.ndarray]:
        """The errors (n_cases,) of each pair of the number of a judge and a skeleton."""
        tasks = [(i, one.species, one.listed, one.factors) for i, one in pairs]
        return self.ask(errors_of, tasks)

    def speeds(self, skeleton: Skeleton) -> list[tuple[float, np.ndarray]]:
        """Of each flame, the relative error of the speed, and its sensitivities (n_reactions,)."""
        flames = [i for i, judge in enumerate(self.judges) if isinstance(judge, Flame)]
        parts = skeleton.species, skeleton.listed, skeleton.factors
        return self.ask(speed_of, [(i, *parts) for i in flames])

    def by_case(self, skeleton: Skeleton) -> dict[str, dict[str, float]]:
        """The error of each case of each kind of judges."""
        return self._named(self.errors([(i, skeleton) for i in range(len(self.judges))]))

    def told(self, skeleton: Skeleton) -> Told:
        """What reduce.json tells of a skeleton."""
        values = self._named([judge.values for judge in self.judges])
        return Told(self.by_case(skeleton), values)

    def curves(self, skeleton: Skeleton) -> dict[str, list]:
        """The `Extinctions.curves` of a skeleton."""
        extinctions = (judge for judge in self.judges if isinstance(judge, Extinctions))
        found = (judge.curves(skeleton).items() for judge in extinctions)
        return dict(itertools.chain.from_iterable(found))

    def _named(self, found: list[np.ndarray]) -> dict[str, dict[str, float]]:
        pairs: dict[str, list] = {judge.name: [] for judge in self.judges}
        for judge, one in zip(self.judges, found, strict=True):
            pairs[judge.name] += zip(judge.cases, one.tolist(), strict=True)
        named = {}
        for name, of in pairs.items():
            cases = distinct(case for case, _ in of)
            named[name] = dict(zip(cases, (value for _, value in of), strict=True))
        return named


Task = tuple[int, np.ndarray, np.ndarray, np.ndarray | None]


def errors_of(bench: Bench, task: Task) -> np.ndarray:
    """The errors of a skeleton by a judge."""
    return bench.judges[task[0]].errors(Skeleton(bench.network, *task[1:]))


def speed_of(bench: Bench, task: Task) -> tuple[float, np.ndarray]:
    """The error of the speed of a skeleton's flame, and the sensitivities of that speed."""
    flame = bench.judges[task[0]]
    assert isinstance(flame, Flame)
    return flame.speed(Skeleton(bench.network, *task[1:]))


@contextmanager
def opened(processes: Processes, network: ReactionNetwork, judges: list[Judge]) -> Iterator[Panel]:
    """A panel whose processes end with the context."""
    with processes.asked(Bench, (network, judges)) as ask:
        yield Panel(judges, ask)


def worst(errors: np.ndarray) -> float:
    """The largest magnitude; infinite where one is no number."""
    return float(np.where(np.isfinite(errors), np.abs(errors), np.inf).max(initial=0.0))
