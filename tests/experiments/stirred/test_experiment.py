"""The stirred reactors of a validation: a case for each pressure, and their errors."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import AIR, INERT, MIXTURE

from combred.chemistry.fuel import Mixture
from combred.experiments.stirred.experiment import CASE, StirredReactors, cases, intermediate
from combred.experiments.stirred.reactor import StirredRun

ATM = 101325.0


@pytest.fixture(scope="module")
def reactors(h2o2):
    """Two pressures, few particles and steps, and a flow that is fast enough to be seen."""
    few = replace(CASE, residence=1e-4, particles=8, steps=12)
    return StirredReactors(h2o2, MIXTURE, [replace(few, p=p) for p in (ATM, 20 * ATM)])


@pytest.fixture(scope="module")
def references(reactors):
    return reactors.reference()


def test_each_pressure_is_a_case():
    one, other = cases([ATM, 20 * ATM])
    assert (one.p, other.p) == (ATM, 20 * ATM) and replace(other, p=one.p) == one


def test_gas_that_does_not_react_has_errors(reactors, references):
    done = []
    runs = reactors.follow(INERT, references, lambda step, steps: done.append((step, steps)))
    assert done == [(i, 24) for i in range(1, 25)]
    for row in reactors.compare(runs, references):
        assert row["errors"]["T"]["largest"] >= row["errors"]["T"]["mean"] > 1e-5
        assert row["errors"]["O"]["largest"] > 1e-2


def planted(mechanism, names):
    """A run in which only the species `names` are formed."""
    Y = np.zeros((3, mechanism.n_species))
    Y[1:, [mechanism.index(name) for name in names]] = 1e-3
    particles = np.full(2, 900.0), Y[:2]
    case = replace(CASE, particles=2, steps=2)
    return StirredRun(case, np.arange(3.0), np.full(3, 900.0), Y, *particles, "")


@pytest.mark.parametrize(
    ("formed", "compared"),
    [  # of the same mass, the light one has most moles
        (["CH4", "O2", "CO", "OH"], ("OH",)), (["CH4", "CO"], ("CO",)), (["CH4", "N2"], ()),
    ],
)  # fmt: skip
def test_the_compared_species_is_an_intermediate(drm19, formed, compared):
    runs = [planted(drm19, formed)]
    assert intermediate(drm19, runs, Mixture("CH4:1", AIR)) == compared
