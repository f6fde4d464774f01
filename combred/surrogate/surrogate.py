"""The surrogate: maps a thermochemical state to the state a time step dt later.

Takes [T, p, Y] and dt in SI units, float64; gives [T, p, Y] after dt. One step has these parts, in
this order: the transform of the state, the network, the inverse transform of the change, and the
closure, which conserves elements, mass and enthalpy. A step whose error estimate exceeds the
tolerance is cut into smaller ones. The network computes in float32, all else in float64. T, p and Y
are transformed here and nowhere else.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogate.advance import StateFunction
from combred.surrogate.closure import Closure
from combred.surrogate.network import Network
from combred.surrogate.training_range import damped_inverse, range_of_states, squared_distance
from combred.surrogate.transform import StateTransform


class Surrogate(nn.Module):
    """Chemistry over any time step at constant pressure and enthalpy, in place of CVODE.

    A network that corrects a quasi-steady-state step (`CorrectionTransform`) takes any dt: the
    error of each step is estimated, and a step is made smaller, for each state alone, until the
    estimate is within the tolerance (`integrate`). A network of the state alone
    (`StateTransform`) has one dt, and is trusted only inside its training range.

    Raises ValueError if the network's widths do not fit the transform and the mechanism.
    """

    __jit_unused_properties__ = ["dt_range"]

    # The default tolerance: the largest error of a step, over the step's change (`step`).
    TOLERANCE: Final[float] = 0.05
    # Added to the change that an error is relative to. These and the weight of the closure's
    # correction are chosen by states of flows and ignitions (docs/findings.md, 2026-11-23).
    FLOOR: Final[float] = 0.4  # of [T, F(Y)] over its scale, root mean square
    FLOOR_Y: Final[float] = 5e-4
    FLOOR_T: Final[float] = 5.0  # K
    CLOSURE_WEIGHT: Final[float] = 0.25  # of the closure's correction as an error
    # Of a network of the state alone: the closure's correction that equals the default tolerance.
    STATE_SHARE: Final[float] = 0.07  # of the change
    STATE_FLOOR_Y: Final[float] = 7e-5
    STATE_FLOOR_T: Final[float] = 0.7  # K
    MOST: Final[float] = 1e4  # the largest dt over the largest step: more take hours
    PIECE: Final[int] = 4096  # states advanced together: more take 5 kB each and are slower
    # Of the step size control: errors fall as dt^2. Where the error of a step that is cut
    # falls by less than the root of its length, twice, the rest of the error is the network's; so
    # it is, for the most part, below the shortest step in training.
    TARGET: Final[float] = 0.12  # of the tolerance: above it a step is cut, while that helps
    ENOUGH: Final[float] = 0.5  # of the tolerance: for a step not above the shortest in training
    SLACK: Final[float] = 1.5  # times the error of a step cut in vain: the target from then on
    SMALLEST: Final[float] = 1.0 / 65536  # of dt, or of the largest step in training
    SAFETY: Final[float] = 0.9
    SHRINK: Final[float] = 0.2
    GROW: Final[float] = 4.0

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
        self.n = n
        self.species = list(mechanism.species_names)  # read by those who load the exported file
        self.transform = transform
        self.corrects_rates: bool = transform.corrects_rates
        self.network = network
        self.closure = Closure(mechanism)
        # Of the training states' features; the largest distance is squared, see `training_range`.
        self.register_buffer("inverse_covariance", torch.zeros(n, n, dtype=torch.float64))
        self.register_buffer("max_mahalanobis", torch.tensor(torch.inf, dtype=torch.float64))

    @property
    def dt_range(self) -> tuple[float, float]:
        """The smallest and the largest dt [s] of one step in training; equal for a network of the
        state alone, which takes no other."""
        low, high = self.transform.dt_range.tolist()
        return low, high

    def forward(self, state: Tensor, dt: Tensor) -> Tensor:
        """The states dt (n,) [s] later, (n, 2 + n_species), of states [T, p, Y] (n, 2 + n_species)
        [K, Pa, -], both float64, within the default tolerance. Raises ValueError as `integrate`."""
        return self.integrate(state, dt, self.TOLERANCE)[0]

    @torch.jit.export
    def next_state_and_error(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt (n,) [s] later, as `forward` gives them, and the error ratio of each (n,),
        for the default tolerance (`integrate`)."""
        later, error, _ = self.integrate(state, dt, self.TOLERANCE)
        return later, error

    @torch.jit.export
    def trust(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: whether dt (n,) [s] can be taken within the default tolerance."""
        return self.next_state_and_error(state, dt)[1] <= 1.0

    @torch.jit.export
    def source(self, state: Tensor, dt: Tensor) -> Tensor:
        """Mean rate of change of Y over dt (n,) [s], (n, n_species) [1/s]."""
        return (self.forward(state, dt)[:, 2:] - self.normalized(state[:, 2:])) / dt[:, None]

    @torch.jit.export
    def integrate(
        self, state: Tensor, dt: Tensor, tolerance: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States dt later within a tolerance, in as many steps as each needs.

        state (n, 2 + n_species): [T, p, Y], float64; dt (n,) [s], float64, positive; tolerance:
        bound of the error estimate of every step (`step`), for example 0.05. A step is cut until
        its estimate is below `TARGET` of the tolerance, or until cutting helps no more.

        Returns the states (n, 2 + n_species); the error ratio of each (n,), the largest error
        estimate of its steps divided by the tolerance, which exceeds 1 where the smallest step
        (`SMALLEST` of dt, or of the largest step in training if less) is not small enough, and is
        infinite for a state that is not valid; and the number of evaluations of the network for
        each state (n,), int64. Raises ValueError for other shapes and types, for dt or a tolerance
        that is not positive and finite, for dt of more than 10,000 times the largest step of the
        training, and, if the network is of the state alone, for any dt but its own.
        """
        self.require_states(state)
        self.require_steps(dt, len(state))
        if not 0.0 < tolerance < torch.inf:
            raise ValueError(f"a tolerance is positive and finite, not {tolerance}")
        if len(state) <= self.PIECE:
            return self.integrate_piece(state, dt, tolerance)
        later: list[Tensor] = []
        errors: list[Tensor] = []
        evaluations: list[Tensor] = []
        for start in range(0, len(state), self.PIECE):
            end = start + self.PIECE
            found = self.integrate_piece(state[start:end], dt[start:end], tolerance)
            later.append(found[0])
            errors.append(found[1])
            evaluations.append(found[2])
        return torch.cat(later), torch.cat(errors), torch.cat(evaluations)

    def integrate_piece(
        self, state: Tensor, dt: Tensor, tolerance: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """`integrate` for at most `PIECE` states, which are advanced together."""
        valid = self.is_valid_state(state)
        low, high = self.transform.dt_range[0], 1.01 * self.transform.dt_range[1]
        if not self.corrects_rates:
            later, error = self.step(state, dt, dt)
            error = torch.where(self.in_training_range(state), error, torch.inf)
            return later, error / tolerance, torch.ones_like(dt, dtype=torch.int64)
        h = dt / torch.ceil(dt / high)
        whole = torch.minimum(dt, high)
        later, estimate = self.step(state, h, whole)
        error = torch.where(valid, estimate / tolerance, torch.inf)
        steps = torch.ones_like(dt, dtype=torch.int64)
        # Those that need more steps are gathered; the others wait for nobody.
        rows = (((error > self.TARGET) | (h < dt)) & valid).nonzero()[:, 0]
        x, after = state.index_select(0, rows), later.index_select(0, rows)
        h, last = h.index_select(0, rows), error.index_select(0, rows)
        left, worst = dt.index_select(0, rows), torch.zeros_like(last)
        aim, vain = torch.full_like(last, self.TARGET), torch.zeros_like(rows)
        useless = torch.full_like(last, torch.inf)  # last, of a step cut in vain, over its root
        while rows.numel() > 0:
            least = self.SMALLEST * whole.index_select(0, rows)
            tried = h <= 1.001 * least
            vain = torch.where(last > useless * h.sqrt(), vain + 1, 0)
            short = (h <= 1.001 * low) & (last <= self.ENOUGH)
            enough = (last > aim) & (last <= 1.0) & ((vain >= 2) | short)
            aim = torch.where(enough, (self.SLACK * last).clamp(max=1.0), aim)
            accepted = (last <= aim) | tried
            x = torch.where(accepted[:, None], after, x)
            worst = torch.where(accepted, torch.maximum(worst, last), worst)
            left = torch.where(accepted, left - h, left)
            ended = (left <= 1e-6 * dt.index_select(0, rows)) | (tried & ~torch.isfinite(last))
            factor = self.SAFETY * (self.TARGET / last.clamp(min=1e-9)).sqrt()
            factor = factor.clamp(self.SHRINK, self.GROW)
            factor = torch.where(accepted, factor.clamp(min=1.0), factor.clamp(max=0.7))
            useless = torch.where(accepted, torch.inf, last * h.rsqrt())
            h = torch.minimum(torch.maximum(h * factor, least), high)
            here = ended.nonzero()[:, 0]
            if here.numel() > 0:
                done = rows.index_select(0, here)
                later = later.index_copy(0, done, x.index_select(0, here))
                error = error.index_copy(0, done, worst.index_select(0, here))
                more = (~ended).nonzero()[:, 0]
                rows, x = rows.index_select(0, more), x.index_select(0, more)
                h, left = h.index_select(0, more), left.index_select(0, more)
                worst, useless = worst.index_select(0, more), useless.index_select(0, more)
                aim, vain = aim.index_select(0, more), vain.index_select(0, more)
            if rows.numel() > 0:
                h = left / torch.ceil(left / h - 1e-9)
                after, last = self.step(x, h, whole.index_select(0, rows))
                last = last / tolerance
                steps = steps.index_add(0, rows, torch.ones_like(rows))
        return later, error, steps

    def step(self, state: Tensor, dt: Tensor, whole: Tensor) -> tuple[Tensor, Tensor]:
        """One step, whatever its error: the states dt (n,) [s] later, (n, 2 + n_species), and the
        error estimate of each relative to its change (n,) [-].

        The step is a part of the time step `whole` (n,) [s]. The estimate is the largest of these,
        with v = [T, ln p, F(Y)], rms the root mean square over the variables and
        s = sqrt(dt / whole), since errors of N steps at random add up to sqrt(N) of them:

            E / (rms(dv / scale) + 0.4 s)           E = M 10^e, the network's estimate of its error
            |Y_next - Y_raw| / (4 |dY| + 2e-3 s)    the closure's correction, largest component
            |T_next - T_raw| / (4 |dT| + 20 K s)

        For a network of the state alone the closure's correction alone counts, over 7 % of the
        change plus 7e-5 in Y and 0.7 K in T; there the estimate is the default tolerance times this
        ratio. Infinite where no small correction conserves elements and enthalpy.
        """
        Y = self.normalized(state[:, 2:])
        T, p = state[:, 0], state[:, 1]
        state = torch.cat([state[:, :2], Y], dim=1)
        variables = self.transform.variables(state)
        change, estimate = self.predicted_change(state, variables, dt)
        T_raw = T + change[:, 0]
        Y_raw = self.transform.boxcox.inverse(variables[:, 2:] + change[:, 2:])
        T_next, Y_next, conserves = self.closure(T, Y, T_raw, Y_raw)
        later = torch.cat([T_next[:, None], p[:, None], Y_next], dim=1)
        moved_Y, moved_T = (Y_next - Y_raw).abs().amax(dim=1), (T_next - T_raw).abs()
        dY, dT = (Y_next - Y).abs().amax(dim=1), (T_next - T).abs()
        if self.corrects_rates:
            dv = (change / self.transform.scale).square().mean(dim=1).sqrt()
            s = (dt / whole).sqrt().clamp(max=1.0)
            error = estimate / (dv + self.FLOOR * s)
            of_Y = self.CLOSURE_WEIGHT * moved_Y / (dY + self.FLOOR_Y * s)
            of_T = self.CLOSURE_WEIGHT * moved_T / (dT + self.FLOOR_T * s)
            error = torch.maximum(error, torch.maximum(of_Y, of_T))
        else:
            of_Y = moved_Y / (self.STATE_SHARE * dY + self.STATE_FLOOR_Y)
            of_T = moved_T / (self.STATE_SHARE * dT + self.STATE_FLOOR_T)
            error = self.TOLERANCE * torch.maximum(of_Y, of_T)
        return later, torch.where(conserves & torch.isfinite(error), error, torch.inf)

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
        """ValueError unless `dt` is float64 of shape (n,), positive, finite, at most `MOST` times
        the largest step, and the network's own where it has one alone (within 1e-9)."""
        if dt.dim() != 1 or dt.size(0) != n or dt.dtype != torch.float64:
            raise ValueError(
                f"the time steps of {n} states are float64 of shape ({n},), in s; these have shape "
                f"{dt.size()}"
            )
        # Values cannot be read during the capture of a CUDA graph; the call before it read them.
        if not torch.jit.is_scripting():
            if dt.is_cuda and torch.cuda.is_current_stream_capturing():
                return
        wrong = ~((dt > 0.0) & torch.isfinite(dt))
        if bool(wrong.any()):
            raise ValueError(
                f"time steps are positive and finite, in s; one of these is {float(dt[wrong][0])}"
            )
        if self.corrects_rates:
            longest = self.MOST * self.transform.dt_range[1]
            if bool((dt > longest).any()):
                raise ValueError(
                    f"time steps are at most {float(longest)} s, {int(self.MOST)} times the "
                    f"largest of the training; one of these is {float(dt.max())}: divide it"
                )
        else:
            own = self.transform.dt_range[0]
            other = (dt - own).abs() > 1e-9 * own
            if bool(other.any()):
                raise ValueError(
                    f"this network advances by dt = {float(own)} s alone, and not by dt = "
                    f"{float(dt[other][0])} s: give its own time step, or take a network that "
                    "corrects QSS steps, which takes any"
                )

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
        margin = 1e-3 * (  # of the range: rounding and transport errors
            self.transform.high - self.transform.low
        )
        inside = (
            (variables >= self.transform.low - margin) & (variables <= self.transform.high + margin)
        ).all(dim=1)
        near = squared_distance(x, self.inverse_covariance) <= self.max_mahalanobis * (1.0 + 1e-9)
        return inside & near & self.is_valid_state(state)

    def is_valid_state(self, state: Tensor) -> Tensor:
        """(n,) bool: all values are finite, T and p are positive, no Y is below -1e-6 and sum Y is
        1 within 1e-3."""
        valid = torch.isfinite(state).all(dim=1) & (state[:, :2] > 0.0).all(dim=1)
        valid = valid & (state[:, 2:] >= -1e-6).all(dim=1)
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
        Y (n, n_species) [-] -> T (n,) [K] and Y after dt [s], a float or (n,)."""
        return StateFunction(self.forward, self.max_mahalanobis.device).advance(T, p, Y, dt)
