"""The source term and its derivatives against Cantera and central differences."""

import cantera as ct
import numpy as np
import pytest

from combred.surrogates.sensitivity.source_term import SourceTerm


@pytest.fixture
def burning(mechanism, path):
    """Enthalpy and mass fractions of a state in the middle of an ignition, and its source term."""
    i = len(path.T) // 2
    gas = mechanism.solution()
    gas.TPY = path.T[i], path.p[i], path.Y[i]
    return SourceTerm(mechanism, path.p[i]), gas.enthalpy_mass, gas.Y


def test_the_source_term_is_that_of_a_reactor(burning, mechanism):
    source, h, Y = burning
    gas = mechanism.solution()
    gas.HPY = h, ct.one_atm, Y
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-12, 1e-20
    net.advance(1e-12)  # s: f is constant over it within 1e-4 of its largest component
    f = source.at(h, Y)
    assert (gas.Y - Y) / 1e-12 == pytest.approx(f, abs=1e-3 * np.abs(f).max())


def test_the_jacobian_is_that_of_central_differences(burning):
    source, h, Y = burning
    f, J, J_h = source.jacobian(h, Y)
    # Cantera finds T from h within 1e-9; activation temperatures are some ten times T.
    assert f == pytest.approx(source.at(h, Y), rel=1e-6, abs=1e-6 * np.abs(f).max())
    rng = np.random.default_rng(0)
    for _ in range(5):
        # Along a change that keeps the sum of Y, which Cantera normalizes.
        v = Y * rng.normal(size=len(Y))
        v -= Y * v.sum()
        exact = (source.at(h, Y + 1e-4 * v) - source.at(h, Y - 1e-4 * v)) / 2e-4
        # Forward differences with a step of 1e-5, relative to Y.
        assert J @ v == pytest.approx(exact, abs=1e-3 * np.abs(exact).max())
    exact = (source.at(h + 1e4, Y) - source.at(h - 1e4, Y)) / 2e4
    assert J_h == pytest.approx(exact, abs=0.01 * np.abs(exact).max())


def test_the_gradient_of_T_is_that_of_differences(burning, mechanism):
    source, h, Y = burning
    (gradient, of_h), gas = source.gradient_of_T(h, Y), mechanism.solution()
    v = Y * np.random.default_rng(1).normal(size=len(Y))
    v -= Y * v.sum()
    T = []
    for sign in (1, -1):
        gas.HPY = h, source.p, Y + sign * 1e-4 * v
        T.append(gas.T)
    for step in (1e3, -1e3):
        gas.HPY = h + step, source.p, Y
        T.append(gas.T)
    assert gradient @ v == pytest.approx((T[0] - T[1]) / 2e-4, rel=1e-4)
    assert of_h == pytest.approx((T[2] - T[3]) / 2e3, rel=1e-4)
