"""The fastest way to advance a surrogate on a CPU: compiled, or in TorchScript where it cannot be.

Takes a `Surrogate`; gives an `Advance`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from combred.chemistry.states import Real, Rows, is_state, states_of, steps_of
from combred.chemistry.stepper import Advance
from combred.native.builder import build
from combred.native.library import load_built
from combred.native.solver.generator import LARGEST_TOLERANCE
from combred.surrogates.library.compiled import NativeSurrogate
from combred.surrogates.library.generator import generate, is_compiled
from combred.surrogates.model.surrogate import Surrogate

log = logging.getLogger(__name__)
ANY_ERROR = LARGEST_TOLERANCE


def compile(surrogate: Surrogate, folder: Path | None = None) -> NativeSurrogate:
    """Write a surrogate and the solver of its mechanism as C++, compile and load them.

    folder: where sources and library are written (None: a cache,
    `combred.files.records.cache_folder`). Raises ValueError for a network that is too large
    (`library.generator.MOST_WEIGHTS`), RuntimeError without a C++ compiler.
    """
    return NativeSurrogate(load_built(lambda: build(generate(surrogate), folder)).path)


class NetworkAlone:
    """A compiled surrogate as an `Advance` whose steps are the network's, whatever their error
    estimate, and never the solver's: a step that cannot be closed leaves its state as it is, as
    that of surrogate.pt does. NaN of rows that are no states: a network that goes astray has
    failed, and is no error of whoever judges it."""

    def __init__(self, compiled: NativeSurrogate):
        self.compiled = compiled

    def advance(self, T: Rows, p: Real, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """T (n,) [K] and Y (n, n_species) of the states, dt [s] later."""
        found = self.compiled.attempt(T, p, Y, dt, ANY_ERROR)
        by_solver = found.steps > 0
        found.T[by_solver], found.Y[by_solver] = np.asarray(T)[by_solver], np.asarray(Y)[by_solver]
        found.error[by_solver] = 0.0  # they are valid, also where the solver failed
        return found.or_nan()


@dataclass(frozen=True)
class StateFunction:
    """An `Advance` made from a function of states in torch, which maps [T, p, Y] (n, 2 + n_species)
    [K, Pa, -] and dt (n,) [s], both float64, to the states dt later. NaN of rows that are no
    states, as of `NetworkAlone`."""

    function: Callable[[Tensor, Tensor], Tensor]

    def advance(self, T: Rows, p: Real, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """T (n,) [K] and Y (n, n_species) of the states, dt [s] later. Raises ValueError for other
        arrays, and for a dt that is not positive and finite."""
        states = states_of(T, p, Y)
        with torch.no_grad():
            given = torch.as_tensor(states), torch.as_tensor(steps_of(dt, len(states)))
            later = self.function(*given).numpy()
        later[~is_state(states)] = np.nan
        return later[:, 0], later[:, 2:]


def fastest(surrogate: Surrogate, alone: bool = False) -> Advance:
    """The surrogate compiled as C++, with the solver behind its network; its network alone in
    TorchScript if it is too large (`is_compiled`), or cannot be compiled here, which the log tells.

    alone: as `NetworkAlone`."""
    if is_compiled(surrogate):
        try:
            compiled = compile(surrogate)
            return NetworkAlone(compiled) if alone else compiled
        except RuntimeError as error:
            log.warning("The network alone, in TorchScript, takes the place of C++: %s", error)
    return scripted(surrogate)


def scripted(surrogate: Surrogate) -> Advance:
    """The surrogate as an `Advance` in TorchScript, frozen: the form of surrogate.pt."""
    frozen = torch.jit.freeze(torch.jit.script(surrogate.cpu().eval()))

    def function(state: Tensor, dt: Tensor) -> Tensor:
        surrogate.require_states(state)  # refused here, and not with a traceback of TorchScript
        surrogate.require_steps(dt, len(state))
        return frozen(state, dt)

    return StateFunction(function)
