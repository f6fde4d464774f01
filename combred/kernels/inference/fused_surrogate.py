"""A whole surrogate in one launch: [T, p, Y] read from memory once, written once, dt later.

Takes a `Surrogate` of hidden widths up to 512 on a CUDA device; gives a `FusedSurrogate`, which
answers as `Surrogate.forward` and `closed` do. A program of the kernel takes a block of states
through the quasi-steady prediction (`fused_quasi_steady`, where the network corrects them),
transform, layers (`fused_network`) and closure (`fused_closure`); nothing else is written to
memory. Widths and mechanism are part of the program: each surrogate has its own, compiled in its
first call.
"""

from dataclasses import replace

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from combred.kernels.inference import packing
from combred.kernels.inference.fused_closure import apply_closure, normalized
from combred.kernels.inference.fused_network import network
from combred.kernels.inference.fused_quasi_steady import qss_prediction
from combred.kernels.inference.fused_transform import columns, expm1, real, tile
from combred.surrogate.advance import StateFunction
from combred.surrogate.surrogate import Surrogate


@triton.jit
def state_tile(state, rows, n, N: tl.constexpr, C: tl.constexpr, LAST: tl.constexpr):
    """(B, C) states of some rows, one where there are none. LAST: they are not needed again; which
    also tells the compiler that it is not to keep what it read first."""
    at = tl.arange(0, C)
    there = (rows < n)[:, None] & (at < N)[None, :]
    at = state + rows.to(tl.int64)[:, None] * N + at[None, :]
    return tl.load(at, mask=there, other=1.0, eviction_policy="evict_first" if LAST else "")


@triton.jit(noinline=True)
def features(
    state, first, n, mean, inverse_std, MODEL: tl.constexpr,
    N: tl.constexpr, C: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """(B, C) the network's input for the states from `first` on, float32, zero beyond column N.

    In float32, F(Y) = expm1(lam ln Y) / lam keeps its digits where Y is near 1, as of N2, which
    hardly varies; MODEL.double: some species varies so little that F has to be float64.

    noinline: else the layout that the network wants of its operands is carried back into here, and
    everything spills.
    """
    x = state_tile(state, first + tl.arange(0, B), n, N, C, False)
    _, total = normalized(columns(x, C), N)
    at = tl.arange(0, C)
    mean = tl.load(mean + at)[None, :]
    inverse_std = tl.load(inverse_std + at)[None, :]
    fractions = ((at >= 2) & (at < N))[None, :]
    Y = x * (1.0 / total)[:, None]
    Y = tl.where(Y < MODEL.floor, MODEL.floor, Y)
    if MODEL.double:
        lam = real(MODEL.lam)
        F = (tl.exp(lam * tl.log(tl.where(fractions, Y, 1.0))) - 1.0) / lam
        return (tl.where(fractions, F, x) - mean).to(tl.float32) * inverse_std
    else:
        value = tl.where(fractions, Y, x - mean).to(tl.float32)
        ln = tl.log(tl.where(fractions, value, 1.0))
        F = expm1(MODEL.lam * ln) * MODEL.inverse_lam - mean.to(tl.float32)
        return tl.where(fractions, F, value) * inverse_std


@triton.jit
def qss_inputs(seen, mean, inverse_std, LAYER: tl.constexpr, C: tl.constexpr):
    """The quasi-steady prediction, given by columns, as the pieces of the network's input after the state's
    own C columns, standardised."""
    pieces = ()
    for i in tl.static_range(1, len(LAYER.pieces)):
        at = LAYER.pieces[i][0] - C + tl.arange(0, LAYER.pieces[i][1])
        x = tile(seen, LAYER.pieces[i][0] - C, LAYER.pieces[i][1])
        x = (x - tl.load(mean + at)[None, :]) * tl.load(inverse_std + at)[None, :]
        pieces = pieces + (x,)
    return pieces


@triton.jit
def answers(
    state, first, n, beside, mean, inverse_std, weights, rest, bias, MODEL: tl.constexpr,
    PLAN: tl.constexpr, N: tl.constexpr, C: tl.constexpr, B: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """(B, C): what the network says of the B states from `first` on, AT_ONCE of them at a time;
    `beside`: the inputs beside the state's own, pieces (B, width).

    Wide layers leave room for fewer states than a program has threads, and the closure wants one
    for each.
    """
    PARTS: tl.constexpr = B // AT_ONCE
    if PARTS == 1:
        x = features(state, first, n, mean, inverse_std, MODEL, N, C, B)
        return network((x,) + beside, weights, rest, bias, PLAN, B)
    else:
        all_of_them = tl.zeros((PARTS, AT_ONCE, C), tl.float32)
        part = tl.arange(0, PARTS)[:, None, None]
        for i in tl.range(0, PARTS, num_stages=1):
            start = first + i * AT_ONCE
            x = features(state, start, n, mean, inverse_std, MODEL, N, C, AT_ONCE)
            x = (x,) + parts(beside, part == i, PARTS, AT_ONCE)
            z = network(x, weights, rest, bias, PLAN, AT_ONCE)
            all_of_them = tl.where(part == i, z[None, :, :], all_of_them)
        return tl.reshape(all_of_them, (B, C))


@triton.jit
def parts(x, this, PARTS: tl.constexpr, AT_ONCE: tl.constexpr):
    """Of each piece (PARTS AT_ONCE, width) the states of one part: `this` tells which."""
    out = ()
    for i in tl.static_range(len(x)):
        apart = tl.reshape(x[i], (PARTS, AT_ONCE, x[i].shape[1]))
        out = out + (tl.sum(tl.where(this, apart, 0.0), axis=0),)
    return out


# Neither of these makes the program faster, and each case would be compiled anew.
@triton.jit(
    do_not_specialize=["n"], do_not_specialize_on_alignment=["state", "later", "closure_error"]
)
def advance_kernel(
    state, later, closure_error, n, mean, inverse_std, scale, told_mean, told_inverse_std,
    weights, rest, bias, MODEL: tl.constexpr, PLAN: tl.constexpr, LIMITS: tl.constexpr,
    N: tl.constexpr, C: tl.constexpr, B: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """Rows program_id B and on of `later` (n, N), and of `closure_error` (n,) where LIMITS are given.

    The state is read again for the network and for the closure, from cache: kept in registers, it
    would leave them too few.
    """
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    told, beside = (), ()
    if MODEL.rates is not None:
        before = columns(state_tile(state, rows, n, N, C, False), C)
        told, seen = qss_prediction(before, scale, MODEL, N)
        beside = qss_inputs(seen, told_mean, told_inverse_std, PLAN[0].first, C)
    z = answers(
        state, first, n, beside, mean, inverse_std, weights, rest, bias, MODEL, PLAN, N, C, B,
        AT_ONCE,
    )  # fmt: skip
    before = columns(state_tile(state, rows, n, N, C, True), C)
    after = apply_closure(before, columns(z, C), told, scale, MODEL, LIMITS, N)
    for i in tl.static_range(N):
        tl.store(later + rows.to(tl.int64) * N + i, after[i], mask=rows < n)
    if LIMITS is not None:
        tl.store(closure_error + rows, after[N], mask=rows < n)


class FusedSurrogate:
    """A `Surrogate` as one kernel: calls take and give what its `forward` does, without gradient.

    Weights are packed when it is made: after more training, make another. It lives on the
    surrogate's device. The first call compiles (10 s, 20 s with the rates of 84 reactions, minutes
    with those of 325), and has to precede the capture of a CUDA graph; no later one waits for the
    device.
    """

    def __init__(self, surrogate: Surrogate, precision: str):
        reason = packing.obstacle(surrogate)
        if reason:
            raise ValueError(f"{reason}: take implementation='eager', or another network")
        packing.require_precision(precision)
        self.surrogate, self.precision = surrogate, precision
        self.device = surrogate.max_mahalanobis.device
        columns = max(16, triton.next_power_of_2(surrogate.n))
        told_columns = packing.told_columns(surrogate)
        layers = packing.layers_of(surrogate.network.widths, columns, told_columns, precision)
        steps = packing.plan(layers)
        self.blocking = packing.blocking(steps)
        self.tables = (
            *packing.standardization(surrogate, columns, told_columns),
            *packing.pack(surrogate, layers),
        )
        self.constants = {
            "MODEL": packing.model_of(surrogate), "PLAN": steps, "N": surrogate.n, "C": columns,
        }  # fmt: skip
        self.limits = surrogate.SHARE, surrogate.FLOOR_Y, surrogate.FLOOR_T

    @torch.no_grad()
    def __call__(self, state: Tensor, out: Tensor | None = None) -> Tensor:
        """States [T, p, Y] (n, 2 + n_species) [K, Pa, -], float64, dt later; in `out` where it is
        given, contiguous, of the same shape, and it may be `state` itself."""
        return self._launch(state, out, doubt=False)[0]

    @torch.no_grad()
    def next_state_and_closure(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt later, and what the closure moved of the network's answer (n,), in units of
        what it may move: see `Surrogate.next_state_and_closure`."""
        return self._launch(state, None, doubt=True)

    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kernel as an `Advance` (see `combred.chemistry.reactor`)."""
        return StateFunction(self, self.device).advance(T, p, Y)

    def _launch(self, state: Tensor, out: Tensor | None, doubt: bool) -> tuple[Tensor, Tensor]:
        self.surrogate.require_states(state)
        require_device(state, self.device)
        state = state.contiguous()
        later = torch.empty_like(state) if out is None else out
        require_out(later, state)
        doubts = torch.empty(len(state) if doubt else 0, dtype=torch.float64, device=state.device)
        blocking, limits = self.blocking, self.limits if doubt else None
        if not len(state):
            return later, doubts
        try:
            with torch.cuda.device_of(state):
                advance_kernel[(triton.cdiv(len(state), blocking.states),)](
                    state, later, doubts, len(state), *self.tables, **self.constants,
                    LIMITS=limits, B=blocking.states, AT_ONCE=blocking.at_once,
                    num_warps=blocking.warps, num_stages=blocking.stages, enable_fp_fusion=True,
                )  # fmt: skip
        except triton.runtime.errors.OutOfResources:
            # In the first call only: other devices have less shared memory than an H200.
            if blocking.stages == 1:
                raise
            self.blocking = replace(blocking, stages=blocking.stages - 1)
            return self._launch(state, later, doubt)
        return later, doubts


def require_device(state: Tensor, device: torch.device) -> None:
    """ValueError unless states are where the surrogate is."""
    if state.device != device:
        raise ValueError(
            f"the states are on {state.device}, the surrogate on {device}: move one of them, the "
            "surrogate before it is fused"
        )


def require_out(out: Tensor, state: Tensor) -> None:
    """ValueError unless `out` can take the states dt later."""
    fits = out.shape == state.shape and out.dtype == state.dtype and out.device == state.device
    if not fits or not out.is_contiguous():
        raise ValueError(
            f"out is a contiguous float64 tensor of shape {tuple(state.shape)} on {state.device}; "
            f"this one is {out.dtype} of shape {tuple(out.shape)} on {out.device}"
        )
