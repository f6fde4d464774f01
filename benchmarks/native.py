"""How much time does a state take as compiled C++, as TorchScript, and with CVODE?

    python -m benchmarks.native [MODEL ...]

One core, one run: CVODE at two tolerances, and every shipped model that corrects QSS steps (or
those named: models of combred, or files of a run, for DRM19), as TorchScript and compiled by
combred.native, with products in float32 and of bf16, over 1 us at their default tolerance. The
states are 4096, evenly spread over the steps of one ignition of methane with CVODE; they are
advanced in batches of 1, 16, 256 and 4096, of which small ones take fewer of the states. Also a
network for gri30 that is not trained, over one evaluation for each state: the time of one that is.
Repeats are interleaved. Run nothing else on the machine meanwhile. Writes
benchmarks/results/native.json; prints a table, then one JSON line.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import cantera as ct
import numpy as np
import torch

import combred
from benchmarks.command_line import words
from benchmarks.times import WithoutControl
from combred import native
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE, Advance, Reactor
from combred.config import ChemistrySettings
from combred.pipeline.console import progress
from combred.records import write_json
from combred.surrogate.correction import make_transform
from combred.surrogate.network import Network, initialize
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "native.json"
REPEATS, DT = 7, 1e-6  # DT in s
T0, AIR = 1500.0, "O2:1, N2:3.76"  # K
STATES = {1: 64, 16: 512, 256: 2048, 4096: 4096}  # batch -> states
GRI30_WIDTHS = 112, 128, 128  # of the hidden layers, 61,968 weights in all


@dataclass(frozen=True)
class InBatches:
    """An `Advance` that takes at most `size` states at a time."""

    solver: Advance
    size: int

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Advance` says; dt [s]: one for all states."""
        parts = [slice(i, i + self.size) for i in range(0, len(T), self.size)]
        found = [self.solver.advance(T[part], p[part], Y[part], dt) for part in parts]
        return np.concatenate([T for T, _ in found]), np.concatenate([Y for _, Y in found])


def ignition_states(mechanism: Mechanism, count: int, rtol: float, atol: float) -> np.ndarray:
    """(count, 2 + n_species) states [T, p, Y], evenly spread over CVODE's steps in a stoichiometric
    ignition at 1 atm, until 2 ms; between these steps by linear interpolation."""
    reactor = Reactor(mechanism, rtol, atol)
    reactor.start(T0, ct.one_atm, mechanism.mixture(mechanism.resolve_fuel("auto"), AIR, 1.0))
    found, t = [], 0.0
    while t < 2e-3:
        t, T = reactor.step()
        found.append([T, ct.one_atm, *np.maximum(reactor.gas.Y, 0.0)])
    steps, at = np.array(found), np.linspace(0, len(found) - 1, count)
    return np.column_stack([np.interp(at, np.arange(len(steps)), column) for column in steps.T])


def compare(mechanism: Mechanism, models: list[str], states: np.ndarray, repeats: int) -> dict:
    """Times per state [s] by name and batch, of CVODE and of all models in all forms; and the
    largest difference of TorchScript and of native with float32, in T [K] and Y."""
    ways: dict[str, tuple[Advance, int]] = {}
    differences = {}
    for tolerance in (ChemistrySettings(), timing.CFD_TOLERANCE):
        cvode = CVODE(mechanism, tolerance.rtol, tolerance.atol)
        ways[f"CVODE rtol {tolerance.rtol:g}, any batch"] = cvode, timing.CVODE_STATES
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    for model in models:
        surrogate = combred.load(model)
        forms = {
            "TorchScript": native.scripted(surrogate),
            "native": native.compile(surrogate, mechanism=mechanism),
            "native, bf16": native.compile(surrogate, mechanism=mechanism, bf16=True),
        }
        one, other, _ = (form.advance(T, p, Y, DT) for form in forms.values())
        differences[model] = [float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True)]
        for form, solver in forms.items():
            for size, count in STATES.items():
                ways[f"{model}, {form}, batch {size}"] = InBatches(solver, size), count
    with one_thread(), progress("timing") as bar:
        times = timing.time_per_state(ways, states, DT, repeats, bar)
    return {"times": times, "differences": differences}


def untrained(mechanism: Mechanism, hidden: tuple[int, ...], states: np.ndarray) -> Surrogate:
    """A surrogate whose network has random weights, those of hidden layers bf16 numbers, as after a
    training. states (n, 2 + n_species): to which its inputs are scaled."""
    transform = make_transform(mechanism, 0.1, 1e-10, 1 / 3, True)
    before = torch.from_numpy(states)
    dt = torch.full((len(states),), DT, dtype=torch.float64)
    transform.fit([(before[:-1], before[1:], dt[1:])]).fit_qss([(before, dt)])
    transform.dt_range.copy_(torch.tensor([1e-8, 1e-5]))
    network = Network([transform.n_inputs, *hidden, transform.n_outputs])
    initialize(network, [0.5] * (len(hidden) + 1), torch.Generator().manual_seed(0))
    for layer in list(network.layers)[:-1]:
        layer.weight.data.copy_(layer.weight.data.bfloat16())
    return Surrogate(mechanism, transform, network).requires_grad_(False).eval()


def of_gri30(repeats: int) -> dict:
    """Times per state [s] of CVODE and of an untrained surrogate of `GRI30_WIDTHS`."""
    mechanism, tight = combred.load_mechanism("gri30.yaml"), ChemistrySettings()
    count = max(STATES.values())
    states = ignition_states(mechanism, count, tight.rtol, tight.atol)
    surrogate = untrained(mechanism, GRI30_WIDTHS, states)
    compiled = native.compile(surrogate, mechanism=mechanism)
    usual = timing.CFD_TOLERANCE
    ways: dict[str, tuple[Advance, int]] = {
        f"CVODE rtol {usual.rtol:g}": (
            CVODE(mechanism, usual.rtol, usual.atol),
            timing.CVODE_STATES,
        ),
        "native, one evaluation": (WithoutControl(compiled), count),
    }
    with one_thread(), progress("timing gri30") as bar:
        times = timing.time_per_state(ways, states, DT, repeats, bar)
    return {"weights": surrogate.network.n_weights, "times": times}


def main(models: list[str]) -> None:
    mechanism = combred.load_mechanism("drm19.yaml")
    models = models or [name for name in combred.models() if combred.load(name).corrects_rates]
    tight = ChemistrySettings()
    states = ignition_states(mechanism, max(STATES.values()), tight.rtol, tight.atol)
    found = {"machine": timing.machine(), "cores": 1, "dt": DT}
    found |= compare(mechanism, models, states, REPEATS)
    found["gri30"] = of_gri30(REPEATS)
    write_json(RESULTS, found)
    slow, usual = (took["median"] for took in list(found["times"].values())[:2])
    print(f"{'':48}{'us a state':>12}{'fastest':>9}{'slowest':>9}   times faster than CVODE")
    for name, took in found["times"].items():
        us = [1e6 * took[key] for key in ("median", "fastest", "slowest")]
        of = f"{usual / took['median']:9.1f} {slow / took['median']:9.1f}"
        print(f"{name:48}{us[0]:12.2f}{us[1]:9.2f}{us[2]:9.2f}{of}")
    for name, took in found["gri30"]["times"].items():
        us = [1e6 * took[key] for key in ("median", "fastest", "slowest")]
        print(f"gri30, {name:41}{us[0]:12.2f}{us[1]:9.2f}{us[2]:9.2f}")
    print(json.dumps(found))


if __name__ == "__main__":
    main(words(__doc__))
