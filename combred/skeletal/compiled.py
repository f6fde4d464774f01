"""Solvers of skeletons: one library, compiled once, whose rate multipliers take species out.

Takes the skeleton from which a search begins; gives the solver of each that is a part of it.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.native.solver.multipliers import MultipliedSolver
from combred.skeletal.skeleton import Skeleton
from combred.skeletal.writing import mechanism_of, require_same_rates

TOLERANCE = 1e-3  # of the solvers, whose delays are then within .02 %


@dataclass(frozen=True, eq=False)
class Chemistry:
    """mechanism: what is compiled, that of a base; columns (n,), rows (m,): the indices of its
    species and reactions in the detailed mechanism."""

    mechanism: Mechanism
    columns: np.ndarray
    rows: np.ndarray

    @staticmethod
    def of(base: Skeleton) -> "Chemistry":
        """Of a base, which is the detailed mechanism where nothing of it is removed."""
        mechanism = detailed = base.network.mechanism
        if not base.species.all():
            mechanism = mechanism_of(base, f"part of {detailed.name}")
            require_same_rates(base, mechanism)
        columns, rows = map(np.flatnonzero, (base.species, base.reactions))
        MultipliedSolver(mechanism, np.ones(len(rows)), TOLERANCE)  # not compiled in each process
        return Chemistry(mechanism, columns, rows)

    def __call__(self, skeleton: Skeleton) -> MultipliedSolver:
        """The solver of a skeleton, for states of the species of the base."""
        return MultipliedSolver(self.mechanism, skeleton.multipliers[self.rows], TOLERANCE)
