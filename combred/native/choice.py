"""The fastest way to advance a surrogate on a CPU: compiled, where there is a compiler.

Takes a `Surrogate`; gives an `Advance`.
"""

import logging

import torch
from torch import Tensor

from combred.chemistry.reactor import Advance
from combred.native.library import compile
from combred.surrogate.advance import StateFunction
from combred.surrogate.surrogate import Surrogate

log = logging.getLogger(__name__)


def fastest(surrogate: Surrogate) -> Advance:
    """The surrogate compiled as C++, some twenty times as fast as TorchScript; as TorchScript if it
    is of the state alone, or if it cannot be compiled here, which the log tells."""
    if surrogate.corrects_rates:
        try:
            return compile(surrogate)
        except RuntimeError as error:
            log.warning("TorchScript takes the place of compiled C++: %s", error)
    return scripted(surrogate)


def scripted(surrogate: Surrogate) -> Advance:
    """The surrogate as an `Advance` in TorchScript, frozen: the form of surrogate.pt."""
    frozen = torch.jit.freeze(torch.jit.script(surrogate.cpu().eval()))

    def function(state: Tensor, dt: Tensor) -> Tensor:
        surrogate.require_states(state)  # refused here, and not with a traceback of TorchScript
        surrogate.require_steps(dt, len(state))
        return frozen(state, dt)

    return StateFunction(function)
