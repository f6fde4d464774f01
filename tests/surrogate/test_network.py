"""Network and surrogate: what a CFD code is given, whatever it hands over."""

import copy

import cantera as ct
import numpy as np
import pytest
import torch

from combred.surrogate.network import Network, initialize
from combred.surrogate.surrogate import Surrogate

DT = 1e-6


def element_error(mechanism, out: torch.Tensor, Y: np.ndarray) -> float:
    return np.abs((out[:, 2:].numpy() - Y) @ mechanism.elements.T).max()


def dirty(path) -> tuple[torch.Tensor, np.ndarray]:
    """The path as a transport step may leave it, and the mass fractions it stands for."""
    rng = np.random.default_rng(0)
    Y = path.Y * (1.0 + 1e-4)
    Y = np.where(Y < 1e-12, -1e-6 * rng.random(Y.shape), Y)
    clean = Y.clip(0.0) / Y.clip(0.0).sum(axis=1, keepdims=True)
    return torch.tensor(np.column_stack([path.T, path.p, Y])), clean


@pytest.fixture(scope="module")
def untrained(mechanism, transform, make_network):
    """A surrogate whose network was never trained: changes far beyond those of the chemistry."""
    n = 2 + mechanism.n_species
    return Surrogate(mechanism, DT, transform, make_network([n, 24, 16, n], output=1.0))


@pytest.fixture(scope="module")
def silent(mechanism, transform, make_network):
    """A surrogate whose network answers zero."""
    n = 2 + mechanism.n_species
    return Surrogate(mechanism, DT, transform, make_network([n, 8, n], output=0.0))


# -- the network -----------------------------------------------------------------------------------


def test_weights_are_counted_as_in_the_paper():
    with torch.device("meta"):
        network = Network([23, 3200, 1600, 800, 400, 23])
    assert network.widths == [23, 3200, 1600, 800, 400, 23]
    assert network.n_weights == 6_802_800  # Chen & Xu 2024, section 3.1.3


def test_network_is_relu_between_affine_maps(make_network):
    network = make_network([4, 7, 5, 3]).double()
    x = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y = x.numpy()
    for i, layer in enumerate(network.layers):
        y = y @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        y = y if i == 2 else np.maximum(y, 0.0)
    assert np.allclose(network(x).detach(), y, rtol=0, atol=1e-13)  # float64 rounding


def test_initial_standard_deviations():
    network = Network([300, 200, 400, 100])
    initialize(network, ["condense", "0.5", 2.0], torch.Generator().manual_seed(0))
    # Chen & Xu equation 19; He: sqrt(2 / m_in).
    expected = [2 / 500, 0.5 * (2 / 200) ** 0.5, 2.0 * (2 / 400) ** 0.5]
    for layer, std in zip(network.layers, expected, strict=True):
        n = layer.weight.numel()
        assert layer.weight.std().item() == pytest.approx(std, rel=5 / (2 * n) ** 0.5)  # 5 sigma
        assert abs(layer.weight.mean().item()) < 5 * std / n**0.5  # 5 sigma
        assert not layer.bias.any()


def test_initialisation_depends_on_the_generator_alone():
    first, second, other = (Network([5, 6, 5]) for _ in range(3))
    for network, seed in ((first, 1), (second, 1), (other, 2)):
        initialize(network, ["condense", "1"], torch.Generator().manual_seed(seed))
    assert torch.equal(first.layers[0].weight, second.layers[0].weight)
    assert not torch.equal(first.layers[0].weight, other.layers[0].weight)


def test_a_network_of_other_widths_is_refused(mechanism, transform):
    n = 2 + mechanism.n_species
    with pytest.raises(
        ValueError,
        match=rf"maps {n} inputs to the change of {n} variables.*widths \[{n}, 8, {n - 1}\]",
    ):
        Surrogate(mechanism, DT, transform, Network([n, 8, n - 1]))


# -- the closure -----------------------------------------------------------------------------------


@torch.no_grad()
def test_closure_keeps_elements_mass_and_sign(mechanism, path, surrogate):
    out = surrogate(path.state)
    moved = np.abs(out[:, 2:].numpy() - path.Y).max()
    assert moved > 1e-5  # the network does speak
    assert element_error(mechanism, out, path.Y) < 1e-10  # of no account over 1e4 steps
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-10
    assert (out[:, 2:] >= 0.0).all()
    assert torch.equal(out[:, 1], path.state[:, 1])  # pressure


@torch.no_grad()
def test_closure_holds_for_an_untrained_network(mechanism, path, untrained):
    out = untrained(path.state)
    assert torch.isfinite(out).all()
    assert (out[:, 2:] >= 0.0).all()
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-6  # what a CFD code forgives
    assert element_error(mechanism, out, path.Y) < 1e-6


@torch.no_grad()
def test_enthalpy_is_kept(mechanism, path, surrogate):
    out = surrogate(path.state).numpy()
    gas = mechanism.solution()
    for before, after in zip(path.state.numpy(), out, strict=True):
        gas.TPY = before[0], before[1], before[2:]
        h, cp = gas.enthalpy_mass, gas.cp_mass
        gas.TPY = after[0], after[1], after[2:]
        assert abs(gas.enthalpy_mass - h) < 1e-6 * cp  # 1e-6 K, as Thermo.temperature promises


@torch.no_grad()
def test_inert_species_are_copied(mechanism, path, surrogate):
    out = surrogate(path.state)[:, 2:].numpy()
    # Copied from the state scaled to sum 1: one rounding.
    assert np.allclose(out[:, mechanism.inert], path.Y[:, mechanism.inert], rtol=1e-14, atol=0)


@torch.no_grad()
@pytest.mark.parametrize("n", [0, 1, 7])
def test_any_number_of_states(path, surrogate, n):
    state = path.state[20 : 20 + n]
    out = surrogate(state)
    assert out.shape == state.shape and out.dtype == torch.float64
    # float32 products in blocks of other sizes: 1e-7 of a change of a few K and some 1e-3.
    expected = surrogate(path.state)[20 : 20 + n]
    assert torch.allclose(out, expected, rtol=1e-6, atol=1e-8)
    assert surrogate.trust(state).shape == (n,)
    assert surrogate.source(state).shape == (n, path.Y.shape[1])


@torch.no_grad()
def test_dirty_states_are_taken_as_what_they_stand_for(mechanism, path, surrogate):
    state, clean = dirty(path)
    assert state[:, 2:].min() < 0.0
    out = surrogate(state)
    assert torch.isfinite(out).all()
    assert (out[:, 2:] >= 0.0).all()
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-10
    assert element_error(mechanism, out, clean) < 1e-10
    tidy = surrogate(torch.tensor(np.column_stack([path.T, path.p, clean])))
    # Two roundings of a sum may cost the network's input its last float32 digit.
    assert torch.allclose(out, tidy, rtol=1e-6, atol=1e-8)


@torch.no_grad()
def test_a_network_that_answers_zero_is_the_identity(path, silent):
    out = silent(path.state)
    # Mass fractions below the floor of 1e-13 come back as the floor, some twenty of them.
    assert (out[:, 2:] - path.state[:, 2:]).abs().max() < 1e-10
    assert (out[:, 0] - path.state[:, 0]).abs().max() < 1e-6  # K; heat of formation of the above


@torch.no_grad()
def test_with_kinetics_a_network_that_answers_zero_is_a_quasi_steady_state_step(
    mechanism, path, qss_transform, make_network
):
    n = 2 + mechanism.n_species
    network = make_network([qss_transform.n_inputs, 8, n], output=0.0)
    out = Surrogate(mechanism, DT, qss_transform, network)(path.state)
    Y = path.state[:, 2:].clamp(min=1e-13)
    change, _ = qss_transform.qss(path.state[:, 0], path.state[:, 1], Y)
    F = qss_transform.boxcox(Y)[:, ~mechanism.inert] + change[:, 1:]
    told, reached = qss_transform.boxcox.inverse(F), out[:, 2:][:, ~mechanism.inert]
    # The closure moves what is abundant, by what the step does not conserve: a few per cent.
    assert torch.allclose(reached, told, rtol=0.2, atol=1e-9)
    # And it is nearer to CVODE than no step at all, where something happens.
    steep = torch.tensor(np.abs(path.T_next - path.T) > 1.0)
    left = (out[steep, 0] - torch.tensor(path.T_next)[steep]).abs().sum()
    assert left < 0.5 * (path.state[steep, 0] - torch.tensor(path.T_next)[steep]).abs().sum()


@torch.no_grad()
def test_source_is_the_mean_rate_of_change(path, surrogate):
    expected = (surrogate(path.state)[:, 2:] - path.state[:, 2:]) / surrogate.dt
    # The state is scaled to sum 1 first: rounding of Y over dt.
    assert torch.allclose(surrogate.source(path.state), expected, rtol=0, atol=1e-14 / DT)


@torch.no_grad()
def test_advance_is_forward(path, surrogate):
    T, Y = surrogate.advance(path.T, path.p, path.Y)
    out = surrogate(path.state).numpy()
    assert np.array_equal(T, out[:, 0]) and np.array_equal(Y, out[:, 2:])


@torch.no_grad()
def test_the_scripted_surrogate_agrees(path, surrogate):
    scripted = torch.jit.script(surrogate)
    for _ in range(3):  # the interpreter profiles first and fuses later
        out = scripted(path.state)
    # The same operations but for their fusion: float32 rounding of the network at most.
    assert torch.allclose(out, surrogate(path.state), rtol=1e-6, atol=1e-8)
    assert torch.equal(scripted.trust(path.state), surrogate.trust(path.state))
    assert torch.allclose(scripted.source(path.state), surrogate.source(path.state), atol=1e-8 / DT)
    assert scripted.dt == surrogate.dt


# -- trust -----------------------------------------------------------------------------------------


@pytest.fixture
def trusting(mechanism, transform, make_network, path):
    n = 2 + mechanism.n_species
    # Its network answers zero: the closure moves nothing, and the range alone decides.
    surrogate = Surrogate(mechanism, DT, transform, make_network([n, 8, n], output=0.0))
    surrogate.fit_trust(path.state.split(7))
    return surrogate


@pytest.fixture(scope="module")
def correcting(mechanism, qss_transform, make_network, path):
    """A surrogate that corrects the quasi-steady prediction, by nothing."""
    network = make_network([qss_transform.n_inputs, 8, 2 + mechanism.n_species], output=0.0)
    surrogate = Surrogate(mechanism, DT, qss_transform, network)
    surrogate.fit_trust([path.state])
    return surrogate


def saying(surrogate, column: int, change: float):
    """The surrogate with a network that says one constant change of one variable [T, p, F(Y)]."""
    wanted = torch.zeros(surrogate.n, dtype=torch.float64)
    wanted[column] = change
    with torch.no_grad():
        surrogate.network.layers[-1].weight.zero_()
        surrogate.network.layers[-1].bias.copy_(surrogate.transform.target(wanted))
    return surrogate


def test_states_of_the_training_are_trusted(path, trusting):
    assert trusting.trust(path.state).all()
    assert all(trusting.trust(one[None]).item() for one in path.state)


@pytest.mark.parametrize("column, value", [(0, 300.0), (0, 3500.0), (1, 5e5), (1, 1e4)])
def test_states_outside_the_range_are_not_trusted(path, trusting, column, value):
    state = path.state.clone()
    state[:, column] = value
    assert not trusting.trust(state).any()


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("beyond, trusted", [(0.0, True), (5e-4, True), (2e-3, False)])
def test_the_range_has_a_margin_of_a_thousandth(path, silent, column, beyond, trusted):
    # `silent` knows no distances (fit_trust was not called): the range of T and F(H2) alone.
    transform = silent.transform
    v = transform.variables(path.state)
    state = path.state[v[:, column].argmax()][None].clone()
    v = transform.variables(state)
    v[0, column] += beyond * (transform.high - transform.low)[column]
    state[:, 0] = v[:, 0]
    state[:, 2:] = torch.where(state[:, 2:] > 0, transform.boxcox.inverse(v[:, 2:]), 0.0)
    assert silent.trust(state).item() is trusted


def test_other_mixtures_are_not_trusted(mechanism, path, trusting):
    gas = mechanism.solution()
    gas.TPX = 1500.0, ct.one_atm, "O2:1, N2:3.76"
    air = torch.tensor([[gas.T, gas.P, *gas.Y]])
    assert not trusting.trust(air).item()


def test_an_unlikely_combination_within_every_range_is_not_trusted(path, trusting):
    unburnt_but_hot = path.state[:1].clone()
    unburnt_but_hot[0, 0] = path.T.max()
    v = trusting.transform.variables(unburnt_but_hot)
    assert ((v >= trusting.transform.low) & (v <= trusting.transform.high)).all()
    assert not trusting.trust(unburnt_but_hot).item()


@torch.no_grad()
def test_an_answer_that_conserves_is_not_doubted(path, silent):
    later, doubt = silent.next_state_and_error(path.state)
    assert torch.equal(later, silent(path.state))
    # Zero change: elements are kept but for the floor of 1e-13, T but for its heat.
    assert (doubt < 1e-5).all() and silent.trust(path.state).all()


@torch.no_grad()
@pytest.mark.parametrize("kelvin, trusted", [(0.65, True), (0.75, False), (-0.75, False)])
def test_a_temperature_that_enthalpy_denies_is_doubted(path, silent, kelvin, trusted):
    # The composition stays, so T stays: all of the change said is moved back, and 0.7 K may be.
    telling = saying(copy.deepcopy(silent), 0, kelvin)
    doubt = telling.closure_error(path.state)
    assert torch.allclose(doubt, torch.full_like(doubt, abs(kelvin) / 0.7), rtol=1e-4)
    assert (telling.trust(path.state) == trusted).all()


@torch.no_grad()
def test_doubt_is_what_the_closure_moves_over_what_it_may(mechanism, path, surrogate):
    later, doubt = surrogate.next_state_and_error(path.state)
    Y = surrogate.normalized(path.state[:, 2:])  # to the last digit: rates are float32
    variables = surrogate.transform.variables(torch.cat([path.state[:, :2], Y], dim=1))
    change = surrogate.predicted_change(torch.cat([path.state[:, :2], Y], dim=1), variables)
    raw = surrogate.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
    moved = (later[:, 2:] - raw).abs().amax(1)
    may = 0.07 * (later[:, 2:] - path.state[:, 2:]).abs().amax(1) + 7e-5
    moved_T = (later[:, 0] - path.state[:, 0] - change[:, 0]).abs()
    may_T = 0.07 * (later[:, 0] - path.state[:, 0]).abs() + 0.7
    expected = torch.maximum(moved / may, moved_T / may_T)
    inside = surrogate.in_training_range(path.state) | surrogate.corrects_rates
    assert torch.allclose(doubt[inside], expected[inside], rtol=1e-6)
    assert doubt[~inside].isinf().all()
    assert (doubt > 1).any()  # never trained


@torch.no_grad()
def test_what_lies_outside_is_doubted_without_limit(path, trusting):
    state = path.state.clone()
    state[:, 0] = 3500.0
    assert (
        torch.isinf(trusting.closure_error(state)).all()
        and not trusting.in_training_range(state).any()
    )
    later, doubt = trusting.next_state_and_error(state)
    assert torch.equal(later, trusting(state)) and torch.isinf(doubt).all()


@torch.no_grad()
def test_beyond_the_range_a_network_that_corrects_rates_is_judged_by_its_answer(path, correcting):
    state = path.state.clone()
    state[:, 1] *= 3.0
    assert not correcting.in_training_range(state).any()
    later, doubt = correcting.next_state_and_error(state)
    assert (
        torch.equal(doubt, correcting.next_state_and_closure(state)[1])
        and torch.isfinite(doubt).all()
    )
    assert torch.equal(correcting.trust(state), doubt <= 1.0) and correcting.trust(state).any()
    # Enthalpy denies what is added to the quasi-steady change: far more than may be, in any state.
    hotter = saying(copy.deepcopy(correcting), 0, 100.0)
    assert not hotter.trust(state).any() and torch.isfinite(hotter.closure_error(state)).all()


@torch.no_grad()
def test_an_answer_that_cannot_be_made_to_conserve_is_doubted_without_limit(path, silent):
    # Of every species ten to the ten times more: the closure gives up, and nothing changes.
    wild = copy.deepcopy(silent)
    with torch.no_grad():
        wild.network.layers[-1].bias[2:] = 1e6
    later, doubt = wild.next_state_and_error(path.state)
    stayed = (later[:, 2:] == wild.normalized(path.state[:, 2:])).all(dim=1)
    assert stayed.any() and torch.isinf(doubt[stayed]).all()
    assert not wild.trust(path.state).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_states_that_are_not_finite_are_not_trusted(path, trusting, correcting, value):
    for column in range(path.state.shape[1]):
        state = path.state[30:31].clone()
        state[0, column] = value
        assert not trusting.trust(state).item() and not correcting.trust(state).item()


@pytest.mark.parametrize("sum_error, trusted", [(1e-4, True), (1e-2, False)])
def test_mass_fractions_must_nearly_sum_to_one(
    mechanism, path, trusting, correcting, sum_error, trusted
):
    for surrogate, row in ((trusting, 30), (correcting, 0)):
        state = path.state[row : row + 1].clone()
        state[0, 2 + mechanism.index("O2")] += sum_error
        assert surrogate.trust(state).item() is trusted


def test_negative_mass_fractions_are_not_trusted(path, trusting, correcting):
    for surrogate, row in ((trusting, 30), (correcting, 0)):
        state = path.state[row : row + 1].clone()
        trace = int(state[0, 2:].argmin()) + 2
        state[0, trace] = -1e-6
        assert not surrogate.trust(state).item()
