"""Net production and destruction rates of the solver's doubles against Cantera's."""

import ctypes

import numpy as np
import pytest
from cantera_truth import ignition_rows, random_rows, truth_of
from rate_kinds import assert_cantera_s, scarce_factors

from combred.native.interface import NOT_ADVANCED

IGNITIONS = {"drm19": ("CH4:1", 1400.0, 101325.0), "h2o2": ("H2:1", 1000.0, 2e6)}


@pytest.mark.parametrize("absent", [0.0, 1 / 3], ids=["all", "some"])
@pytest.mark.parametrize("name", ["drm19", "h2o2", "every_kind", "every_thermo", "respelled"])
def test_rates_of_random_states(request, solver_of, name, absent):
    mechanism = request.getfixturevalue(name)
    states = random_rows(mechanism, 200, seed=1, absent=absent)
    assert_cantera_s(solver_of(mechanism), truth_of(mechanism), *states)


# Balanced to four digits, as Cantera allows it, and an SRI factor that nearly vanishes.
NEARLY = """\
phases:
- name: gas
  thermo: ideal-gas
  elements: [H, O]
  species: [{h2o2.yaml/species: [H2, O2, H2O, OH, H, O, HO2]}]
  kinetics: gas
reactions:
- {equation: HO2 <=> 0.99995 H + 1.99993 O, rate-constant: [1.0e+13, 0.0, 0.0]}
- {equation: 1.3333 H2 + 0.66668 O2 <=> 1.33335 H2O, rate-constant: [1.0e+9, 0.0, 1.0e+7]}
- equation: H + O (+M) <=> OH (+M)
  type: falloff
  low-P-rate-constant: [4.7e+18, -1.0, 0.0]
  high-P-rate-constant: [1.0e+14, 0.0, 0.0]
  SRI: {A: 1.0e-14, B: 1.0, C: 100.0, D: 20.0, E: -0.5}
"""


def test_small_numbers_count(mechanism_of, solver_of):
    mechanism = mechanism_of(NEARLY)
    states = random_rows(mechanism, 60, seed=2)
    assert_cantera_s(solver_of(mechanism), truth_of(mechanism), *states)


@pytest.mark.parametrize("name", IGNITIONS)
def test_rates_along_an_ignition(request, solver_of, name):
    """From a gas without any radical to equilibrium, where creation and destruction cancel."""
    mechanism = request.getfixturevalue(name)
    T, p, Y = ignition_rows(mechanism, 60, *IGNITIONS[name])
    assert T[-1] > T[0] + 1000.0
    assert_cantera_s(solver_of(mechanism), truth_of(mechanism), T, p, Y)


@pytest.mark.parametrize("name", ["drm19", "every_kind", "every_thermo"])
def test_chemical_time_scales_are_those_of_cantera_s_forward_rates(request, solver_of, name):
    """n_reactions C / sum_i q_i sum_k nu_ik, as in OpenFOAM's StandardChemistryModel::tc. Rates of
    progress that cancel, with negative constants, leave more than rounding: 1e-10."""
    mechanism = request.getfixturevalue(name)
    library, truth = solver_of(mechanism).library, truth_of(mechanism)
    states = np.column_stack(random_rows(mechanism, 200, seed=1))
    found, moles = library.time_scale(states), truth.made.sum(axis=0)
    for row, seconds in zip(states, found, strict=True):
        truth.set(row[0], row[1], row[2:])
        gas = truth.gas
        formed = moles @ (gas.forward_rates_of_progress * scarce_factors(gas))
        known = gas.n_reactions * gas.density_mole / formed if formed > 0.0 else 1e30
        assert seconds == pytest.approx(min(known, 1e30), rel=1e-10)
    assert np.array_equal(library.time_scale(states[77:78]), found[77:78])
    states[3, 0], states[4, 2] = 99.0, np.nan
    assert np.flatnonzero(np.isnan(library.time_scale(states))).tolist() == [3, 4]


@pytest.mark.parametrize("name", ["drm19", "every_thermo"])
def test_enthalpies_are_cantera_s_and_temperatures_follow_from_them(request, solver_of, name):
    mechanism = request.getfixturevalue(name)
    calls, truth = solver_of(mechanism).library.calls, truth_of(mechanism)
    states = np.column_stack(random_rows(mechanism, 201, seed=2))
    h, n = np.empty(201), ctypes.c_size_t(201)
    places = [ctypes.c_void_p(x.ctypes.data) for x in (states, h)]
    assert calls.combred_enthalpy(n, *places) == 0
    for row, found in zip(states, h, strict=True):
        known, scale = truth.energy(row[0], row[1], row[2:], False)
        assert found == pytest.approx(known, abs=1e-12 * scale)
    known = states.copy()
    for highest in (6000.0, 300.0):  # of the guess
        states[:, 0] = np.random.default_rng(0).uniform(100.0, highest, 201)
        alone = states.copy()
        assert calls.combred_temperature(n, *places) == 0
        assert np.allclose(states, known, rtol=1e-11, atol=0.0)
        for i in range(201):  # whose bits do not depend on its neighbours
            one = [ctypes.c_void_p(x[i:].ctypes.data) for x in (alone, h)]
            assert calls.combred_temperature(1, *one) == 0
        assert np.array_equal(alone, states)
    h[7], states[9, 5] = 1e9, np.nan
    before = states.copy()
    assert calls.combred_temperature(n, *places) == NOT_ADVANCED
    assert np.allclose(states, before, rtol=1e-13, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("T", [100.0, 1000.0, 6000.0])
def test_temperatures_at_T_mid_and_at_the_ends_of_the_range(drm19, solver_of, T):
    """No rounding takes a state out of the range, and a step of h at T_mid ends the search."""
    n, calls = 1000, solver_of(drm19).library.calls
    states = np.column_stack(random_rows(drm19, n, seed=4))
    states[:, 0], h = T, np.empty(n)
    places = [ctypes.c_void_p(x.ctypes.data) for x in (states, h)]
    assert calls.combred_enthalpy(ctypes.c_size_t(n), *places) == 0
    for guess in (100.0, 300.0, 2900.0, 6000.0):
        states[:, 0] = guess
        assert calls.combred_temperature(ctypes.c_size_t(n), *places) == 0
        assert np.allclose(states[:, 0], T, rtol=1e-6, atol=0.0)  # two T have an h in a step down
        assert states[:, 0].min() >= 100.0 and states[:, 0].max() <= 6000.0


@pytest.mark.parametrize("T", [999.99, 1000.0, 1000.01])
def test_the_lower_polynomial_holds_at_T_mid(drm19, solver_of, T):
    """As in Cantera; most species of DRM19 have T_mid = 1000 K, others one above or below it."""
    _, p, Y = random_rows(drm19, 20, seed=3)
    assert_cantera_s(solver_of(drm19), truth_of(drm19), np.full(20, T), p, Y)


def test_an_absent_species_is_not_consumed(every_kind, solver_of):
    """Also by a reaction with a negative order of it, whose rate is then zero as in Cantera. Rates
    with a negative constant, of O + O and OH + OH, create from nothing what they consume."""
    T, p, Y = random_rows(every_kind, 200, seed=6)
    net, _ = solver_of(every_kind).rates(T, p, Y)
    safe = [k for k, s in enumerate(every_kind.species_names) if s not in ("O", "OH", "O2", "H2O")]
    negative = (Y == 0.0) & (net < 0.0)
    assert (Y[:, safe] == 0.0).any() and not negative[:, safe].any()
