"""Hostile states and time steps at every door of a surrogate: torch, TorchScript, compiled C++.

A door may refuse a call with ValueError, or answer; an answer is finite, conserves enthalpy and
pressure and has sum Y = 1, or its error estimate exceeds 1. What one door refuses, the others
refuse or doubt; their networks trust the same states.
"""

import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch

from combred.native import NativeSurrogate, build, generate
from combred.surrogates.model.thermo import Thermo

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
RANDOM = 3  # calls of 20 random states each
NUMBERS = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, -1e-12, 1e-300, 5e-324, 1e300, 1.7e308, -1e300),
    *(1.0, 10.0, 100.0, 250.0, 5000.0, 1e4, 1e5, 1e6, 1e9),
)
STEPS = (np.nan, np.inf, -np.inf, 0.0, -1e-6, 5e-324, 1e-310, 1e-300, 1e-30, 1e-15, 1e300, 1e9, 1.0)
NEAR = 0.05  # of the limit of an error estimate: float32 sums of other orders decide there
ENTHALPY = 1e-6  # relative error of a trusted answer, of |h| + cp T
SOLVED = "native, with the solver"
Answer = tuple[np.ndarray, np.ndarray] | Exception
Door = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Call:
    """A call of a door: what is hostile in it, states and time steps."""

    what: str
    state: np.ndarray
    dt: np.ndarray


@pytest.fixture(scope="module")
def doors(surrogate) -> dict[str, Door]:
    """The doors of a surrogate by name: states (n, 2 + n_species) and dt (n,) [s] -> states and
    error estimates over the tolerance. Of compiled C++ "native" gives the answers of the network,
    with an infinite error where there is none, and `SOLVED` those of network and solver, which
    take time steps that torch refuses for a network of the state alone: not of one."""
    surrogate = surrogate.requires_grad_(False).eval()
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(surrogate), buffer)
    buffer.seek(0)

    def tensors(module, state, dt) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            found = module.next_state_and_error(torch.as_tensor(state), torch.as_tensor(dt))
        return found[0].numpy(), found[1].numpy()

    found: dict[str, Door] = {
        "torch": partial(tensors, surrogate),
        "TorchScript": partial(tensors, torch.jit.load(buffer)),
    }
    library = NativeSurrogate(build(generate(surrogate)))

    def native(network: bool, state, dt) -> tuple[np.ndarray, np.ndarray]:
        answer = library.integrate(state[..., 0], state[..., 1], state[..., 2:], dt)
        error = np.where(answer.steps > 0, np.inf, answer.error) if network else answer.error
        return np.column_stack([answer.T, answer.p, answer.Y]), error

    found["native"] = partial(native, True)
    return found | ({SOLVED: partial(native, False)} if surrogate.kinetics else {})


def calls(good: np.ndarray, dt: float, count: int) -> Iterator[Call]:
    """Hostile calls around good states (n, 2 + n_species), n >= 20, and their time step dt [s]:
    every one of a list, and `count` at random."""
    rng = np.random.default_rng(0)
    n, width = good.shape
    for rows in (0, 1, 2, 15, 16, 17, n):
        yield Call(f"{rows} states", good[:rows], np.full(rows, dt))
    for value in STEPS:
        steps = np.full(20, dt)
        steps[7] = value
        yield Call(f"a time step of {value}", good[:20], steps)
    for value, column in itertools.product(NUMBERS, (0, 1, 2, width - 1)):
        state = good[:20].copy()
        state[3, column] = value
        yield Call(f"{value} in column {column}", state, np.full(20, dt))
    for k in rng.choice(np.arange(2, width), 4, replace=False):
        state = good[:20].copy()
        state[3, 2:], state[3, k], state[3, 0] = 0.0, 1.0, rng.uniform(200.0, 4000.0)
        yield Call(f"species {k - 2} alone", state, np.full(20, dt))
    for number in range(count):
        state = good[rng.integers(0, n, 20)].copy()
        raw = rng.exponential(1.0, (20, width - 2)) ** rng.uniform(0.5, 8.0)
        state[:, 2:] = raw / raw.sum(1, keepdims=True)
        state[:, 0] = 10.0 ** rng.uniform(1.5, 4.0, 20)
        state[:, 1] = 10.0 ** rng.uniform(1.0, 9.0, 20)
        spoilt = rng.random(state.shape) < 0.01
        state[spoilt] = rng.choice(NUMBERS, int(spoilt.sum()))
        yield Call(f"random states {number}", state, dt * 10.0 ** rng.uniform(-4.0, 1.0, 20))


def layouts(good: np.ndarray, dt: float) -> Iterator[Call]:
    """Calls whose arrays have other shapes, types and layouts in memory."""
    steps = np.full(len(good), dt)
    frozen = good.copy()
    frozen.flags.writeable = False
    yield Call("columns in Fortran order", np.asfortranarray(good), steps)
    yield Call("every second row", np.repeat(good, 2, axis=0)[::2], np.repeat(steps, 2)[::2])
    yield Call("a read-only array", frozen, steps)
    yield Call("one row", good[0], steps[:1])
    yield Call("a column less", good[:, 1:], steps)
    yield Call("a column more", np.column_stack([good, good[:, 0]]), steps)
    yield Call("three dimensions", good[None], steps)
    yield Call("a time step less", good, steps[1:])
    yield Call("time steps as a column", good, steps[:, None])
    yield Call("no state, one step", good[:0], steps[:1])
    yield Call("complex states", good.astype(complex), steps)
    yield Call("states of text", good.astype("U30"), steps)
    yield Call("states of objects", good.astype(object), steps)
    yield Call("states in float32", good.astype("f4"), steps)


def refused(answer: Answer) -> bool:
    """Whether an answer is the refusal of a call: ValueError or TypeError, also in TorchScript."""
    scripted = isinstance(answer, torch.jit.Error) and "ValueError" in str(answer)
    return scripted or isinstance(answer, (ValueError, TypeError))


def answer_of(door: Door, call: Call, thermo: Thermo) -> Answer:
    """The answer of a door to a call: a refusal, or states, of which those that it trusts are right
    as far as can be told without a solver."""
    try:
        later, error = door(call.state, call.dt)
    except Exception as answer:
        if refused(answer):
            return answer
        raise
    good, Y = error <= 1.0, later[:, 2:]
    assert not np.isnan(error).any()
    assert np.isfinite(later[good]).all()
    assert (Y[good] >= -1e-12).all() and (np.abs(Y[good].sum(1) - 1.0) <= 1e-9).all()
    assert (later[good, 1] == call.state[good, 1].astype(float)).all()
    before, after = torch.as_tensor(call.state[good].astype(float)), torch.as_tensor(later[good])
    Y0 = before[:, 2:].clamp(min=0.0) / before[:, 2:].clamp(min=0.0).sum(1, keepdim=True)
    h, cp = thermo.enthalpy(before[:, 0], Y0), thermo.cp(before[:, 0], Y0)
    off = (thermo.enthalpy(after[:, 0], after[:, 2:]) - h).abs() / (h.abs() + cp * before[:, 0])
    assert (off <= ENTHALPY).all(), off.max()
    return later, error


def require_alike(one: Answer, torchs: Answer, more: bool) -> None:
    """Both answers refuse or doubt a call, and trust the same states; `more`: the first may trust
    more."""
    if isinstance(one, Exception) or isinstance(torchs, Exception):
        doubt = any(not isinstance(x, Exception) and (x[1] > 1.0).any() for x in (one, torchs))
        assert refused(one) == refused(torchs) or doubt
        return
    close = (np.abs(one[1] - 1.0) < NEAR) | (np.abs(torchs[1] - 1.0) < NEAR)
    trusts, trusted = one[1] <= 1.0, torchs[1] <= 1.0
    differ = (~trusts & trusted if more else trusts != trusted) & ~close
    assert not differ.any(), (one[1][differ], torchs[1][differ])


def count_refused(mechanism, doors: dict[str, Door], given: Iterator[Call], agree=True) -> int:
    """Make the calls at every door; how many were refused. agree: all doors have to refuse or doubt
    the same calls, and to trust the same states, but for those that a solver advances as well."""
    thermo, count = Thermo(mechanism), 0
    for call in given:
        found = {}
        for name, door in doors.items():
            try:
                found[name] = answer_of(door, call, thermo)
                if agree:
                    require_alike(found[name], found["torch"], name == SOLVED)
            except Exception as error:
                error.add_note(f"{name}, {call.what}")
                raise
            count += refused(found[name])
    return count


def test_all_doors_do_the_same_with_hostile_states(doors, mechanism, path):
    given = list(calls(path.state.numpy(), path.dt, RANDOM))
    count = count_refused(mechanism, doors, given)
    assert 5 * len(doors) <= count < len(given) * len(doors) / 2


def test_other_shapes_types_and_layouts_in_memory(doors, mechanism, path):
    given = layouts(path.state.numpy()[:17], path.dt)
    assert count_refused(mechanism, doors, given, agree=False) > 8
