"""The library: what it says of itself, the C interface, and `NativeSurrogate` as an `Advance`."""

import ctypes
import ctypes.util
import platform
import threading

import numpy as np
import pytest

from combred.native.interface import Options

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
DT = 1e-6
OK, NULL, STRIDE, BAD_DT, OPTIONS, WORKSPACE = range(6)


@pytest.fixture
def call(compiled):
    """`combred_advance` with other arguments than usual: returns its status."""

    def run(rows, **changes) -> int:
        n = len(rows)
        dt, space = np.full(max(n, 1), DT), compiled._workspace()
        known = {
            "n": n, "states": rows.ctypes.data, "dt": dt.ctypes.data, "stride": 1,
            "options": None, "error": None, "evaluations": None, "workspace": space.ctypes.data,
            "size": space.nbytes,
        }  # fmt: skip
        return compiled._calls.combred_advance(*(known | changes).values())

    return run


def test_a_library_describes_itself(compiled, mechanism, correcting):
    assert compiled.species == list(mechanism.species_names)
    assert compiled.mechanism_sha256 == mechanism.sha256
    assert compiled.dt_range == correcting.dt_range
    assert compiled.n == 2 + mechanism.n_species
    names = compiled._calls.combred_species_name
    assert names(mechanism.n_species) is None


def test_advance_of_one_time_step_and_of_one_each(compiled, correcting, path):
    T, Y = compiled.advance(path.T, path.p, path.Y, DT)
    known_T, known_Y = correcting.advance(path.T, path.p, path.Y, DT)
    # K, and of Y; as large as the tolerance where rounding decides whether a step is accepted.
    assert np.quantile(np.abs(T - known_T), 0.95) < 0.01 and np.abs(T - known_T).max() < 1.0
    assert np.quantile(np.abs(Y - known_Y), 0.95) < 1e-6 and np.abs(Y - known_Y).max() < 1e-4
    again, _ = compiled.advance(path.T, path.p, path.Y, np.full(len(path.T), DT))
    assert np.array_equal(T, again)


def test_the_input_is_not_changed(compiled, path):
    states = path.state.numpy()
    before = states.copy()
    compiled.integrate(states, DT)
    assert np.array_equal(states, before)


@pytest.mark.parametrize("dt", [0.0, -1e-6, np.nan, np.inf])
def test_a_time_step_that_is_none_is_refused(compiled, call, path, dt):
    with pytest.raises(ValueError, match="positive and finite"):
        compiled.advance(path.T, path.p, path.Y, dt)
    states = path.state.numpy()
    before, wrong = states.copy(), np.full(len(states), dt)
    assert call(states, dt=wrong.ctypes.data) == BAD_DT
    assert np.array_equal(states, before)


def test_other_shapes_and_tolerances_are_refused(compiled, path):
    states = path.state.numpy()
    with pytest.raises(ValueError, match=r"shape \(n, 12\)"):
        compiled.integrate(states[:, 1:], DT)
    with pytest.raises(ValueError, match=r"shape \(7,\)"):
        compiled.integrate(states, np.full(7, DT))
    for tolerance in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="tolerance is positive"):
            compiled.integrate(states, DT, tolerance)
    for wrong in (-1, 2**63, 2**64 + 1):
        with pytest.raises(ValueError, match=r"max_steps is from 0 to 2\^63 - 1, not"):
            compiled.integrate(states, DT, max_steps=wrong)
    with pytest.raises(ValueError, match=r"T and p have the shape \(n,\)"):
        compiled.advance(path.T, path.p[:1], path.Y, DT)
    with pytest.raises(ValueError, match="states has to be real numbers"):
        compiled.integrate(states.astype(complex), DT)


def test_every_wrong_call_has_a_status_and_every_status_a_text(compiled, call, path):
    states = path.state.numpy()[:3]
    before = states.copy()
    assert call(states, states=None) == call(states, dt=None) == NULL
    assert call(states, workspace=None) == NULL
    assert call(states, stride=2) == STRIDE
    for wrong in (Options(0.0, 0), Options(np.nan, 0), Options(np.inf, 0), Options(0.05, -1)):
        assert call(states, options=ctypes.addressof(wrong)) == OPTIONS
    assert call(states, size=100) == WORKSPACE
    assert np.array_equal(states, before)
    assert call(states, n=0, states=None, dt=None, workspace=None) == OK
    texts = [compiled._calls.combred_status_text(status) for status in range(-1, 8)]
    assert all(texts) and len(set(texts[1:7])) == 6


def test_one_time_step_for_all_and_no_outputs(compiled, call, path):
    states = path.state.numpy()
    known = compiled.integrate(states, DT)[0]
    dt = ctypes.c_double(DT)
    assert call(states, dt=ctypes.addressof(dt), stride=0) == OK
    assert np.array_equal(states, known)


@pytest.mark.parametrize("offset", [1, 8, 24])
def test_any_alignment(compiled, call, path, offset):
    states = path.state.numpy()
    known = compiled.integrate(states, DT)[0]
    memory = np.zeros(states.nbytes + 64, dtype=np.uint8)
    memory[offset : offset + states.nbytes] = np.frombuffer(states.tobytes(), np.uint8)
    space = np.empty(compiled._calls.combred_workspace_size() + 64, dtype=np.uint8)
    status = call(
        states, states=memory.ctypes.data + offset, workspace=space.ctypes.data + offset,
        size=space.nbytes - 64,
    )  # fmt: skip
    assert status == OK
    assert memory[offset : offset + states.nbytes].tobytes() == known.tobytes()
    assert not memory[offset + states.nbytes :].any()


def test_too_few_steps_are_told(compiled, path):
    states = path.state.numpy()
    error, steps = compiled.integrate(states, 1e-5)[1:]
    limited, taken = compiled.integrate(states, 1e-5, max_steps=3)[1:]
    assert np.array_equal(np.isinf(limited), steps > 3) and steps.max() > 3
    assert np.array_equal(taken, np.minimum(steps, 3))
    assert np.array_equal(limited[steps <= 3], error[steps <= 3])


def test_threads_share_a_library(compiled, burning):
    known, found = compiled.integrate(burning, 1e-6), {}
    work = [
        threading.Thread(target=lambda i=i: found.update({i: compiled.integrate(burning, 1e-6)}))
        for i in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    for i in range(4):
        assert all(np.array_equal(a, b) for a, b in zip(found[i], known, strict=True))


def test_subnormals_of_the_caller_survive(compiled, path):
    """They are zero inside a call alone."""
    compiled.integrate(path.state.numpy(), DT)
    assert np.array([1e-310, 2e-310]).sum() > 0.0 and np.float32(1e-30) * np.float32(1e-10) > 0.0


def test_the_floating_point_environment_of_the_caller_survives(call, path):
    """OpenFOAM traps division by zero, invalid operations and overflow. In a new process it would
    die; here traps are off in the call and on again after it, and no flag is raised."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    if not hasattr(libm, "feenableexcept"):
        pytest.skip("traps are set by functions of glibc")
    traps, upward, every = 0x01 | 0x04 | 0x08, 0x800, 0x3D  # of x86
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of the traps are those of x86")
    states = np.tile(path.state.numpy(), (2, 1))
    states[::7, 0], states[3::7, 4] = np.nan, 0.0
    rounding = libm.fegetround()
    try:
        libm.feclearexcept(every)
        libm.fesetround(upward)
        libm.feenableexcept(traps)
        status, trapped = call(states), libm.fegetexcept()
        flags, direction = libm.fetestexcept(traps), libm.fegetround()
    finally:
        libm.fedisableexcept(every)
        libm.fesetround(rounding)
    assert status == OK and trapped == traps and flags == 0 and direction == upward
