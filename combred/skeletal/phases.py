"""A skeleton as a phase of Cantera in memory, for flames.

Takes a `Skeleton`; gives a `cantera.Solution` in some ten milliseconds: a file takes seconds
(`writing`), as is needed where elements have weights of their own.
"""

from collections import Counter
from functools import lru_cache

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.skeletal.skeleton import Skeleton, kind
from combred.skeletal.writing import mechanism_of


@lru_cache(maxsize=2)
def _detailed(
    mechanism: Mechanism,
) -> tuple[ct.Solution, list[ct.Species], list[tuple[bool, dict[str, float]]]]:
    """The phase, its species, and of each reaction whether it is a duplicate, and its colliders."""
    gas = mechanism.solution()
    bodies = [one.third_body for one in gas.reactions()]
    marks = [one.duplicate for one in gas.reactions()]
    colliders = [{} if body is None else dict(body.efficiencies) for body in bodies]
    return gas, gas.species(), list(zip(marks, colliders, strict=True))


@lru_cache(maxsize=2)
def _has_own_weights(mechanism: Mechanism) -> bool:
    """Whether an element of a mechanism is none of Cantera's, or has another weight there."""
    try:
        plain = ct.Solution(thermo="ideal-gas", species=_detailed(mechanism)[1])
    except ct.CanteraError:
        return True
    return not np.allclose(plain.molecular_weights, mechanism.molecular_weights, rtol=1e-9)


def phase_of(skeleton: Skeleton, transport: bool = True) -> ct.Solution:
    """The phase, with the transport of the mechanism unless `transport` is False; rate constants
    have the skeleton's factors."""
    mechanism = skeleton.network.mechanism
    if _has_own_weights(mechanism):
        return mechanism_of(skeleton, mechanism.name).solution(transport)
    detailed, species, of_reactions = _detailed(mechanism)
    rows, factors = np.flatnonzero(skeleton.reactions), skeleton.cantera_multipliers
    # Each phase changes the same objects, which keep what the one before has left of them.
    reactions = detailed.reactions()
    kept = [reactions[i] for i in rows]
    kinds = {i: kind(reactions[i], mechanism.species_names) for i in rows}
    alike = Counter(kinds[i] for i in rows if of_reactions[i][0])
    for i, one in zip(rows, kept, strict=True):
        duplicate, colliders = of_reactions[i]
        one.duplicate = duplicate and alike[kinds[i]] > 1
        if one.third_body is not None:
            one.third_body.efficiencies = {
                name: efficiency for name, efficiency in colliders.items() if skeleton.has(name)
            }
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
