"""The kernel for GPUs: on a CPU with its threads, compiled for devices, and on a device."""

import ctypes
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from combred.libraries import compile_cuda
from combred.native import cuda, generate
from combred.native.builder import find_compiler
from combred.native.cuda import cubin, cuda_core
from combred.native.single_file import join
from combred.surrogates.model.surrogate import Surrogate

DRM19 = pytest.mark.parametrize("mechanism", ["drm19.yaml"], indirect=True, scope="session")
H2O2 = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def on_threads(correcting, tmp_path_factory):
    """The kernel as a function of states, dt [s] and a number of threads, on a CPU."""
    folder = tmp_path_factory.mktemp("threads")
    for name, text in generate(correcting).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    source, library = Path(__file__).parent / "threads.cpp", folder / "threads.so"
    flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-pthread", f"-I{folder}"]
    subprocess.run([*find_compiler(), *flags, source, "-o", library], check=True)
    call = ctypes.CDLL(str(library)).run

    def run(states, dt, threads=4, tolerance=Surrogate.TOLERANCE, max_steps=0):
        later, steps = states.copy(), np.broadcast_to(np.asarray(dt, float), len(states)).copy()
        error, evaluations = np.empty(len(states)), np.empty(len(states), dtype=np.int64)
        call(
            ctypes.c_int(threads), ctypes.c_size_t(len(states)), later.ctypes.data_as(P),
            steps.ctypes.data_as(P), ctypes.c_size_t(1), ctypes.c_double(tolerance),
            ctypes.c_int64(max_steps), error.ctypes.data_as(P), evaluations.ctypes.data_as(P),
        )  # fmt: skip
        return later, error, evaluations

    return run


P = ctypes.c_void_p


def by_cpu(compiled, states, dt, tolerance=None, max_steps=0):
    """States, errors and steps of the library on a CPU."""
    found = compiled.attempt(
        states[:, 0], states[:, 1], states[:, 2:], dt, tolerance, max_steps=max_steps
    )
    return np.column_stack([found.T, found.p, found.Y]), found.error, found.steps


def agrees(found, known) -> None:
    """Answers of the library on a CPU, within rounding: K, and of Y. Where rounding decides whether
    a step is accepted, differences are as large as the tolerance."""
    later, error, steps = found
    same = steps == known[2]
    assert same.mean() > 0.9
    off = np.abs(later - known[0])[same]
    assert np.quantile(off[:, 0], 0.99) < 0.05 and np.quantile(off[:, 2:], 0.99) < 1e-6
    assert (error <= 1.0).all() and (known[1] <= 1.0).all()


@H2O2
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
def test_the_kernel_on_threads_of_a_cpu(on_threads, compiled, burning, threads):
    """Each state with its own dt: threads take rows as they finish."""
    states = burning[:300]
    dt = 10.0 ** np.random.default_rng(3).uniform(-9.0, -5.5, len(states))
    known = by_cpu(compiled, states, dt)
    assert 0.02 < (known[2] > 0).mean() < 0.98
    agrees(on_threads(states, dt, threads), known)


@H2O2
@pytest.mark.slow
def test_odd_states_and_too_few_steps_on_threads(on_threads, compiled, burning):
    states = burning[:8].copy()
    states[0, 0], states[1, 4], states[2, 1], states[3, 2:] = np.nan, -1.0, -5.0, 0.0
    known, found = by_cpu(compiled, states, 1e-5, 0.1, 3), on_threads(states, 1e-5, 2, 0.1, 3)
    assert np.isinf(found[1][:4]).all() and np.isinf(known[1][:4]).all()
    assert np.array_equal(found[0][:4], states[:4], equal_nan=True)
    known, found = by_cpu(compiled, states, 1e-5, 1e-3, 3), on_threads(states, 1e-5, 2, 1e-3, 3)
    few = np.isinf(found[1])
    assert few[4:].any() and np.array_equal(found[0][few], states[few], equal_nan=True)


@pytest.mark.slow
def test_it_compiles_for_a_device(of_kinds, monkeypatch, tmp_path):
    try:
        cuda_core()
    except RuntimeError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = join(generate(of_kinds), "kernel.cu")
    compiled = cubin(source, "sm_90")
    assert compiled[:4] == b"\x7fELF" and cubin(source, "sm_90") == compiled
    assert len(list(tmp_path.rglob("*.cubin"))) == 1


class Compiler:
    """In place of cuda.core: each compilation gives other bytes."""

    __version__ = "0"
    ProgramOptions = SimpleNamespace

    def __init__(self):
        self.calls = 0

    def Program(self, source, language, options):
        self.calls += 1
        return SimpleNamespace(compile=lambda kind: SimpleNamespace(code=self.code))

    @property
    def code(self) -> bytes:
        return b"\x7fELF" + bytes([self.calls]) * 5000


@pytest.mark.parametrize("place", [0, 2500, -12, -1])
def test_damaged_code_of_the_cache_is_compiled_again(monkeypatch, tmp_path, caplog, place):
    """With flipped bits in code or checksum, cut short, empty, or without a checksum."""
    compiler = Compiler()
    monkeypatch.setattr(cuda, "cuda_core", lambda: compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = cubin("source", "sm_90")
    assert cubin("source", "sm_90") == first == b"\x7fELF" + b"\1" * 5000 and compiler.calls == 1
    (cached,) = tmp_path.rglob("*.cubin")
    whole = cached.read_bytes()
    flipped = bytearray(whole)
    flipped[place] ^= 4
    for number, content in enumerate((bytes(flipped), whole[:-1000], b"", first), start=2):
        cached.write_bytes(content)
        assert cubin("source", "sm_90") == b"\x7fELF" + bytes([number]) * 5000
        assert cubin("source", "sm_90") == compiler.code and compiler.calls == number
    assert caplog.text.count("compiled again") == 4


@H2O2
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_without_a_device_an_error_names_what_needs_none(correcting):
    with pytest.raises(RuntimeError, match=r"no CUDA device: take combred\.native\.compile"):
        compile_cuda(correcting)


@pytest.mark.cuda
@DRM19
@pytest.mark.parametrize("size", [0, 1, 31, 129, 2040])
def test_on_a_device(correcting, compiled, burning, size):
    found = compile_cuda(correcting)
    rng = np.random.default_rng(size)
    states, dt = burning[:size], 10.0 ** rng.uniform(-9.0, -5.5, size)
    on_device = torch.tensor(states, device=found.device)
    answers = [x.cpu().numpy() for x in found(on_device, torch.tensor(dt))]
    assert np.array_equal(on_device.cpu().numpy(), states)
    if size > 0:
        agrees(answers, by_cpu(compiled, states, dt))


@pytest.mark.cuda
@H2O2
def test_misuse_on_a_device_is_refused(correcting, burning):
    found = compile_cuda(correcting)
    states = torch.tensor(burning[:4], device=found.device)
    for dt in (0.0, -1e-6, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="positive and finite"):
            found(states, dt)
    with pytest.raises(ValueError, match="shape"):
        found(states[:, 1:], 1e-6)
    with pytest.raises(ValueError, match="tolerance has to be positive"):
        found(states, 1e-6, tolerance=0.0)
