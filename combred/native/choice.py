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


ANY_ERROR = 1e30  # a tolerance: the largest that a library takes


def fastest(surrogate: Surrogate, alone: bool = False) -> Advance:
    """The surrogate compiled as C++, with the solver behind its network; its network alone in
    TorchScript if it is of the state alone, or if it cannot be compiled here, which the log tells.

    alone: all steps are the network's, whatever their error estimate, but for those that cannot be
    closed."""
    if surrogate.kinetics:
        try:
            compiled = compile(surrogate)
            compiled.tolerance = ANY_ERROR if alone else compiled.tolerance
            return compiled
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
