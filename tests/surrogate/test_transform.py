"""Box-Cox, standardisation and signed power: inverses, fixed points, streamed moments."""

import numpy as np
import pytest
import torch

from combred.surrogate.transform import BoxCox, StateTransform


def fitted(path, power: float = 1 / 3, chunk: int = 1000) -> StateTransform:
    """Fitted to the path, in chunks of `chunk` rows."""
    transform = StateTransform(path.Y.shape[1], lam=0.1, floor=1e-13, power=power)
    return transform.fit(zip(path.state.split(chunk), path.later.split(chunk), strict=True))


@pytest.mark.parametrize("lam", [0.05, 0.1, 0.5, 1.0])
def test_the_inverse_of_boxcox(path, lam):
    boxcox, Y = BoxCox(lam, 1e-13), torch.tensor(path.Y)
    back, Y = boxcox.inverse(boxcox(Y)), Y.clamp(min=1e-13)
    # A few roundings of Y^lam - 1, each magnified by 1 / (lam Y^lam).
    assert ((back / Y - 1.0).abs() <= 1e-15 * (1.0 + Y**-lam) / lam).all()


def test_boxcox_is_its_formula_and_tends_to_the_logarithm():
    Y = torch.logspace(-12, 0, 50, dtype=torch.float64)
    expected = [(y**0.1 - 1.0) / 0.1 for y in Y.tolist()]
    assert np.allclose(BoxCox(0.1, 1e-13)(Y), expected, rtol=1e-13, atol=1e-13)  # float64
    # F = ln Y + lam (ln Y)^2 / 2 + ...
    assert torch.allclose(BoxCox(1e-6, 1e-13)(Y), Y.log(), atol=1e-6 * 27.6**2)


def test_boxcox_treats_values_below_the_floor_as_the_floor():
    boxcox = BoxCox(0.1, 1e-13)
    F = boxcox(torch.tensor([0.0, -1e-5, 1e-20, 1e-13], dtype=torch.float64))
    assert torch.equal(F, F[3].expand(4))
    assert boxcox.inverse(torch.tensor([-1e3], dtype=torch.float64)).item() == 0.0


@pytest.mark.parametrize("power", [1 / 3, 0.5, 1.0])
def test_the_inverse_of_the_target(path, power):
    transform = fitted(path, power)
    change = transform.variables(path.later) - transform.variables(path.state)
    back = transform.change(transform.target(change))
    # Two powers whose exponents multiply to 1 within one rounding.
    assert torch.allclose(back, change, rtol=1e-12, atol=0)


@pytest.mark.parametrize("power", [1 / 3, 0.5, 1.0])
def test_zero_change_stays_zero(path, power):
    transform = fitted(path, power)
    zero = torch.zeros_like(path.state)
    assert torch.equal(transform.target(zero), zero)
    assert torch.equal(transform.change(zero), zero)


def test_the_target_is_its_formula(path):
    transform = fitted(path, 1 / 3)
    change = transform.variables(path.later) - transform.variables(path.state)
    d = (change / transform.scale).numpy()
    assert np.allclose(transform.target(change), np.cbrt(d), rtol=1e-12, atol=1e-300)  # float64


def test_power_one_is_linear(path):
    transform = fitted(path, 1.0)
    change = torch.randn(20, path.state.shape[1], dtype=torch.float64,
                         generator=torch.Generator().manual_seed(0))  # fmt: skip
    assert torch.equal(transform.target(change), change / transform.scale)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_streamed_fit_equals_numpy_over_all_rows(path, chunk):
    transform = fitted(path, chunk=chunk)
    v = transform.variables(path.state).numpy()
    change = transform.variables(path.later).numpy() - v
    std, scale = v.std(axis=0), change.std(axis=0)
    varies, changes = std > 1e-12 * np.abs(v.mean(axis=0)), scale > 0
    # Moments about the first chunk's mean lose a few digits of float64 where that is far away.
    assert np.allclose(transform.mean, v.mean(axis=0), rtol=1e-12)
    assert np.allclose(transform.std[varies], std[varies], rtol=1e-9)
    assert np.allclose(transform.scale[changes], scale[changes], rtol=1e-9)
    assert np.array_equal(transform.low, v.min(axis=0))
    assert np.array_equal(transform.high, v.max(axis=0))
    expected = np.corrcoef(v[:, varies].T)
    assert np.allclose(transform.covariance[varies][:, varies], expected, atol=1e-9)


def test_columns_that_never_change_have_scale_one(mechanism, path):
    transform = fitted(path)
    still = np.concatenate([[False, True], mechanism.inert])  # T, p, Y
    assert (transform.std[still] == 1.0).all()
    assert (transform.scale[still] == 1.0).all()
    assert (transform.scale[~still] != 1.0).all()


def test_features_are_standardised(mechanism, path):
    transform = fitted(path)
    x = transform.features(transform.variables(path.state))
    varies = torch.tensor(np.concatenate([[True, False], ~mechanism.inert]))
    assert x.mean(dim=0).abs().max() < 1e-10  # float64 rounding, magnified by mean / std
    assert (x[:, varies].std(dim=0, correction=0) - 1.0).abs().max() < 1e-9


def test_one_state_cannot_be_fitted(path):
    transform = StateTransform(path.Y.shape[1], 0.1, 1e-13, 1 / 3)
    with pytest.raises(ValueError, match="cannot be fitted to 1 states"):
        transform.fit([(path.state[:1], path.later[:1])])


def test_the_state_dict_holds_the_whole_transform(path):
    transform = fitted(path)
    other = StateTransform(path.Y.shape[1], lam=0.1, floor=1e-13, power=1 / 3)
    other.load_state_dict(transform.state_dict())
    v = transform.variables(path.state)
    z = transform.target(transform.variables(path.later) - v)
    assert torch.equal(other.features(v), transform.features(v))
    assert torch.equal(other.change(z), transform.change(z))


# -- with reaction rates ---------------------------------------------------------------------------


def test_qss_features_are_standardised_inputs(path, qss_transform):
    n = qss_transform.features(qss_transform.variables(path.state)).shape[1]
    x = qss_transform.inputs(path.state)
    assert x.dtype == torch.float32 and x.shape == (len(path.T), qss_transform.n_inputs)
    features = qss_transform.features(qss_transform.variables(path.state))
    assert torch.equal(x[:, :n], features.float())
    seen = x[:, n:].double()
    assert seen.mean(0).abs().max() < 1e-5  # float32
    std = seen.std(0, correction=0)
    assert torch.allclose(std[std > 0], torch.ones_like(std[std > 0]), atol=1e-4)


def test_the_qss_change_is_an_input_transformed_as_a_target(path, qss_transform):
    v = qss_transform.variables(path.state)
    x, qss_change = qss_transform.prepared(path.state, v)
    columns = qss_transform.qss.columns
    expected = qss_transform.target(qss_change)[:, columns]
    first = v.shape[1]
    seen = x[:, first : first + len(columns)] * qss_transform.qss_std[: len(columns)]
    seen = seen + qss_transform.qss_mean[: len(columns)]
    assert torch.allclose(seen.double(), expected, rtol=1e-4, atol=1e-4)  # float32, standardised
    others = torch.ones(v.shape[1], dtype=torch.bool)
    others[columns] = False  # p and inert species
    assert (qss_change[:, others] == 0).all() and (qss_change[:, columns] != 0).any(0).all()


def test_the_qss_change_is_most_of_the_change(path, qss_transform):
    """Summed over the ignition, the rest is smaller than the change for most variables."""
    v = qss_transform.variables(path.state)
    change = qss_transform.variables(path.later) - v
    left = (change - qss_transform.prepared(path.state, v)[1]).abs().sum(0)
    changing = qss_transform.scale != 1.0
    assert (left[changing] < change.abs().sum(0)[changing]).double().mean() > 0.8


def test_an_extreme_qss_change_is_bounded(path, qss_transform):
    hot = path.state[:1].clone()
    hot[0, 0], hot[0, 2:] = 3000.0, 1.0 / (hot.shape[1] - 2)  # far from all training states
    x, qss_change = qss_transform.prepared(hot, qss_transform.variables(hot))
    assert torch.isfinite(x).all()
    assert (qss_change.abs() <= 1.001 * qss_transform.LARGEST * qss_transform.scale).all()


def test_without_rates_the_qss_change_is_zero(path, transform):
    x, qss_change = transform.prepared(path.state, transform.variables(path.state))
    assert transform.evaluations == 0 and (qss_change == 0).all()
    assert torch.equal(x, transform.inputs(path.state))
    transform.fit_qss([path.state])  # does nothing


def test_no_gradient_passes_through_the_qss_change(path, qss_transform):
    state = path.state.clone().requires_grad_()
    v = qss_transform.variables(path.state)
    x, qss_change = qss_transform.prepared(state, v)
    assert not x.requires_grad and not qss_change.requires_grad
