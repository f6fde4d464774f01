"""The generated text: refusals, reactions as comments, numbers that are read back exactly."""

import copy
import re

import numpy as np
import pytest

from combred.native import generate
from combred.native.arrays import array, literal
from combred.native.reactions import equation, stoichiometry
from combred.surrogate.correction import make_transform
from combred.surrogate.surrogate import Surrogate


def test_a_network_of_the_state_alone_is_refused(drm19, make_network):
    n = 2 + drm19.n_species
    transform = make_transform(drm19, 0.1, 1e-13, 1 / 3, False)
    with pytest.raises(ValueError, match="a network of the state alone"):
        generate(Surrogate(drm19, transform, make_network([n, 8, n])))


def test_another_mechanism_is_refused(of_kinds, drm19):
    with pytest.raises(ValueError, match="give the mechanism that it was made for"):
        generate(of_kinds, drm19)


def test_reactions_have_their_equations(of_kinds, kinds):
    text = generate(of_kinds, kinds)["reactions.hpp"]
    found = set(re.findall(r"// \d+: (.*)", text))
    assert {
        "H + O2 => O + OH",
        "2 O + M <=> O2 + M",
        "2 CH3 (+M) <=> C2H6 (+M)",
        "OH + CH3 (+M) <=> 2 H2 + CO (+M)",
        "0.5 O2 + CH4 => 2 H2 + CO",
    } <= found
    parts = stoichiometry(of_kinds.transform.qss.kinetics)
    species = list(kinds.species_names)
    equations = {equation(parts, i, species) for i in range(len(parts.sign))}
    assert len(equations) == kinds.solution().n_reactions - 1  # two are duplicates
    assert sorted(parts.sign)[:2] == [-1.0, 1.0]


def test_the_same_surrogate_gives_the_same_text(of_kinds, kinds):
    assert generate(of_kinds, kinds) == generate(of_kinds, kinds)


def test_weights_of_bf16_take_two_products_on_tiles(of_kinds, kinds):
    assert generate(of_kinds, kinds)["surrogate.hpp"].count("layer_on_tiles<false, 3>") == 1
    rounded = copy.deepcopy(of_kinds)
    first = rounded.network.layers[0].weight
    first.copy_(first.bfloat16())
    text = generate(rounded, kinds)["surrogate.hpp"]
    assert text.count("layer_on_tiles<false, 2>") == text.count("layer_on_tiles<true, 3>") == 1


def test_literals_are_read_back_exactly():
    values = np.random.default_rng(0).standard_normal(200) * 10.0 ** np.arange(-30, 30, 0.3)
    for value in [0.0, 1.0, -3.0, 1e10, *values.tolist()]:
        assert float(literal(value)) == value
        text = literal(float(np.float32(value)), "float")
        assert text.endswith("f") and ("." in text or "e" in text)
        assert np.float32(text[:-1]) == np.float32(value)
    assert literal(3, "int") == "3"
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="damaged"):
            literal(value)


def test_arrays_have_one_or_two_dimensions():
    assert "X[3]" in array("X", np.arange(3.0)) and "X[2][3]" in array("X", np.ones((2, 3)))
