"""Hostile states and time steps at every door of a surrogate: torch, TorchScript, compiled C++.

A door may refuse a call with ValueError, or answer; an answer is finite, conserves enthalpy and
pressure and has sum Y = 1, or its error estimate exceeds 1. What one door refuses, the others
refuse or doubt; their networks trust the same states.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from benchmarks.hostile.outcome import Counts
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.native.library import NativeSurrogate
from combred.surrogate.surrogate import Surrogate

NUMBERS = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, -1e-12, 1e-300, 5e-324, 1e300, 1.7e308, -1e300),
    *(1.0, 10.0, 100.0, 250.0, 5000.0, 1e4, 1e5, 1e6, 1e9),
)
STEPS = (np.nan, np.inf, -np.inf, 0.0, -1e-6, 5e-324, 1e-310, 1e-300, 1e-30, 1e-15, 1e300, 1e9, 1.0)
NEAR = 0.05  # of the limit of an error estimate: float32 sums of other orders decide there
ENTHALPY = 1e-6  # relative error of a trusted answer, of |h| + cp T

SOLVED = "native, with the solver"

Door = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Call:
    """A call of a door: what is hostile in it, states and time steps."""

    what: str
    state: np.ndarray
    dt: np.ndarray


def doors(surrogate: Surrogate, library: NativeSurrogate | None) -> dict[str, Door]:
    """The doors of a surrogate by name: states (n, 2 + n_species) and dt (n,) [s] -> states and
    error estimates over the tolerance. Of the library, "native" gives the answers of the network,
    with an infinite error where there is none, and `SOLVED` those of network and solver."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(surrogate), buffer)
    buffer.seek(0)
    scripted = torch.jit.load(buffer)

    def of(module) -> Door:
        def ask(state: np.ndarray, dt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with torch.no_grad():
                found = module.next_state_and_error(torch.as_tensor(state), torch.as_tensor(dt))
            return found[0].numpy(), found[1].numpy()

        return ask

    found: dict[str, Door] = {"torch": of(surrogate), "TorchScript": of(scripted)}
    if library is None:
        return found

    def both(state: np.ndarray, dt: np.ndarray, network: bool) -> tuple[np.ndarray, np.ndarray]:
        answer = library.attempt(state[..., 0], state[..., 1], state[..., 2:], dt)
        error = np.where(answer.steps > 0, np.inf, answer.error) if network else answer.error
        return np.column_stack([answer.T, answer.p, answer.Y]), error

    return found | {"native": partial(both, network=True), SOLVED: partial(both, network=False)}


def calls(good: np.ndarray, dt: float, seed: int, count: int) -> Iterator[Call]:
    """Hostile calls around good states (n, 2 + n_species), n >= 20, and their time step dt [s]:
    every one of a list, and `count` at random."""
    rng = np.random.default_rng(seed)
    n, width = good.shape
    for rows in (0, 1, 2, 15, 16, 17, n):
        yield Call(f"{rows} states", good[:rows], np.full(rows, dt))
    for value in STEPS:
        steps = np.full(20, dt)
        steps[7] = value
        yield Call(f"a time step of {value}", good[:20], steps)
    for value in NUMBERS:
        for column in (0, 1, 2, width - 1):
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


def memory(good: np.ndarray, dt: float) -> Iterator[Call]:
    """Calls whose arrays have other shapes, types and layouts in memory."""
    steps, n = np.full(len(good), dt), len(good)
    yield Call("columns in Fortran order", np.asfortranarray(good), steps)
    yield Call("every second row", np.repeat(good, 2, axis=0)[::2], np.repeat(steps, 2)[::2])
    frozen = good.copy()
    frozen.flags.writeable = False
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
    yield Call(f"{n} states in float32", good.astype("f4"), steps)


def attack(
    mechanism: Mechanism, openings: dict[str, Door], given: Iterator[Call], agree: bool = True
) -> Counts:
    """Make the calls at every door; `agree`: all doors have to refuse or doubt the same calls, and
    to trust the same states, but for those that a solver advances as well."""
    counts, thermo = Counts(), Thermo(mechanism)
    for call in given:
        found = {name: _answer(door, call) for name, door in openings.items()}
        for name, answer in found.items():
            kind, reason = judge(thermo, call, answer)
            if (
                agree
                and kind != "tracebacks"
                and (other := unlike(answer, found["torch"], name == SOLVED))
            ):
                kind, reason = "wrong", f"not as torch: {other}"
            counts.add(kind, f"{name}, {call.what}: {reason}")
    return counts


def _answer(door: Door, call: Call) -> tuple[np.ndarray, np.ndarray] | Exception:
    try:
        return door(call.state, call.dt)
    except Exception as error:  # judged by its type
        return error


def refused(answer: tuple[np.ndarray, np.ndarray] | Exception) -> bool:
    """Whether an answer is the refusal of a call: ValueError or TypeError, also in TorchScript."""
    if isinstance(answer, (ValueError, TypeError)):
        return True
    return isinstance(answer, torch.jit.Error) and "ValueError" in str(answer)


def judge(thermo: Thermo, call: Call, answer) -> tuple[str, str]:
    """The kind of an answer, and a reason."""
    if refused(answer):
        return "refused", ""
    if isinstance(answer, Exception):
        return "tracebacks", f"{type(answer).__name__}: {str(answer)[-300:]}"
    later, error = answer
    if np.isnan(error).any():
        return "wrong", "an error estimate is no number"
    good, Y = error <= 1.0, later[:, 2:]
    if not np.isfinite(later[good]).all():
        return "wrong", "a trusted answer is not finite"
    if (Y[good] < -1e-12).any() or (np.abs(Y[good].sum(1) - 1.0) > 1e-9).any():
        return "wrong", "a trusted answer has no mass fractions"
    if (later[good, 1] != call.state[good, 1].astype(float)).any():
        return "wrong", "a trusted answer has another pressure"
    before, after = torch.as_tensor(call.state[good].astype(float)), torch.as_tensor(later[good])
    Y0 = before[:, 2:].clamp(min=0.0) / before[:, 2:].clamp(min=0.0).sum(1, keepdim=True)
    h = thermo.enthalpy(before[:, 0], Y0)
    cp = thermo.cp(before[:, 0], Y0)
    off = (thermo.enthalpy(after[:, 0], after[:, 2:]) - h).abs() / (h.abs() + cp * before[:, 0])
    if (off > ENTHALPY).any():
        return "wrong", f"a trusted answer has another enthalpy, by {off.max():.1e}"
    return "harmless", ""


def unlike(one, other, more: bool) -> str:
    """What differs between the answers of two doors to a call, "" if nothing does; `more`: the
    first may trust more states."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        doubt = any(not isinstance(x, Exception) and (x[1] > 1.0).any() for x in (one, other))
        same = refused(one) == refused(other) or doubt
        return "" if same else "one refuses, the other does not"
    close = (np.abs(one[1] - 1.0) < NEAR) | (np.abs(other[1] - 1.0) < NEAR)
    trusts, trusted = one[1] <= 1.0, other[1] <= 1.0
    rows = np.flatnonzero((~trusts & trusted if more else trusts != trusted) & ~close)
    if rows.size:
        return f"error estimates of row {rows[0]}: {one[1][rows[0]]:.3g}, {other[1][rows[0]]:.3g}"
    return ""
