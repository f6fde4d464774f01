"""The fused surrogate against the eager one, with a network in float64 and in float32.

On the GPU where there is one, else interpreted: a launch costs 0.3 s there for h2o2 and 1 s for
drm19, whatever the number of states.
"""

import copy
import logging
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest
import torch
from time_steps import DT, steps

import combred
from combred import kernels
from combred.chemistry.mechanism import load_mechanism
from combred.kernels import loading
from combred.kernels.inference import packing
from combred.kernels.inference.eager import EagerSurrogate
from combred.simulation import ignition
from combred.surrogate.correction import make_transform
from combred.surrogate.network import Network
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import BOXCOX, FLOOR, POWER, StateTransform

# Tolerances of Y and of T [K] for one step, against a network in float64; a step changes Y by up to
# 0.03 and T by up to 90 K. In float32 the kernel errs by up to 1e-7 and 1e-3 K.
TOLERANCES = {
    "ieee": (3e-7, 3e-3),
    "bf16x3": (5e-6, 3e-2),
    "tf32": (1e-4, 1.5),
    "bf16": (1e-3, 10.0),
}


@pytest.fixture(scope="module")
def fused(triton, device):
    """A factory: the fused twin of a surrogate."""
    module = triton("combred.kernels.inference.fused_surrogate")

    def make(surrogate, precision="ieee"):
        return module.FusedSurrogate(copy.deepcopy(surrogate).to(device), precision)

    return make


@pytest.fixture(scope="module")
def igniting(mechanism, path, make_network) -> Surrogate:
    """A surrogate that follows an ignition: random layers, and a last one by least squares."""
    transform = StateTransform(mechanism.n_species, BOXCOX, FLOOR, POWER)
    transform.fit([(path.state, path.later, path.steps)])
    n = transform.n_inputs
    network = make_network([n, 57, 40, 33, n])
    x = transform.inputs(path.state, path.steps)
    for layer in network.layers[:-1]:
        x = torch.relu(layer(x.detach()))
    x = torch.nn.functional.pad(x.detach(), (0, 1), value=1.0).double()
    change = transform.variables(path.later) - transform.variables(path.state)
    z = transform.target(change, torch.ones_like(path.steps))
    answer = torch.linalg.solve(x.T @ x + 1e-2 * torch.eye(34), x.T @ z)  # damped
    with torch.no_grad():
        network.layers[-1].weight.copy_(answer[:-1].T)
        network.layers[-1].bias.copy_(answer[-1])
    return Surrogate(mechanism, transform, network).requires_grad_(False)


@pytest.fixture(scope="module")
def exact_answers(igniting, path) -> tuple[torch.Tensor, torch.Tensor]:
    """Next states and closure errors of the ignition's states with a network in float64."""
    return answers_of(in_float64(igniting), path.state)


@pytest.fixture(scope="module")
def fused_answers(fused, device, igniting, path):
    """A function of the precision: next states and closure errors by the fused surrogate."""
    found = {}

    def answers(precision):
        if precision not in found:
            twin = fused(igniting, precision)
            found[precision] = twin.next_state_and_closure(path.state.to(device))
        return found[precision]

    return answers


def answers_of(surrogate: Surrogate, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The states one step later, and the closure error of each."""
    later, error = surrogate.step(state, steps(state))
    return later, error / surrogate.TOLERANCE


def untrained(name: str, widths: list[int], lam=BOXCOX, power=POWER, output=3.0) -> tuple:
    """An untrained surrogate of the state alone, and the 32 states, unburnt to burnt, to which its
    transform is fitted."""
    mechanism = load_mechanism(name)
    n = 2 + mechanism.n_species
    gas, states = mechanism.solution(), []
    for T0, phi in [(900.0, 0.7), (1100.0, 1.0), (1300.0, 1.5), (1000.0, 1.0)]:
        gas.TP = T0, ct.one_atm
        gas.set_equivalence_ratio(phi, mechanism.resolve_fuel("auto"), "O2:1, N2:3.76")
        fresh = gas.Y
        gas.equilibrate("HP")
        for share in np.linspace(0.0, 1.0, 8):
            T = T0 + share * (gas.T - T0)
            states.append([T, ct.one_atm * (1 + share / 7), *((1 - share) * fresh + share * gas.Y)])
    state = torch.tensor(np.array(states))
    generator = torch.Generator().manual_seed(0)
    later = state.clone()
    later[:, 2:] *= 1.0 + 0.02 * torch.randn(later[:, 2:].shape, generator=generator)
    later[:, 0] += torch.randn(len(later), generator=generator)
    transform = StateTransform(mechanism.n_species, lam, FLOOR, power)
    transform.fit([(state, later, steps(state))])
    torch.manual_seed(0)
    network = Network([n, *widths, n])
    with torch.no_grad():
        network.layers[-1].weight.mul_(output)
    return Surrogate(mechanism, transform, network).requires_grad_(False), state


def in_float64(surrogate: Surrogate) -> Surrogate:
    """The surrogate with its network in float64 too."""
    exact = copy.deepcopy(surrogate)
    exact.network.double()

    def predicted_change(state, variables, dt):
        answer = exact.network(exact.transform.features(variables))
        return exact.transform.correction(answer, torch.ones_like(dt))

    exact.predicted_change = predicted_change
    return exact


def element_error(mechanism, out: torch.Tensor, state: torch.Tensor) -> float:
    change = (out - state)[:, 2:].cpu().numpy()
    return np.abs(change @ mechanism.elements.T).max()


def relative(expected: torch.Tensor, state: torch.Tensor, share=1e-5) -> tuple[float, float]:
    """A share of the largest change of Y and of T; errors of float32 are 1e-6 of them at most."""
    change = (expected - state).abs()
    return share * change[:, 2:].max().item(), share * change[:, 0].max().item()


def assert_close(out, expected, tolerance: tuple[float, float], error=None, expected_error=None):
    """Y and T within the tolerance, and the closure error, if given, within a hundredth."""
    assert out.dtype == torch.float64 and out.shape == expected.shape
    out = out.cpu()
    assert (out - expected)[:, 2:].abs().max() < tolerance[0]
    assert (out - expected)[:, 0].abs().max() < tolerance[1]
    assert torch.equal(out[:, 1], expected[:, 1])
    assert (out[:, 2:] >= 0.0).all()
    if error is not None:
        # The tolerance on the closure error has floors of some 1e-4 of Y and 1 K.
        limit = max(tolerance[0] / 1e-4, tolerance[1])
        assert torch.allclose(error.cpu(), expected_error, rtol=1e-2, atol=2 * limit)


# -- one step --------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", TOLERANCES)
def test_an_ignition_as_in_float64(
    fused_answers, exact_answers, mechanism, igniting, path, precision
):
    (out, error), (expected, expected_error) = fused_answers(precision), exact_answers
    state, thermo = path.state, igniting.closure.thermo
    assert (expected - state)[:, 0].abs().max() > 20.0  # the network matters
    assert_close(out, expected, TOLERANCES[precision], error, expected_error)
    out = out.cpu()
    # Whatever the precision: the closure is float64.
    assert element_error(mechanism, out, state) < 1e-12
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-12
    h = thermo.enthalpy(state[:, 0], state[:, 2:])
    off = (thermo.enthalpy(out[:, 0], out[:, 2:]) - h) / thermo.cp(out[:, 0], out[:, 2:])
    assert off.abs().max() < 1e-8  # K; float64 rounding of the enthalpy is 1e-11


@pytest.mark.parametrize("widths", [[5], [17, 33], [33, 100, 5], [17, 5, 100, 33], []])
def test_odd_widths_and_any_number_of_layers(fused, device, widths):
    surrogate, state = untrained("h2o2.yaml", widths, output=3.0 if widths else 0.3)
    expected, expected_error = answers_of(in_float64(surrogate), state)
    assert (expected - state)[:, 2:].abs().max() > 1e-5  # the network matters
    out, error = fused(surrogate).next_state_and_closure(state.to(device))
    assert_close(out, expected, relative(expected, state), error, expected_error)


@pytest.mark.parametrize("lam, power", [(0.15, 0.4), (0.5, 1.0), (1.0, 0.5), (0.125, 1 / 3)])
def test_other_transforms(fused, device, lam, power):
    surrogate, state = untrained("h2o2.yaml", [24], lam, power)
    expected = in_float64(surrogate)(state, steps(state))
    assert_close(fused(surrogate)(state.to(device)), expected, relative(expected, state))


def test_a_large_mechanism(fused, device):
    surrogate, state = untrained("gri30.yaml", [40])  # several T_mid, nitrogen reacts
    mechanism = load_mechanism("gri30.yaml")
    expected, out = in_float64(surrogate)(state, steps(state)), fused(surrogate)(state.to(device))
    assert_close(out, expected, relative(expected, state))
    assert element_error(mechanism, out, state.to(device)) < 1e-12


@pytest.mark.parametrize("n", [0, 1, 127, 300])
def test_any_number_of_states(fused, device, n):
    surrogate, state = untrained("h2o2.yaml", [17, 5])
    state = state.repeat(10, 1)[:n]
    out, error = fused(surrogate).next_state_and_closure(state.to(device))
    assert out.shape == state.shape and error.shape == (n,)
    if n:
        expected, expected_error = answers_of(surrogate, state)
        assert_close(out, expected, (1e-8, 1e-4), error, expected_error)


def test_more_units_than_are_at_once_on_chip(fused, device):
    surrogate, state = untrained("h2o2.yaml", [300, 500, 260])
    expected = in_float64(surrogate)(state[:5], steps(state[:5]))
    out = fused(surrogate)(state[:5].to(device))
    assert_close(out, expected, relative(expected, state[:5]))


# -- states at the edge ----------------------------------------------------------------------------


def edges(state: torch.Tensor, mechanism) -> torch.Tensor:
    """Pure air, fuel alone, a burnt gas, negative traces, a sum that is not 1, a cold and a hot,
    and beyond what the polynomials hold for."""
    rows = state[[0, 0, 7, 3, 3, 0, 7, 0, 7]].clone()
    rows[0, 2:], rows[1, 2:] = 0.0, 0.0
    rows[0, 2 + mechanism.index("O2")], rows[0, 2 + mechanism.index("N2")] = 0.233, 0.767
    rows[1, 2 + mechanism.index("H2")] = 1.0
    rows[3, 2:] = torch.where(rows[3, 2:] < 1e-12, -1e-6, rows[3, 2:])
    rows[4, 2:] *= 1.0003
    rows[5:, 0] = torch.tensor([300.0, 3400.0, 20.0, 5000.0])
    return rows


def test_states_at_the_edges(fused, device):
    surrogate, state = untrained("h2o2.yaml", [24])
    rows = edges(state, load_mechanism("h2o2.yaml"))
    expected, expected_error = answers_of(in_float64(surrogate), rows)
    out, error = fused(surrogate).next_state_and_closure(rows.to(device))
    assert expected_error[-1].isinf()  # 5000 K: its enthalpy is out of reach
    assert_close(out, expected, relative(expected, rows), error, expected_error)
    clean = rows.clone()
    clean[:, 2:] = surrogate.normalized(rows[:, 2:])
    assert element_error(load_mechanism("h2o2.yaml"), out, clean.to(device)) < 1e-12


def test_where_the_closure_fails_the_composition_stays(fused, device):
    surrogate, state = untrained("h2o2.yaml", [24])
    with torch.no_grad():
        surrogate.network.layers[-1].bias[2:] = 1e6  # far more of every species
        surrogate.network.layers[-1].weight[:, ::2] *= 30.0
    expected, expected_error = answers_of(surrogate, state)
    assert expected_error.isinf().any()
    out, error = (part.cpu() for part in fused(surrogate).next_state_and_closure(state.to(device)))
    assert torch.equal(error.isinf(), expected_error.isinf())
    stayed = error.isinf()
    Y = surrogate.normalized(state[:, 2:])
    assert torch.allclose(out[stayed, 2:], Y[stayed], rtol=1e-14, atol=0)  # one rounding
    assert torch.allclose(out[stayed, 0], expected[stayed, 0], rtol=1e-9)


def test_a_nan_stays_in_its_row(fused, device):
    surrogate, state = untrained("h2o2.yaml", [24])
    broken, rows = state.clone(), torch.tensor([4, 9, 14, 19])
    broken[rows, torch.tensor([0, 1, 2, 5])] = np.nan  # T, p and two species
    answers = fused(surrogate).next_state_and_closure(broken.to(device))
    out, error = (part.cpu() for part in answers)
    assert not out[rows].isfinite().all(dim=1).any() and error[rows].isinf().all()
    others = ~torch.isin(torch.arange(len(state)), rows)
    expected = surrogate(state, steps(state))[others]
    assert_close(out[others], expected, relative(expected, state[others]))


# -- calls -----------------------------------------------------------------------------------------


def test_the_result_is_written_to_out(fused, device):
    surrogate, state = untrained("h2o2.yaml", [24])
    twin, state = fused(surrogate), state.to(device)
    expected = twin(state)
    out = torch.empty_like(state)
    assert twin(state, out=out) is out and torch.equal(out, expected)
    assert torch.equal(twin(state.T.contiguous().T), expected)
    arrays = [part.cpu().numpy() for part in (state[:, 0], state[:, 1], state[:, 2:])]
    T, Y = twin.advance(*arrays, DT)
    assert np.array_equal(T, expected[:, 0].cpu()) and np.array_equal(Y, expected[:, 2:].cpu())
    with pytest.raises(ValueError, match="advances by dt = 1e-06 s alone, and not by dt = 2e-06 s"):
        twin.advance(*arrays, 2e-6)
    assert twin(state, out=state) is state and torch.equal(state, expected)
    for wrong in (out[:5], out.float(), torch.empty(out.T.shape, device=device).double().T):
        with pytest.raises(ValueError, match="out is a contiguous float64 tensor of shape"):
            twin(state, out=wrong)
    with pytest.raises(ValueError, match="states are float64"):
        twin(state.float())


@pytest.mark.cuda
def test_in_a_cuda_graph(fused, device):
    surrogate, state = untrained("h2o2.yaml", [24])
    twin, state = fused(surrogate, "bf16x3"), state.to(device)
    out, expected = torch.empty_like(state), twin(state)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        twin(state, out=out)
        twin(out, out=out)
    for _ in range(2):
        graph.replay()
    assert torch.equal(out, twin(expected))


def test_the_public_operation(triton, device, monkeypatch):
    module = triton("combred.kernels.inference.fused_surrogate")
    surrogate, state = untrained("h2o2.yaml", [24])
    surrogate = surrogate.to(device)
    monkeypatch.setattr(kernels, "unavailable", lambda device: None)
    assert isinstance(kernels.advance(surrogate), module.FusedSurrogate)
    twin = kernels.advance(surrogate, "triton", "tf32")
    assert isinstance(twin, module.FusedSurrogate) and twin.precision == "tf32"
    assert not isinstance(kernels.advance(surrogate, "eager"), module.FusedSurrogate)


def test_wide_layers_fall_back_and_the_reason_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(loading, "_logged", set())
    monkeypatch.setattr(kernels, "unavailable", lambda device: None)
    surrogate, state = untrained("h2o2.yaml", [600])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            eager = kernels.advance(surrogate)
    assert [record.message for record in caplog.records] == [
        "advance falls back to eager torch: a hidden layer of 600 units does not fit on chip, "
        "512 do"
    ]
    later, moved = eager.next_state_and_closure(state)
    assert torch.equal(eager(state), surrogate(state, steps(state)))
    assert torch.equal(later, eager(state))
    assert torch.equal(moved, answers_of(surrogate, state)[1])
    assert eager(state, out=state) is state and torch.equal(state, later)
    arrays = (part.numpy() for part in (state[:, 0], state[:, 1], state[:, 2:]))
    with pytest.raises(ValueError, match="advances by dt = 1e-06 s alone, and not by dt = 2e-06 s"):
        eager.advance(*arrays, 2e-6)


def test_a_surrogate_that_cannot_be_fused_is_refused(monkeypatch, triton):
    triton("combred.kernels.inference.fused_surrogate")
    surrogate, _ = untrained("h2o2.yaml", [600])
    with pytest.raises(ValueError, match="eager and triton, not 'cuda'"):
        kernels.advance(surrogate, "cuda")
    with pytest.raises(ValueError, match="precision is one of ieee, .*, not 'fp8'"):
        kernels.advance(surrogate, precision="fp8")
    monkeypatch.setattr(kernels, "unavailable", lambda device: "no such device")
    with pytest.raises(RuntimeError, match="cannot run in Triton: no such device"):
        kernels.advance(surrogate, "triton")
    monkeypatch.setattr(kernels, "unavailable", lambda device: None)
    with pytest.raises(ValueError, match="600 units does not fit.*implementation='eager'"):
        kernels.advance(surrogate, "triton")


def test_limits_of_a_fused_surrogate(monkeypatch):
    surrogate, _ = untrained("h2o2.yaml", [300])
    assert packing.obstacle(surrogate) is None
    device = SimpleNamespace(device=torch.device("cuda", 0))
    parts = {"network": surrogate.network, "corrects_rates": False}
    for capability, message in (((9, 0), None), ((8, 6), "300 units does not fit on chip, 256 do")):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, c=capability: c)
        found = packing.obstacle(SimpleNamespace(max_mahalanobis=device, **parts))
        assert found is None if message is None else message in found
    assert "3200 units does not fit" in packing.obstacle(combred.load("drm19-full"))


@pytest.mark.parametrize("implementation", [None, "eager", "triton"])
def test_a_network_that_corrects_rates_is_refused(h2o2, implementation, triton):
    module = triton("combred.kernels.inference.fused_surrogate")
    transform = make_transform(h2o2, BOXCOX, FLOOR, POWER, kinetics=True)
    network = Network([transform.n_inputs, 8, transform.n_outputs])
    surrogate = Surrogate(h2o2, transform, network)
    message = "corrects reaction rates with step size control, which the fused kernel does not"
    assert "use the surrogate itself" in packing.obstacle(surrogate)
    with pytest.raises(ValueError, match=message):
        kernels.advance(surrogate, implementation)
    for twin in (EagerSurrogate, lambda s: module.FusedSurrogate(s, "bf16x3")):
        with pytest.raises(ValueError, match=message):
            twin(surrogate)


# -- many steps ------------------------------------------------------------------------------------


def test_several_steps_one_after_another(fused, igniting, path):
    advance, eager = fused(igniting, "bf16x3").advance, in_float64(igniting).advance
    some = slice(20, 40)
    T, p, Y = path.T[some], path.p[some], path.Y[some]
    T_eager, Y_eager, T0 = T, Y, T
    for _ in range(2):
        T, Y = advance(T, p, Y, DT)
        T_eager, Y_eager = eager(T_eager, p, Y_eager, DT)
    assert np.abs(T - T0).max() > 50.0
    assert np.abs(T - T_eager).max() < 2 * TOLERANCES["bf16x3"][1]
    assert np.abs(Y - Y_eager).max() < 2 * TOLERANCES["bf16x3"][0]


class Rounding(Network):
    """A network whose matrix products have the rounded operands of the kernel on a GPU."""

    def __init__(self, network: Network, precision: str):
        super().__init__(network.widths)
        self.load_state_dict(network.state_dict())
        self.requires_grad_(False)
        last = len(self.layers) - 1
        hidden, outer = packing.PRECISIONS[precision]
        self.kinds = [outer if i in (0, last) else hidden for i in range(last + 1)]
        both = zip(self.layers, self.kinds, strict=True)
        self.weights = [rounded(layer.weight, kind) for layer, kind in both]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            own, seen = self.weights[i], rounded(x, self.kinds[i])
            # Of two parts each, the product of the two small ones is left out.
            pairs = [(a, b) for a in (0, 1) for b in (0, 1) if a < len(seen) and b < len(own)]
            x = layer.bias + sum(seen[a] @ own[b].T for a, b in pairs if a + b < 2)
            x = torch.relu(x) if i < last else x
        return x


def rounded(x: torch.Tensor, kind: str) -> list[torch.Tensor]:
    """The rounded parts of one factor of a matrix product."""
    if kind in ("ieee", "tf32x3"):
        return [x]
    if kind in ("tf32", "bf16"):
        return [packing.rounded(x, kind)]
    top = packing.rounded(x, "bf16")
    return [top, packing.rounded(x - top, "bf16")]


@pytest.mark.parametrize("precision", ["bf16x3", "tf32", "bf16"])
def test_the_rounding_network_errs_as_the_kernel_does(
    fused_answers, exact_answers, igniting, path, precision
):
    twin = copy.deepcopy(igniting)
    twin.network = Rounding(igniting.network, precision)
    outs = fused_answers(precision)[0].cpu(), twin(path.state, path.steps)
    errors = [(out - exact_answers[0])[:, 2:].square().mean().sqrt().item() for out in outs]
    assert 0.5 < errors[0] / errors[1] < 2.0  # rounding differs where an activation is half way


@pytest.mark.slow
def test_delays_decide_the_precision():
    # The network of this model is too wide for the kernel; its rounding is not.
    surrogate = combred.load("drm19-full").requires_grad_(False)
    cases = [ignition.Case(1800.0, ct.one_atm, phi) for phi in (0.5, 2.0)]
    mechanism = load_mechanism("drm19.yaml")
    Y0 = ignition.mixtures(mechanism, cases, "CH4:1", "O2:1, N2:3.76")
    network = surrogate.network

    def delays() -> np.ndarray:
        found = ignition.march(surrogate, DT, cases, Y0, [200] * 2)
        return np.array([rollout.delay for rollout in found])

    expected = delays()
    assert np.isfinite(expected).all()
    for precision, tolerance in (("bf16x3", 1e-4), ("tf32", 5e-3), ("bf16", 1e-2)):
        surrogate.network = Rounding(network, precision)
        off = np.abs(delays() / expected - 1.0).max()
        assert off < tolerance, (precision, off)
