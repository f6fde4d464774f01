"""Generated rates against `Kinetics` in float64, for every type of reaction."""

import numpy as np
import torch
from rate_kinds import random_states

from combred.chemistry.kinetics import Kinetics
from combred.native import NativeSurrogate

# Exponents are sums in float32 of some five terms, up to 200 each where T is 300 K: 5 * 200 * 6e-8
# * ln 2 = 4e-5. In the median the error is 6e-7.
RELATIVE = 4e-5
# 1/s: slower rates sum reactions below the smallest of float32, exp(-85) kmol/(m3 s).
SLOWEST = 1e-3


def compare(native: NativeSurrogate, mechanism, n: int = 2000) -> None:
    T, p, Y = random_states(mechanism, n)
    columns = torch.tensor(Y).T.contiguous()
    known = Kinetics(mechanism)(torch.tensor(T), torch.tensor(p), columns)
    net, destruction = (rate.T.numpy() for rate in known)
    found_net, found_destruction = native.rates(np.column_stack([T, p, Y]))
    # A net rate is a sum in which creation and destruction may cancel: it is compared with both.
    # Of a rate with a negative constant, destruction may be negative.
    size = np.abs(net) + np.abs(destruction)
    fast = size > SLOWEST
    assert fast.mean() > 0.5
    assert np.all(np.abs(found_net - net)[fast] <= RELATIVE * size[fast])
    assert np.all(np.abs(found_destruction - destruction)[fast] <= RELATIVE * size[fast])
    assert np.all(np.abs(found_net - net)[~fast] <= 2e-3)
    assert np.all(found_net[:, mechanism.inert] == 0.0)


def test_rates_of_real_mechanisms(compiled, mechanism):
    compare(compiled, mechanism)


def test_rates_of_every_type(compiled_kinds, kinds):
    compare(compiled_kinds, kinds)


def test_a_state_of_one_species_has_finite_rates(compiled, mechanism):
    for name in ("H2", "O", "N2"):
        Y = np.zeros(mechanism.n_species)
        Y[mechanism.index(name)] = 1.0
        for T in (300.0, 1000.0, 2900.0):
            net, destruction = compiled.rates(np.array([[T, 1e5, *Y]]))
            assert np.isfinite(net).all() and np.isfinite(destruction).all()
