"""Where a search begins: the detailed mechanism, or what a graph leaves of one that is too large to
compile.

Takes a network of reactions and its judged ignitions; gives a skeleton, and the flame of it from
which the flames of the large mechanism start.
"""

from collections.abc import Callable

import numpy as np

from combred.skeletal.cases import states
from combred.skeletal.flames import DetailedFlame, flame_of_part
from combred.skeletal.graph import base_of, targets
from combred.skeletal.large import Detailed, Solver
from combred.skeletal.record import Wanted
from combred.skeletal.references import Asked
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

OnProgress = Callable[[int, int, str], None]  # species removed, species, what is done


class Base:
    """The skeleton from which the search begins: the detailed mechanism, or what the graph leaves
    of a large one, which is the first step of the path."""

    def __init__(
        self,
        network: ReactionNetwork,
        detailed: Solver,
        record: dict,
        judged: tuple[Asked, frozenset[int]],
        wanted: Wanted,
        on_progress: OnProgress,
    ):
        self.network, self.record = network, record
        self.asked, self.kept = judged
        self.limit, self.on_progress = wanted.error, on_progress
        self.large = detailed if isinstance(detailed, Detailed) else None
        self._found: Skeleton | None = None

    def skeleton(self, delays: list[np.ndarray]) -> Skeleton:
        """The skeleton, from the `detailed_delays` of the judged cases."""
        self._found = self._found or self._find(delays)
        return self._found

    def flame(self, delays: list[np.ndarray]) -> DetailedFlame | None:
        """Its flame in the first of the judged cases, from which that of a large mechanism
        starts."""
        skeleton, how = self.skeleton(delays), self.asked.how
        size = self.network.mechanism.n_species
        self.on_progress(0, size, f"flames, from that of {skeleton.n_species} species")
        gases = self.asked.cases.flames[:1]
        (T,), (p,), (Y,) = states(self.network.mechanism, self.asked.ranges, gases)
        return flame_of_part(skeleton, (T, p, Y), how.criteria)

    def _find(self, delays: list[np.ndarray]) -> Skeleton:
        whole, path = self.network.whole(), self.record["path"]
        if self.large is None:
            return whole
        mechanism = self.network.mechanism
        if path:
            return whole.without(*map(mechanism.index, path[0]["removed"]))
        self.on_progress(0, mechanism.n_species, "graph")
        half, delay, *_ = delays
        ignites = np.isfinite(delay)
        T, p, Y = states(mechanism, self.asked.ranges, self.asked.cases.ignitions)
        ignitions = (T[ignites], p[ignites], Y[ignites]), half[ignites], delay[ignites]
        of = targets(self.network, self.asked.ranges)
        return base_of(self.network, self.large, ignitions, of, self.kept, self.limit)
