"""Derivatives of delays and time steps, against brute force by Cantera's CVODE."""

import cantera as ct
import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import combred
from combred.chemistry.reactor import CVODE, Reactor
from combred.experiments.ignition.delay import time_to
from combred.reactors.derivatives import rate_derivatives, state_derivatives

ATM, N = ct.one_atm, 29  # reactions of h2o2.yaml


@pytest.fixture(scope="module")
def solver(h2o2, quick_factors):
    """That of hydrogen, whose library with factors is there."""
    return quick_factors


@pytest.fixture(scope="module")
def states(h2o2, solver):
    """Fresh gas without radicals, one early in its ignition and one late."""
    T, p = np.full(3, 1200.0), np.full(3, ATM)
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", np.ones(3))
    delay = combred.ignition_delay(solver, T[:1], p[:1], Y[:1], 400.0)[0]
    T[1:], Y[1:] = solver.advance(T[1:], p[1:], Y[1:], delay * np.array([0.7, 1.0]), 1e-8)
    return T, p, Y


def test_sensitivities_of_delays_are_cantera_s(solver, h2o2):
    """At 1 and 20 atm, on both sides of the second limit, and of a gas that becomes only 94 K
    hotter: within 1e-3 of the largest."""
    T, p = np.array([1050.0, 1100.0, 1100.0]), np.array([1.0, 20.0, 2.0]) * ATM
    reactor = Reactor(h2o2, 1e-11, 1e-20)
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", np.ones(3))
    Y[2] = h2o2.mixture("H2:1", "O2:1, AR:397", 1.0)
    found = combred.ignition_sensitivity(solver, T, p, Y, threads=2)
    true, gas, until = np.empty((3, N)), reactor.gas, T.copy()
    for i in range(3):
        gas.TPY = T[i], p[i], Y[i]
        gas.equilibrate("HP")
        until[i] = 0.5 * (T[i] + gas.T)
    assert until[2] < T[2] + 50.0
    for i in range(N):
        ends = []
        for sign in (1.0, -1.0):
            gas.set_multiplier(float(np.exp(sign * 0.02)), i)
            rows = zip(T, p, Y, until, strict=True)
            ends.append([time_to(reactor, *row, 1.0) for row in rows])
        gas.set_multiplier(1.0, i)
        true[:, i] = np.log(np.divide(*ends)) / 0.04
    largest = np.abs(true).max(1, keepdims=True)
    assert np.all(largest > 0.3)
    assert np.allclose(found / largest, true / largest, rtol=0.0, atol=1e-3)
    for criterion in ("max dT/dt", 400.0):  # other times of the same ignition: .07 apart at most
        near = combred.ignition_sensitivity(solver, T[:2], p[:2], Y[:2], criterion, threads=2)
        assert np.allclose(near / largest[:2], true[:2] / largest[:2], rtol=0.0, atol=0.1)
    none = combred.ignition_sensitivity(solver, 0.3 * T, p, Y)
    assert none.shape == (3, N) and np.isnan(none).all()


@pytest.mark.parametrize("dt", [1e-6, 1e-5])
def test_derivatives_of_a_step_are_cvode_s(solver, h2o2, states, dt):
    """By T, p, each Y and each rate constant, relative to the largest of a state."""
    T, p, Y = states
    cvode, n = CVODE(h2o2, 1e-12, 1e-22), Y.shape[1]
    moves = np.diag([0.05, 20.0, *np.full(n, 1e-8)])
    true = np.empty((3, 1 + n, 2 + n))
    for j, move in enumerate(moves):
        ends = []
        for sign in (1.0, 2.0, 0.0):  # one side, of second order: of absent species, too
            rows = np.column_stack([T, p, Y]) + sign * move
            total = rows[:, 2:].sum(1, keepdims=True)
            ends.append(
                np.column_stack(cvode.advance(rows[:, 0], rows[:, 1], rows[:, 2:] / total, dt))
            )
        true[:, :, j] = (4.0 * ends[0] - ends[1] - 3.0 * ends[2]) / (2.0 * move[j])
    found = state_derivatives(solver, T, p, Y, dt)
    for part, close in ((slice(0, 1), 1e-5), (slice(1, 2), 1e-3), (slice(2, None), 1e-4)):
        scale = np.abs(true[:, :, part]).max(axis=(1, 2), keepdims=True)
        assert np.allclose(found[:, :, part] / scale, true[:, :, part] / scale, rtol=0, atol=close)
    by_rates, gas = rate_derivatives(solver, T, p, Y, dt), cvode.reactor.gas
    for i in range(0, N, 3):
        ends = []
        for sign in (1.0, -1.0):
            gas.set_multiplier(float(np.exp(sign * 0.02)), i)
            ends.append(np.column_stack(cvode.advance(T, p, Y, dt)))
        gas.set_multiplier(1.0, i)
        own = (ends[0] - ends[1]) / 0.04
        scale = np.abs(by_rates).max(axis=(0, 2)) + 1e-30  # inert species
        assert np.allclose(by_rates[:, :, i] / scale, own / scale, rtol=0.0, atol=1e-7)


def test_sources_of_each_state_are_those_of_its_perturbations(solver, states):
    T, p, Y = states
    rate = np.linspace(1e3, 2e3, len(T))
    every = state_derivatives(
        solver.with_sources(combred.Sources(rate=rate, T0=300.0, Y0=Y[0])), T, p, Y, 1e-6
    )
    for i in range(len(T)):
        of = solver.with_sources(combred.Sources(rate=rate[i], T0=300.0, Y0=Y[0]))
        alone = state_derivatives(of, T[i : i + 1], p[i : i + 1], Y[i : i + 1], 1e-6)
        assert np.allclose(every[i], alone[0], rtol=1e-6, atol=1e-9)


def test_a_loss_has_the_gradients_of_its_differences(solver, states):
    """The loss of two steps, along random directions of T, p, Y and the rate constants."""
    rng, step = np.random.default_rng(0), combred.differentiable(solver)
    weights = torch.from_numpy(rng.normal(size=(3, states[2].shape[1])))

    def loss(T, p, Y, ln_A):
        T, Y = step(*step(T, p, Y, 2e-6, ln_A)[:1], p, step(T, p, Y, 2e-6, ln_A)[1], 2e-6, ln_A)
        return (T / 1000.0).sum() + (weights * Y).sum()

    given = [torch.tensor(x) for x in (*states, np.zeros(N))]
    moves = [torch.from_numpy(rng.normal(size=x.shape)) for x in given]
    moves[0], moves[1] = moves[0] * 1e-2, moves[1] * 10.0
    moves[2], moves[3] = (moves[2].abs() - 0.5) * 1e-3 * given[2], moves[3] * 1e-2
    leaves = [x.clone().requires_grad_() for x in given]
    loss(*leaves).backward()
    for i, (leaf, move) in enumerate(zip(leaves, moves, strict=True)):
        ends = [
            loss(*(x + sign * move if j == i else x for j, x in enumerate(given))).item()
            for sign in (1.0, -1.0)
        ]
        along = float((leaf.grad * move).sum())
        assert along == pytest.approx(0.5 * (ends[0] - ends[1]), rel=2e-3), i
    with pytest.raises(ValueError, match="second derivatives"):
        torch.autograd.grad(loss(*leaves), leaves[0], create_graph=True)
    with pytest.raises(ValueError, match="gradient by dt"):
        step(*given[:3], torch.tensor(1e-6, requires_grad=True))
    with pytest.raises(ValueError, match="tensors"):
        step(given[0], ct.one_atm, given[2], 1e-6)
    with pytest.raises(ValueError, match="floats on the CPU"):  # it would answer in whole numbers
        step(given[0].long(), *given[1:3], 1e-6)
    with pytest.raises(ValueError, match="multipliers already"):
        combred.differentiable(solver.with_multipliers(np.ones(N)))(*given[:3], 1e-6, given[3])


def test_forward_mode_gives_what_reverse_mode_gives(solver, states):
    """Directions of T, p, Y and the rate constants; of one p and one Y for all states, whose
    gradients are sums."""
    rng, step = np.random.default_rng(0), combred.differentiable(solver)
    T, p, Y = (torch.tensor(x) for x in states)
    given = T, p[0], Y[0], torch.zeros(N, dtype=torch.float64)
    moves = [torch.from_numpy(rng.normal(size=x.shape)) * 1e-3 for x in given]
    weights = torch.from_numpy(rng.normal(size=(len(T), Y.shape[1])))
    with forward_ad.dual_level():
        dual = [forward_ad.make_dual(x, dx) for x, dx in zip(given, moves, strict=True)]
        after = [forward_ad.unpack_dual(x).tangent for x in step(*dual[:3], 2e-6, dual[3])]
        with pytest.raises(ValueError, match="second derivatives"):  # forward over reverse
            step(dual[0].requires_grad_(), *given[1:3], 2e-6)
    leaves = [x.clone().requires_grad_() for x in given]
    later = step(*leaves[:3], 2e-6, leaves[3])
    (later[0].sum() + (weights * later[1]).sum()).backward()
    along = sum(float((leaf.grad * dx).sum()) for leaf, dx in zip(leaves, moves, strict=True))
    assert float(after[0].sum() + (weights * after[1]).sum()) == pytest.approx(along, rel=1e-9)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, T: torch.func.vmap(f)(torch.stack([T, T])),
        lambda f, T: torch.func.jvp(f, (T,), (T,)),
        lambda f, T: torch.func.grad(lambda T: f(T).sum())(T),
        lambda f, T: torch.autograd.functional.jacobian(f, T, vectorize=True),
        lambda f, T: torch.autograd.functional.jacobian(
            f, T, vectorize=True, strategy="forward-mode"
        ),
    ],
)
def test_transforms_of_torch_func_are_refused(solver, states, transform):
    T, p, Y = (torch.tensor(x) for x in states)
    step = combred.differentiable(solver)
    with pytest.raises(ValueError, match=r"torch\.func .*forward_ad"):
        transform(lambda T: step(T, p, Y, 2e-6)[0], T)


def test_functions_of_states_take_one_composition_for_all(solver, states):
    """As they take one p."""
    T, Y = np.array([1300.0, 1500.0]), states[2][0]
    rows = np.tile(Y, (2, 1))
    functions = [
        lambda Y: solver.advance(T, ATM, Y, 1e-6),
        lambda Y: solver.advance(T, ATM, Y, 1e-6, threads=2),
        lambda Y: CVODE(solver.mechanism).advance(T, ATM, Y, 1e-6),
        lambda Y: solver.time_to(T, ATM, Y, T + 10.0, 1.0),
        lambda Y: solver.rates(T, ATM, Y),
        lambda Y: combred.ignition_delay(solver, T, ATM, Y),
        lambda Y: combred.reactor(solver, T, ATM, Y, [0.0, 1e-6]).Y,
        lambda Y: combred.plug_flow(solver, T, ATM, Y, [0.0, 1e-3], 10.0).Y,
        lambda Y: combred.psr(solver, T, ATM, Y, 1e-3),
        lambda Y: state_derivatives(solver, T, ATM, Y, 1e-6),
    ]
    for function in functions:
        for one, each in zip(function(Y), function(rows), strict=True):
            assert np.array_equal(one, each)
