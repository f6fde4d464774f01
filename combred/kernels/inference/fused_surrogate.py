"""A whole surrogate as one Triton kernel, which reads each state once and writes it once.

Takes a `Surrogate` whose network sees the state alone and has hidden layers of at most 512 units,
on a CUDA device; gives a `FusedSurrogate`, which computes what `Surrogate.forward` and
`Surrogate.step` do. Networks that correct reaction rates need step size control, which the kernel
does not have, and are refused. Each program of the kernel takes a block of states through the
transform, the layers (`fused_network`) and the closure (`fused_closure`); no intermediate result is
written to memory. Widths and mechanism are part of the program, so each surrogate has its own,
compiled in the first call.
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
from combred.kernels.inference.fused_transform import columns, expm1, real
from combred.surrogate.advance import StateFunction
from combred.surrogate.surrogate import Surrogate


@triton.jit
def state_tile(state, rows, n, N: tl.constexpr, C: tl.constexpr, LAST: tl.constexpr):
    """(B, C) states of some rows; 1 beyond the last row n and the last column N.

    LAST: the states are not needed again. The different eviction policy also keeps the compiler
    from holding the values of the first read in registers.
    """
    column = tl.arange(0, C)
    exists = (rows < n)[:, None] & (column < N)[None, :]
    at = state + rows.to(tl.int64)[:, None] * N + column[None, :]
    return tl.load(at, mask=exists, other=1.0, eviction_policy="evict_first" if LAST else "")


@triton.jit(noinline=True)
def features(
    state, first, n, mean, inverse_std, MODEL: tl.constexpr,
    N: tl.constexpr, C: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """(B, C) inputs of the network for the states from `first` on, float32, zero beyond column N.

    In float32, F(Y) = expm1(lam ln Y) / lam is accurate where Y is near 1 and hardly varies, as for
    N2. MODEL.double: some species varies so little that F has to be computed in float64.

    noinline: otherwise the compiler propagates the layout of the network's operands into this
    function, and all registers spill.
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
def network_outputs(
    state, first, n, mean, inverse_std, weights, rest, bias, MODEL: tl.constexpr,
    PLAN: tl.constexpr, N: tl.constexpr, C: tl.constexpr, B: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """(B, C) outputs of the network for the B states from `first` on, AT_ONCE states at a time.

    The closure uses one thread per state; wide layers leave room for fewer states at once than a
    program has threads.
    """
    PARTS: tl.constexpr = B // AT_ONCE
    if PARTS == 1:
        x = features(state, first, n, mean, inverse_std, MODEL, N, C, B)
        return network((x,), weights, rest, bias, PLAN, B)
    else:
        outputs = tl.zeros((PARTS, AT_ONCE, C), tl.float32)
        part = tl.arange(0, PARTS)[:, None, None]
        for i in tl.range(0, PARTS, num_stages=1):
            start = first + i * AT_ONCE
            x = features(state, start, n, mean, inverse_std, MODEL, N, C, AT_ONCE)
            z = network((x,), weights, rest, bias, PLAN, AT_ONCE)
            outputs = tl.where(part == i, z[None, :, :], outputs)
        return tl.reshape(outputs, (B, C))


# Specialising these would not make the program faster, and each case would be compiled separately.
@triton.jit(
    do_not_specialize=["n"], do_not_specialize_on_alignment=["state", "later", "closure_error"]
)
def advance_kernel(
    state, later, closure_error, n, mean, inverse_std, scale, weights, rest, bias,
    MODEL: tl.constexpr, PLAN: tl.constexpr, LIMITS: tl.constexpr,
    N: tl.constexpr, C: tl.constexpr, B: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """B rows, from program_id B on, of `later` (n, N) and, with LIMITS, of `closure_error` (n,).

    The state is read again, from cache, for the network and for the closure: keeping it would take
    too many registers.
    """
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    z = network_outputs(
        state, first, n, mean, inverse_std, weights, rest, bias, MODEL, PLAN, N, C, B, AT_ONCE
    )
    before = columns(state_tile(state, rows, n, N, C, True), C)
    after = apply_closure(before, columns(z, C), scale, MODEL, LIMITS, N)
    for i in tl.static_range(N):
        tl.store(later + rows.to(tl.int64) * N + i, after[i], mask=rows < n)
    if LIMITS is not None:
        tl.store(closure_error + rows, after[N], mask=rows < n)


class FusedSurrogate:
    """A `Surrogate` as one kernel: a call computes what `Surrogate.forward` does, without gradient.

    surrogate: see `packing.obstacle` for what can be fused; precision: a key of
    `packing.PRECISIONS`. The weights are copied: make a new object after further training. It lives
    on the device of the surrogate. The first call compiles, for some 10 s, and has to precede the
    capture of a CUDA graph; later calls do not wait for the device. Raises ValueError if the
    surrogate cannot be fused.
    """

    def __init__(self, surrogate: Surrogate, precision: str):
        packing.require_one_dt(surrogate)
        reason = packing.obstacle(surrogate)
        if reason:
            raise ValueError(f"{reason}: take implementation='eager', or another network")
        packing.require_precision(precision)
        self.surrogate, self.precision = surrogate, precision
        self.device = surrogate.max_mahalanobis.device
        columns = max(16, triton.next_power_of_2(surrogate.n))
        layers = packing.layers_of(surrogate.network.widths, columns, precision)
        steps = packing.plan(layers)
        self.blocking = packing.blocking(steps)
        self.tables = (
            *packing.standardization(surrogate, columns),
            *packing.pack(surrogate, layers),
        )
        self.constants = {
            "MODEL": packing.model_of(surrogate), "PLAN": steps, "N": surrogate.n, "C": columns,
        }  # fmt: skip
        self.limits = surrogate.STATE_SHARE, surrogate.STATE_FLOOR_Y, surrogate.STATE_FLOOR_T

    @torch.no_grad()
    def __call__(self, state: Tensor, out: Tensor | None = None) -> Tensor:
        """States one time step of the surrogate later.

        state: (n, 2 + n_species) float64, columns T [K], p [Pa] and Y. The result has the same
        shape; it is written to `out` if that is given: contiguous, of the same shape, and possibly
        `state` itself. Raises ValueError if `state` or `out` has another shape, type or device.
        """
        return self._launch(state, out, with_closure_error=False)[0]

    @torch.no_grad()
    def next_state_and_closure(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """States one time step later, and the closure error (n,) of each: the error estimate of
        `Surrogate.step` over the default tolerance."""
        return self._launch(state, None, with_closure_error=True)

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The kernel as an `Advance` (see `combred.chemistry.reactor`). Raises ValueError for a dt
        [s] that is not the surrogate's, which is part of the kernel."""
        return StateFunction(self._step, self.device).advance(T, p, Y, dt)

    def _step(self, state: Tensor, dt: Tensor) -> Tensor:
        self.surrogate.require_steps(dt, len(state))
        return self(state)

    def _launch(
        self, state: Tensor, out: Tensor | None, with_closure_error: bool
    ) -> tuple[Tensor, Tensor]:
        self.surrogate.require_states(state)
        require_device(state, self.device)
        state = state.contiguous()
        later = torch.empty_like(state) if out is None else out
        require_out(later, state)
        closure_error = state.new_empty(len(state) if with_closure_error else 0)
        blocking, limits = self.blocking, self.limits if with_closure_error else None
        if not len(state):
            return later, closure_error
        try:
            with torch.cuda.device_of(state):
                advance_kernel[(triton.cdiv(len(state), blocking.states),)](
                    state, later, closure_error, len(state), *self.tables, **self.constants,
                    LIMITS=limits, B=blocking.states, AT_ONCE=blocking.at_once,
                    num_warps=blocking.warps, num_stages=blocking.stages, enable_fp_fusion=True,
                )  # fmt: skip
        except triton.runtime.errors.OutOfResources:
            # In the first call only, on a device with less shared memory than an H200.
            if blocking.stages == 1:
                raise
            self.blocking = replace(blocking, stages=blocking.stages - 1)
            return self._launch(state, later, with_closure_error)
        return later, closure_error


def require_device(state: Tensor, device: torch.device) -> None:
    """Raise ValueError unless the states are on the device of the surrogate."""
    if state.device != device:
        raise ValueError(
            f"the states are on {state.device}, the surrogate on {device}: move one of them, the "
            "surrogate before it is fused"
        )


def require_out(out: Tensor, state: Tensor) -> None:
    """Raise ValueError unless `out` can hold the states of the next time step."""
    fits = out.shape == state.shape and out.dtype == state.dtype and out.device == state.device
    if not fits or not out.is_contiguous():
        raise ValueError(
            f"out is a contiguous float64 tensor of shape {tuple(state.shape)} on {state.device}; "
            f"this one is {out.dtype} of shape {tuple(out.shape)} on {out.device}"
        )
