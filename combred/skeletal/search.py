"""The search for a small skeleton: greedy removal of species, swaps, then removal of reactions.

Takes judges and a limit; gives the path: every skeleton on it, with the largest error of each
judge. The cheap judges (delays, extinction) see every candidate. Flames are solved for the best of
them, in the order of the cheap errors and of the first-order change of the flame speeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from combred.skeletal.flames import Flames
from combred.skeletal.skeleton import Skeleton

NOTHING = 0.01  # of the limit: species that change less are removed together
TOGETHER = 0.1  # of the limit: what these may change
LOOKED_AT = 16  # candidates of a round, the best of the round before
FINALISTS = 5  # candidates of a round whose flames are solved at most
BACK = 12  # removed species that may come back, the last first


class Judge(Protocol):
    """Judges skeletons on its cases."""

    name: str
    cases: list[str]

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n_cases,), infinite where a skeleton fails."""
        ...


def worst(errors: np.ndarray) -> float:
    """The largest magnitude; infinite where one is no number."""
    return float(np.where(np.isfinite(errors), np.abs(errors), np.inf).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Step:
    """A step of the path: the skeleton, the names of the species that leave with it, and the
    largest error of each judge."""

    skeleton: Skeleton
    removed: list[str]
    errors: dict[str, float]

    @property
    def error(self) -> float:
        """The largest of all."""
        return max(self.errors.values())


@dataclass(eq=False)
class Search:
    """cheap: judges of every candidate; flames: those of the best, None for a mechanism without
    transport data; limit: of each relative error; kept: indices of species that stay."""

    cheap: list[Judge]
    flames: Flames | None
    limit: float
    kept: frozenset[int]
    score: dict[int, float] = field(default_factory=dict, init=False)

    def judge(self, skeleton: Skeleton, removed: list[int]) -> Step:
        """A skeleton, from which these species were removed last, as a step."""
        judges = [*self.cheap, *([self.flames] if self.flames else [])]
        errors = {judge.name: worst(judge.errors(skeleton)) for judge in judges}
        names = skeleton.network.mechanism.species_names
        return Step(skeleton, [names[k] for k in removed], errors)

    def estimate(self, skeleton: Skeleton) -> float:
        """The largest error of the cheap judges, and of the flame speeds to first order."""
        errors = [worst(judge.errors(skeleton)) for judge in self.cheap]
        if self.flames:
            errors.append(worst(self.flames.first_order(skeleton)))
        return max(errors)

    def removable(self, skeleton: Skeleton) -> list[int]:
        """The species of a skeleton that may leave."""
        return [int(k) for k in np.flatnonzero(skeleton.species) if k not in self.kept]

    def useless(self, skeleton: Skeleton) -> Step:
        """The step that removes all species that change nothing, together."""
        rest = self.removable(skeleton)
        self.score = {k: self.estimate(skeleton.without(k)) for k in rest}
        order = sorted(rest, key=self.score.__getitem__)
        small = [k for k in order if self.score[k] < NOTHING * self.limit]
        step = self.judge(skeleton.without(*small), small)
        while small and step.error > TOGETHER * self.limit:
            small = small[: len(small) // 2]
            step = self.judge(skeleton.without(*small), small)
        return step

    def next(self, skeleton: Skeleton, stays: int | None = None) -> Step | None:
        """The step that removes the species which costs least, but for the one that `stays`; None
        where nothing ignites or burns without any one of them."""
        rest = [k for k in self.removable(skeleton) if k != stays]
        if all(k in self.score for k in rest):
            rest = sorted(rest, key=self.score.__getitem__)[:LOOKED_AT]
        for k in rest:
            self.score[k] = self.estimate(skeleton.without(k))
        best: Step | None = None
        for k in sorted(rest, key=self.score.__getitem__)[: FINALISTS if self.flames else 1]:
            if not np.isfinite(self.score[k]) or best and best.error <= self.score[k]:
                break
            found = self.judge(skeleton.without(k), [k])
            if np.isfinite(found.error) and (best is None or found.error < best.error):
                best = found
        return best

    def path(self, step: Step, end: float, fewest: int) -> Iterator[Step]:
        """The steps that follow one, until the largest error is above `end`, or no more than
        `fewest` species are left."""
        while step.error <= end and step.skeleton.n_species > fewest:
            found = self.next(step.skeleton)
            if found is None:
                return
            step = found
            yield step

    def swap(self, step: Step, removed: list[int]) -> Step | None:
        """A step within the limit with one species less: one of `removed`, the last first, comes
        back, and two others leave. None where none is found."""
        for back in removed[: -BACK - 1 : -1]:
            if step.skeleton.species[back]:
                continue
            first = self.next(step.skeleton.with_back(back), back)
            second = first and self.next(first.skeleton, back)
            if first and second and second.error <= self.limit:
                return Step(second.skeleton, [*first.removed, *second.removed], second.errors)
        return None

    def remove_reactions(self, step: Step) -> Step:
        """The step without the reactions that matter least, as many as leave the largest error
        within the limit, or as it is where it is larger."""
        rows, limit = np.flatnonzero(step.skeleton.reactions), max(self.limit, step.error)
        before = [judge.errors(step.skeleton) for judge in self.cheap]
        effects = []
        for i in rows.tolist():
            candidate = step.skeleton.without_reactions(i)
            effect = [
                worst(judge.errors(candidate) - known)
                for judge, known in zip(self.cheap, before, strict=True)
            ]
            if self.flames:
                effect += [abs(float(f.sensitivities[i])) for f in self.flames.detailed]
            effects.append(max(effect))
        order, low, high, best = rows[np.argsort(effects)], 0, len(rows), step
        while high - low > 1:
            middle = (low + high) // 2
            found = self.judge(step.skeleton.without_reactions(order[:middle]), [])
            if found.error <= limit:
                low, best = middle, found
            else:
                high = middle
        return best
