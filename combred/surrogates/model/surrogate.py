"""The surrogate: maps a thermochemical state to the state a time step dt later.

Takes [T, p, Y] and dt in SI units, float64; gives [T, p, Y] after dt and an error estimate. A step
has these parts, in this order: the transform of the state, the network, the inverse transform of
the change, and the closure, which conserves elements, mass and enthalpy. A step whose error
estimate exceeds the tolerance is for a stiff solver: `combred.native.compile` has it behind the
network. The network computes in float32, all else in float64. T, p and Y are transformed here and
nowhere else. `model.forms` has the two kinds of surrogates.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import (
    HIGHEST_T,
    LOWEST_T,
    Real,
    Rows,
    Tolerance,
    require_tolerance,
    states_of,
    steps_of,
)
from combred.chemistry.stepper import Solution, Stepper
from combred.surrogates.model.calibration import gaussian_inputs, random_steps
from combred.surrogates.model.closure import Closure
from combred.surrogates.model.network import Network
from combred.surrogates.model.tolerance import NETWORK_TOLERANCE, usual_p
from combred.surrogates.model.training_range import (
    damped_inverse,
    range_of_states,
    squared_distance,
)
from combred.surrogates.model.transform import StateTransform


class Surrogate(nn.Module, Stepper):
    """Chemistry over a time step at constant pressure and enthalpy, in place of CVODE: one step of
    a network, and an estimate of its error.

    Raises ValueError if the network's widths do not fit the transform and the mechanism.
    """

    __jit_unused_properties__ = ["dt_range"]
    kinetics = False  # whether the network corrects QSS steps
    inverse_covariance: Tensor
    max_mahalanobis: Tensor
    remedy = ""  # of states that the network is not trusted with
    refused = ""  # the same, in words
    # TorchScript does not inherit annotations.
    __constants__ = ("TOLERANCE", "LOWEST_T", "HIGHEST_T", "kinetics")

    # The default tolerance: the largest error estimate of a step that is trusted, relative to its
    # change. Chosen by ignitions and states of flows (docs/findings.md, 2026-11-25).
    TOLERANCE: Final[float] = NETWORK_TOLERANCE

    # Of a state that is valid [K].
    LOWEST_T: Final[float] = LOWEST_T
    HIGHEST_T: Final[float] = HIGHEST_T

    def __init__(self, mechanism: Mechanism, transform: StateTransform, network: Network):
        super().__init__()
        n = 2 + mechanism.n_species
        widths = [network.widths[0], network.widths[-1]]
        if widths != [transform.n_inputs, transform.n_outputs]:
            raise ValueError(
                f"a network for {mechanism.name} maps {transform.n_inputs} inputs to "
                f"{transform.n_outputs} outputs, of the change of {n} variables (T, p, {n - 2} "
                f"species); this one has widths {network.widths}"
            )
        self.n, self.mechanism = n, mechanism
        self.species = list(mechanism.species_names)  # read by those who load the exported file
        self.transform = transform
        self.network = network
        self.closure = Closure(mechanism)
        # Of the training states' features; the largest distance is squared, see `training_range`.
        self.register_buffer("inverse_covariance", torch.zeros(n, n, dtype=torch.float64))
        self.register_buffer("max_mahalanobis", torch.tensor(torch.inf, dtype=torch.float64))

    @property
    def dt_range(self) -> tuple[float, float]:
        """The smallest and the largest dt [s] of a step in training; equal for a network of the
        state alone, which takes no other."""
        low, high = self.transform.dt_range.tolist()
        return low, high

    def forward(self, state: Tensor, dt: Tensor) -> Tensor:
        """The states dt (n,) [s] later, (n, 2 + n_species), of states [T, p, Y] (n, 2 + n_species)
        [K, Pa, -], both float64, whatever their error. Raises ValueError as
        `next_state_and_error`."""
        return self.next_state_and_error(state, dt)[0]

    @torch.jit.export
    def next_state_and_error(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt (n,) [s] later, as `forward` gives them, and the error ratio of each (n,):
        the error estimate (`step`) over the default tolerance. It is infinite for a state that is
        not valid, and where the network was not trained for such a step (`takes`).

        Raises ValueError for other shapes and types, for dt that is not positive and finite, and of
        a network of the state alone for any dt but its own.
        """
        self.require_states(state)
        self.require_steps(dt, len(state))
        later, error = self.step(state, dt)
        return later, torch.where(self.takes(state, dt), error / self.TOLERANCE, torch.inf)

    @torch.jit.export
    def trust(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: whether the step over dt (n,) [s] is within the default tolerance."""
        return self.next_state_and_error(state, dt)[1] <= 1.0

    @torch.jit.export
    def source(self, state: Tensor, dt: Tensor) -> Tensor:
        """Mean rate of change of Y over dt (n,) [s], (n, n_species) [1/s]."""
        return (self.forward(state, dt)[:, 2:] - self.normalized(state[:, 2:])) / dt[:, None]

    def step(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        """One step, whatever its error: the states dt (n,) [s] later, (n, 2 + n_species), and the
        error estimate of each, relative to its change (n,) [-] (`relative_error`). Infinite where
        no small correction conserves elements and enthalpy."""
        Y = self.normalized(state[:, 2:])
        T, p = state[:, 0], state[:, 1]
        state = torch.cat([state[:, :2], Y], dim=1)
        variables = self.transform.variables(state)
        change, estimate = self.predicted_change(state, variables, dt)
        T_raw = T + change[:, 0]
        Y_raw = self.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
        T_next, Y_next, conserves = self.closure(T, Y, T_raw, Y_raw)
        later = torch.cat([T_next[:, None], p[:, None], Y_next], dim=1)
        raw = torch.cat([T_raw[:, None], p[:, None], Y_raw], dim=1)
        moved = self.largest_change(raw, later)
        error = self.relative_error(change, estimate, moved, self.largest_change(state, later))
        return later, torch.where(conserves & torch.isfinite(error), error, torch.inf)

    def largest_change(self, before: Tensor, after: Tensor) -> Tensor:
        """|dT| [K] and the largest |dY| between states, (2, n)."""
        size = (after - before).abs()
        return torch.stack([size[:, 0], size[:, 2:].amax(dim=1)])

    def relative_error(
        self, change: Tensor, estimate: Tensor, moved: Tensor, changed: Tensor
    ) -> Tensor:
        """The error estimate of steps, relative to their change (n,).

        change (n, 2 + n_species): predicted, of the transform's variables; estimate (n,): the
        network's, over `scale`; moved, changed (2, n): `largest_change` of the closure's correction
        and of the step.
        """
        raise NotImplementedError

    def takes(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: whether a network may be asked for a step over dt (n,) [s] of states."""
        raise NotImplementedError

    def predicted_change(
        self, state: Tensor, variables: Tensor, dt: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The prediction of the change of `variables` over dt (n,) [s], (n, 2 + n_species), before
        the closure, and the network's estimate of its error, over `scale` (n,)."""
        x, base, size = self.transform.prepared(state, variables, dt)
        answer = self.network(x).to(torch.float64)
        correction, estimate = self.transform.correction(answer, size)
        return base + correction, estimate

    def require_states(self, state: Tensor) -> None:
        """ValueError unless `state` is float64 of shape (n, 2 + n_species)."""
        if state.dim() != 2 or state.size(1) != self.n or state.dtype != torch.float64:
            other = "" if state.dtype == torch.float64 else ", of another type: give .double()"
            raise ValueError(
                f"states are float64 of shape (n, {self.n}): T [K], p [Pa] and mass fractions Y; "
                f"these have shape {state.size()}{other}"
            )

    def require_steps(self, dt: Tensor, n: int) -> None:
        """ValueError unless `dt` is float64 of shape (n,), positive and finite."""
        if dt.dim() != 1 or dt.size(0) != n or dt.dtype != torch.float64:
            raise ValueError(
                f"the time steps of {n} states are float64 of shape ({n},), in s; these have shape "
                f"{dt.size()}"
            )
        wrong = ~((dt > 0.0) & torch.isfinite(dt))
        if self.can_be_read(dt) and bool(wrong.any()):
            raise ValueError(
                f"time steps are positive and finite, in s; one of these is {float(dt[wrong][0])}"
            )

    def can_be_read(self, dt: Tensor) -> bool:
        """Whether values can be read now: not during the capture of a CUDA graph. The call before
        it read them."""
        if not torch.jit.is_scripting():
            return not (dt.is_cuda and torch.cuda.is_current_stream_capturing())
        return True

    def normalized(self, Y: Tensor) -> Tensor:
        """Y (n, n_species) clipped at zero and scaled to sum 1: a transport step leaves small
        errors in both."""
        Y = Y.clamp(min=0.0)
        return Y / Y.sum(dim=1, keepdim=True)

    @torch.jit.export
    def in_training_range(self, state: Tensor) -> Tensor:
        """(n,) bool: the state is valid and like those of the training. Every variable of
        [T, p, F(Y)] is inside its range in training, and the Mahalanobis distance from the mean is
        at most that of the farthest training state."""
        self.require_states(state)
        variables = self.transform.variables(state)
        x = self.transform.features(variables)
        low, high = self.limits()
        inside = ((variables >= low) & (variables <= high)).all(dim=1)
        near = squared_distance(x, self.inverse_covariance) <= self.max_mahalanobis * (1.0 + 1e-9)
        return inside & near & self.is_valid_state(state)

    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest [T, p, F(Y)] of `in_training_range`, (2 + n_species,) each: those of
        the training, and 1e-3 of the range beyond, for rounding and transport errors."""
        low, high = self.transform.low, self.transform.high
        margin = 1e-3 * (high - low)
        return low - margin, high + margin

    def is_valid_state(self, state: Tensor) -> Tensor:
        """(n,) bool: all values are finite, T is from 100 to 6000 K, p is positive, no Y is below
        -1e-6 and sum Y is 1 within 1e-3."""
        T, p = state[:, 0], state[:, 1]
        valid = torch.isfinite(state).all(dim=1) & (p > 0.0)
        valid = valid & (T >= self.LOWEST_T) & (T <= self.HIGHEST_T)
        valid = valid & (state[:, 2:] >= -1e-6).all(dim=1)
        return valid & ((state[:, 2:].sum(dim=1) - 1.0).abs() < 1e-3)

    @torch.jit.ignore
    def network_inputs(self, states: Tensor | Iterable[Tensor] | None) -> Tensor:
        """Network inputs (n, n_inputs) by which a reduction of the network is calibrated.

        states: [T (K), p (Pa), Y], (n, 2 + n_species), float64, or batches of them, each of which
        is given a dt at random from the range of training; None: Gaussian inputs with the
        covariance of the training inputs. Raises ValueError for other states.
        """
        if states is None:
            return gaussian_inputs(self.transform)
        state = states if isinstance(states, Tensor) else torch.cat(list(states))
        if state.dtype != torch.float64:
            raise ValueError(f"states are float64, these are {state.dtype}: give states.double()")
        self.require_states(state)
        return self.transform.inputs(state, random_steps(self.transform, len(state), seed=0))

    def fit_trust(self, chunks: Iterable[Tensor]) -> None:
        """Set the limits of `in_training_range` from the training states, (n, 2 + n_species) each,
        streamed. The transform must have been fitted to them."""
        self.inverse_covariance.copy_(damped_inverse(self.transform.covariance))
        farthest = range_of_states(self.transform, self.inverse_covariance, chunks)[2]
        self.max_mahalanobis.copy_(farthest)

    @torch.jit.ignore
    def narrow_trust(self, chunks: Iterable[Tensor]) -> None:
        """Restrict `in_training_range` to the range of these states, (n, 2 + n_species) each,
        streamed; what was outside before stays outside."""
        t = self.transform
        low, high, farthest = range_of_states(t, self.inverse_covariance, chunks)
        t.low.copy_(torch.maximum(t.low, torch.minimum(low, t.high)))
        t.high.copy_(torch.minimum(t.high, torch.maximum(high, t.low)))
        self.max_mahalanobis.copy_(torch.minimum(self.max_mahalanobis, farthest))

    @torch.jit.ignore
    def usual_p(self) -> tuple[float, float]:
        """As of `Stepper`: `FAR` times below and above those of the training."""
        t = self.transform
        return usual_p(*t.pressure(torch.stack([t.low[1], t.high[1]])).tolist())

    @torch.jit.ignore
    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Stepper.attempt`, by the network alone, in one step: a row whose error ratio exceeds
        1 is as it was."""
        states, device = states_of(T, p, Y), self.max_mahalanobis.device
        tolerance = self.TOLERANCE if tolerance is None else require_tolerance(tolerance)
        state = torch.as_tensor(states, device=device)
        steps = torch.as_tensor(steps_of(dt, len(states)), device=device)
        with torch.no_grad():
            later, error = (x.cpu().numpy() for x in self.next_state_and_error(state, steps))
        error = error * (self.TOLERANCE / tolerance)
        later = np.where((error <= 1.0)[:, None], later, states)
        return Solution(later[:, 0], later[:, 1], later[:, 2:], error, np.zeros(len(later), int))

    @torch.jit.ignore
    def _why(self, found: Solution, i: int, dt: float) -> str:
        low, high = self.dt_range
        return (
            f"the network is not trusted with its step of dt = {dt:g} s, whose error ratio is "
            f"{found.error[i]:.3g}: it takes dt from {low:.3g} to {high:.3g} s, and is trusted up "
            f"to a ratio of 1. {self.remedy}; surrogate(state, dt) gives the step as it is"
        )
