"""The surrogate: transform, network, inverse transform and closure, from a state to the state dt later.

Takes [T, p, Y] in SI and float64; gives the same, dt later. The network runs in float32, what
surrounds it in float64; T, p and Y are transformed in here and nowhere else.
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
from combred.surrogate.transform import StateTransform


class Surrogate(nn.Module):
    """Transform, network, inverse transform and closure: CVODE's stand-in over one step `dt` [s].

    The closure is part of the model: inert species are copied, elements projected back, Y >= 0,
    sum Y = 1, and T follows from constant enthalpy. What it has to move tells of the network: a
    prediction that does not conserve is wrong, and by as much at least (`closure_error`).
    """

    # What the closure may move before a prediction is doubted: a share of the step's own change,
    # and these floors beside it. Chosen, and measured, with benchmarks/trust.py.
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
        self.species = list(mechanism.species_names)  # for who loads the exported file
        self.transform = transform
        self.corrects_rates: bool = transform.evaluations > 0
        self.network = network
        self.thermo = Thermo(mechanism)
        self.projection = ElementProjection(mechanism)
        self.register_buffer("inert", torch.tensor(mechanism.inert))
        self.register_buffer("inverse_covariance", torch.zeros(n, n, dtype=torch.float64))
        self.register_buffer("max_mahalanobis", torch.tensor(torch.inf, dtype=torch.float64))

    def forward(self, state: Tensor) -> Tensor:
        """States [T, p, Y] (n, 2 + n_species) [K, Pa, -], float64, dt later."""
        return self.next_state_and_closure(state)[0]

    def next_state_and_closure(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt later, and what the closure moved of the network's answer (n,), in units of
        what it may move."""
        self.require_states(state)
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
        moved_Y = (Y_next - Y_raw).abs().amax(dim=1)
        moved_T = (T_next - T - change[:, 0]).abs()
        may_Y = self.SHARE * (Y_next - Y).abs().amax(dim=1) + self.FLOOR_Y
        may_T = self.SHARE * (T_next - T).abs() + self.FLOOR_T
        moved = torch.maximum(moved_Y / may_Y, moved_T / may_T)
        return later, torch.where(conserves, moved, torch.inf)

    def require_states(self, state: Tensor) -> None:
        """ValueError unless `state` is float64 of shape (n, 2 + n_species)."""
        if state.dim() != 2 or state.size(1) != self.n or state.dtype != torch.float64:
            raise ValueError(
                f"states are float64 of shape (n, {self.n}): T [K], p [Pa] and mass fractions Y; "
                f"these have shape {state.size()}"
            )

    def predicted_change(self, state: Tensor, variables: Tensor) -> Tensor:
        """Change of the `variables` [T, p, F(Y)] of states over dt as the network says it, before
        closure."""
        x, qss_change = self.transform.prepared(state, variables)
        return qss_change + self.transform.change(self.network(x).to(torch.float64))

    def conserving(self, Y_raw: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Y_raw with the element masses of Y, (n, n_species) both, and where that went well (n,).

        A prediction that no small correction makes conserve elements is no prediction: the
        composition stays. States inside the training range do not come near this.
        """
        Y_closed = self.projection(Y_raw, Y)
        conserves = self.projection.error(Y_closed, Y) < 1e-9
        return torch.where(conserves[:, None], Y_closed, Y), conserves

    @torch.jit.ignore
    def differentiable(self, state: Tensor, h: Tensor) -> Tensor:
        """`forward` for training through many steps: its values, with a gradient that is cheap.

        `state`: as for `forward`, sum Y = 1 and Y >= 0; `h` (n,) [J/kg]: its enthalpy, which the
        steps keep, as they keep the elements. The gradient does not go through the iterations of
        the closure but is that of what they converge to: for Y the projection's linearization, for
        T that of constant enthalpy, dT_next = -sum_k h_k dY_next_k / cp. Inert species, and where
        the projection fails all of them, stay: dY_next = dY.
        """
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
        """Y clipped at zero and scaled to sum 1: what a transport step leaves is not exact."""
        Y = Y.clamp(min=0.0)
        return Y / Y.sum(dim=1, keepdim=True)

    @torch.jit.export
    def source(self, state: Tensor) -> Tensor:
        """Mean rate of change of Y over dt, (n, n_species) [1/s]."""
        return (self.forward(state)[:, 2:] - self.normalized(state[:, 2:])) / self.dt

    @torch.jit.export
    def trust(self, state: Tensor) -> Tensor:
        """(n,) bool: the network's answer needs little correction to conserve, `closure_error` is at most
        1; of a network that sees the state alone, also that the state is `in_training_range`."""
        return self.closure_error(state) <= 1.0

    @torch.jit.export
    def closure_error(self, state: Tensor) -> Tensor:
        """(n,) how much the network's answer is to be doubted: at most 1 is trusted, infinity means
        that the state is none (not finite, Y < 0, sum Y far from 1) or, where the network sees the
        state alone, that it is not `in_training_range`. With the rates, networks hold beyond their range.

        The larger of |Y_next - Y_raw| / (0.07 |Y_next - Y| + 7e-5), largest species each, and
        |T_next - T_raw| / (0.07 |T_next - T| + 0.7 K): what the closure moves of the network's raw
        answer, in units of 7 % of the step's change and a floor. It costs a forward call, whose
        answer `next_state_and_error` gives along.
        """
        return self.next_state_and_error(state)[1]

    @torch.jit.export
    def next_state_and_error(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt later, as `forward` gives them, and the `closure_error` of each (n,)."""
        later, moved = self.next_state_and_closure(state)
        known = self.is_valid_state(state) if self.corrects_rates else self.in_training_range(state)
        return later, torch.where(known, moved, torch.inf)

    @torch.jit.export
    def in_training_range(self, state: Tensor) -> Tensor:
        """(n,) bool: the state lies where the training data were.

        Inside the range of every variable, and no farther from their mean, in Mahalanobis distance,
        than the farthest training state.
        """
        self.require_states(state)
        variables = self.transform.variables(state)
        x = self.transform.features(variables)
        margin = 1e-3 * (  # of the range: rounding and transport errors
            self.transform.high - self.transform.low
        )
        inside = (
            (variables >= self.transform.low - margin) & (variables <= self.transform.high + margin)
        ).all(dim=1)
        distance = ((x @ self.inverse_covariance) * x).sum(dim=1)
        return (
            inside & (distance <= self.max_mahalanobis * (1.0 + 1e-9)) & self.is_valid_state(state)
        )

    def is_valid_state(self, state: Tensor) -> Tensor:
        """(n,) bool: finite, and mass fractions but for rounding and transport errors."""
        sound = torch.isfinite(state).all(dim=1) & (state[:, 2:] >= -1e-9).all(dim=1)
        return sound & ((state[:, 2:].sum(dim=1) - 1.0).abs() < 1e-3)

    @torch.jit.ignore
    def fit_trust(self, chunks: Iterable[Tensor]) -> None:
        """Set the limits of `in_training_range` from the training states, (n, 2 + n_species) each, streamed.

        The transform must have been fitted. The covariance is damped by 1e-4 of a standardised
        variance, which keeps combinations that hardly vary from ruling alone.
        """
        n = len(self.transform.mean)
        damped = self.transform.covariance + 1e-4 * torch.eye(n, dtype=torch.float64)
        self.inverse_covariance.copy_(torch.linalg.inv(damped))
        farthest = torch.zeros((), dtype=torch.float64)
        for state in chunks:
            x = self.transform.features(self.transform.variables(state))
            farthest = torch.maximum(farthest, ((x @ self.inverse_covariance) * x).sum(dim=1).max())
        self.max_mahalanobis.copy_(farthest)

    @torch.jit.ignore
    def narrow_trust(self, chunks: Iterable[Tensor]) -> None:
        """Keep of what is `in_training_range` no more than the range of these states, (n, 2 + n_species) each,
        streamed, and the distance of the farthest of them."""
        t, farthest = self.transform, torch.zeros((), dtype=torch.float64)
        low, high = torch.full_like(t.low, torch.inf), torch.full_like(t.high, -torch.inf)
        for state in chunks:
            v = t.variables(state)
            low, high = torch.minimum(low, v.amin(0)), torch.maximum(high, v.amax(0))
            x = t.features(v)
            farthest = torch.maximum(farthest, ((x @ self.inverse_covariance) * x).sum(dim=1).max())
        t.low.copy_(torch.maximum(t.low, torch.minimum(low, t.high)))
        t.high.copy_(torch.minimum(t.high, torch.maximum(high, t.low)))
        self.max_mahalanobis.copy_(torch.minimum(self.max_mahalanobis, farthest))

    @torch.jit.ignore
    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The surrogate as an `Advance` (see `combred.chemistry.reactor`): T (n,) [K], p (n,) [Pa],
        Y (n, n_species) [-] -> T (n,) [K] and Y after the step `dt`."""
        return StateFunction(self.forward, self.max_mahalanobis.device).advance(T, p, Y)


def _gradient_of(value: Tensor) -> Tensor:
    """Zero, with the gradient of `value`."""
    return value - value.detach()
