"""A skeleton as a phase of Cantera in memory, for flames.

Takes a `Skeleton`; gives a `cantera.Solution` in some ten milliseconds: a file takes seconds
(`writing`).
"""

from collections import Counter

import cantera as ct
import numpy as np

from combred.skeletal.skeleton import Skeleton, kind


class Phases:
    """Makes the phases of skeletons of one mechanism, with its transport."""

    def __init__(self, detailed: ct.Solution):
        self.detailed = detailed
        self.species = detailed.species()

    def of(self, skeleton: Skeleton) -> ct.Solution:
        """The phase; rate constants have the skeleton's factors."""
        left, rows = set(skeleton.names()), np.flatnonzero(skeleton.reactions)
        factors = skeleton.multipliers
        # New objects each time: a reaction that has a phase cannot change its colliders.
        reactions = self.detailed.reactions()
        kept = [reactions[i] for i in rows]
        alike = Counter(kind(one) for one in kept if one.duplicate)
        for one in kept:
            one.duplicate = one.duplicate and alike[kind(one)] > 1
            if one.third_body is not None:
                known = one.third_body.efficiencies
                one.third_body.efficiencies = {k: v for k, v in known.items() if k in left}
        gas = ct.Solution(
            thermo="ideal-gas",
            kinetics="gas",
            transport_model=self.detailed.transport_model,
            species=[self.species[k] for k in np.flatnonzero(skeleton.species)],
            reactions=kept,
        )
        for j, i in enumerate(rows):
            if factors[i] != 1.0:
                gas.set_multiplier(float(factors[i]), j)
        return gas
