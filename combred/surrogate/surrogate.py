"""The surrogate: maps a thermochemical state to the state one time step later.

Takes [T, p, Y] and the time step dt in SI units, float64; gives [T, p, Y] after dt. Its parts, in
this order: the transform of the state, the network, the inverse transform of the change, and the
closure, which conserves elements, mass and enthalpy. The network computes in float32, all else in
float64. T, p and Y are transformed here and nowhere else.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry.element_projection import ElementProjection
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.surrogate.advance import StateFunction
from combred.surrogate.network import Network
from combred.surrogate.training_range import damped_inverse, range_of_states, squared_distance
from combred.surrogate.transform import StateTransform


class Surrogate(nn.Module):
    """Chemistry over a time step at constant pressure and enthalpy, in place of CVODE.

    Every method takes the time step of each state, dt (n,) [s], float64. A network knows one value
    alone, `dt` [s]: `dt_range` [s], the smallest and the largest that it takes, is (dt, dt).

    The closure follows the network: inert species are copied, the mass fractions are projected
    onto the elements of the initial state with Y >= 0 and sum Y = 1, and T follows from constant
    enthalpy. The size of this correction is an error estimate (`closure_error`): a prediction
    that violates conservation is wrong by about that amount.

    Raises ValueError if the network's widths do not fit the transform and the mechanism.
    """

    # Tolerance on the closure's correction: a share of the step's own change, plus a floor.
    # Chosen and measured with benchmarks/trust.py.
    SHARE: Final[float] = 0.07
    FLOOR_Y: Final[float] = 7e-5
    FLOOR_T: Final[float] = 0.7  # K

    def __init__(
        self, mechanism: Mechanism, dt: float, transform: StateTransform, network: Network
    ):
        super().__init__()
        n = 2 + mechanism.n_species
        if network.widths[0] != transform.n_inputs or network.widths[-1] != n:
            raise ValueError(
                f"a network for {mechanism.name} maps {transform.n_inputs} inputs to the change of "
                f"{n} variables (T, p, {n - 2} species); this one has widths {network.widths}"
            )
        self.dt, self.n = dt, n
        self.dt_range = (dt, dt)
        self.species = list(mechanism.species_names)  # read by those who load the exported file
        self.transform = transform
        self.corrects_rates: bool = transform.evaluations > 0
        self.network = network
        self.thermo = Thermo(mechanism)
        self.projection = ElementProjection(mechanism)
        self.register_buffer("inert", torch.tensor(mechanism.inert))
        # Of the training states' features; the largest distance is squared, see `training_range`.
        self.register_buffer("inverse_covariance", torch.zeros(n, n, dtype=torch.float64))
        self.register_buffer("max_mahalanobis", torch.tensor(torch.inf, dtype=torch.float64))

    def forward(self, state: Tensor, dt: Tensor) -> Tensor:
        """The states dt (n,) [s] later, (n, 2 + n_species), of states [T, p, Y] (n, 2 + n_species)
        [K, Pa, -], both float64. Raises ValueError for another shape or type, and for a time step
        that the network does not know."""
        return self.next_state_and_closure(state, dt)[0]

    def next_state_and_closure(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt (n,) [s] later, and the closure's correction of each over its tolerance
        (n,); infinity where no small correction conserves the elements. See `closure_error`, which
        is also infinite for invalid states."""
        self.require_states(state)
        self.require_steps(dt, len(state))
        Y = self.normalized(state[:, 2:])
        T, p = state[:, 0], state[:, 1]
        state = torch.cat([state[:, :2], Y], dim=1)
        variables = self.transform.variables(state)
        change = self.predicted_change(state, variables)
        Y_raw = self.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
        Y_next, conserves = self.conserving(Y_raw, Y)
        h = self.thermo.enthalpy(T, Y)
        T_next = self.thermo.temperature(h, Y_next, T + change[:, 0])
        later = torch.cat([T_next[:, None], p[:, None], Y_next], dim=1)
        correction_Y = (Y_next - Y_raw).abs().amax(dim=1)
        correction_T = (T_next - T - change[:, 0]).abs()
        tolerance_Y = self.SHARE * (Y_next - Y).abs().amax(dim=1) + self.FLOOR_Y
        tolerance_T = self.SHARE * (T_next - T).abs() + self.FLOOR_T
        error = torch.maximum(correction_Y / tolerance_Y, correction_T / tolerance_T)
        return later, torch.where(conserves, error, torch.inf)

    def require_states(self, state: Tensor) -> None:
        """ValueError unless `state` is float64 of shape (n, 2 + n_species)."""
        if state.dim() != 2 or state.size(1) != self.n or state.dtype != torch.float64:
            raise ValueError(
                f"states are float64 of shape (n, {self.n}): T [K], p [Pa] and mass fractions Y; "
                f"these have shape {state.size()}"
            )

    def require_steps(self, dt: Tensor, n: int) -> None:
        """ValueError unless `dt` is float64 of shape (n,) and equals `self.dt`, within 1e-9."""
        if dt.dim() != 1 or dt.size(0) != n or dt.dtype != torch.float64:
            raise ValueError(
                f"the time steps of {n} states are float64 of shape ({n},), in s; these have shape "
                f"{dt.size()}"
            )
        # Values cannot be read during the capture of a CUDA graph; the call before it read them.
        if not torch.jit.is_scripting():
            if dt.is_cuda and torch.cuda.is_current_stream_capturing():
                return
        other = ~((dt - self.dt).abs() <= 1e-9 * self.dt)  # NaN is another
        if bool(other.any()):
            raise ValueError(
                f"this network advances by dt = {self.dt} s alone, and not by dt = "
                f"{float(dt[other][0])} s: give its own time step, or train a network with this one"
            )

    def predicted_change(self, state: Tensor, variables: Tensor) -> Tensor:
        """The network's prediction of the change of [T, p, F(Y)] over `self.dt`,
        (n, 2 + n_species), before the closure; `variables`: [T, p, F(Y)] of the states."""
        x, qss_change = self.transform.prepared(state, variables)
        return qss_change + self.transform.change(self.network(x).to(torch.float64))

    def conserving(self, Y_raw: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Y_raw projected onto the element masses of Y, (n, n_species) both, and whether the
        projection converged (n,).

        Where it did not, the prediction is too far from conservation to be corrected, and the
        composition stays at Y. States inside the training range do not come near this.
        """
        Y_closed = self.projection(Y_raw, Y)
        conserves = self.projection.error(Y_closed, Y) < 1e-9
        return torch.where(conserves[:, None], Y_closed, Y), conserves

    @torch.jit.ignore
    def differentiable(self, state: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """The values of `forward`, with a gradient that is cheap: for training over many steps.

        `state` (n, 2 + n_species): as for `forward`, with sum Y = 1 and Y >= 0; `h` (n,) [J/kg]:
        its enthalpy, which stays constant over the steps, as the elements do; `dt` (n,) [s]. The
        gradient does not pass through the iterations of the closure. It is that of their limit: for
        Y the projection's linearization, for T constant enthalpy,
        dT_next = -sum_k h_k dY_next_k / cp. Inert species do not change, nor does any species where
        the projection fails: there dY_next = dY.
        """
        self.require_steps(dt, len(state))
        p, Y = state[:, 1], state[:, 2:]
        variables = self.transform.variables(state)
        change = self.predicted_change(state, variables)
        Y_raw = self.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
        with torch.no_grad():
            Y_closed, conserves = self.conserving(Y_raw, Y)
            T = self.thermo.temperature(h, Y_closed, state[:, 0] + change[:, 0])
            cp = self.thermo.cp(T, Y_closed)
        moved = conserves[:, None] & ~self.inert
        dY = self.projection.linearized(Y_raw.detach(), Y_closed, _gradient_of(Y_raw))
        Y_next = Y_closed + torch.where(moved, dY, _gradient_of(Y))
        T_next = T + _gradient_of(-self.thermo.enthalpy(T, Y_next) / cp)
        return torch.cat([T_next[:, None], p[:, None], Y_next], dim=1)

    def normalized(self, Y: Tensor) -> Tensor:
        """Y (n, n_species) clipped at zero and scaled to sum 1: a transport step leaves small
        errors in both."""
        Y = Y.clamp(min=0.0)
        return Y / Y.sum(dim=1, keepdim=True)

    @torch.jit.export
    def source(self, state: Tensor, dt: Tensor) -> Tensor:
        """Mean rate of change of Y over dt (n,) [s], (n, n_species) [1/s]."""
        return (self.forward(state, dt)[:, 2:] - self.normalized(state[:, 2:])) / dt[:, None]

    @torch.jit.export
    def trust(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: whether the `closure_error` of the step dt (n,) [s] is at most 1."""
        return self.closure_error(state, dt) <= 1.0

    @torch.jit.export
    def closure_error(self, state: Tensor, dt: Tensor) -> Tensor:
        """Error estimate of a step dt (n,) [s], (n,) [-]: the closure's correction over its
        tolerance. A step with at most 1 is trusted. It is the larger of

            max_k |Y_next - Y_raw| / (0.07 max_k |Y_next - Y| + 7e-5)
            |T_next - T_raw| / (0.07 |T_next - T| + 0.7 K)

        with Y_raw, T_raw the network's prediction before the closure. Infinity for a state that is
        not valid (`is_valid_state`) and, if the network does not correct the reaction rates, for a
        state that is not `in_training_range`; a network that corrects a QSS prediction is also
        trusted outside its range. Costs as much as `forward`; `next_state_and_error` gives both.
        """
        return self.next_state_and_error(state, dt)[1]

    @torch.jit.export
    def next_state_and_error(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt (n,) [s] later, as `forward` gives them, and the `closure_error` of each
        (n,)."""
        later, error = self.next_state_and_closure(state, dt)
        known = self.is_valid_state(state) if self.corrects_rates else self.in_training_range(state)
        return later, torch.where(known, error, torch.inf)

    @torch.jit.export
    def in_training_range(self, state: Tensor) -> Tensor:
        """(n,) bool: the state is valid and like those of the training. Every variable of
        [T, p, F(Y)] is inside its range in training, and the Mahalanobis distance from the mean is
        at most that of the farthest training state."""
        self.require_states(state)
        variables = self.transform.variables(state)
        x = self.transform.features(variables)
        margin = 1e-3 * (  # of the range: rounding and transport errors
            self.transform.high - self.transform.low
        )
        inside = (
            (variables >= self.transform.low - margin) & (variables <= self.transform.high + margin)
        ).all(dim=1)
        near = squared_distance(x, self.inverse_covariance) <= self.max_mahalanobis * (1.0 + 1e-9)
        return inside & near & self.is_valid_state(state)

    def is_valid_state(self, state: Tensor) -> Tensor:
        """(n,) bool: all values are finite, no Y is below -1e-9 and sum Y is 1 within 1e-3."""
        valid = torch.isfinite(state).all(dim=1) & (state[:, 2:] >= -1e-9).all(dim=1)
        return valid & ((state[:, 2:].sum(dim=1) - 1.0).abs() < 1e-3)

    @torch.jit.ignore
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
    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The surrogate as an `Advance` (see `combred.chemistry.reactor`): T (n,) [K], p (n,) [Pa],
        Y (n, n_species) [-] -> T (n,) [K] and Y after the step dt [s], a float or (n,)."""
        return StateFunction(self.forward, self.max_mahalanobis.device).advance(T, p, Y, dt)


def _gradient_of(value: Tensor) -> Tensor:
    """Zero, with the gradient of `value`."""
    return value - value.detach()
