"""Diffusion of a flame: conservation, exact solutions, orders of accuracy in space and time."""

import cantera as ct
import numpy as np
import pytest

from combred.experiments.diffusion import MOST_STAGES, Diffusion, stages_for

AIR = "O2:1, N2:3.76"
MASS = 4e-4  # kg/m^2 of gas between the ends: some thicknesses of a hydrogen flame


def layer(mechanism, cells, width=0.1):
    """T (cells,), Y (cells, n_species) and the `Diffusion` of a smooth layer, flat at both ends,
    between hydrogen/air and its burnt gas."""
    unburnt = mechanism.mixture("H2:1", AIR, 1.0)
    gas = mechanism.solution()
    gas.TPY = 300.0, ct.one_atm, unburnt
    gas.equilibrate("HP")
    s = 0.5 * (1.0 + np.tanh(((np.arange(cells) + 0.5) / cells - 0.5) / width))
    Y = unburnt + s[:, None] * (gas.Y - unburnt)
    return 300.0 + s * (gas.T - 300.0), Y, Diffusion(mechanism, ct.one_atm, MASS / cells)


def slope(x, y):
    """The exponent of y ~ x^q, by regression."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


@pytest.mark.parametrize("tau", [1e-7, 1e-5])  # 3 and some 20 stages
def test_elements_and_enthalpy_are_conserved(h2o2, tau):
    T, Y, diffusion = layer(h2o2, 80)
    h = diffusion.enthalpy(T, Y)
    before = Y.sum(0) @ h2o2.elements.T
    for _ in range(10):
        T, Y, h_next = diffusion.step(T, Y, h, tau)
        assert abs(h_next.sum() - h.sum()) < 1e-12 * np.abs(h).sum()
        h = h_next
    # Roundings of sums of 80 numbers of order one, over ten steps.
    assert np.allclose(Y.sum(0) @ h2o2.elements.T, before, rtol=0, atol=1e-12 * len(T))
    assert np.allclose(Y.sum(1), 1.0, rtol=0, atol=1e-13)
    # T is that of h and Y: Newton's method starts from the stage before.
    assert np.allclose(diffusion.enthalpy(T, Y), h, rtol=0, atol=1e-3)  # J/kg: 1e-6 K
    assert Y.min() > -1e-12


def wave(cells):
    return np.cos(np.pi * (np.arange(cells) + 0.5) / cells)


def decay_error(values, mean, rate, tau):
    """Relative error of the rate k^2 D at which the first wave of `values` has decayed."""
    shape = wave(len(values))
    amplitude = 2.0 * (values - mean) @ shape / len(values)
    return abs(-np.log(amplitude) / tau / rate - 1.0)


def test_a_wave_of_temperature_decays_at_the_exact_rate(h2o2):
    T0, p, tau, Y = 800.0, 2e5, 1e-5, np.zeros(h2o2.n_species)
    Y[h2o2.index("N2")] = 1.0
    gas = h2o2.solution()
    gas.TPY = T0, p, Y
    rate = gas.density * gas.thermal_conductivity / gas.cp * (np.pi / MASS) ** 2
    errors, grids = [], (6, 12, 24, 48)
    for cells in grids:
        diffusion = Diffusion(h2o2, p, MASS / cells)
        T, tiled = T0 + 1e-3 * wave(cells), np.tile(Y, (cells, 1))
        h = diffusion.enthalpy(T, tiled)
        for _ in range(4):
            T, tiled, h = diffusion.step(T, tiled, h, tau)
        errors.append(decay_error(1e3 * T, 1e3 * T0, rate, 4 * tau))
    assert slope(grids, errors) == pytest.approx(-2.0, abs=0.1)
    assert errors[-1] < 1e-3  # (pi / 48)^2 / 12 is 0.4e-3


def test_a_wave_of_composition_decays_at_the_exact_rate(h2o2):
    T0, p, tau, cells = 900.0, 1e5, 2e-6, 48
    one, two = h2o2.index("H2"), h2o2.index("N2")
    Y = np.zeros((cells, h2o2.n_species))
    Y[:, one] = 0.2 + 1e-6 * wave(cells)
    Y[:, two] = 1.0 - Y[:, one]
    gas = h2o2.solution()
    gas.TPY = T0, p, Y.mean(0)
    rate = gas.density**2 * gas.binary_diff_coeffs[one, two] * (np.pi / MASS) ** 2
    diffusion, T = Diffusion(h2o2, p, MASS / cells), np.full(cells, T0)
    h = diffusion.enthalpy(T, Y)
    for _ in range(4):
        T, Y, h = diffusion.step(T, Y, h, tau)
    assert decay_error(1e6 * Y[:, one], 0.2e6, rate, 4 * tau) < 1e-3
    assert np.abs(T - T0).max() < 1e-6  # enthalpy diffuses with the species, so that T stays


def test_fluxes_are_of_second_order_in_space(h2o2):
    def middle(cells):
        fluxes = diffusion_fluxes(h2o2, cells)
        return np.append(fluxes.j[cells // 2 - 1], fluxes.q[cells // 2 - 1] * 1e-6)

    exact = middle(5120)
    grids = np.array([40, 80, 160, 320])
    errors = [np.abs(middle(cells) - exact).max() for cells in grids]
    assert slope(grids, errors) == pytest.approx(-2.0, abs=0.1)


def diffusion_fluxes(mechanism, cells):
    T, Y, diffusion = layer(mechanism, cells)
    return diffusion.fluxes(T, Y)


def brute_force(diffusion, T, Y, h, t):
    """Runge and Kutta's classical method, with steps of a fifth of explicit Euler's limit."""
    steps = int(np.ceil(t * diffusion.fluxes(T, Y).rate / 0.4))
    tau = t / steps

    def rates(Y, h, T):
        T = diffusion.temperature(h, Y, T)
        return *diffusion.rates(diffusion.fluxes(T, Y)), T

    for _ in range(steps):
        a, b = Y, h
        total_Y, total_h = 0.0, 0.0
        for weight, next_part in ((1, 0.5), (2, 0.5), (2, 1.0), (1, 0.0)):
            dY, dh, T = rates(a, b, T)
            total_Y, total_h = total_Y + weight * dY, total_h + weight * dh
            a, b = Y + next_part * tau * dY, h + next_part * tau * dh
        Y, h = Y + tau / 6 * total_Y, h + tau / 6 * total_h
    return diffusion.temperature(h, Y, T), Y


def test_steps_are_of_second_order_in_time(h2o2):
    T, Y, diffusion = layer(h2o2, 40)
    h, t = diffusion.enthalpy(T, Y), 1.6e-5
    exact_T, exact_Y = brute_force(diffusion, T, Y, h, t)
    counts, errors = np.array([1, 2, 4, 8]), []
    for count in counts:
        now = T, Y, h
        for _ in range(count):
            now = diffusion.step(*now, t / count)
        errors.append(np.abs(now[0] - exact_T).max() / 1000 + np.abs(now[1] - exact_Y).max())
    assert slope(counts, errors) == pytest.approx(-2.0, abs=0.3)
    assert errors[-1] < 1e-4 and np.abs(exact_T - T).max() > 50.0


def test_stages_are_the_fewest_that_are_stable():
    for ratio in np.geomspace(1e-3, 9e3, 60):
        s = stages_for(ratio)
        assert s % 2 == 1 and ratio <= (s**2 + s - 2) / 4
        assert s == 3 or ratio > ((s - 2) ** 2 + (s - 2) - 2) / 4
    assert stages_for(9e3) <= MOST_STAGES


def test_steps_of_a_thousand_euler_steps_are_stable(h2o2):
    T, Y, diffusion = layer(h2o2, 60, width=0.005)  # as good as a jump
    jump, hottest = np.abs(np.diff(T)).max(), T.max()
    tau, now = 2000.0 / diffusion.fluxes(T, Y).rate, (T, Y, diffusion.enthalpy(T, Y))
    assert stages_for(1000.0) > 50
    for _ in range(6):
        now = diffusion.step(*now, tau)
    T = now[0]
    assert T.min() > 250.0 and T.max() < hottest + 50.0  # Lewis numbers are not 1
    # RKL2 halves the shortest waves with each step, whatever its length.
    assert np.abs(np.diff(T)).max() < 0.1 * jump


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_refused(h2o2, broken):
    T, Y, diffusion = layer(h2o2, 40)
    h = diffusion.enthalpy(T, Y)
    T[7] = broken
    with pytest.raises(FloatingPointError, match="not that of a flame"):
        diffusion.step(T, Y, h, 1e-6)


def test_far_too_small_cells_are_refused(h2o2):
    T, Y, _ = layer(h2o2, 40)
    diffusion = Diffusion(h2o2, ct.one_atm, 1e-9)
    with pytest.raises(FloatingPointError, match="FlameMarch.cells"):
        diffusion.step(T, Y, diffusion.enthalpy(T, Y), 1e-4)
