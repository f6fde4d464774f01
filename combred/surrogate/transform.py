"""The transform of states to network inputs and of changes to network targets, and its inverse.

Takes states [T, p, Y]; gives standardised features, and targets by the signed power. All numbers
that the inverse needs are buffers of the module, so that they are part of the exported file.
"""

from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogate.quasi_steady import QuasiSteadyState

# Of networks that are trained now; a stored network has its own.
BOXCOX = 0.1  # exponent lambda of the Box-Cox transform of Y
FLOOR = 1e-13  # mass fractions below are treated as this
POWER = 1 / 3  # exponent of the signed power of the target; 1 is worse (docs/findings.md)


class BoxCox(nn.Module):
    """F(Y) = (max(Y, floor)^lam - 1) / lam, and its inverse (Box & Cox, JRSS B 26, 1964).

    `lam` in (0, 1]; `floor` > 0: mass fractions below it are noise of the integrator.
    """

    def __init__(self, lam: float, floor: float):
        super().__init__()
        self.lam, self.floor = lam, floor

    def forward(self, Y: Tensor) -> Tensor:
        """F of mass fractions Y, of any shape."""
        return (Y.clamp(min=self.floor) ** self.lam - 1.0) / self.lam

    def inverse(self, F: Tensor) -> Tensor:
        """Y >= 0 of F, of any shape; 0 for F below -1 / lam."""
        return (1.0 + self.lam * F).clamp(min=0.0) ** (1.0 / self.lam)


def signed_power(x: Tensor, power: float) -> Tensor:
    """sign(x) |x|^power, of any shape."""
    return torch.sign(x) * x.abs() ** power


class StateTransform(nn.Module):
    """Features of a state, (n, 2 + n_species), and targets of the change over dt, the same shape.

        x = (v - mean) / std,  v = [T, p, F(Y)]
        z = sign(d) |d|^power,  d = (v(t + dt) - v(t)) / scale

    `scale` is the standard deviation of the change, 1 for a variable that never changes. The mean
    of the change is not subtracted, so that zero change is zero. With power < 1 this is the
    generalised Box-Cox transform of Yi et al. (arXiv 2512.05685), which resolves small changes;
    power 1 is the linear target. Mean, covariance and range of the features also define the
    training range (`combred.surrogate.training_range`).

    With `qss` the quasi-steady-state (QSS) change is subtracted from the change, and the network
    learns the rest. Its inputs are then x, the transformed QSS change, and the stiffness.
    """

    # Bound of the QSS change over `scale`; that of training states stays below 25.
    LARGEST: Final[float] = 1e3

    def __init__(
        self,
        n_species: int,
        lam: float,
        floor: float,
        power: float,
        qss: QuasiSteadyState | None = None,
    ):
        super().__init__()
        n = 2 + n_species
        self.boxcox = BoxCox(lam, floor)
        self.power = power
        self.qss = qss
        self.n_inputs: int = n
        if qss is not None:
            n_qss = len(qss.columns) + len(qss.reactive)
            self.n_inputs = n + n_qss
            self.register_buffer("qss_mean", torch.zeros(n_qss))
            self.register_buffer("qss_std", torch.ones(n_qss))
        for name in ("mean", "low", "high"):
            self.register_buffer(name, torch.zeros(n, dtype=torch.float64))
        for name in ("std", "scale"):
            self.register_buffer(name, torch.ones(n, dtype=torch.float64))
        self.register_buffer("covariance", torch.eye(n, dtype=torch.float64))

    @property
    def evaluations(self) -> int:
        """Evaluations of the reaction rates in a step; 0: the input is the state alone."""
        return self.qss.evaluations if self.qss is not None else 0

    def variables(self, state: Tensor) -> Tensor:
        """[T, p, F(Y)] (n, 2 + n_species) of states [T, p, Y]."""
        return torch.cat([state[:, :2], self.boxcox(state[:, 2:])], dim=1)

    def features(self, variables: Tensor) -> Tensor:
        """Standardised `variables`, (n, 2 + n_species)."""
        return (variables - self.mean) / self.std

    def inputs(self, state: Tensor) -> Tensor:
        """The network inputs (n, n_inputs), float32, of states [T, p, Y]."""
        return self.prepared(state, self.variables(state))[0]

    def prepared(self, state: Tensor, variables: Tensor) -> tuple[Tensor, Tensor]:
        """The network inputs (n, n_inputs), float32, of states whose `variables` are given, and the
        QSS change of these variables (n, 2 + n_species), zero without `qss`."""
        x, base = self.features(variables).to(torch.float32), torch.zeros_like(variables)
        if self.qss is not None:
            raw, change = self.qss_features(state)
            x = torch.cat([x, (raw - self.qss_mean) / self.qss_std], dim=1)
            base = base.index_copy(1, self.qss.columns, change.to(base.dtype))
        return x, base

    def qss_features(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The network inputs that come from the QSS step, not yet standardised, (n, 1 + 2
        n_reactive), and the QSS change of T and the reactive F(Y), (n, 1 + n_reactive); float32,
        without gradient."""
        state = state.detach()
        Y = state[:, 2:].clamp(min=self.boxcox.floor)
        change, stiffness = self.qss(state[:, 0], state[:, 1], Y)
        scale = self.scale[self.qss.columns].to(torch.float32)
        d = (change / scale).clamp(-self.LARGEST, self.LARGEST)
        return torch.cat([signed_power(d, self.power), stiffness], dim=1), d * scale

    def target(self, change: Tensor) -> Tensor:
        """The network target of a change of `variables` over dt, less the QSS change."""
        return signed_power(change / self.scale, self.power)

    def change(self, target: Tensor) -> Tensor:
        """Inverse of `target`."""
        return signed_power(target, 1.0 / self.power) * self.scale

    def fit(self, pairs: Iterable[tuple[Tensor, Tensor]]) -> "StateTransform":
        """Set mean, std, covariance, range and scale from pairs (states, states dt later), each
        (n, 2 + n_species), streamed. Returns self.

        The moments are summed in float64 about the first chunk's mean. Raises ValueError for fewer
        than two states.
        """
        n, total, outer, shift = 0, None, None, None
        changed = torch.zeros_like(self.mean)
        squared = torch.zeros_like(self.mean)
        low, high = torch.full_like(self.mean, torch.inf), torch.full_like(self.mean, -torch.inf)
        for state, later in pairs:
            v, w = self.variables(state), self.variables(later)
            if shift is None:
                shift = v.mean(0)
                total, outer = torch.zeros_like(shift), torch.zeros_like(self.covariance)
            n += len(v)
            total += (v - shift).sum(0)
            outer += (v - shift).T @ (v - shift)
            changed += (w - v).sum(0)
            squared += ((w - v) ** 2).sum(0)
            low, high = torch.minimum(low, v.amin(0)), torch.maximum(high, v.amax(0))
        if n < 2:
            raise ValueError(f"a transform cannot be fitted to {n} states")
        delta = total / n
        covariance = outer / n - torch.outer(delta, delta)
        self.mean.copy_(shift + delta)
        self.std.copy_(_positive(torch.diagonal(covariance).clamp(min=0.0).sqrt(), self.mean.abs()))
        self.covariance.copy_(covariance / torch.outer(self.std, self.std))
        variance = squared / n - (changed / n) ** 2
        self.scale.copy_(_positive(variance.clamp(min=0.0).sqrt(), torch.zeros_like(self.scale)))
        self.low.copy_(low)
        self.high.copy_(high)
        return self

    def fit_qss(self, states: Iterable[Tensor]) -> None:
        """Set mean and standard deviation of `qss_features` from states (n, 2 + n_species),
        streamed, after `fit`. Without `qss` does nothing."""
        if self.qss is None:
            return
        n, total, squared = 0, torch.zeros(()), torch.zeros(())
        for state in states:
            raw = self.qss_features(state)[0].double()
            n, total, squared = n + len(raw), total + raw.sum(0), squared + (raw**2).sum(0)
        mean = total / n
        std = (squared / n - mean**2).clamp(min=0.0).sqrt()
        self.qss_mean.copy_(mean)
        self.qss_std.copy_(torch.where(std > 1e-6, std, 1.0))


def make_transform(
    mechanism: Mechanism, dt: float, boxcox: float, floor: float, power: float, kinetics: int
) -> StateTransform:
    """A `StateTransform`, not yet fitted, for states of a mechanism and steps of dt [s]. `boxcox`:
    exponent of F, in (0, 1]; `floor` and `power` as there; `kinetics`: evaluations of the reaction
    rates, 0, 1 or 2."""
    qss = QuasiSteadyState(mechanism, dt, boxcox, floor, kinetics) if kinetics else None
    return StateTransform(mechanism.n_species, boxcox, floor, power, qss)


def _positive(spread: Tensor, size: Tensor) -> Tensor:
    """Spread, or 1 where it is only rounding of values of this size."""
    return torch.where(spread > 1e-12 * size + 1e-300, spread, torch.ones_like(spread))
