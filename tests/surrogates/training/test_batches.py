"""Batches of rows: their encoding, and that they depend on seed and step alone."""

import numpy as np
import pytest
import torch

from combred.surrogates.dataset.schema import SAMPLERS
from combred.surrogates.dataset.table import open_states
from combred.surrogates.model.correction import make_transform
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.training import batches as module
from combred.surrogates.training.batches import RowBatches, TrainingData, encode, fit_transform

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
    columns = block.state(), block.next_state(), block.dt
    expected.fit([tuple(torch.tensor(column[~held_out]) for column in columns)])
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
    back, _ = fitted.correction(z.double(), torch.ones(50, dtype=torch.float64))
    assert torch.allclose(back, w - v, rtol=1e-6, atol=1e-300)


@pytest.fixture(scope="module")
def correcting(table, drm19):
    """A transform of networks that correct QSS steps, fitted to the training rows."""
    transform = make_transform(drm19, 0.1, 1e-13, 1 / 3, kinetics=True)
    fit_transform(transform, table, table.held_out(HELD_OUT, 0))
    return transform


def test_with_rates_the_target_is_the_change_less_the_corrector(table, correcting):
    block = table.read(0, 50)
    x, z = encode(correcting, block)
    state, dt = torch.tensor(block.state()), torch.tensor(block.dt)
    v, w = correcting.variables(state), correcting.variables(torch.tensor(block.next_state()))
    inputs, base, size = correcting.prepared(state, v, dt)
    assert torch.equal(x, inputs)
    answer = torch.cat([z[:, :-1].double(), torch.zeros(50, 1)], dim=1)  # no error estimate
    back = base + correcting.correction(answer, size)[0]
    left = ((w - v - base) / (correcting.scale * size[:, None])).abs()
    bounded = left < correcting.BOUND
    assert bounded.double().mean() > 0.9
    # Rounding of the float32 target; the corrector and what is left may have opposite signs.
    assert torch.allclose(back[bounded], (w - v)[bounded], rtol=1e-5, atol=1e-6)
    # The last column is the weight of a row: below 1, and least where nothing happens.
    assert ((z[:, -1] > 0) & (z[:, -1] < 1)).all()
    assert z[:, -1].argmin() == size.argmin()


ROWS, PIECE = 640, 64


@pytest.fixture(scope="module")
def numbered(h2o2, write_states, tmp_path_factory):
    """A state file whose T is 300 K + row, its transform, and a mask of 5 of 10 chunks' rows."""
    n = ROWS
    T = 300.0 + np.arange(n)
    Y = np.random.default_rng(0).dirichlet(np.ones(h2o2.n_species), n)
    file = tmp_path_factory.mktemp("numbered") / "states.h5"
    write_states(file, h2o2, T, np.full(n, 1e5), Y, T + 1.0, Y)
    table = open_states(file, h2o2)
    transform = StateTransform(h2o2.n_species, 0.1, 1e-13, 1.0)
    keep = (np.arange(n) // PIECE) % 2 == 0
    fit_transform(transform, table, ~keep)
    return table, transform, keep


def make_row_batches(numbered, seed: int = 0) -> RowBatches:
    table, transform, keep = numbered
    return RowBatches(TrainingData(table, transform, ~keep, seed), torch.device("cpu"))


def row_numbers(numbered, x: torch.Tensor) -> np.ndarray:
    _, transform, _ = numbered
    T = x[:, 0].double() * transform.std[0] + transform.mean[0]
    return (T - 300.0).round().long().numpy()


def test_each_row_occurs_once_in_an_epoch(numbered):
    rows = make_row_batches(numbered)
    expected = np.flatnonzero(numbered[2])
    steps = len(expected) // 32  # of an epoch, which 32 divides
    batches = list(rows.batches([32] * 2 * steps, first=0))
    epochs = [
        np.concatenate([row_numbers(numbered, x) for x, _ in part])
        for part in (batches[:steps], batches[steps:])
    ]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), expected)
        assert not np.array_equal(epoch, expected)  # shuffled
    assert not np.array_equal(*epochs)


@pytest.mark.parametrize("first", [1, 7, 23])
def test_a_batch_depends_on_seed_and_step_alone(numbered, first):
    sizes = [16] * 10 + [50] * 14
    whole = list(make_row_batches(numbered).batches(sizes, first=0))
    resumed = list(make_row_batches(numbered).batches(sizes, first=first))
    assert len(whole) == len(sizes) and len(resumed) == len(sizes) - first
    for (x, z), (x_resumed, z_resumed) in zip(whole[first:], resumed, strict=True):
        assert torch.equal(x, x_resumed) and torch.equal(z, z_resumed)
    other = list(make_row_batches(numbered, seed=1).batches(sizes, first=0))
    assert not torch.equal(other[0][0], whole[0][0])


def test_a_batch_has_the_requested_size_or_all_rows(numbered):
    rows = make_row_batches(numbered)
    sizes = [10, 20, 30, 100, 1000, 5]
    got = [len(x) for x, _ in rows.batches(sizes, first=0)]
    assert got[:4] == sizes[:4] and got[5] == 5
    assert got[4] == ROWS // 2  # all that are kept


def test_flame_rows_occur_flame_oversampling_times(table, fitted, monkeypatch):
    """In an epoch every row occurs once, those of unperturbed flames three times."""
    monkeypatch.setattr(module, "FLAME", SAMPLERS.index("ignition"))  # the table has no flames
    visits = np.where(table.samplers == module.FLAME, 3, 1)
    keep = np.ones(table.rows, dtype=bool)
    data = TrainingData(table, fitted, ~keep)
    rows = RowBatches(data, torch.device("cpu"), flame_oversampling=3)
    assert len(rows.x) == visits.sum() and 1 < visits.mean() < 3
    x = torch.cat([x for x, _ in rows.batches([len(rows.x)], first=0)])
    once = encode(fitted, table.read(0, table.rows))[0]
    seen = (x[:, None] == once[None]).all(2).sum(0)
    twins = (once[:, None] == once[None]).all(2).double()  # rows may be alike
    assert torch.equal(seen.double(), twins @ torch.tensor(visits, dtype=torch.float64))
