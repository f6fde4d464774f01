"""Box-Cox, standardisation and signed power: inverses, fixed points, streamed moments."""

import numpy as np
import pytest
import torch

from combred.surrogates.model.transform import BoxCox, ShiftedBoxCox, StateTransform


def fitted(path, power: float = 1 / 3, chunk: int = 1000) -> StateTransform:
    """Fitted to the path, in chunks of `chunk` rows."""
    transform = StateTransform(path.Y.shape[1], lam=0.1, floor=1e-13, power=power)
    sides = (path.state, path.later, path.steps)
    return transform.fit(zip(*(side.split(chunk) for side in sides), strict=True))


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


def test_the_shifted_boxcox_is_its_formula_and_has_an_inverse_for_all_Y():
    boxcox, Y = (
        ShiftedBoxCox(0.1, 1e-13),
        torch.tensor([0.0, 1e-20, 1e-16, 1e-13, 1e-5, 0.7]).double(),
    )
    assert torch.allclose(boxcox(Y), ((Y + 1e-13) ** 0.1 - 1.0) / 0.1, rtol=1e-14)
    # float64: of F to 1e-16, which is 1e-14 of Y + 1e-13.
    assert torch.allclose(boxcox.inverse(boxcox(Y)), Y, rtol=1e-12, atol=1e-26)
    assert boxcox.inverse(boxcox(Y[:1]) - 0.1).item() == 0.0
    assert boxcox(-Y).tolist() == boxcox(torch.zeros_like(Y)).tolist()


@pytest.mark.parametrize("power", [1 / 3, 0.5, 1.0])
def test_the_target_is_its_formula_and_has_an_inverse(path, power):
    transform = fitted(path, power)
    change = transform.variables(path.later) - transform.variables(path.state)
    d, target = (change / transform.scale).numpy(), transform.target(change, path.steps)
    expected = np.cbrt(d) if power == 1 / 3 else np.sign(d) * np.abs(d) ** power
    assert np.allclose(target, expected, rtol=1e-12, atol=1e-300)  # float64
    back = transform.correction(target, path.steps)[0]
    # Two powers whose exponents multiply to 1 within one rounding.
    assert torch.allclose(back, change, rtol=1e-12, atol=0)


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


def test_rounding_of_a_species_that_never_forms_is_no_spread(mechanism, path):
    """As of carbon in hydrogen flames: a network would correct noise, in units of it."""
    k = 2 + mechanism.index("N2")
    noise = 1e-11 * torch.randn(2, len(path.T), generator=torch.Generator().manual_seed(0)).double()
    state, later = path.state.clone(), path.later.clone()
    state[:, k] *= 1.0 + noise[0]
    later[:, k] *= 1.0 + noise[1]
    transform = StateTransform(mechanism.n_species, 0.1, 1e-13, 1 / 3)
    transform.fit([(state, later, path.steps)])
    assert transform.std[k] == 1.0 and transform.scale[k] == 1.0


def test_one_state_cannot_be_fitted(path):
    transform = StateTransform(path.Y.shape[1], 0.1, 1e-13, 1 / 3)
    with pytest.raises(ValueError, match="cannot be fitted to 1 states"):
        transform.fit([(path.state[:1], path.later[:1], path.steps[:1])])
