"""What the network sees and says: Box-Cox, standardisation and the signed power, invertible.

Takes states; gives float64 features and targets. Everything needed to undo a transform is a
buffer of the module, so that it travels inside the exported file.
"""

from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogate.quasi_steady import QuasiSteadyState

# Of networks that are trained now; files tell their own.
BOXCOX = 0.1  # exponent lambda of the Box-Cox transform of Y
FLOOR = 1e-13  # mass fractions below are taken as this
POWER = (
    1 / 3
)  # exponent of the signed power of the target; 1 is plain, and worse (docs/findings.md)


class BoxCox(nn.Module):
    """F(Y) = (max(Y, floor)^lam - 1) / lam, and its inverse (Box & Cox, JRSS B 26, 1964).

    `lam` in (0, 1]; `floor`: mass fractions below it are integrator noise.
    """

    def __init__(self, lam: float, floor: float):
        super().__init__()
        self.lam, self.floor = lam, floor

    def forward(self, Y: Tensor) -> Tensor:
        return (Y.clamp(min=self.floor) ** self.lam - 1.0) / self.lam

    def inverse(self, F: Tensor) -> Tensor:
        return (1.0 + self.lam * F).clamp(min=0.0) ** (1.0 / self.lam)


def signed_power(x: Tensor, power: float) -> Tensor:
    """sign(x) |x|^power."""
    return torch.sign(x) * x.abs() ** power


class StateTransform(nn.Module):
    """Features x = ([T, p, F(Y)] - mean) / std of a state, (n, 2 + n_species), and of their change
    over dt the target z = sign(d) |d|^power, d = change / scale.

    The mean of the change is not subtracted: zero change stays zero. With power < 1 this is the
    generalised Box-Cox transform of Yi et al. (arXiv 2512.05685): small changes stay visible;
    power 1 is the plain target. Columns that never change have scale 1. The features' mean,
    covariance and range are kept, to tell where the training data were.

    With `qss`, the quasi-steady change is taken from d: the network learns
    what is left. It sees the quasi-steady change, as if it were a target, and the stiffness beside x.
    """

    LARGEST: Final[float] = (
        1e3  # quasi-steady change in units of scale; those of states stay below 25
    )

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
            seen = len(qss.columns) + len(qss.reactive)
            self.n_inputs = n + seen
            self.register_buffer("qss_mean", torch.zeros(seen))
            self.register_buffer("qss_std", torch.ones(seen))
        for name in ("mean", "low", "high"):
            self.register_buffer(name, torch.zeros(n, dtype=torch.float64))
        for name in ("std", "scale"):
            self.register_buffer(name, torch.ones(n, dtype=torch.float64))
        self.register_buffer("covariance", torch.eye(n, dtype=torch.float64))

    @property
    def evaluations(self) -> int:
        """Evaluations of the reaction rates; 0: the network sees the state alone."""
        return self.qss.evaluations if self.qss is not None else 0

    def variables(self, state: Tensor) -> Tensor:
        """[T, p, F(Y)] (n, 2 + n_species) of states [T, p, Y]."""
        return torch.cat([state[:, :2], self.boxcox(state[:, 2:])], dim=1)

    def features(self, variables: Tensor) -> Tensor:
        """Standardised network input of `variables`."""
        return (variables - self.mean) / self.std

    def inputs(self, state: Tensor) -> Tensor:
        """What the network is given for states [T, p, Y]: (n, n_inputs), float32."""
        return self.prepared(state, self.variables(state))[0]

    def prepared(self, state: Tensor, variables: Tensor) -> tuple[Tensor, Tensor]:
        """What the network is given for states whose `variables` are known, (n, n_inputs), float32,
        and the quasi-steady change of the variables, (n, 2 + n_species), zero without rates."""
        x, base = self.features(variables).to(torch.float32), torch.zeros_like(variables)
        if self.qss is not None:
            seen, told = self.qss_features(state)
            x = torch.cat([x, (seen - self.qss_mean) / self.qss_std], dim=1)
            base = base.index_copy(1, self.qss.columns, told.to(base.dtype))
        return x, base

    def qss_features(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """What the rates foretell of states: as inputs that are not standardised yet, and the
        change of those variables that change; float32, without gradient."""
        state = state.detach()
        Y = state[:, 2:].clamp(min=self.boxcox.floor)
        change, stiffness = self.qss(state[:, 0], state[:, 1], Y)
        scale = self.scale[self.qss.columns].to(torch.float32)
        d = (change / scale).clamp(-self.LARGEST, self.LARGEST)
        return torch.cat([signed_power(d, self.power), stiffness], dim=1), d * scale

    def target(self, change: Tensor) -> Tensor:
        """What the network learns, of a change of `variables` over dt (less the quasi-steady one)."""
        return signed_power(change / self.scale, self.power)

    def change(self, target: Tensor) -> Tensor:
        """Inverse of `target`."""
        return signed_power(target, 1.0 / self.power) * self.scale

    def fit(self, pairs: Iterable[tuple[Tensor, Tensor]]) -> "StateTransform":
        """Set mean, std, covariance, range and scale from pairs (state, state dt later), streamed.

        The moments are summed in float64 about the first chunk's mean. Returns self.
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
        """Set mean and standard deviation of the quasi-steady prediction, from states, streamed; after
        `fit`. Without `qss` nothing is to be done."""
        if self.qss is None:
            return
        n, total, squared = 0, torch.zeros(()), torch.zeros(())
        for state in states:
            seen = self.qss_features(state)[0].double()
            n, total, squared = n + len(seen), total + seen.sum(0), squared + (seen**2).sum(0)
        mean = total / n
        std = (squared / n - mean**2).clamp(min=0.0).sqrt()
        self.qss_mean.copy_(mean)
        self.qss_std.copy_(torch.where(std > 1e-6, std, 1.0))


def make_transform(
    mechanism: Mechanism, dt: float, boxcox: float, floor: float, power: float, kinetics: int
) -> StateTransform:
    """A transform to be fitted, for states of a mechanism and steps of dt [s]; `kinetics`:
    evaluations of the reaction rates, 0 to 2."""
    qss = QuasiSteadyState(mechanism, dt, boxcox, floor, kinetics) if kinetics else None
    return StateTransform(mechanism.n_species, boxcox, floor, power, qss)


def _positive(spread: Tensor, size: Tensor) -> Tensor:
    """Spread, or 1 where it is nothing but rounding."""
    return torch.where(spread > 1e-12 * size + 1e-300, spread, torch.ones_like(spread))
