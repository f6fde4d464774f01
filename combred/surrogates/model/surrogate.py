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
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows, Tolerance, require_tolerance, states_of, steps_of
from combred.chemistry.stepper import Solution, Stepper
from combred.surrogates.model.calibration import gaussian_inputs, random_steps
from combred.surrogates.model.closure import Closure
from combred.surrogates.model.network import Network
from combred.surrogates.model.tolerance import NETWORK_TOLERANCE
from combred.surrogates.model.training_range import Trained
from combred.surrogates.model.transform import StateTransform


class Surrogate(Trained, Stepper):
    """Chemistry over a time step at constant pressure and enthalpy, in place of CVODE: one step of
    a network, and an estimate of its error.

    Raises ValueError if the network's widths do not fit the transform and the mechanism.
    """

    __jit_unused_properties__ = ["dt_range"]
    kinetics = False  # whether the network corrects QSS steps
    remedy = ""  # of states that the network is not trusted with
    refused = ""  # the same, in words
    # TorchScript does not inherit annotations.
    __constants__ = ("TOLERANCE", "LOWEST_T", "HIGHEST_T", "kinetics")

    # The default tolerance: the largest error estimate of a step that is trusted, relative to its
    # change. Chosen by ignitions and states of flows (docs/tried.md, 2026-11-25).
    TOLERANCE: Final[float] = NETWORK_TOLERANCE

    def __init__(self, mechanism: Mechanism, transform: StateTransform, network: Network):
        super().__init__(2 + mechanism.n_species, transform)
        n = self.n
        widths = [network.widths[0], network.widths[-1]]
        if widths != [transform.n_inputs, transform.n_outputs]:
            raise ValueError(
                f"a network for {mechanism.name} maps {transform.n_inputs} inputs to "
                f"{transform.n_outputs} outputs, of the change of {n} variables (T, p, {n - 2} "
                f"species); this one has widths {network.widths}"
            )
        self.mechanism = mechanism
        self.species = list(mechanism.species_names)  # read by those who load the exported file
        self.network = network
        self.closure = Closure(mechanism)

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
        Y_raw = self.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
        T_raw = self.predicted_temperature(T, Y, change[:, 0], Y_raw)
        T_next, Y_next, conserves = self.closure(T, Y, T_raw, Y_raw)
        later = torch.cat([T_next[:, None], p[:, None], Y_next], dim=1)
        raw = torch.cat([T_raw[:, None], p[:, None], Y_raw], dim=1)
        moved = self.largest_change(raw, later)
        error = self.relative_error(change, estimate, moved, self.largest_change(state, later))
        return later, torch.where(conserves & torch.isfinite(error), error, torch.inf)

    def predicted_temperature(self, T: Tensor, Y: Tensor, dT: Tensor, Y_raw: Tensor) -> Tensor:
        """The prediction of T (n,) [K] before the closure, of states T (n,), Y (n, n_species) and
        the predictions dT (n,) [K] of its change and Y_raw (n, n_species)."""
        return T + dT

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
