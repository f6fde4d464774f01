"""Fixtures for all tests: two mechanisms, states of an ignition of each, networks, a state file.

The ignition is integrated with Cantera alone, not with combred, so that it can serve as the truth.
A plugin of the processes that run tests (conftest.py).
"""

import fcntl
import functools
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath

import cantera as ct
import hydrogen
import numpy as np
import pytest
import torch
from compiled_program import compile_quickly
from rate_kinds import KINDS, OTHER_KINDS, in_other_case, quietly, with_multipliers

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.config.data import SamplingSettings
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.labelled import Block
from combred.experiments.premixed import flame
from combred.experiments.stirred.particles import piloted_streams
from combred.native.solver import multipliers
from combred.native.solver.library import Solver
from combred.processes import workers
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import state_attributes
from combred.surrogates.dataset.table import open_states
from combred.surrogates.dataset.writer import write_states as write_file
from combred.surrogates.model.correction import CorrectionTransform, make_transform
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.network import Network, initialize
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.sampling.sample import sample

DT = 1e-6  # s
AIR = "O2:1, N2:3.76"
IGNITIONS = {"drm19.yaml": ("CH4:1", 1500.0), "h2o2.yaml": ("H2:1", 1100.0)}  # fuel, T0 [K]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """torch on one thread: the same sums in the same order on every machine."""
    torch.set_num_threads(1)


# -- made once -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """A context manager: made_once(name) gives a folder that all processes of pytest-xdist share,
    to one at a time. Who finds it empty fills it; the others take what is there."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent

    @contextmanager
    def open_folder(name: str) -> Iterator[FilePath]:
        folder = root / "made_once" / name
        folder.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder

    return open_folder


# -- worker pools ----------------------------------------------------------------------------------


class InProcessPool(Executor):
    """A pool whose tasks run in this process, each as soon as it is submitted. Tasks and results
    are pickled, as they are on their way to a process and back."""

    def __init__(self, workers: int, context, begin, given: tuple):
        start, arguments = given
        start(*arguments)

    def abandon(self) -> None:
        """Nothing runs any more."""

    def submit(self, work, /, *task) -> Future:
        future = Future()
        try:
            work, task = pickle.loads(pickle.dumps((work, task)))
            future.set_result(pickle.loads(pickle.dumps(work(*task))))
        except BaseException as error:
            future.set_exception(error)
        return future


@contextmanager
def run_in_process() -> Iterator[None]:
    """Tasks of worker pools run in this process: new processes take seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "Pool", InProcessPool)
        yield


@pytest.fixture(scope="session")
def in_process():
    """The context manager `run_in_process`."""
    return run_in_process


@pytest.fixture
def in_this_process(in_process):
    """The tasks of worker pools run in this process, so that tests can replace parts of them."""
    with in_process():
        yield


# -- mechanisms ------------------------------------------------------------------------------------


@pytest.fixture(scope="session", params=list(IGNITIONS))
def mechanism(request):
    """DRM19 and Cantera's hydrogen mechanism, one after the other."""
    return load_mechanism(request.param)


@pytest.fixture(scope="session")
def drm19():
    """DRM19: methane, 21 species."""
    return load_mechanism("drm19.yaml")


@pytest.fixture(scope="session")
def h2o2():
    """Cantera's hydrogen mechanism, 10 species."""
    return load_mechanism("h2o2.yaml")


@pytest.fixture(scope="session")
def mechanism_of(tmp_path_factory) -> Callable[..., Mechanism]:
    """A factory: the mechanism of a YAML text, or of a name of a file and a phase."""
    folder = tmp_path_factory.mktemp("mechanisms")

    @functools.cache
    def make(given: str, phase: str = "") -> Mechanism:
        if "\n" not in given:
            return quietly(lambda: load_mechanism(given, phase))
        # The name stands in generated code: of both processes the same, so that one compiles it.
        file = folder / f"mechanism-{hashlib.sha256(given.encode()).hexdigest()[:8]}.yaml"
        file.write_text(given)
        return quietly(lambda: load_mechanism(str(file)))

    return make


@pytest.fixture(scope="session")
def kinds(mechanism_of) -> Mechanism:
    """A mechanism with every kind of rate that `Kinetics` supports."""
    return mechanism_of(KINDS)


@pytest.fixture(scope="session")
def every_kind(mechanism_of) -> Mechanism:
    """A mechanism with every type of rate."""
    return mechanism_of(KINDS + OTHER_KINDS)


@pytest.fixture(scope="session")
def respelled(mechanism_of) -> Mechanism:
    """The same with names in other letters in its reactions, and with multipliers in its phase."""
    text = in_other_case(KINDS + OTHER_KINDS)
    return mechanism_of(with_multipliers(text, text.count("- equation"))[0])


@pytest.fixture(scope="session")
def solver_of(made_once) -> Callable[..., Solver]:
    """A factory: the solver of a mechanism, compiled once, in the cache of compiled libraries; of
    methane and hydrogen optimised as for a user."""

    @functools.cache
    def make(mechanism: Mechanism, *kept: bool) -> Solver:  # volume, enthalpy, isothermal
        name = f"solver_{mechanism.sha256[:12]}"
        with made_once(name), pytest.MonkeyPatch.context() as patch:
            if mechanism.name not in IGNITIONS:
                compile_quickly(patch)
            kinds = dict(zip(("volume", "enthalpy", "isothermal"), kept, strict=False))
            return quietly(lambda: Solver(mechanism, **kinds))

    return make


@pytest.fixture(scope="session")
def quick_factors(h2o2, solver_of, made_once):
    """The solver of hydrogen whose library with factors is compiled once, in pieces as for a user:
    all of them have the same factors."""
    solver = solver_of(h2o2)  # optimised
    with made_once("skeletal"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(multipliers, "build", compile_quickly(patch, "-O1", in_one=False))
        solver.with_multipliers(np.ones(h2o2.solution(transport=False).n_reactions))
    return solver


# -- states of an ignition -------------------------------------------------------------------------


@dataclass(frozen=True)
class Path:
    """States (n,) along an ignition up to equilibrium, and the same states `dt` later."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    T_next: np.ndarray
    Y_next: np.ndarray
    dt: float = DT

    @property
    def state(self) -> torch.Tensor:
        """States [T, p, Y] (n, 2 + n_species)."""
        return torch.tensor(np.column_stack([self.T, self.p, self.Y]))

    @property
    def steps(self) -> torch.Tensor:
        """The time step `dt` [s] of each state, (n,)."""
        return torch.full((len(self.T),), self.dt, dtype=torch.float64)

    @property
    def later(self) -> torch.Tensor:
        """The same states `dt` later."""
        return torch.tensor(np.column_stack([self.T_next, self.p, self.Y_next]))


def integrate(gas: ct.Solution, rtol: float = 1e-10, atol: float = 1e-20):
    """A new Cantera reactor and its network, starting from the state of `gas`."""
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol, net.max_time_step = rtol, atol, 1e-4
    return reactor, net


@pytest.fixture(scope="session")
def path(mechanism) -> Path:
    """60 states of a stoichiometric ignition in air, from the unburnt gas to equilibrium."""
    return path_of(mechanism.name)


@functools.cache  # pytest makes a parametrized fixture anew for every file
def path_of(name: str) -> Path:
    """The states of the fixture `path`, of a mechanism given by name."""
    mechanism = load_mechanism(name)
    fuel, T0 = IGNITIONS[mechanism.name]
    gas = mechanism.solution()
    gas.set_equivalence_ratio(1.0, fuel, AIR)
    gas.TP = T0, ct.one_atm
    T, Y = [T0], [gas.Y]
    reactor, net = integrate(gas)
    while net.time < 5e-3:
        net.step()
        T.append(reactor.T)
        Y.append(gas.Y)
    pick = np.linspace(0, len(T) - 1, 60).astype(int)
    T, Y = np.array(T)[pick], np.array(Y)[pick].clip(0.0)
    T_next, Y_next = np.empty_like(T), np.empty_like(Y)
    for i in range(len(T)):
        gas.set_unnormalized_mass_fractions(Y[i])  # normalizing would change inert species
        gas.TP = T[i], ct.one_atm
        reactor, net = integrate(gas)
        net.advance(DT)
        T_next[i], Y_next[i] = reactor.T, gas.Y
    return Path(T, np.full(len(T), ct.one_atm), Y, T_next, Y_next.clip(0.0))


# -- networks and surrogates -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def make_network():
    """A factory: a network of given widths with seeded weights, and biases of order 0.1."""

    def make(widths: list[int], seed: int = 0, output: float = 1.0) -> Network:
        generator = torch.Generator().manual_seed(seed)
        network = Network(widths)
        initialize(network, [1.0] * (len(widths) - 2) + [output], generator)
        for layer in network.layers[:-1]:
            torch.nn.init.normal_(layer.bias, 0.0, 0.1, generator=generator)
        return network

    return make


def fitted_to(path: Path, mechanism, kinetics: bool) -> StateTransform:
    """A transform fitted to the states of an ignition."""
    made = make_transform(mechanism, 0.1, 1e-13, 1 / 3, kinetics)
    made.fit([(path.state, path.later, path.steps)])
    if isinstance(made, CorrectionTransform):
        made.fit_qss([(path.state, path.steps)])
    return made


@pytest.fixture(scope="session")
def transform(mechanism, path) -> StateTransform:
    """A fitted transform whose network input is the state alone."""
    return fitted_to(path, mechanism, kinetics=False)


@pytest.fixture(scope="session")
def qss_transform(mechanism, path) -> StateTransform:
    """A fitted transform whose network corrects QSS steps."""
    return fitted_to(path, mechanism, kinetics=True)


@pytest.fixture(scope="session", params=["transform", "qss_transform"])
def surrogate(request, mechanism, make_network) -> Surrogate:
    """An untrained surrogate of the state alone, and one that corrects QSS steps, whose changes
    over dt are as large as those of the chemistry. The latter estimates its own error as 1e-6 M."""
    transform = request.getfixturevalue(request.param)
    correcting = isinstance(transform, CorrectionTransform)
    output = 0.002 if correcting else 0.2
    network = make_network([transform.n_inputs, 24, 16, transform.n_outputs], output=output)
    if correcting:
        with torch.no_grad():
            network.layers[-1].bias[-1] = -6.0
    return make_surrogate(mechanism, transform, network)


# -- state files -----------------------------------------------------------------------------------

SAMPLING = {
    "sampler": "premixed", "dt": [DT, DT],
    "states": 480, "ignitions": 8, "fuel": "CH4:1", "oxidizer": AIR,
    "T0": [1400.0, 1900.0], "p": [91192.5, 111457.5], "phi": [0.4, 1.8],
}  # fmt: skip


@pytest.fixture(scope="session")
def sampling_settings() -> SamplingSettings:
    """Settings of the state file `sampled`: 480 rows of 8 ignitions of methane."""
    return SamplingSettings(**SAMPLING)


@pytest.fixture(scope="session")
def sampled(made_once, drm19, sampling_settings):
    """Path and record of a small state file of DRM19, made by `sample`."""
    with made_once("sampled") as folder:
        file, record = folder / "states.h5", folder / "record"
        if not record.exists():
            with run_in_process():
                made = sample(file, drm19, sampling_settings, 0, Processes())
            record.write_bytes(pickle.dumps(made))
        return file, pickle.loads(record.read_bytes())


@pytest.fixture(scope="session")
def table(sampled, drm19):
    """The state table of `sampled`."""
    return open_states(sampled[0], drm19)


@pytest.fixture(scope="session")
def write_states():
    """A factory: a finished state file of given rows, all from one sampler."""

    def write(file, mechanism, T, p, Y, T_next, Y_next, source=None, dt=None):
        n = len(T)
        dt = np.full(n, DT) if dt is None else dt
        source = np.zeros(n, "i4") if source is None else source
        block = Block(T, p, Y, dt, T_next, Y_next, source, np.zeros(n, "u1"))
        attributes = state_attributes(mechanism, {"seed": 0})
        write_file(file, attributes, [block])
        return file

    return write


# -- ignitions and flames of hydrogen --------------------------------------------------------------


@pytest.fixture(scope="session")
def ignitions(h2o2):
    """CVODE's rollouts of four ignitions, from two processes."""
    calls = []
    processes = Processes(2, lambda *done: calls.append(done))
    rollouts = Ignitions.of(h2o2, hydrogen.MIXTURE, hydrogen.IGNITIONS).reference(processes)
    assert calls == [(i + 1, 4) for i in range(4)]
    return rollouts


@pytest.fixture(scope="session")
def flames(h2o2, in_process):
    """The solver's flames of two mixtures, in this process: the ignitions are from two others."""
    calls = []
    processes = Processes(1, lambda *done: calls.append(done))
    with in_process():
        found = hydrogen.premixed_flames(h2o2).reference(processes)
    assert calls == [(1, 2), (2, 2)]
    return found


@pytest.fixture(scope="session")
def begin(h2o2):
    """Cantera's flame of `FLAME` on 60 cells, as a start."""
    return flame.start(
        h2o2, hydrogen.FLAME, h2o2.mixture(hydrogen.FUEL, hydrogen.AIR, hydrogen.FLAME.phi), 60
    )


@pytest.fixture(scope="session")
def extinct(h2o2, begin):
    """A flame without reactions."""
    return flame.burn(h2o2, hydrogen.INERT, hydrogen.FLAME_DT, begin, hydrogen.FLAME_MARCH)


@pytest.fixture(scope="session")
def streams(h2o2):
    """Hydrogen, air and their burnt gas, as streams of a stirred reactor."""
    return piloted_streams(h2o2, hydrogen.MIXTURE, shares=(0.03, 0.87, 0.1))
