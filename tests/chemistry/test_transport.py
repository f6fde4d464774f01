"""Transport properties against Cantera's: gases of an ignition, random mixtures, pure gases."""

import numpy as np
import pytest

from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.transport import MixtureTransport


def by_cantera(mechanism, T, p, X):
    """Conductivity (n,) and diffusion coefficients (n, n_species), state by state."""
    gas, found = mechanism.solution(), []
    gas.transport_model = "mixture-averaged"
    for T_i, X_i in zip(T, X, strict=True):
        gas.TPX = T_i, p, X_i
        found.append((gas.thermal_conductivity, gas.mix_diff_coeffs))
    return np.array([c for c, _ in found]), np.array([D for _, D in found])


def test_random_mixtures_have_cantera_s_transport(mechanism):
    rng = np.random.default_rng(0)
    T = rng.uniform(250.0, 3000.0, 50)
    X = rng.dirichlet(np.full(mechanism.n_species, 0.1), 50)
    conductivity, D = by_cantera(mechanism, T, 1e5, X)
    transport = MixtureTransport(mechanism)
    for rows in (50, 1, 3):  # any number of states, also after another number
        found = transport.diffusion(T[:rows], 1e5, X[:rows])
        assert np.allclose(transport.conductivity(T[:rows], X[:rows]), conductivity[:rows])
        # Some are nearly pure: there 1 - Y_k, as Cantera has it, loses digits.
        assert np.allclose(found, D[:rows], rtol=1e-7, atol=0)


def test_a_pure_gas_has_finite_coefficients(mechanism):
    X = np.eye(mechanism.n_species)
    D = MixtureTransport(mechanism).diffusion(np.full(len(X), 700.0), 1e5, X)
    assert np.isfinite(D).all() and (D > 0).all() and D.max() < 0.1  # m^2/s


def test_a_mechanism_without_transport_data_is_refused(tmp_path):
    text = (
        "phases:\n- name: gas\n  thermo: ideal-gas\n  species: [{h2o2.yaml/species: all}]\n"
        "  kinetics: gas\n  reactions: [h2o2.yaml/reactions]\n"
    )
    file = tmp_path / "bare.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"bare.yaml has no transport data, which a flame needs"):
        MixtureTransport(load_mechanism(str(file)))
