"""A time step of the solver as a function of torch tensors, which has gradients.

Takes a solver; gives a function for losses and optimisers. The backward pass is that of
`combred.reactors.derivatives`: differences in doubles, in batches.
"""

from typing import Any

import numpy as np
import torch
from torch.autograd.forward_ad import unpack_dual

from combred.chemistry.states import Rows
from combred.native.solver.library import Integrator
from combred.reactors.derivatives import EXACT, factors_of, rate_derivatives, state_derivatives

Tensors = tuple[torch.Tensor, torch.Tensor]
SECOND = "a time step has no second derivatives"
TRANSFORMED = (
    "a time step cannot be transformed by torch.func (vmap, grad, jvp, jacrev, jacfwd) or with "
    "vectorize=True: take backward(), torch.autograd.grad or torch.autograd.forward_ad, and states "
    "(n,) in place of vmap"
)


class Differentiable:
    """`solver.advance` on tensors: T, Y = step(T, p, Y, dt, ln_A)."""

    def __init__(self, solver: Integrator):
        self.solver = solver

    def __call__(
        self,
        T: torch.Tensor,
        p: torch.Tensor,
        Y: torch.Tensor,
        dt: float,
        ln_A: torch.Tensor | None = None,
    ) -> Tensors:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p [Pa], Y, dt [s] later, of the
        type of T; p and Y: one for all, or (n,) and (n, n_species); ln_A (n_reactions,): logarithms
        of factors on the rate constants, None for 0. Derivatives by T, p, Y and ln_A in reverse and
        forward mode, no second ones. Raises ValueError as `solver.advance`, for what is no tensor
        of floats on the CPU, for a gradient by dt, and inside torch.func (vmap, grad, jvp)."""
        given = [T, p, Y] if ln_A is None else [T, p, Y, ln_A]
        if not all(isinstance(x, torch.Tensor) for x in given):
            raise ValueError("T, p, Y and ln_A have to be tensors: give torch.as_tensor(...)")
        if not all(x.is_floating_point() and x.device.type == "cpu" for x in given):
            raise ValueError("T, p, Y and ln_A have to be floats on the CPU: give x.double().cpu()")
        if getattr(dt, "requires_grad", False):
            raise ValueError("a time step has no gradient by dt: give dt.item()")
        dual = any(unpack_dual(x).tangent is not None for x in given)
        if dual and any(x.requires_grad for x in given):
            raise ValueError(f"{SECOND}: take reverse mode or forward mode alone")
        if T.dim() == 1:  # broadcast here, so that torch sums the gradients
            p = p.expand(T.shape) if p.dim() == 0 else p
            Y = Y.expand(len(T), -1) if Y.dim() == 1 else Y
        try:
            return _Step.apply((self.solver, dt), T, p, Y, ln_A)
        except RuntimeError as error:
            if "setup_context" not in str(error):
                raise
            raise ValueError(TRANSFORMED) from error


def differentiable(solver: Integrator) -> Differentiable:
    """A time step with gradients by T, p, Y and rate constants: a function of torch tensors, with
    arguments and errors as `Differentiable.__call__`. solver: `combred.solver(...)`, whose states
    are advanced at tolerance 1e-9.

    A gradient by a state takes 2 (2 + n_species) time steps of it, and one by the rate constants 2
    n_reactions; each only where it is needed.
    """
    return Differentiable(solver)


def _array(x: torch.Tensor) -> Rows:
    """The numbers of a tensor. Raises ValueError inside a vmap, where it has none."""
    try:
        return x.detach().numpy().astype(np.float64)
    except RuntimeError as error:
        raise ValueError(TRANSFORMED) from error


class _Step(torch.autograd.Function):
    """The step and its gradients, in float64 on the CPU."""

    @staticmethod
    def forward(ctx: Any, of: tuple[Integrator, float], T, p, Y, ln_A) -> Tensors:
        solver, dt = of[0].warned_of(p.detach().numpy()), of[1]
        factors = None if ln_A is None else np.exp(ln_A.detach().numpy().astype(np.float64))
        ctx.solver, ctx.dt, ctx.factors = solver, dt, factors
        ctx.given = [x.detach().numpy().astype(np.float64) for x in (T, p, Y)]
        own = solver
        if factors is not None:
            factors_of(solver)
            own = solver.with_multipliers(factors)  # type: ignore[attr-defined]
        ctx.own, ctx.dtype = own, T.dtype
        after = own.advance(ctx.given[0], ctx.given[1], ctx.given[2], dt, EXACT)
        return torch.from_numpy(after[0]).to(T.dtype), torch.from_numpy(after[1]).to(T.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        if torch.is_grad_enabled():  # it would be taken as a constant
            raise ValueError(f"{SECOND}: give create_graph=False")
        by: Rows = np.column_stack([_array(g) for g in grads])  # (n, columns)
        T, p, Y = ctx.given
        found: list[torch.Tensor | None] = [None] * 5
        dtype = grads[0].dtype
        if any(ctx.needs_input_grad[1:4]):
            gradient = np.einsum("ni,nij->nj", by, state_derivatives(ctx.own, T, p, Y, ctx.dt))
            parts = gradient[:, 0], gradient[:, 1], gradient[:, 2:]
            found[1:4] = [torch.from_numpy(np.ascontiguousarray(x)).to(dtype) for x in parts]
        if ctx.needs_input_grad[4]:
            rates = rate_derivatives(ctx.solver, T, p, Y, ctx.dt, ctx.factors)
            found[4] = torch.from_numpy(np.einsum("ni,nij->j", by, rates)).to(dtype)
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, _, *tangents: torch.Tensor | None) -> Tensors:
        T, p, Y = ctx.given
        moved = np.zeros((len(T), 1 + Y.shape[1]))
        move = [None if x is None else _array(x) for x in tangents]
        if any(x is not None for x in move[:3]):
            pairs = zip(ctx.given, move[:3], strict=True)
            rows = np.column_stack([np.zeros_like(x) if dx is None else dx for x, dx in pairs])
            moved += np.einsum("nij,nj->ni", state_derivatives(ctx.own, T, p, Y, ctx.dt), rows)
        if move[3] is not None:
            rates = rate_derivatives(ctx.solver, T, p, Y, ctx.dt, ctx.factors)
            moved += np.einsum("nij,j->ni", rates, move[3])
        later = torch.from_numpy(moved).to(ctx.dtype)
        return later[:, 0].clone(), later[:, 1:].clone()
