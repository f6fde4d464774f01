"""A skeleton as a phase of Cantera in memory, for flames.

Takes a `Skeleton`; gives a `cantera.Solution` in some ten milliseconds: a file takes seconds
(`writing`).
"""

from collections import Counter
from functools import lru_cache

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.skeletal.skeleton import Skeleton, kind


@lru_cache(maxsize=2)
def _detailed(mechanism: Mechanism) -> tuple[ct.Solution, list[ct.Species]]:
    gas = mechanism.solution()
    return gas, gas.species()


def phase_of(skeleton: Skeleton, transport: bool = True) -> ct.Solution:
    """The phase, with the transport of the mechanism unless `transport` is False; rate constants
    have the skeleton's factors."""
    detailed, species = _detailed(skeleton.network.mechanism)
    left, rows = set(skeleton.names()), np.flatnonzero(skeleton.reactions)
    factors = skeleton.multipliers
    # New objects each time: a reaction that has a phase cannot change its colliders.
    reactions = detailed.reactions()
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
        transport_model=detailed.transport_model if transport else "none",
        species=[species[k] for k in np.flatnonzero(skeleton.species)],
        reactions=kept,
    )
    for j, i in enumerate(rows):
        if factors[i] != 1.0:
            gas.set_multiplier(float(factors[i]), j)
    return gas
