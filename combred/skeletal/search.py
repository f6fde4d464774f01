"""The search for a small skeleton: greedy removal of species, swaps, then removal of reactions.

Takes a panel of judges and a limit; gives the path: every skeleton on it, with the largest error of
each judge. The cheap judges (delays, extinction) see every candidate. Flames are solved for the
best of them, in the order of the cheap errors and of the first-order change of the flame speeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from combred.skeletal.judging import Panel, worst
from combred.skeletal.skeleton import Skeleton

TOGETHER = 0.1  # of the limit: what species may change that are removed together
LOOKED_AT = 16  # candidates of a round, the best of the round before
FINALISTS = 5  # candidates of a round whose flames are solved at most
BACK, SWAPPED = 20, 12  # removed species that may come back, the last first; pairs whose flames
# are solved at most


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
    """panel: judges; limit: of each relative error; kept: indices of species that stay."""

    panel: Panel
    limit: float
    kept: frozenset[int]
    score: dict[int, float] = field(default_factory=dict, init=False)

    def judge(self, skeleton: Skeleton, removed: list[int]) -> Step:
        """A skeleton, from which these species were removed last, as a step."""
        judges = self.panel.judges
        found = self.panel.errors([(i, skeleton) for i in range(len(judges))])
        errors = dict.fromkeys((judge.name for judge in judges), 0.0)
        for judge, one in zip(judges, found, strict=True):
            errors[judge.name] = max(errors[judge.name], worst(one))
        names = skeleton.network.mechanism.species_names
        return Step(skeleton, [names[k] for k in removed], errors)

    def estimates(self, skeletons: list[Skeleton]) -> list[float]:
        """The largest errors of the cheap judges, and of the flame speeds to first order."""
        cheap = self.panel.cheap
        found = iter(self.panel.errors([(i, one) for one in skeletons for i in cheap]))
        return [
            max(
                *(worst(next(found)) for _ in cheap),
                *(abs(flame.first_order(one)) for flame in self.panel.flames),
                0.0,
            )
            for one in skeletons
        ]

    def removable(self, skeleton: Skeleton) -> list[int]:
        """The species of a skeleton that may leave."""
        return [int(k) for k in np.flatnonzero(skeleton.species) if k not in self.kept]

    def order(self, skeleton: Skeleton, candidates: list[int]) -> list[int]:
        """Candidates for removal by their estimates, which are kept, the best first."""
        found = self.estimates([skeleton.without(k) for k in candidates])
        self.score |= dict(zip(candidates, found, strict=True))
        return sorted(candidates, key=self.score.__getitem__)

    def together(self, skeleton: Skeleton) -> Step | None:
        """The step that removes at once all species which change little; None where there are not
        two of them."""
        limit, (spent,) = TOGETHER * self.limit, self.estimates([skeleton])
        order = self.order(skeleton, self.removable(skeleton))
        costs = np.cumsum([max(self.score[k] - spent, 0.0) for k in order])
        small = order[: int((spent + costs <= limit).sum())]
        while len(small) > 1:
            step = self.judge(skeleton.without(*small), small)
            if step.error <= limit:
                return step
            small = small[: len(small) // 2]
        return None

    def next(self, skeleton: Skeleton, stays: int | None = None) -> Step | None:
        """The step that removes the species which costs least, but for the one that `stays`; None
        where nothing ignites or burns without any one of them."""
        rest = [k for k in self.removable(skeleton) if k != stays]
        if all(k in self.score for k in rest):
            rest = sorted(rest, key=self.score.__getitem__)[:LOOKED_AT]
        best: Step | None = None
        for k in self.order(skeleton, rest)[: FINALISTS if self.panel.flames else 1]:
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
            # After a step that removed one species, there are not two that change little.
            found = self.together(step.skeleton) if len(step.removed) != 1 else None
            found = found or self.next(step.skeleton)
            if found is None:
                return
            step = found
            yield step

    def swap(self, step: Step, removed: list[int]) -> Step | None:
        """A step within the limit with one species less: one of `removed` comes back, and two
        others leave. The estimates of all such pairs are compared, of species that could leave
        alone. None where none is found."""
        pairs: list[tuple[float, Skeleton, tuple[int, ...]]] = []
        for back in removed[: -BACK - 1 : -1]:
            if step.skeleton.species[back]:
                continue
            larger = step.skeleton.with_back(back)
            rest = [k for k in self.removable(larger) if k != back]
            alone = self.estimates([larger.without(k) for k in rest])
            light = [k for k, error in zip(rest, alone, strict=True) if error <= self.limit]
            both = [(larger.without(*pair), pair) for pair in combinations(light, 2)]
            errors = self.estimates([skeleton for skeleton, _ in both])
            pairs += [(error, *one) for error, one in zip(errors, both, strict=True)]
        pairs.sort(key=lambda one: one[0])
        for error, skeleton, pair in pairs[:SWAPPED]:
            if error > self.limit:
                break
            found = self.judge(skeleton, list(pair))
            if found.error <= self.limit:
                return found
        return None

    def remove_reactions(self, step: Step) -> Step:
        """The step without the reactions that matter least, as many as leave the largest error
        within the limit, or as it is where it is larger."""
        rows, limit = np.flatnonzero(step.skeleton.reactions), max(self.limit, step.error)
        cheap, flames = self.panel.cheap, self.panel.flames
        candidates = [step.skeleton, *(step.skeleton.without_reactions(i) for i in rows.tolist())]
        found = self.panel.errors([(i, one) for one in candidates for i in cheap])
        before, *after = (found[i : i + len(cheap)] for i in range(0, len(found), len(cheap)))
        effects = [
            max(
                *(worst(new - old) for new, old in zip(one, before, strict=True)),
                *(abs(float(flame.detailed.sensitivities[i])) for flame in flames),
                0.0,
            )
            for i, one in zip(rows, after, strict=True)
        ]
        order, low, high, best = rows[np.argsort(effects)], 0, len(rows), step
        while high - low > 1:
            middle = (low + high) // 2
            step = self.judge(best.skeleton.without_reactions(order[:middle]), [])
            if step.error <= limit:
                low, best = middle, step
            else:
                high = middle
        return best
