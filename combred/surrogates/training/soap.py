"""SOAP: Adam in the eigenbasis of Shampoo's two factors of each weight matrix.

Vyas et al., ICLR 2025, arXiv 2409.11321, algorithm 3. Takes the parameters of a network, whose
biases have no basis; makes the steps of a training.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

BETAS = 0.95, 0.95  # of the means of the gradient and of its square; the factors have the second
EPS = 1e-8  # beside the root of the mean square
EVERY = 10  # steps between updates of the eigenbases, as in the paper's experiments


class Soap(torch.optim.Optimizer):
    """widest: sides of a matrix that are longer have no basis, and there SOAP is Adam."""

    def __init__(self, parameters: Iterable[Tensor], widest: int):
        super().__init__(parameters, {"lr": 1e-3, "step": 0})
        self.widest = widest

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Make one step. The first one finds the bases alone."""
        for group in self.param_groups:
            n, group["step"] = group["step"], group["step"] + 1
            rate = 0.0
            if n:
                rate = group["lr"] * (((1.0 - BETAS[1] ** n) ** 0.5) / (1.0 - BETAS[0] ** n))
            for parameter in group["params"]:
                state = self.state[parameter]
                if n:
                    _move(parameter, state, rate)
                else:
                    self._begin(parameter, state)
                _follow(parameter.grad, state, n)

    def _begin(self, parameter: Tensor, state: dict[str, Any]) -> None:
        """Set the state of a parameter; bases of None are found from the first gradient."""
        sides = parameter.shape if parameter.dim() == 2 else ()
        state["mean"] = torch.zeros_like(parameter)
        state["square"] = torch.zeros_like(parameter)
        state["factors"] = [
            parameter.new_zeros(side, side) if side <= self.widest else None for side in sides
        ]
        state["bases"] = None


def _move(parameter: Tensor, state: dict[str, Any], rate: float) -> None:
    """Adam's step of a parameter in its bases."""
    gradient, mean, bases = parameter.grad, state["mean"], state["bases"]
    assert gradient is not None
    mean.lerp_(gradient, 1.0 - BETAS[0])
    state["square"].lerp_(_turned(gradient, bases).square(), 1.0 - BETAS[1])
    adam = _turned(mean, bases) / state["square"].sqrt().add_(EPS)
    parameter.add_(_turned(adam, bases, back=True), alpha=-rate)


def _turned(x: Tensor, bases: list[Tensor | None], back: bool = False) -> Tensor:
    """A matrix in the bases, Q0^T x Q1, or back from them, Q0 x Q1^T; a vector as it is."""
    for Q in bases:
        x = x.t() if Q is None else x.t() @ (Q.t() if back else Q)
    return x


def _follow(gradient: Tensor | None, state: dict[str, Any], n: int) -> None:
    """Add the gradient of step n to the factors. The bases are their eigenvectors at first, then
    those of one round of power iteration at every `EVERY`-th step, by falling eigenvalue."""
    assert gradient is not None
    factors, bases = state["factors"], state["bases"]
    for side, factor in enumerate(factors):
        if factor is not None:
            rows = gradient.t() if side else gradient
            factor.lerp_(rows @ rows.t(), 1.0 - BETAS[1])
    if bases is None:
        state["bases"] = [
            factor if factor is None else torch.linalg.eigh(factor)[1].flip(1) for factor in factors
        ]
    if n == 0 or n % EVERY:
        return
    for side, (factor, Q) in enumerate(zip(factors, state["bases"], strict=True)):
        if factor is not None:
            product = factor @ Q
            order = torch.argsort((Q * product).sum(dim=0), descending=True)
            state["square"] = state["square"].index_select(side, order)
            state["bases"][side] = torch.linalg.qr(product.index_select(1, order))[0]
