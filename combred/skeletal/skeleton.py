"""What is left of a mechanism: a skeleton of some of its species and reactions.

Takes a `Mechanism`; gives `Skeleton`s, which the search makes by removal, and which judges and
`writing` take. A reaction needs its reactants, its products, the species of its orders, and its
collider where it has a single one: it goes with the first of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactions import Reaction, read_reactions
from combred.chemistry.species_names import species_index


@dataclass(frozen=True, eq=False)
class ReactionNetwork:
    """The reactions of a mechanism as a network of species. needs (n_reactions, n_species) bool:
    the species without which a reaction has no rate."""

    mechanism: Mechanism
    reactions: list[Reaction]
    needs: np.ndarray

    @staticmethod
    def of(mechanism: Mechanism) -> "ReactionNetwork":
        """Raises ValueError as `read_reactions`."""
        reactions = read_reactions(mechanism)
        needs = np.zeros((len(reactions), mechanism.n_species), bool)
        for reaction in reactions:
            named = [*reaction.reactants, *reaction.products, *reaction.orders]
            bodies = reaction.efficiencies
            if bodies is not None and np.count_nonzero(bodies) == 1:
                named += np.flatnonzero(bodies).tolist()
            needs[reaction.index, named] = True
        return ReactionNetwork(mechanism, reactions, needs)

    def whole(self) -> "Skeleton":
        """The skeleton of which nothing is removed."""
        return Skeleton(
            self, np.ones(self.mechanism.n_species, bool), np.ones(len(self.reactions), bool)
        )


@dataclass(frozen=True, eq=False)
class Skeleton:
    """species (n_species,), listed (n_reactions,): bool, which are not removed; factors
    (n_reactions,): of the rate constants, None for 1."""

    network: ReactionNetwork
    species: np.ndarray
    listed: np.ndarray
    factors: np.ndarray | None = None

    @cached_property
    def reactions(self) -> np.ndarray:
        """(n_reactions,) bool: the reactions that are left, all of whose species are."""
        return self.listed & ~self.network.needs[:, ~self.species].any(axis=1)

    @property
    def multipliers(self) -> np.ndarray:
        """(n_reactions,): the factor of each rate constant of the mechanism, 0 of what is gone."""
        return self.reactions * (1.0 if self.factors is None else self.factors)

    @property
    def cantera_multipliers(self) -> np.ndarray:
        """(n_reactions,): the same as Cantera's `set_multiplier` takes them, with those of the
        mechanism's file."""
        return self.multipliers * self.network.mechanism.multipliers

    @property
    def n_species(self) -> int:
        """The number of species that are left."""
        return int(self.species.sum())

    def names(self) -> list[str]:
        """The names of the species that are left."""
        return [self.network.mechanism.species_names[k] for k in np.flatnonzero(self.species)]

    def has(self, name: str) -> bool:
        """Whether a species that is left has a name, in the spelling of the mechanism or another
        (`species_index`)."""
        k = species_index(self.network.mechanism.species_names, name)
        return k is not None and bool(self.species[k])

    def without(self, *species: int) -> "Skeleton":
        """The skeleton without these species too."""
        left = self.species.copy()
        left[list(species)] = False
        return replace(self, species=left)

    def with_back(self, species: int) -> "Skeleton":
        """The skeleton with a species that was removed."""
        left = self.species.copy()
        left[species] = True
        return replace(self, species=left)

    def without_reactions(self, reactions: np.ndarray | int) -> "Skeleton":
        """The skeleton without these reactions, by index."""
        left = self.listed.copy()
        left[reactions] = False
        return replace(self, listed=left)


def kind(reaction: ct.Reaction, names: Sequence[str]) -> tuple:
    """The same for all reactions between the same species, of these names, of which Cantera lets
    those be duplicates that are marked so. It counts a species twice where it is spelled twice."""
    participants = [*reaction.reactants, *reaction.products]
    return tuple(sorted(str(species_index(names, name)) for name in participants))
