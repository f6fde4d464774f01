"""The transform of states to network inputs and of changes to network targets, and its inverse.

Takes states [T, p, Y]; gives standardised features, and targets by the signed power. All numbers
that the inverse needs are buffers of the module, so that they are part of the exported file.
`model.correction` has the transform of networks that correct a quasi-steady-state step.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

# Of networks that are trained now; a stored network has its own.
BOXCOX = 0.1  # exponent lambda of the Box-Cox transform of Y
FLOOR = 1e-13  # mass fractions below are treated as this
# Spreads of variables and of their changes that are rounding alone, as those of species that never
# form: F(Y) of a species that reacts varies by .1 and more.
LEAST_STD, LEAST_SCALE = 1e-6, 1e-9
POWER = 1 / 3  # exponent of the signed power of the target; 1 is worse (docs/tried.md)


class BoxCox(nn.Module):
    """F(Y) = (max(Y, floor)^lam - 1) / lam, and its inverse (Box & Cox, JRSS B 26, 1964).

    `lam` in [0, 1], 0 for ln max(Y, floor); `floor`: mass fractions below it are noise of the
    integrator.
    """

    def __init__(self, lam: float, floor: float):
        super().__init__()
        self.lam, self.floor = lam, floor

    def forward(self, Y: Tensor) -> Tensor:
        """F of mass fractions Y, of any shape."""
        if self.lam == 0.0:
            return Y.clamp(min=self.floor).log()
        return (Y.clamp(min=self.floor) ** self.lam - 1.0) / self.lam

    def inverse(self, F: Tensor) -> Tensor:
        """Y >= 0 of F, of any shape; 0 for F below -1 / lam."""
        if self.lam == 0.0:
            return F.exp()
        return (1.0 + self.lam * F).clamp(min=0.0) ** (1.0 / self.lam)


class ShiftedBoxCox(BoxCox):
    """F(Y) = ((Y + floor)^lam - 1) / lam of Y >= 0, and its inverse: the Box-Cox transform with a
    shift (Box & Cox, JRSS B 26, 1964).

    As `BoxCox` above the floor. Mass fractions far below the floor have nearly one F, and keep
    their value where F does not change: an absent species stays absent.
    """

    def forward(self, Y: Tensor) -> Tensor:
        """F of mass fractions Y, of any shape; F(0) of negative ones."""
        return ((Y.clamp(min=0.0) + self.floor) ** self.lam - 1.0) / self.lam

    def inverse(self, F: Tensor) -> Tensor:
        """Y >= 0 of F, of any shape; 0 for F below F(0)."""
        whole = (1.0 + self.lam * F).clamp(min=0.0) ** (1.0 / self.lam)
        return (whole - self.floor).clamp(min=0.0)


def signed_power(x: Tensor, power: float) -> Tensor:
    """sign(x) |x|^power, of any shape."""
    return torch.sign(x) * x.abs() ** power


class StateTransform(nn.Module):
    """Features of a state, (n, 2 + n_species), and targets of the change over a fixed dt, the same
    shape; the network sees the state alone.

        x = (v - mean) / std,  v = [T, p, F(Y)]
        z = sign(d) |d|^power,  d = (v(t + dt) - v(t)) / scale

    `scale` is the standard deviation of the change, 1 for a variable that never changes. The mean
    of the change is not subtracted, so that zero change is zero. With power < 1 this is the
    generalised Box-Cox transform of Yi et al. (arXiv 2512.05685), which resolves small changes;
    power 1 is the linear target. Mean, covariance and range of the features also define the
    training range (`model.training_range`).
    """

    # Buffers: of the features and of the change, and the dt [s] of a step.
    mean: Tensor
    std: Tensor
    covariance: Tensor
    low: Tensor
    high: Tensor
    scale: Tensor
    dt_range: Tensor

    def __init__(self, n_species: int, lam: float, floor: float, power: float):
        super().__init__()
        n = 2 + n_species
        self.boxcox = BoxCox(lam, floor)
        self.power = power
        self.n_inputs: int = n
        self.n_outputs: int = n
        self.register_buffer("dt_range", torch.zeros(2, dtype=torch.float64))  # s, of one step
        for name in ("mean", "low", "high"):
            self.register_buffer(name, torch.zeros(n, dtype=torch.float64))
        for name in ("std", "scale"):
            self.register_buffer(name, torch.ones(n, dtype=torch.float64))
        self.register_buffer("covariance", torch.eye(n, dtype=torch.float64))

    def variables(self, state: Tensor) -> Tensor:
        """[T, p, F(Y)] (n, 2 + n_species) of states [T, p, Y]."""
        return torch.cat([state[:, :2], self.boxcox(state[:, 2:])], dim=1)

    def pressure(self, variable: Tensor) -> Tensor:
        """p [Pa] of its variable, of any shape."""
        return variable

    def features(self, variables: Tensor) -> Tensor:
        """Standardised `variables`, (n, 2 + n_species)."""
        return (variables - self.mean) / self.std

    def inputs(self, state: Tensor, dt: Tensor) -> Tensor:
        """The network inputs (n, n_inputs), float32, of states [T, p, Y] and time steps (n,)."""
        return self.prepared(state, self.variables(state), dt)[0]

    def prepared(
        self, state: Tensor, variables: Tensor, dt: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The network inputs (n, n_inputs), float32, of states whose `variables` are given; the
        change of these variables that the network corrects, (n, 2 + n_species); and the size of the
        correction (n,), by which the network's answer is multiplied. Here zero and one; dt [s]
        (n,) is not used."""
        x = self.features(variables).to(torch.float32)
        return x, torch.zeros_like(variables), torch.ones_like(dt)

    def target(self, correction: Tensor, size: Tensor) -> Tensor:
        """The network target of a change of `variables` over dt, less the change that it corrects,
        both (n, 2 + n_species); `size` (n,) as `prepared` gives it."""
        return signed_power(correction / self.scale, self.power)

    def correction(self, answer: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """Inverse of `target`, of a network's answer (n, n_outputs), and the answer's own error
        estimate, over `scale` (n,); zero here."""
        return signed_power(answer, 1.0 / self.power) * self.scale, torch.zeros_like(size)

    @torch.jit.ignore
    def loss(self, answer: Tensor, target: Tensor) -> Tensor:
        """The training loss of a network's answers: the mean absolute error, over all elements of
        both (n, 2 + n_species).

        The mean squared error was worse in every comparison made here (docs/tried.md).
        """
        return (answer - target).abs().mean()

    @torch.jit.ignore
    def fit(self, steps: Iterable[tuple[Tensor, Tensor, Tensor]]) -> "StateTransform":
        """Set mean, std, covariance, ranges and scale from steps: states and states dt later, each
        (n, 2 + n_species), and dt (n,) [s], streamed. Returns self.

        The moments are summed in float64 about the first chunk's mean. Raises ValueError for fewer
        than two states.
        """
        n, shift = 0, torch.zeros_like(self.mean)
        total, changed, squared = (torch.zeros_like(self.mean) for _ in range(3))
        outer = torch.zeros_like(self.covariance)
        low, high = torch.full_like(self.mean, torch.inf), torch.full_like(self.mean, -torch.inf)
        least, most = torch.full((2,), torch.inf, dtype=torch.float64) * torch.tensor([1.0, -1.0])
        for state, later, dt in steps:
            least, most = torch.minimum(least, dt.min()), torch.maximum(most, dt.max())
            v, w = self.variables(state), self.variables(later)
            if n == 0:
                shift = v.mean(0)
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
        std = torch.diagonal(covariance).clamp(min=0.0).sqrt()
        self.std.copy_(_spread(std, 1e-12 * self.mean.abs() + LEAST_STD))
        self.covariance.copy_(covariance / torch.outer(self.std, self.std))
        variance = squared / n - (changed / n) ** 2
        self.scale.copy_(_spread(variance.clamp(min=0.0).sqrt(), LEAST_SCALE))
        self.low.copy_(low)
        self.high.copy_(high)
        self.dt_range.copy_(torch.stack([least, most]))
        return self


def _spread(spread: Tensor, least: Tensor | float) -> Tensor:
    """The spread of variables, or 1 where it is below `least`: only rounding."""
    return torch.where(spread > least, spread, torch.ones_like(spread))
