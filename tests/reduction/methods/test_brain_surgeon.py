"""Backward elimination against brute force: refit without each unit, remove the least costly."""

from importlib import import_module

import numpy as np
import pytest
import torch
from reducible import units_of

from combred.reduction import brain_surgeon
from combred.reduction.methods.brain_surgeon import eliminate

RIDGE = 1e-6


def activations(n: int, m: int, seed: int, outputs: int = 4):
    """A (n, m) of correlated ReLU units, B (n, m) close to A, U (m, outputs)."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, max(2, m // 2)))
    A = (common @ rng.normal(size=(common.shape[1], m)) + rng.normal(size=m)).clip(min=0.0)
    B = (A + 0.2 * rng.normal(size=A.shape)).clip(min=0.0)
    return A, B, rng.normal(size=(m, outputs))


def brute_force(A, B, U, intercept: bool, last: int, ridge: float = RIDGE):
    """Order and cumulative costs, by one least-squares problem for each unit in each step.

    min |A U - B W|^2 / n + d |W - U|^2 over W that are zero in the rows of removed units.
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


@pytest.mark.parametrize(
    "m, asymmetric, intercept, block",
    [
        *((1, True, True, 64), (2, True, False, 3), (2, False, True, 1)),
        *((11, True, True, 1), (11, True, False, 3), (11, False, True, 3), (11, False, False, 64)),
    ],
)
def test_order_and_costs_are_those_of_brute_force(monkeypatch, m, asymmetric, intercept, block):
    monkeypatch.setattr(import_module("combred.reduction.methods.brain_surgeon"), "BLOCK", block)
    A, B, U = activations(200, m, seed=m)
    B = B if asymmetric else A
    order, cost = eliminate(units_of(A, B, U, intercept), 1)
    expected, costs = brute_force(A, B, U, intercept, 1)
    assert order.tolist() == expected
    # With a ridge of 1e-6, H has a condition of up to 1e6; small costs are differences of the size.
    centred = A - A.mean(0) if intercept else A
    size = np.square(centred @ U).sum() / len(A)
    assert np.allclose(cost, costs, rtol=1e-7, atol=1e-9 * size)


@pytest.mark.parametrize("last", [1, 4, 9, 10])
def test_the_units_that_elimination_leaves_are_kept(last):
    A, B, U = activations(200, 10, seed=3)
    units = units_of(A, B, U, True)
    order, _ = brute_force(A, B, U, True, last)
    merge = brain_surgeon(units, keep=last)
    assert merge.kept.tolist() == sorted(set(range(10)) - set(order))
    assert torch.equal(merge.mixing, torch.eye(10).double()[merge.kept])
    assert not merge.offset.any() and not merge.carriers


def test_a_constant_unit_costs_nothing_where_it_can_become_an_offset():
    A, _, U = activations(300, 6, seed=6)
    A[:, 3] = 5.0
    assert eliminate(units_of(A, A, U, True), 1)[0][0] == 3
    assert eliminate(units_of(A, A, U, False), 1)[0][0] != 3


def test_units_that_are_never_active_have_an_order():
    A, U = np.zeros((50, 5)), np.ones((5, 2))
    order, cost = eliminate(units_of(A, A, U, True), 1)
    assert len(order.unique()) == 4 and torch.isfinite(cost).all()
    assert cost.max() < 1e-200


def test_too_few_or_too_many_units_are_refused():
    A, _, U = activations(20, 4, seed=0)
    for last in (0, 5):
        with pytest.raises(ValueError, match=f"1 to 4 can stay, not {last}"):
            eliminate(units_of(A, A, U, True), last)
