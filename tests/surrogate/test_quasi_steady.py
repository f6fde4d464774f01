"""The QSS step, against the exact solution with frozen coefficients, a plain implementation with
Cantera's rates, and CVODE for the orders of predictor and corrector."""

import cantera as ct
import numpy as np
import pytest
import torch

from combred.chemistry.mechanism import load_mechanism
from combred.surrogate.quasi_steady import QuasiSteadyState

DT, LAM, FLOOR = 1e-6, 0.1, 1e-13


def steps(n, dt=DT):
    return torch.full((n,), dt, dtype=torch.float64)


def tensors(path, rows=slice(None)):
    Y = np.maximum(path.Y[rows], FLOOR)
    return [torch.tensor(x) for x in (path.T[rows], path.p[rows], Y)]


def plain_step(mechanism, T, p, Y, dt, evaluations):
    """Change (1 + n_species) of [T, F(Y)] and 1 / tau of one state, in numpy with Cantera's rates,
    equation by equation."""
    gas = mechanism.solution()

    def rates(T, Y):
        gas.set_unnormalized_mass_fractions(Y)
        gas.TP = T, p
        per = gas.molecular_weights / gas.density
        return gas.creation_rates * per, gas.destruction_rates * per / Y

    def step(C, loss):
        slow = loss * dt < 1e-9
        tau = 1 / np.where(slow, 1.0, loss)
        return np.where(slow, dt * (C - loss * Y), (C * tau - Y) * -np.expm1(-dt * loss))

    def F(Y):
        return (np.maximum(Y, FLOOR) ** LAM - 1) / LAM

    C, loss = rates(T, Y)
    gas.TPY = T, p, Y
    heat = gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass
    if evaluations == 2:
        dY = step(C, loss)
        ahead = np.maximum(Y + dY, 1e-6 * Y)
        ahead /= ahead.sum()
        C_ahead, loss_ahead = rates(T - heat @ dY, ahead)
        C, loss = (C + C_ahead) / 2, (loss + loss_ahead) / 2
    dY = step(C, loss)
    return np.array([-heat @ dY, *(F(Y + dY) - F(Y))]), loss


def assert_equal_to_plain_step(mechanism, T, p, Y, evaluations):
    qss = QuasiSteadyState(mechanism, LAM, FLOOR, torch.float64)
    corrector, predictor, stiffness = (x.numpy() for x in qss(T, p, Y, steps(len(T))))
    change = corrector if evaluations == 2 else predictor
    keep = ~mechanism.inert
    for i in range(len(T)):
        state = T[i].item(), p[i].item(), Y[i].numpy()
        true, loss = plain_step(mechanism, *state, DT, evaluations)
        true = true[np.concatenate([[True], keep])]
        # float32 results; near balance, rates accurate to 1e-12 cancel.
        assert np.allclose(change[i], true, rtol=1e-5, atol=1e-8)
        if evaluations == 2:
            assert np.allclose(10.0 ** stiffness[i] - 1e-6, DT * loss[keep], rtol=1e-5, atol=1e-11)


@pytest.mark.parametrize("evaluations", [1, 2])
def test_changes_equal_those_of_a_plain_implementation(mechanism, path, evaluations):
    assert_equal_to_plain_step(mechanism, *tensors(path, slice(None, None, 4)), evaluations)


@pytest.mark.parametrize("evaluations", [1, 2])
def test_gri30_equals_the_plain_implementation_too(evaluations):
    """From unburnt gas, where most species are absent."""
    gri30 = load_mechanism("gri30.yaml")
    Y = np.maximum(gri30.mixture("CH4:1", "O2:1, N2:3.76", 1.0), FLOOR)[None]
    state = np.array([1600.0]), np.array([ct.one_atm]), Y
    assert_equal_to_plain_step(gri30, *map(torch.tensor, state), evaluations)


def test_float32_has_the_error_of_rates_that_are_off_by_a_millionth(mechanism, path):
    """The change of Y may be off by a few millionths of the amount produced and consumed in the
    step, at most of Y, and by the rounding of Y."""
    state = *tensors(path), path.steps
    change, _, stiffness = QuasiSteadyState(mechanism, LAM, FLOOR)(*state)
    exact, _, exactly = QuasiSteadyState(mechanism, LAM, FLOOR, torch.float64)(*state)
    # F is Y^lam / lam: its change for a millionth more of Y is 1e-6 Y^lam.
    Y = state[2][:, torch.tensor(~mechanism.inert)]
    turnover = exact[:, 1:].abs() + Y**LAM * (10.0**exactly).clamp(max=1.0)
    assert ((change - exact)[:, 1:].abs() <= 4e-6 * turnover + 1e-7 * Y**LAM).all()
    assert torch.allclose(
        stiffness.double(), exactly, atol=2e-6
    )  # log10; ln of up to 60 in float32
    assert change.dtype == torch.float32 and exact.dtype == torch.float64


def test_a_step_with_frozen_coefficients_solves_the_linear_equation(h2o2):
    """dY/dt = C - Y / tau over twelve decades of dt / tau, including where the branches meet."""
    loss = torch.logspace(-6, 6, 97, dtype=torch.float64)[:, None] / DT
    loss = torch.cat([loss, torch.tensor([[0.0], [0.99999e-4 / DT], [1.00001e-4 / DT]])])
    Y, C = torch.tensor([[0.3]]), 0.7 * loss + 2.0
    found = QuasiSteadyState(h2o2, LAM, FLOOR).step(C - Y * loss, loss, steps(1))
    x = np.longdouble(1e-6) * loss.numpy().astype(np.longdouble)
    share = np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1), 1)
    true = np.longdouble(1e-6) * (C - Y * loss).numpy() * share
    # Up to x = 1e-4, where the branches meet, the series neglects x^2 / 6 = 2e-9.
    assert np.allclose(found.numpy(), true.astype(float), rtol=2e-9, atol=0)


@pytest.mark.parametrize(("evaluations", "order"), [(1, 2), (2, 3)])
def test_orders_of_predictor_and_corrector(mechanism, path, evaluations, order):
    """The error of one step scales as dt^2 and dt^3: H2O in the steepest state of an ignition, over
    steps of 1e-9 to 8e-9 s, which are not stiff, against CVODE; slope by regression."""
    i, k = int(np.argmax(path.T_next - path.T)), mechanism.index("H2O")
    column = 1 + int((~mechanism.inert)[:k].sum())
    sizes = 1e-9 * 2.0 ** np.arange(4)
    gas = mechanism.solution()
    gas.TPY = path.T[i], path.p[i], path.Y[i]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-13, 1e-25
    errors = []
    qss = QuasiSteadyState(mechanism, LAM, FLOOR)
    for dt in sizes:
        net.advance(dt)
        change = qss(*tensors(path, slice(i, i + 1)), steps(1, dt))[0 if evaluations == 2 else 1]
        later, now = gas.Y[k], path.Y[i, k]
        errors.append(abs(change[0, column].item() - (later**LAM - now**LAM) / LAM))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.3)  # float32 changes leave a few digits


def test_at_equilibrium_the_change_is_zero(mechanism, path):
    gas = mechanism.solution()
    gas.TPY = path.T[-1], path.p[-1], path.Y[-1]
    gas.equilibrate("HP", rtol=1e-13)
    burnt = np.array([gas.T]), np.array([gas.P]), np.maximum(gas.Y, FLOOR)[None]
    qss = QuasiSteadyState(mechanism, LAM, FLOOR)
    change = qss(*map(torch.tensor, burnt), steps(1))[0]
    steepest = qss(*tensors(path), path.steps)[0].abs().amax(0)
    # Only of abundant species: others are at the floor, or react with those that are. 1e-6: error
    # of the equilibrium solver.
    there = torch.tensor(np.concatenate([[True], (gas.Y > 1e-7)[~mechanism.inert]]))
    assert (change[0].abs() <= 1e-6 * steepest)[there].all()


def test_an_absent_species_does_not_decay(drm19):
    """Exactly: the network input is the cube root of the change, which magnifies a rounding."""
    Y = np.maximum(drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0), FLOOR)
    qss = QuasiSteadyState(drm19, LAM, FLOOR)
    y = torch.tensor(Y[~drm19.inert], dtype=torch.float32)[:, None]
    dY = -y * torch.tensor([1e-3, 0.5, 0.9, 2.0])
    absent = torch.tensor(Y[~drm19.inert] == FLOOR)
    dF = qss.change_of_F(y, dY)
    assert absent.sum() > 10 and (dF[absent] == 0.0).all() and (dF[~absent] < 0.0).all()


def test_inert_species_have_no_columns(mechanism, path):
    qss = QuasiSteadyState(mechanism, LAM, FLOOR)
    reactive = mechanism.n_species - int(mechanism.inert.sum())
    corrector, predictor, stiffness = qss(*tensors(path), path.steps)
    assert corrector.shape == predictor.shape == (len(path.T), 1 + reactive)
    assert stiffness.shape == (len(path.T), reactive)
    assert qss.columns.tolist() == [0, *(2 + np.flatnonzero(~mechanism.inert))]


def test_all_states_give_finite_changes(drm19):
    """Also states that occur in no flame."""
    rng = np.random.default_rng(0)
    T, p = rng.uniform(200.0, 3500.0, 300), ct.one_atm * 10 ** rng.uniform(-2, 2, 300)
    T[:3] = -100.0, 0.0, 1e5
    Y = np.maximum(rng.dirichlet(np.full(drm19.n_species, 0.1), 300), FLOOR)
    qss = QuasiSteadyState(drm19, LAM, FLOOR)
    for dt in (1e-9, 1e-6, 1e-3):
        found = qss(*map(torch.tensor, (T, p, Y)), steps(300, dt))
        assert all(torch.isfinite(part).all() for part in found)
