"""Torch modules of all kinds: each is a surrogate that is judged and exported with the numbers of
the module, or is refused in a sentence before any work."""

import numpy as np
import pytest
import torch
from compiled_program import compile_quickly
from torch import nn
from torch.nn import functional, utils
from torch.nn.utils import parametrizations, prune

import combred
from combred.experiments.accuracy import NAMES
from combred.native import exporter
from combred.surrogates.library import choice, torchscript
from combred.surrogates.library.behind import SolverBehind, with_solver
from combred.surrogates.model.own_form import OwnSurrogate

DT, N, NARROW = 2e-6, 12, 6
CASES = {"T0": [1500.0], "phi": [1.0], "p": [101325.0], "dt": DT, "burnt_time": 2e-5}


@pytest.fixture(scope="module")
def steps(h2o2):
    """States of hydrogen ignitions, in which AR is absent, and each DT later."""
    solver, rng = combred.solver(h2o2), np.random.default_rng(0)
    T, p = rng.uniform(1200, 1600, 20), rng.uniform(0.95e5, 1.05e5, 20)
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", rng.uniform(0.7, 1.3, 20))
    path = [np.column_stack([T, p, Y])]
    for _ in range(20):
        T, Y = solver.advance(T, p, Y, DT)
        path.append(np.column_stack([T, p, Y]))
    return np.concatenate(path[:-1]), np.concatenate(path[1:])


def layers(activation, change=lambda layer: layer):
    """Two layers, both changed by a parametrization, with an activation between them."""
    return nn.Sequential(change(nn.Linear(N, NARROW)), activation, change(nn.Linear(NARROW, N)))


class Written(nn.Module):
    """Two layers and a forward in Python, changed by a function of the network and its inputs."""

    def __init__(self, forward=None):
        super().__init__()
        self.first, self.last = nn.Linear(N, NARROW), nn.Linear(NARROW, N)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


class Keywords(nn.Linear):
    """Keyword arguments, with a default and without a name."""

    def forward(self, x, scale: float = 2.0, **others):
        return scale * super().forward(x)


class Buffered(nn.Linear):
    """Divides by a buffer that its state_dict does not hold, and reshapes by the rows."""

    def __init__(self):
        super().__init__(N, N)
        self.register_buffer("size", torch.full((N,), 2.0), persistent=False)

    def forward(self, x):
        return super().forward(x / self.size).view(x.shape[0], -1)


def pruned():
    network = layers(nn.ReLU())
    prune.l1_unstructured(network[0], "weight", 0.5)
    return network


def normalised(norm):
    return nn.Sequential(nn.Linear(N, NARROW), norm, nn.ReLU(), nn.Linear(NARROW, N))


def function(of):
    return lambda: Written(lambda network, x: network.last(of(network.first(x))))


MODULES = "GELU SiLU Tanh ELU Softplus LeakyReLU PReLU Mish Hardswish Identity Sigmoid".split()
FUNCTIONS = "gelu silu elu softplus leaky_relu mish hardswish".split()
USUAL = {
    "ReLU": lambda: layers(nn.ReLU()),
    "GELU": lambda: layers(nn.GELU()),
    "weight_norm": lambda: layers(nn.GELU(), parametrizations.weight_norm),
    "weight_norm, hook": lambda: layers(nn.GELU(), utils.weight_norm),
    "BatchNorm1d": lambda: normalised(nn.BatchNorm1d(NARROW)),
    "double": lambda: layers(nn.GELU()).double(),
    "residual": lambda: Written(lambda network, x: x + network.last(network.first(x).relu())),
    "keywords": lambda: Keywords(N, N),
    "buffer": Buffered,
    "TorchScript": lambda: torch.jit.script(layers(nn.GELU())),
}
OTHERS = {
    **{name: lambda name=name: layers(getattr(nn, name)()) for name in MODULES if name != "GELU"},
    **{f"functional.{name}": function(getattr(functional, name)) for name in FUNCTIONS},
    "torch.sin": function(torch.sin),
    "weight_norm, ReLU": lambda: layers(nn.ReLU(), parametrizations.weight_norm),
    "spectral_norm": lambda: layers(nn.ReLU(), parametrizations.spectral_norm),
    "spectral_norm, hook": lambda: layers(nn.GELU(), utils.spectral_norm),
    "orthogonal": lambda: layers(nn.GELU(), parametrizations.orthogonal),
    "pruned": pruned,
    "LayerNorm": lambda: normalised(nn.LayerNorm(NARROW)),
    "GroupNorm": lambda: normalised(nn.GroupNorm(2, NARROW)),
    "dropout": lambda: normalised(nn.Dropout(0.5)),
    "double, ReLU": lambda: layers(nn.ReLU()).double(),
    "one layer": lambda: nn.Linear(N, N),
    "no biases": lambda: nn.Linear(N, N, bias=False),
    "trace": lambda: torch.jit.trace(layers(nn.Tanh()), torch.zeros(3, N)),
    "DataParallel": lambda: nn.DataParallel(layers(nn.GELU())),
    "a network each": lambda: Each(),
}


class Each(nn.Module):
    """One network for each output, as DFODE-kit had them."""

    def __init__(self):
        super().__init__()
        self.networks = nn.ModuleList(nn.Linear(N, 1) for _ in range(N))

    def forward(self, x):
        return torch.cat([network(x) for network in self.networks], dim=1)


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize(
    "kind", [*USUAL, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]
)
def test_a_module_is_exported_with_its_numbers(steps, h2o2, kind, tmp_path, monkeypatch):
    """Its change is that of the module; judged in TorchScript, exported and loaded, its states are
    the same. A network of linear layers with ReLU has C++."""
    torch.manual_seed(0)
    network, transform = (USUAL | OTHERS)[kind]().eval(), combred.Transform.fit(*steps)
    made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    plain = kind in ("ReLU", "pruned", "dropout", "spectral_norm") or ", ReLU" in kind
    assert isinstance(made, OwnSurrogate) != plain
    state = torch.from_numpy(steps[0])[::40]
    dt = torch.full((len(state),), DT, dtype=torch.float64)
    x = transform.inputs(state)
    with torch.no_grad():
        z = network(x.double() if "double" in kind else x).double()
        expected = z.sign() * z.abs() ** (1 / transform.power) * transform.target_std
        change, _ = made.predicted_change(state, made.transform.variables(state), dt)
        later = made(state, dt).numpy()
    # Floats of a network with a transform in its layers differ by some 1e-6 of an answer, and a
    # change is the third power of it.
    assert torch.allclose(change, expected, 1e-3, 1e-6)
    given = state[:, 0].numpy(), state[:, 1].numpy(), state[:, 2:].numpy(), DT
    judged = np.column_stack(choice.scripted(made).advance(*given))
    # Freezing merges a batch norm into its layer, which rounds in floats.
    assert np.allclose(judged, np.delete(later, 1, axis=1), 1e-5, 1e-9)
    monkeypatch.setattr(exporter, "build_portable", lambda _: tmp_path / "made.so")
    monkeypatch.setattr(torchscript, "run", lambda commands: open(commands[0][-1], "x").close())
    (tmp_path / "made.so").write_bytes(b"")
    written = combred.export_surrogate(made, tmp_path / "exported")
    assert {"surrogate.pt", "libsurrogate.so"} < {path.name for path in written}
    loaded, _ = combred.export.load_torchscript(tmp_path / "exported/surrogate.pt")
    assert np.allclose(loaded(state, dt).numpy(), later, 1e-9, 1e-12)
    assert loaded(state[:0], dt[:0]).shape == (0, N)


class Outputs(nn.Linear):
    """More than one output, in a container."""

    def __init__(self, kind):
        super().__init__(N, N)
        self.kind = kind

    def forward(self, x):
        y = super().forward(x)
        return {"tuple": (y, y), "dict": {"y": y}, "vector": y[:, 0]}[self.kind]


class Named(nn.Module):
    """A layer whose name is that of an operation on files."""

    def __init__(self):
        super().__init__()
        self.save = nn.Linear(N, N)

    def forward(self, x):
        return self.save(x)


class Listed(nn.Module):
    """Layers in a list, in which torch does not see their weights."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(N, N)]

    def forward(self, x):
        return self.layers[0](x)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (Outputs("tuple"), "returns tuple, and has to .*: wrap it"),
        (Outputs("dict"), "returns dict, and has to"),
        (Outputs("vector"), r"returns \(16,\), and has to"),
        (nn.Bilinear(N, N, N), r"does not take inputs \(16, 12\): .*wrap it"),
        (nn.Linear(N - 1, N), "does not take inputs"),
        (normalised(nn.BatchNorm1d(NARROW, track_running_stats=False)), "other rows"),
        (layers(nn.GELU()).half(), r"float16.*: give network.float\(\)"),
        (nn.Sequential(nn.LazyLinear(N)), r"lazy modules .*network\(x\[:1\]\)"),
        (layers(nn.GELU()).to("meta"), r"cannot be copied \(.*meta"),
        (Named(), r"\.save is also that of an operation on files: rename it"),
        (Listed(), "cannot be exported to TorchScript .* nn.ModuleList"),
        (
            Written(lambda network, x: torch.from_numpy(network.first(x).detach().numpy())),
            "6 outputs",
        ),
        (
            Written(
                lambda net, x: torch.from_numpy(net.last(net.first(x)).detach().numpy().copy())
            ),
            "cannot be exported to TorchScript",
        ),
    ],
)
def test_other_modules_are_refused_in_a_sentence(steps, h2o2, network, said):
    transform = combred.Transform.fit(*steps)
    with pytest.raises(ValueError, match=said) as refusal:
        combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 800


@pytest.mark.parametrize(("act", "form"), [(nn.ReLU, "StateSurrogate"), (nn.GELU, "OwnSurrogate")])
@pytest.mark.parametrize("std", [1.8e-15, 1e-8, 4e-7])
def test_the_std_of_an_absent_species_may_be_rounding(steps, h2o2, act, form, std, caplog):
    """As numpy gives it of AR, 1e-15 or so, or as users raise it: the input is what
    Transform.inputs has, also in the C++ of ReLU, and the log tells where it is rounding."""
    usual, column = combred.Transform.fit(*steps), 2 + h2o2.index("AR")
    numbers = usual.mean.clone(), usual.std.clone(), usual.target_mean, usual.target_std
    numbers[0][column] += std if std < 1e-12 else 0.0
    numbers[1][column] = std
    transform = combred.Transform(*numbers, boxcox=0.1, floor=1e-13, power=usual.power)
    torch.manual_seed(0)
    network = layers(act())
    made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    assert type(made).__name__ == form
    assert ("AR never changes" in caplog.text) == (std < 1e-12)
    state = torch.from_numpy(steps[0])[::40]
    with torch.no_grad():
        z = network(transform.inputs(state)).double()
        change, _ = made.predicted_change(state, made.transform.variables(state), state[:, 0])
    expected = z.sign() * z.abs() ** (1 / transform.power) * transform.target_std
    assert torch.allclose(change, expected, 1e-3, 1e-6)


@pytest.mark.usefixtures("in_this_process", "optimized")
def test_a_gelu_network_is_judged_and_exported(steps, h2o2, tmp_path, monkeypatch):
    """Alone it does not burn; the solver behind it does, whose limits the verdict judges."""
    monkeypatch.setattr(choice, "build", compile_quickly(monkeypatch))
    torch.manual_seed(0)
    network = layers(nn.GELU(), parametrizations.weight_norm)
    transform = combred.Transform.fit(*steps)
    made = combred.surrogate(network, h2o2, transform, dt=DT, states=steps[0])
    found = combred.judge(made, folder=tmp_path, fuel="H2:1", workers=1, **CASES)
    assert found["errors"].keys() >= set(NAMES.values()) and (tmp_path / "judge.html").is_file()
    assert found["card"]["network"]["widths"] == [N, N]
    with pytest.raises(ValueError, match=r"no C\+\+: .*not GELU.*combred.export_surrogate"):
        combred.native.compile(made)
    assert isinstance(with_solver(made), SolverBehind)
