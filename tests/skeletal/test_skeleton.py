"""Which reactions go with which species."""

import numpy as np
import pytest

from combred.skeletal.skeleton import ReactionNetwork

GAS = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, AR, N2]}]
  kinetics: gas
  reactions: all
reactions:
- {equation: H + O2 <=> O + OH, rate-constant: [1.0e+13, 0.0, 0.0]}
- {equation: 2 H + AR <=> H2 + AR, rate-constant: [1.0e+12, 0.0, 0.0]}
- {equation: 2 O + M <=> O2 + M, type: three-body, efficiencies: {AR: 0.5}, rate-constant: [1.0e+12, 0.0, 0.0]}
- {equation: H2 + O2 => 2 OH, rate-constant: [1.0e+12, 0.0, 0.0], orders: {H2: 1, N2: 0.5}, nonreactant-orders: true}
"""  # noqa: E501


@pytest.mark.parametrize(
    "gone, left",
    [("OH", [1, 2]), ("AR", [0, 2, 3]), ("N2", [0, 1, 2]), ("H2O", [0, 1, 2, 3]), ("H", [2, 3])],
)
def test_a_reaction_goes_with_the_species_that_it_needs(mechanism_of, gone, left):
    """As reactant, product, collider by itself, or order; not with one of several colliders."""
    mechanism = mechanism_of(GAS)
    whole = ReactionNetwork.of(mechanism).whole()
    skeleton = whole.without(mechanism.index(gone))
    assert np.flatnonzero(skeleton.reactions).tolist() == left
    assert skeleton.multipliers.tolist() == [float(i in left) for i in range(4)]
    assert skeleton.n_species == mechanism.n_species - 1 and gone not in skeleton.names()
    back = skeleton.with_back(mechanism.index(gone)).without_reactions(2)
    assert np.flatnonzero(back.reactions).tolist() == [0, 1, 3]
