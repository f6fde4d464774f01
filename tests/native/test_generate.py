"""The generated text of a surrogate: refusals, order of the species, numbers that are read back
exactly. The solver's text: tests/native/solver/test_generator.py."""

import re

import numpy as np
import pytest

from combred.native import generate
from combred.native.arrays import literal
from combred.native.solver.layout import lay_out
from combred.surrogate.correction import make_transform
from combred.surrogate.forms import make_surrogate


def test_a_network_of_the_state_alone_is_refused(drm19, make_network):
    n = 2 + drm19.n_species
    transform = make_transform(drm19, 0.1, 1e-13, 1 / 3, False)
    with pytest.raises(ValueError, match="a network of the state alone"):
        generate(make_surrogate(drm19, transform, make_network([n, 8, n])))


def test_the_same_surrogate_gives_the_same_text(of_kinds):
    assert generate(of_kinds) == generate(of_kinds)


def table(text: str, name: str) -> np.ndarray:
    (content,) = re.findall(rf"TABLE float {name}\[\d+\] = \{{(.*?)\}};", text, re.DOTALL)
    return np.array([float(x.rstrip("f")) for x in content.replace("\n", " ").split(", ")])


def test_tables_are_in_the_order_of_the_solver(of_kinds):
    files, order = generate(of_kinds), lay_out(of_kinds.mechanism).species
    scale = of_kinds.transform.scale.numpy()
    found = table(files["network/numbers.hpp"], "SCALE")
    assert np.allclose(found, scale[[0, 1, *(2 + k for k in order)]], rtol=1e-7)
    biases = of_kinds.network.layers[-1].bias.numpy()
    last = len(of_kinds.network.layers) - 1
    found = table(files["network/weights.hpp"], f"BIASES_{last}")
    n = len(biases) - 1
    assert np.allclose(found, biases[[0, 1, *(2 + k for k in order), n]], rtol=1e-7)


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
