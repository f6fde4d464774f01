"""The QSS step, against the exact solution with frozen coefficients, a plain implementation with
Cantera's rates, and CVODE for the orders of predictor and corrector."""

import cantera as ct
import numpy as np
import pytest
import torch

from combred.surrogates.model.quasi_steady import QuasiSteadyState

DT, LAM, FLOOR = 1e-6, 0.1, 1e-13


def steps(n, dt=DT):
    return torch.full((n,), dt, dtype=torch.float64)


def tensors(path, rows=slice(None)):
    return [torch.tensor(x) for x in (path.T[rows], path.p[rows], path.Y[rows])]


def plain_steps(mechanism, T, p, Y, dt):
    """Corrector's and predictor's change (1 + n_species) of [T, F(Y)] and the stiffness of one
    state, in numpy with Cantera's rate constants, as Mott, Oran & van Leer (2000) write them; rate
    constants, falloff and h_k / cp are those of the state."""
    gas, Y = mechanism.solution(), np.maximum(Y, 1e-18)
    used, made = gas.reactant_stoich_coeffs, gas.product_stoich_coeffs
    colliders = [
        (i, [reaction.third_body.efficiencies.get(name, reaction.third_body.default_efficiency)
             for name in gas.species_names])
        for i, reaction in enumerate(gas.reactions())
        if reaction.third_body is not None and isinstance(reaction.rate, ct.ArrheniusRate)
    ]  # fmt: skip
    gas.set_unnormalized_mass_fractions(Y)
    gas.TP = T, p
    k_forward, k_reverse = gas.forward_rate_constants, gas.reverse_rate_constants
    heat = gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass

    def rates(T, Y):
        gas.set_unnormalized_mass_fractions(Y)
        gas.TP = T, p
        c, M = gas.concentrations[:, None], np.ones(gas.n_reactions)
        for i, efficiencies in colliders:
            M[i] = efficiencies @ c[:, 0]
        forward, reverse = (
            k * M * (c**orders).prod(axis=0) for k, orders in ((k_forward, used), (k_reverse, made))
        )
        per = gas.molecular_weights / gas.density
        return per * (made @ forward + used @ reverse), per * (used @ forward + made @ reverse) / Y

    def step(Y, C, loss, dt):
        return dt * (C - loss * Y) / (1 + alpha(dt * loss) * dt * loss)

    def alpha(x):
        r = 1 / np.maximum(x, 1e-12)
        return (180 * r**3 + 60 * r**2 + 11 * r + 1) / (360 * r**3 + 60 * r**2 + 12 * r + 1)

    def moved(T, Y, dY):
        ahead = np.maximum(Y + dY, 1e-6 * Y)
        return T - heat @ dY, ahead / ahead.sum()

    def F(Y):
        return ((np.maximum(Y, 0.0) + FLOOR) ** LAM - 1) / LAM

    def change(dT, dY):
        return np.array([dT, *(F(Y + dY) - F(Y))])

    predicted = step(Y, *rates(T, Y), dt)
    predictor = change(-heat @ predicted, predicted)
    here, T_here, total = Y, T, 0.0
    C, loss = rates(T, Y)
    for h in (0.05 * dt, 0.15 * dt, 0.3 * dt, 0.5 * dt):
        C_ahead, loss_ahead = rates(*moved(T_here, here, step(here, C, loss, h)))
        mean_loss = (loss + loss_ahead) / 2
        weight = alpha(h * mean_loss)
        dY = step(here, weight * C_ahead + (1 - weight) * C, mean_loss, h)
        total = total + dY
        T_here, here = moved(T_here, here, dY)
        C, loss = C_ahead, loss_ahead
    return change(T_here - T, total), predictor, np.log10(dt * mean_loss + 1e-6)


def assert_equal_to_plain_steps(mechanism, T, p, Y, dt):
    qss = QuasiSteadyState(mechanism, LAM, FLOOR, torch.float64)
    found = [x.numpy() for x in qss(T, p, Y, steps(len(T), dt))]
    keep = ~mechanism.inert
    columns = np.concatenate([[True], keep])
    for i in range(len(T)):
        corrector, predictor, stiffness = plain_steps(
            mechanism, T[i].item(), p[i].item(), Y[i].numpy(), dt
        )
        # Near balance, rates accurate to 1e-12 cancel; the plain formula cancels there itself.
        assert np.allclose(found[0][i], corrector[columns], rtol=1e-5, atol=1e-7)
        assert np.allclose(found[1][i], predictor[columns], rtol=1e-5, atol=1e-8)
        assert np.allclose(found[2][i], stiffness[keep], atol=1e-5)


@pytest.mark.parametrize("dt", [1e-8, DT])
def test_changes_equal_those_of_a_plain_implementation(mechanism, path, dt):
    assert_equal_to_plain_steps(mechanism, *tensors(path, slice(None, None, 4)), dt)


def test_float32_has_the_error_of_rates_that_are_off_by_a_millionth(mechanism, path):
    """The change of Y may be off by a few millionths of the amount produced and consumed in the
    step, at most of Y, and by the rounding of Y."""
    state = *tensors(path), path.steps
    change, _, stiffness = QuasiSteadyState(mechanism, LAM, FLOOR)(*state)
    exact, _, exactly = QuasiSteadyState(mechanism, LAM, FLOOR, torch.float64)(*state)
    # F is Y^lam / lam: its change for a millionth more of Y is 1e-6 Y^lam.
    Y = state[2][:, torch.tensor(~mechanism.inert)] + FLOOR
    turnover = exact[:, 1:].abs() + Y**LAM * (10.0**exactly).clamp(max=1.0)
    assert ((change - exact)[:, 1:].abs() <= 4e-6 * turnover + 1e-7 * Y**LAM).all()
    assert torch.allclose(
        stiffness.double(), exactly, atol=2e-6
    )  # log10; ln of up to 60 in float32
    assert change.dtype == torch.float32 and exact.dtype == torch.float64


@pytest.mark.parametrize("which", [0, 1])
def test_orders_of_corrector_and_predictor(mechanism, path, which):
    """The error of one step scales as dt^2, since rate constants are those of its beginning: H2O in
    the steepest state of an ignition, over steps of 1e-9 to 8e-9 s, which are not stiff, against
    CVODE; slope by regression."""
    i, k = int(np.argmax(path.T_next - path.T)), mechanism.index("H2O")
    column = 1 + int((~mechanism.inert)[:k].sum())
    sizes = 1e-9 * 2.0 ** np.arange(4)
    gas = mechanism.solution()
    gas.TPY = path.T[i], path.p[i], path.Y[i]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-13, 1e-25
    errors = []
    qss = QuasiSteadyState(mechanism, LAM, FLOOR, torch.float64)
    for dt in sizes:
        net.advance(dt)
        change = qss(*tensors(path, slice(i, i + 1)), steps(1, dt))[which]
        later, now = gas.Y[k], path.Y[i, k]
        errors.append(abs(change[0, column].item() - (later**LAM - now**LAM) / LAM))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(2, abs=0.2)


def test_the_change_of_F_is_its_formula_also_far_below_the_floor(drm19):
    qss = QuasiSteadyState(drm19, LAM, FLOOR)
    Y = torch.logspace(-18, 0, 37, dtype=torch.float64)[:, None]
    dY = Y * torch.tensor([-2.0, -1.0, -0.9, -0.5, -1e-3, 1e-3, 1.0, 1e3]).double()
    later = (Y + dY).clamp(min=0.0).numpy().astype(np.longdouble)
    true = ((later + FLOOR) ** LAM - (Y.numpy().astype(np.longdouble) + FLOOR) ** LAM) / LAM
    # Of a decay to nothing, the rounding of 1 - Y / (Y + floor) is left: relative to the floor, up
    # to 1e-16 and 6e-8 of Y.
    for dtype, tolerance, of_decay in ((torch.float64, 1e-10, 1e-6), (torch.float32, 1e-6, 1e-2)):
        found = qss.change_of_F(Y.to(dtype), dY.to(dtype)).double().numpy()
        error = np.abs(found - true) / np.abs(true)
        assert error[:, 2:].max() < tolerance and error[:, :2].max() < of_decay


def test_gas_without_radicals_has_no_error_of_its_own(drm19):
    """Predictor and corrector agree in a microsecond of premixed gas at 900 K, where HO2 begins to
    form. With radicals of 1e-13 in place of none, they differed by a third of the scale of F."""
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)[None]
    state = np.array([900.0]), np.array([ct.one_atm]), Y
    corrector, predictor, _ = QuasiSteadyState(drm19, LAM, FLOOR)(
        *map(torch.tensor, state), steps(1)
    )
    assert (corrector - predictor).abs().max() < 1e-4


def test_all_states_give_finite_changes(drm19):
    """Also states that occur in no flame."""
    rng = np.random.default_rng(0)
    T, p = rng.uniform(200.0, 3500.0, 300), ct.one_atm * 10 ** rng.uniform(-2, 2, 300)
    T[:3] = -100.0, 0.0, 1e5
    Y = rng.dirichlet(np.full(drm19.n_species, 0.1), 300)
    Y[::7, 3:] = 0.0
    qss = QuasiSteadyState(drm19, LAM, FLOOR)
    for dt in (1e-9, 1e-6, 1e-3):
        found = qss(*map(torch.tensor, (T, p, Y)), steps(300, dt))
        assert all(torch.isfinite(part).all() for part in found)
