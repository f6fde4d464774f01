"""Batches of rows: their encoding, and that they depend on seed and step alone."""

import numpy as np
import pytest
import torch

from combred.dataset.states import SAMPLERS, open_states
from combred.surrogate.transform import StateTransform, make_transform
from combred.training import batches as module
from combred.training.batches import RowBatches, encode, fit_transform

DT = 1e-6
HELD_OUT = 0.2


@pytest.fixture(scope="module")
def fitted(table, drm19) -> StateTransform:
    transform = StateTransform(drm19.n_species, lam=0.1, floor=1e-13, power=1 / 3)
    fit_transform(transform, table, table.held_out(HELD_OUT, 0))
    return transform


def test_the_transform_is_fitted_to_training_rows_only(table, fitted, drm19):
    held_out = table.held_out(HELD_OUT, 0)
    block = table.read(0, table.rows)
    expected = StateTransform(drm19.n_species, lam=0.1, floor=1e-13, power=1 / 3)
    pair = (torch.tensor(block.state()[~held_out]), torch.tensor(block.next_state()[~held_out]))
    expected.fit([pair])
    for name, value in expected.state_dict().items():
        # Sums in another order, in float64.
        assert torch.allclose(getattr(fitted, name), value, rtol=1e-9, atol=1e-9), name


def test_encoded_rows_are_features_and_targets(table, fitted):
    block = table.read(0, 50)
    x, z = encode(fitted, block)
    v = fitted.variables(torch.tensor(block.state()))
    w = fitted.variables(torch.tensor(block.next_state()))
    assert torch.equal(x, ((v - fitted.mean) / fitted.std).float())
    # The change comes back from the target with float32's precision, tripled by the power 1/3.
    assert torch.allclose(fitted.change(z.double()), w - v, rtol=1e-6, atol=1e-300)


def test_with_rates_the_target_is_the_change_less_the_qss_change(table, drm19):
    transform = make_transform(drm19, DT, 0.1, 1e-13, 1 / 3, kinetics=2)
    fit_transform(transform, table, table.held_out(HELD_OUT, 0))
    block = table.read(0, 50)
    x, z = encode(transform, block)
    state = torch.tensor(block.state())
    v, w = transform.variables(state), transform.variables(torch.tensor(block.next_state()))
    inputs, qss_change = transform.prepared(state, v)
    assert torch.equal(x, inputs)
    back = qss_change + transform.change(z.double())
    # Rounding of the float32 target and QSS change, where the two have opposite signs.
    assert torch.allclose(back, w - v, rtol=1e-5, atol=1e-6)


ROWS, PIECE = 640, 64


@pytest.fixture(scope="module")
def numbered(h2o2, write_states, tmp_path_factory):
    """A state file whose T is 300 K + row, its transform, and a mask of 5 of 10 chunks' rows."""
    n = ROWS
    T = 300.0 + np.arange(n)
    Y = np.random.default_rng(0).dirichlet(np.ones(h2o2.n_species), n)
    file = tmp_path_factory.mktemp("numbered") / "states.h5"
    write_states(file, h2o2, T, np.full(n, 1e5), Y, T + 1.0, Y)
    table = open_states(file, h2o2, DT)
    transform = StateTransform(h2o2.n_species, 0.1, 1e-13, 1.0)
    keep = (np.arange(n) // PIECE) % 2 == 0
    fit_transform(transform, table, ~keep)
    return table, transform, keep


def make_row_batches(numbered, memory_rows: int, seed: int = 0) -> RowBatches:
    table, transform, keep = numbered
    return RowBatches(table, transform, keep, memory_rows, torch.device("cpu"), seed)


def row_numbers(numbered, x: torch.Tensor) -> np.ndarray:
    _, transform, _ = numbered
    T = x[:, 0].double() * transform.std[0] + transform.mean[0]
    return (T - 300.0).round().long().numpy()


@pytest.mark.parametrize("memory_rows", [PIECE, 2 * PIECE, 10 * PIECE])
def test_each_row_occurs_once_in_an_epoch(numbered, monkeypatch, memory_rows):
    monkeypatch.setattr(module, "CHUNK", PIECE)
    rows = make_row_batches(numbered, memory_rows)
    expected = np.flatnonzero(numbered[2])
    steps = len(expected) // 32  # of an epoch: 32 divides every buffer
    batches = list(rows.batches([32] * 2 * steps, first=0))
    epochs = [
        np.concatenate([row_numbers(numbered, x) for x, _ in part])
        for part in (batches[:steps], batches[steps:])
    ]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), expected)
        assert not np.array_equal(epoch, expected)  # shuffled
    assert not np.array_equal(*epochs)


def test_no_row_occurs_twice_if_the_batch_does_not_divide_the_epoch(numbered, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", PIECE)
    rows = make_row_batches(numbered, 10 * PIECE)
    batches = [row_numbers(numbered, x) for x, _ in rows.batches([48] * 12, first=0)]
    steps = numbered[2].sum() // 48  # the rest is dropped; the next epoch has another permutation
    for epoch in (batches[:steps], batches[steps:]):
        drawn = np.concatenate(epoch)
        assert len(np.unique(drawn)) == len(drawn) == 48 * steps


@pytest.mark.parametrize("memory_rows", [2 * PIECE, 10 * PIECE])
@pytest.mark.parametrize("first", [1, 7, 23])
def test_a_batch_depends_on_seed_and_step_alone(numbered, monkeypatch, memory_rows, first):
    monkeypatch.setattr(module, "CHUNK", PIECE)
    sizes = [16] * 10 + [50] * 14
    whole = list(make_row_batches(numbered, memory_rows).batches(sizes, first=0))
    resumed = list(make_row_batches(numbered, memory_rows).batches(sizes, first=first))
    assert len(whole) == len(sizes) and len(resumed) == len(sizes) - first
    for (x, z), (x_resumed, z_resumed) in zip(whole[first:], resumed, strict=True):
        assert torch.equal(x, x_resumed) and torch.equal(z, z_resumed)
    other = list(make_row_batches(numbered, memory_rows, seed=1).batches(sizes, first=0))
    assert not torch.equal(other[0][0], whole[0][0])


def test_a_batch_has_the_requested_size_or_is_a_whole_buffer(numbered, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", PIECE)
    rows = make_row_batches(numbered, 2 * PIECE)
    sizes = [10, 20, 30, 100, 1000, 5]
    got = [len(x) for x, _ in rows.batches(sizes, first=0)]
    assert got[:4] == sizes[:4] and got[5] == 5
    assert got[4] in (PIECE, 2 * PIECE)  # a buffer


def test_flame_rows_occur_flame_oversampling_times(table, fitted, monkeypatch):
    """In an epoch every row occurs once, those of unperturbed flames three times."""
    monkeypatch.setattr(module, "FLAME", SAMPLERS.index("ignition"))  # the table has no flames
    visits = np.where(table.samplers == module.FLAME, 3, 1)
    keep = np.ones(table.rows, dtype=bool)
    rows = RowBatches(table, fitted, keep, 10**6, torch.device("cpu"), 0, flame_oversampling=3)
    assert rows.rows == visits.sum() and 1 < visits.mean() < 3
    x = torch.cat([x for x, _ in rows.batches([rows.rows], first=0)])
    once = encode(fitted, table.read(0, table.rows))[0]
    seen = (x[:, None] == once[None]).all(2).sum(0)
    twins = (once[:, None] == once[None]).all(2).double()  # rows may be alike
    assert torch.equal(seen.double(), twins @ torch.tensor(visits, dtype=torch.float64))
