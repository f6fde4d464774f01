"""Backward elimination against brute force: every candidate refitted, the cheapest taken away."""

from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn

from combred.reduction import HiddenLayer, Units, brain_surgeon
from combred.reduction.calibration import moments
from combred.reduction.methods.brain_surgeon import eliminate

RIDGE = 1e-6


def activations(n: int, m: int, seed: int, outputs: int = 4):
    """A (n, m), of ReLU units that have much in common, B, the same a little wrong, U (m, q)."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, max(2, m // 2)))
    A = (common @ rng.normal(size=(common.shape[1], m)) + rng.normal(size=m)).clip(min=0.0)
    B = (A + 0.2 * rng.normal(size=A.shape)).clip(min=0.0)
    return A, B, rng.normal(size=(m, outputs))


def units_of(A, B, U, intercept: bool) -> Units:
    """Units that were seen to do A in the original network and B in the reduced one."""
    one = torch.from_numpy(A)
    data = moments([(one, one if B is A else torch.from_numpy(B))])
    m = A.shape[1]
    layer = HiddenLayer("producer", m, ("producer",), (("reader", 1),), takes_offset=intercept)
    nothing = torch.zeros(m, dtype=torch.float64)
    U = torch.from_numpy(U)
    return Units(nn.Identity(), layer, nothing[:, None], nothing, None, None, U, data)


def brute_force(A, B, U, intercept: bool, last: int, ridge: float = RIDGE):
    """Order and cumulative costs, a least-squares problem for each candidate of each step.

    min |A U - B W|^2 / n + d |W - U|^2 over W that are zero in the rows of the units that left.
    """
    n, m = A.shape
    if intercept:
        A, B = A - A.mean(0), B - B.mean(0)
    d = ridge * np.trace(B.T @ B / n) / m
    design = np.vstack([B / np.sqrt(n), np.sqrt(d) * np.eye(m)])
    target = np.vstack([A @ U / np.sqrt(n), np.sqrt(d) * U])

    def loss(left):
        W = np.linalg.lstsq(design[:, left], target, rcond=None)[0]
        return np.square(target - design[:, left] @ W).sum()

    left, order = list(range(m)), []
    costs = [loss(left)]
    while len(left) > last:
        losses = [loss([k for k in left if k != j]) for j in left]
        order.append(left.pop(int(np.argmin(losses))))
        costs.append(min(losses))
    return order, costs


@pytest.mark.parametrize("block", [1, 3, 64])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("m", [1, 2, 11])
def test_it_is_brute_force(monkeypatch, m, asymmetric, intercept, block):
    monkeypatch.setattr(import_module("combred.reduction.methods.brain_surgeon"), "BLOCK", block)
    A, B, U = activations(200, m, seed=m)
    B = B if asymmetric else A
    found = eliminate(units_of(A, B, U, intercept), 1, RIDGE)
    order, costs = brute_force(A, B, U, intercept, 1)
    assert found.order.tolist() == order
    # A ridge of 1e-6 lets H have condition 1e6; costs of 1e-6 of the size are differences of it.
    assert np.allclose(found.cost, costs, rtol=1e-7, atol=1e-9 * found.size)
    centred = A - A.mean(0) if intercept else A
    assert found.size == pytest.approx(np.square(centred @ U).sum() / len(A), rel=1e-12)


@pytest.mark.parametrize("last", [1, 4, 9, 10])
def test_what_is_left_are_the_units_kept(last):
    A, B, U = activations(200, 10, seed=3)
    units = units_of(A, B, U, True)
    order, _ = brute_force(A, B, U, True, last)
    merge = brain_surgeon(units, keep=last)
    assert merge.kept.tolist() == sorted(set(range(10)) - set(order))
    assert torch.equal(merge.mixing, torch.eye(10).double()[merge.kept])
    assert not merge.offset.any() and not merge.carriers


@pytest.mark.parametrize("intercept", [True, False])
def test_dead_and_duplicated_units_leave_first_at_no_cost(intercept):
    A, _, U = activations(300, 12, seed=5)
    A[:, 2], A[:, 7] = 0.0, 0.0
    A[:, 9] = A[:, 4]
    A[:, 11] = 2.5 * A[:, 0]
    found = eliminate(units_of(A, A, U, intercept), 1, RIDGE)
    assert {2, 7} <= set(found.order[:4].tolist())
    assert len({4, 9} & set(found.order[:4].tolist())) == 1
    assert len({0, 11} & set(found.order[:4].tolist())) == 1
    # The ridge pulls at weights of order one with 1e-6 of the mean square of a unit.
    assert found.cost[4] < 1e-5 * found.size < found.cost[5]
    assert (found.cost.diff() > -1e-12 * found.size).all()  # rounding


def test_a_constant_unit_costs_nothing_where_the_offset_takes_it():
    A, _, U = activations(300, 6, seed=6)
    A[:, 3] = 5.0
    assert eliminate(units_of(A, A, U, True), 1).order[0] == 3
    assert eliminate(units_of(A, A, U, False), 1).order[0] != 3


def test_units_that_nobody_reads_leave_first():
    A, _, U = activations(300, 8, seed=7)
    U[[1, 6]] = 0.0
    found = eliminate(units_of(A, A, U, True), 1)
    assert sorted(found.order[:2].tolist()) == [1, 6]
    assert found.cost[2] == 0.0


def test_no_unit_ever_active_has_an_order_too():
    A, U = np.zeros((50, 5)), np.ones((5, 2))
    found = eliminate(units_of(A, A, U, True), 1)
    assert len(found.order.unique()) == 4 and torch.isfinite(found.cost).all()
    assert found.cost.max() < 1e-200


def test_a_wide_layer_is_the_plain_loop():
    A, B, U = activations(1500, 400, seed=8, outputs=12)
    last = 40
    found = eliminate(units_of(A, B, U, True), last, RIDGE)
    A, B = A - A.mean(0), B - B.mean(0)
    G = B.T @ B / len(B)
    d = RIDGE * np.trace(G) / 400
    inverse = np.linalg.inv(G + d * np.eye(400))
    W = inverse @ (B.T @ A / len(B) @ U + d * U)
    order, steps = [], []
    for _ in range(400 - last):
        price = np.square(W).sum(1) / np.diagonal(inverse).clip(min=1e-300)
        price[order] = np.inf
        j = int(np.argmin(price))
        steps.append(price[j])
        order.append(j)
        column = inverse[:, j] / inverse[j, j]
        W = W - np.outer(column, W[j])
        inverse = inverse - np.outer(column, inverse[j])
        W[order], inverse[order], inverse[:, order] = 0.0, 0.0, 0.0
    assert found.order.tolist() == order
    # 360 updates of matrices of condition 1e4 in float64, in another order.
    assert np.allclose(found.cost.diff(), steps, rtol=1e-7)


def test_what_cannot_be_asked_is_refused():
    A, _, U = activations(20, 4, seed=0)
    for last in (0, 5):
        with pytest.raises(ValueError, match=f"1 to 4 can stay, not {last}"):
            eliminate(units_of(A, A, U, True), last)
    units = units_of(A, A, U, True)
    blind = Units(units.network, units.layer, units.weights, units.bias, None, None, units.reading)
    with pytest.raises(ValueError, match="give calibration=inputs"):
        brain_surgeon(blind, keep=2)
