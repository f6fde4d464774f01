"""Networks of one's own: the form that they take gives what the network and its transform say."""

from pathlib import Path

import numpy as np
import pytest
import torch
from compiled_program import compile_quickly
from torch import nn

import combred
from combred.native import compile as compiled
from combred.native import exporter
from combred.pipeline.steps.export import require_agreement
from combred.surrogates.files.card import own_card
from combred.surrogates.files.export import export_torchscript
from combred.surrogates.files.storage import load_surrogate, save_surrogate
from combred.surrogates.library import choice, torchscript
from combred.surrogates.model.forms import StateSurrogate
from combred.surrogates.model.own_form import OwnSurrogate

DT = 2e-6


class Scaled(nn.Module):
    """A module that advances the state itself; torch.fx cannot trace it."""

    def forward(self, state):
        if state.shape[0] > 0:
            state = torch.cat([state[:, :1] + 1.0, state[:, 1:]], dim=1)
        return state


@pytest.fixture(scope="module")
def steps(h2o2):
    """States of hydrogen ignitions, and each DT later."""
    solver, rng, n = combred.solver(h2o2), np.random.default_rng(0), 40
    T, p = rng.uniform(1100, 1500, n), rng.uniform(0.95e5, 1.05e5, n)
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", rng.uniform(0.6, 1.4, n))
    path = [np.column_stack([T, p, Y])]
    for _ in range(40):
        T, Y = solver.advance(T, p, Y, DT)
        path.append(np.column_stack([T, p, Y]))
    return np.concatenate(path[:-1]), np.concatenate(path[1:])


def make(steps, act=nn.ReLU, outputs=None, train=0, **how):
    """A small network, and its transform."""
    transform = combred.Transform.fit(*steps, **how)
    torch.manual_seed(0)
    n = len(transform.mean)
    outer = nn.Linear(24, outputs or n, bias=False)
    network = nn.Sequential(nn.Linear(n, 48), act(), nn.Sequential(nn.Linear(48, 24), act()), outer)
    x, z = transform.inputs(steps[0]), transform.targets(*steps)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(train):
        optimizer.zero_grad()
        nn.functional.l1_loss(network(x), z).backward()
        optimizer.step()
    return network, transform


@pytest.mark.parametrize(
    ("act", "form", "how"),
    [
        (nn.ReLU, StateSurrogate, {}),
        (nn.ReLU, StateSurrogate, {"power": 1.0}),
        (nn.ReLU, StateSurrogate, {"predicts": "state"}),
        (nn.Tanh, OwnSurrogate, {}),
        (nn.ReLU, OwnSurrogate, {"predicts": "state", "boxcox": 1.0, "floor": 1e-30}),
    ],
)
def test_the_change_is_that_of_network_and_transform(steps, h2o2, act, form, how):
    network, transform = make(steps, act, **how)
    surrogate = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    assert type(surrogate) is form
    state, v = torch.tensor(steps[0]), transform.variables(steps[0])
    with torch.no_grad():
        z = network(transform.inputs(steps[0])).double()
        w = z.sign() * z.abs() ** (1 / transform.power) * transform.target_std
        w += transform.target_mean
        expected = w - v if transform.predicts == "state" else w
        found, _ = surrogate.predicted_change(
            state, surrogate.transform.variables(state), DT + 0 * z[:, 0]
        )
    assert float(((found - expected) / transform.target_std).abs().max()) < 2e-5
    assert surrogate.in_training_range(state).all()
    far = state.clone()
    far[:, 0] += 2000.0
    assert not surrogate.in_training_range(far).any()
    script = torch.jit.script(surrogate)
    dt = torch.full((len(state),), DT, dtype=torch.float64)
    assert torch.equal(script(state, dt), surrogate(state, dt))


def test_a_trained_network_is_trusted_stored_and_compiled(steps, h2o2, tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "build", compile_quickly(monkeypatch))
    surrogate = combred.surrogate(*_with(make(steps, train=150), h2o2), dt=DT, states=steps[0])
    state, dt = torch.tensor(steps[0]), torch.full((len(steps[0]),), DT, dtype=torch.float64)
    assert surrogate.trust(state, dt).double().mean() > 0.3
    save_surrogate(tmp_path / "own.safetensors", surrogate, h2o2)
    again = load_surrogate(tmp_path / "own.safetensors", h2o2)
    assert torch.equal(again(state, dt), surrogate(state, dt))
    with torch.no_grad():
        require_agreement(compiled(again), again.requires_grad_(False), steps[0])


def _with(made, mechanism):
    network, transform = made
    return network, mechanism, transform


class Twice(nn.Linear):
    """A layer with a forward of its own."""

    def forward(self, x):
        return 2.0 * super().forward(x)


class Divided(nn.Module):
    """A chain of layers behind a buffer."""

    def __init__(self, n):
        super().__init__()
        self.register_buffer("by", torch.full((n,), 2.0))
        self.layers = nn.Sequential(nn.Linear(n, 8), nn.ReLU(), nn.Linear(8, n))

    def forward(self, x):
        return self.layers(x / self.by)


@pytest.mark.parametrize("what", ["hook", "own forward", "buffer", "one layer", "compiled"])
def test_what_is_more_than_its_layers_stays_in_torch(steps, h2o2, what):
    network, transform = make(steps)
    n = len(transform.mean)
    if what == "hook":
        network[0].register_forward_hook(lambda module, x, y: 3.0 * y)
    elif what == "own forward":
        network = nn.Sequential(Twice(n, 8), nn.ReLU(), nn.Linear(8, n))
    else:
        network = {"buffer": Divided(n), "one layer": nn.Linear(n, n)}.get(what, network)
    given = torch.compile(network) if what == "compiled" else network
    made = combred.surrogate(given, h2o2, transform, dt=DT, states=steps[0])
    assert isinstance(made, OwnSurrogate) == (what != "compiled")
    state = torch.from_numpy(steps[0][:9])
    change, _ = made.predicted_change(state, made.transform.variables(state), torch.full((9,), DT))
    with torch.no_grad():
        z = network(transform.inputs(state).float()).double()
    expected = (
        made.code.change(made.transform.variables(state), z) if what != "compiled" else change
    )
    assert torch.allclose(change, expected, 1e-4, 1e-9)


def test_outputs_by_name_and_number(steps, h2o2):
    network, transform = make(steps, outputs=3)
    few = combred.Transform(transform.mean, transform.std, [0.0] * 3, [10.0, 0.1, 0.2], 0.1, 1e-13,
                            outputs=["T", "OH", "H2O"])  # fmt: skip
    surrogate = combred.surrogate(network, h2o2, few, dt=DT, states=steps[0])
    state = torch.tensor(steps[0])
    v = surrogate.transform.variables(state)
    change, _ = surrogate.predicted_change(state, v, torch.full((len(v),), DT))
    columns = [0, 2 + h2o2.index("OH"), 2 + h2o2.index("H2O")]
    expected = network(few.inputs(steps[0])) * torch.tensor([10.0, 0.1, 0.2])
    assert torch.allclose(change[:, columns].float(), expected, rtol=1e-4, atol=1e-5)
    others = [i for i in range(v.shape[1]) if i not in columns]
    assert not change[:, others].any()


def test_a_module_of_states_stays_in_torch(steps, h2o2, tmp_path, monkeypatch):
    surrogate = combred.surrogate(Scaled(), h2o2, dt=DT, states=steps[0])
    state = torch.tensor(steps[0])
    change, _ = surrogate.predicted_change(state, surrogate.transform.variables(state), state[:, 0])
    assert torch.allclose(change[:, 0], torch.ones(len(state), dtype=torch.float64))
    assert float(change[:, 1:].abs().max()) < 1e-12
    with pytest.raises(ValueError, match=r"no C\+\+: .*TorchScript"):
        combred.native.generate(surrogate)
    with pytest.raises(ValueError, match="no file of this format"):
        save_surrogate(tmp_path / "own.safetensors", surrogate, h2o2)
    # The library that calls it is compiled in tests/coupling/test_torch.py.
    (tmp_path / "made.so").write_bytes(b"")
    monkeypatch.setattr(exporter, "build_portable", lambda _: tmp_path / "made.so")
    monkeypatch.setattr(torchscript, "run", lambda commands: Path(commands[0][-1]).write_bytes(b""))
    written = combred.export_surrogate(surrogate, tmp_path)
    names = {path.name for path in written}
    assert names > {"surrogate.pt", "surrogate.json", "libsurrogate.so", "libsolver.so"}
    script, dt = torch.jit.load(tmp_path / "surrogate.pt"), torch.full((9,), DT, dtype=state.dtype)
    _, ratio = script.next_state_and_error(state[:9], dt)
    assert (ratio > 1.0).all()  # the network heats without burning


def test_other_networks_are_reduced_too(steps, h2o2):
    network, transform = make(steps, nn.GELU, train=50)
    surrogate = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    found = combred.reduce(
        surrogate, parameters=0.5, method="brain_surgeon", calibration=torch.tensor(steps[0])
    )
    assert found.network.network.n_weights < 0.6 * surrogate.network.n_weights
    assert found.network.in_training_range(torch.tensor(steps[0])).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"std": [0.0] * 12}, "above 0"),
        ({"boxcox": -0.1}, "boxcox"),
        ({"predicts": "rate"}, "predicts"),
        ({"power": 0.5, "target_mean": [1.0] * 12}, "power"),
        ({"outputs": ["T", "XY"]}, "no XY"),
        ({"outputs": ["OH"], "target_mean": [0.0], "target_std": [1.0]}, "12 outputs"),
        ({"boxcox": 0.0, "floor": 0.0}, "0 with boxcox above 0"),
        ({"mean": [0.0] * 9, "std": [1.0] * 9}, "each species: 12"),
    ],
)
def test_wrong_transforms_are_refused(steps, h2o2, change, said):
    network, _ = make(steps)
    numbers = {"mean": [0.0] * 12, "std": [1.0] * 12, "target_mean": [0.0] * 12,
               "target_std": [1.0] * 12} | change  # fmt: skip
    with pytest.raises(ValueError, match=said):
        combred.surrogate(network, h2o2, combred.Transform(**numbers), dt=DT, states=steps[0])


def test_states_of_another_mechanism_are_refused(steps, drm19):
    with pytest.raises(ValueError, match=r"drm19.yaml are \(n, 23\)"):
        combred.surrogate(nn.Linear(23, 23), drm19, dt=DT, states=steps[0])


class Answers(nn.Module):
    """A layer whose answer is changed by a function."""

    def __init__(self, change):
        super().__init__()
        self.layer, self.change = nn.Linear(12, 12), change

    def forward(self, x):
        return self.change(self.layer(x), x)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda y, _: nn.functional.dropout(y, 0.5, training=True), "depends on the call"),
        (lambda y, _: y - y.mean(0), "other rows"),
        (lambda y, x: y + x.mul_(2.0), "changes its inputs"),
        (lambda y, x: torch.where(x[:, :1] > 0.0, y, y / 0.0), "not all finite"),
        (
            lambda y, x: 2.0 * y if len(x) > 16 else y,
            "exported.*torch.jit.trace",
        ),  # beyond those tried
    ],
)
def test_a_network_that_is_no_function_of_a_state_is_refused(steps, h2o2, change, said):
    transform = combred.Transform.fit(*steps)
    with pytest.raises(ValueError, match=said):
        combred.surrogate(Answers(change), h2o2, transform, dt=DT, states=steps[0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dt": np.nan}, "dt = nan"),
        ({"states": np.full((4, 12), 1.0)}, "states of the training"),
        ({"network": "net.pt"}, "torch.nn.Module"),
        ({"transform": {}}, "combred.Transform"),
    ],
)
def test_other_things_are_refused(steps, h2o2, given, said):
    usual = {"network": nn.Linear(12, 12), "mechanism": h2o2, "dt": DT, "states": steps[0]}
    with pytest.raises(ValueError, match=said):
        combred.surrogate(**(usual | given))
    with pytest.raises(ValueError, match="states and later"):
        combred.Transform.fit(steps[0], steps[1][:3])


# -- networks without T ----------------------------------------------------------------------------


def without_T(steps, boxcox, train, last=-1, floor=1e-30):
    """A network of the form of DeepFlame and DFODE-kit: GELU, from standardised T, p and F(Y) of
    all species to the changes of F(Y) of all but the last. Its numbers are those of numpy."""

    def F(Y):
        Y = np.maximum(Y, floor)
        return np.log(Y) if boxcox == 0 else (Y**boxcox - 1.0) / boxcox

    x, w = (np.column_stack([rows[:, :2], F(rows[:, 2:])]) for rows in steps)
    change = (w - x)[:, 2:last]
    numbers = []
    for values in (x, change):
        std = values.std(axis=0, ddof=1)
        numbers += [values.mean(axis=0), np.where(std > 1e-12, std, 1.0)]
    inputs = torch.tensor((x - numbers[0]) / numbers[1]).float()
    targets = torch.tensor((change - numbers[2]) / numbers[3]).float()
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, change.shape[1]))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(train):
        optimizer.zero_grad()
        nn.functional.l1_loss(network(inputs), targets).backward()
        optimizer.step()
    return network, combred.Transform(*numbers, boxcox=boxcox, floor=floor)


@torch.no_grad()
@pytest.mark.parametrize("boxcox", [0.1, 0.0])
def test_a_network_without_T_advances_states_of_the_same_enthalpy(steps, h2o2, boxcox, tmp_path):
    """The species are those of the network, up to the closure's correction; N2, the last one, and
    elements stay; T follows from enthalpy, by Cantera."""
    with torch.enable_grad():
        network, transform = without_T(steps, boxcox, train=300, floor=1e-30)
    made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    state = torch.tensor(steps[0])
    dt = torch.full((len(state),), DT, dtype=torch.float64)
    later, ratio = made.next_state_and_error(state, dt)
    v = transform.variables(state)
    change = network(transform.inputs(state)).double() * transform.target_std
    F = v[:, 2:-1] + change + transform.target_mean
    predicted = F.exp() if boxcox == 0 else (1.0 + boxcox * F).clamp(min=0.0) ** (1.0 / boxcox)
    taken = ratio <= 1.0
    assert taken.sum() > 20
    # The estimate allows the closure 7 % of the largest change, plus 7e-5.
    most = 0.07 * (later - state)[:, 2:].abs().amax(dim=1) + 7e-5
    off = (later[:, 2:-1] - predicted).abs().amax(dim=1)
    assert (off <= 1.01 * most)[taken].all()
    assert torch.equal(later[:, 1], state[:, 1])
    assert torch.allclose(later[:, -2:], state[:, -2:], 1e-12, 0.0)  # Y is divided by its sum
    gas = h2o2.solution()
    for before, after in zip(steps[0][::97], later.numpy()[::97], strict=True):
        gas.TPY = before[0], before[1], before[2:]
        gas.HPY = gas.enthalpy_mass, before[1], after[2:]
        assert gas.T == pytest.approx(after[0], abs=1e-4)  # of Newton's method, and Cantera's R
    error_of_T = np.abs(later[:, 0].numpy() - steps[1][:, 0])[taken.numpy()]
    changed_T = np.abs(steps[1][:, 0] - steps[0][:, 0])[taken.numpy()]
    assert np.median(error_of_T / (0.07 * changed_T + 0.7)) < 1.0  # the limit of the estimate
    card = own_card(made)
    export_torchscript(tmp_path / "surrogate.pt", made, card, steps[0][:50])
    loaded, _ = combred.export.load_torchscript(tmp_path / "surrogate.pt")
    assert torch.allclose(loaded(state[:9], dt[:9]), later[:9], 1e-9, 1e-12)
    with pytest.raises(ValueError, match=r"no C\+\+: .*GELU"):
        combred.native.compile(made)


@torch.no_grad()
def test_the_estimate_without_T_is_of_elements_and_of_what_they_do_to_T(steps, h2o2):
    """A network that invents H2O: the correction of Y, and its effect on T, raise the estimate."""
    network, transform = without_T(steps, 0.1, train=0)
    network[2].weight.zero_()
    network[2].bias.zero_()
    transform.target_mean.zero_()
    state, column = torch.tensor(steps[0][-20:]), h2o2.index("H2O")
    dt = torch.full((20,), DT, dtype=torch.float64)
    ratios = []
    for invented in (0.0, 1e-3, 1e-2, 3e-2):
        F = transform.variables(state)[:, 2 + column]
        more = (((1 + 0.1 * F) ** 10 + invented) ** 0.1 - 1) / 0.1 - F
        network[2].bias[column] = float(more.mean() / transform.target_std[column])
        made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
        ratios.append(made.next_state_and_error(state, dt)[1].median())
    assert ratios[0] < 1e-6 and ratios[0] < ratios[1] < ratios[2] < ratios[3] and ratios[2] > 1.0


def test_the_species_of_a_network_are_told_by_their_number(steps, h2o2, drm19):
    """Without names: all but the last where this one is inert, as in h2o2.yaml."""
    network, transform = without_T(steps, 0.1, train=0)
    made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    assert made.code.columns.tolist() == list(range(2, 11))
    with pytest.raises(ValueError, match="8 outputs: name each in Transform"):
        given = without_T(steps, 0.1, train=0, last=-2)
        combred.surrogate(given[0], h2o2, given[1], dt=DT, states=steps[0])
    one = combred.Transform(transform.mean, transform.std, [0.0], [1.0], 0.1, outputs=["T"])
    with pytest.raises(ValueError, match="has to predict species"):
        combred.surrogate(nn.Linear(12, 1), h2o2, one, dt=DT, states=steps[0])
    relu = nn.Sequential(nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 9))
    made = combred.surrogate(relu, h2o2, transform, dt=DT, states=steps[0])
    with pytest.raises(ValueError, match=r"no C\+\+: it does not predict T"):
        combred.native.compile(made)
