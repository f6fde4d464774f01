"""The transform of networks that correct a quasi-steady-state (QSS) step of any dt.

Takes states and a time step each; gives network inputs, the corrector's change, and the size of the
correction: the network's answer is in units of the step's own error estimate.
"""

from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.quasi_steady import QuasiSteadyState
from combred.surrogates.model.transform import ShiftedBoxCox, StateTransform, signed_power


class CorrectionTransform(StateTransform):
    """Network inputs of a state and dt, and targets in units of the QSS step's own error.

    With C and P the changes of v = [T, ln p, F(Y)] by the QSS steps and the predictor
    (`QuasiSteadyState`), scale the standard deviation of the change in training, and

        e = (C - P) / scale,    M = max_k |e_k|,

    the change over dt is C + M scale r(z), r(z) = sign(z) |z|^(1 / power), |r| <= 100, with z the
    network's answer to

        x = [v, s(C / scale), log10(dt / tau + 1e-6), s(e / M), log10 M, log10 dt],  standardised,

    and s the signed power. M vanishes as dt^2, and so does the correction, whatever the weights:
    the method converges as dt goes to zero, and nothing is corrected where nothing happens. dt is
    clipped to its range in training where the network sees it.
    """

    LARGEST: Final[float] = 1e3  # bound of QSS changes over `scale`; most of training are below 25
    LEAST: Final[float] = 1e-12  # bound of M from below
    WEIGHT_FLOOR: Final[float] = 1e-3  # M below which a row counts less in training
    ESTIMATE_WEIGHT: Final[float] = 0.02  # of the error estimate's loss beside the correction's
    BOUND: Final[float] = 100.0  # of the correction over M scale; 99 % of training are below 4

    qss_mean: Tensor
    qss_std: Tensor

    def __init__(self, mechanism: Mechanism, lam: float, floor: float, power: float):
        super().__init__(mechanism.n_species, lam, floor, power)
        self.boxcox = ShiftedBoxCox(lam, floor)
        self.qss = QuasiSteadyState(mechanism, lam, floor)
        self.n_changing = n_changing = len(self.qss.columns)
        n_reactive = len(self.qss.reactive)
        n_qss = 2 * n_changing + n_reactive + 2
        self.n_inputs = 2 + mechanism.n_species + n_qss
        self.n_outputs = 2 + mechanism.n_species + 1
        self.register_buffer("qss_mean", torch.zeros(n_qss))
        self.register_buffer("qss_std", torch.ones(n_qss))

    def variables(self, state: Tensor) -> Tensor:
        """[T, ln p, F(Y)] (n, 2 + n_species) of states [T, p, Y]."""
        T, p = state[:, :1], state[:, 1:2]
        return torch.cat([T, torch.log(p), self.boxcox(state[:, 2:])], dim=1)

    def pressure(self, variable: Tensor) -> Tensor:
        """As `StateTransform.pressure`."""
        return variable.exp()

    def prepared(
        self, state: Tensor, variables: Tensor, dt: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As `StateTransform.prepared`: the network inputs, the corrector's change, and M (n,)."""
        features, corrector, size = self.qss_features(state, dt)
        x = self.features(variables).to(torch.float32)
        x = torch.cat([x, (features - self.qss_mean) / self.qss_std], dim=1)
        base = torch.zeros_like(variables)
        return x, base.index_copy(1, self.qss.columns, corrector), size

    def qss_features(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The network inputs that come from the QSS step and dt, not yet standardised, float32; the
        corrector's change of T and the reactive F(Y), (n, 1 + n_reactive), and M (n,), both
        float64; without gradient."""
        state = state.detach()
        corrector, predictor, stiffness = self.qss(state[:, 0], state[:, 1], state[:, 2:], dt)
        scale = self.scale[self.qss.columns].to(corrector.dtype)
        d = (corrector / scale).clamp(-self.LARGEST, self.LARGEST)
        e = ((corrector - predictor) / scale).clamp(-self.LARGEST, self.LARGEST)
        size = e.abs().amax(dim=1).clamp(min=self.LEAST)
        seen = torch.log10(dt.clamp(self.dt_range[0], self.dt_range[1]))
        features = torch.cat(
            [
                signed_power(d, self.power),
                stiffness,
                signed_power(e / size[:, None], self.power),
                torch.log10(size)[:, None],
                seen[:, None].to(d.dtype),
            ],
            dim=1,
        )
        return features.to(torch.float32), (d * scale).to(torch.float64), size.to(torch.float64)

    def target(self, correction: Tensor, size: Tensor) -> Tensor:
        """As `StateTransform.target`, in units of M, clipped to `BOUND`; and, as another column,
        the weight of each row in the loss, (n, 2 + n_species + 1)."""
        M = size[:, None]
        r = correction / (self.scale * M)
        z = signed_power(r.clamp(-self.BOUND, self.BOUND), self.power)
        weight = (M / (M + self.WEIGHT_FLOOR)) ** self.power
        return torch.cat([z, weight], dim=1)

    def correction(self, answer: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """As `StateTransform.correction`. The last output of the network is the decimal logarithm
        of the root mean square of its error, over M scale."""
        last = answer.size(1) - 1
        r = signed_power(answer[:, :last], 1.0 / self.power).clamp(-self.BOUND, self.BOUND)
        return r * self.scale * size[:, None], size * 10.0 ** answer[:, last]

    @torch.jit.ignore
    def loss(self, answer: Tensor, target: Tensor) -> Tensor:
        """The training loss of a network's answers (n, n_outputs): the weighted mean absolute error
        of the corrections, and of the logarithm that estimates their error."""
        last = answer.size(1) - 1
        z, found, weight = target[:, :last], answer[:, :last], target[:, last]
        of_corrections = ((found - z).abs().mean(dim=1) * weight).mean()
        error = signed_power(found.detach(), 1 / self.power) - signed_power(z, 1 / self.power)
        changing = self.n_changing / last
        rms = (error.square().mean(dim=1) / changing).sqrt().clamp(min=1e-6)
        of_estimates = (answer[:, last] - torch.log10(rms)).abs().mean()
        return of_corrections + self.ESTIMATE_WEIGHT * of_estimates

    @torch.jit.ignore
    def fit_qss(self, steps: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Set mean and standard deviation of `qss_features` from states (n, 2 + n_species) and time
        steps (n,), streamed, after `fit`."""
        n, total, squared = 0, torch.zeros(()), torch.zeros(())
        for state, dt in steps:
            raw = self.qss_features(state, dt)[0].double()
            n, total, squared = n + len(raw), total + raw.sum(0), squared + (raw**2).sum(0)
        mean = total / n
        std = (squared / n - mean**2).clamp(min=0.0).sqrt()
        self.qss_mean.copy_(mean)
        self.qss_std.copy_(torch.where(std > 1e-6, std, 1.0))


def make_transform(
    mechanism: Mechanism, lam: float, floor: float, power: float, kinetics: bool
) -> StateTransform:
    """A transform, not yet fitted, for states of a mechanism. `lam`: exponent of F, in (0, 1];
    `floor` and `power` as there; `kinetics`: whether the network corrects QSS steps."""
    if kinetics:
        return CorrectionTransform(mechanism, lam, floor, power)
    return StateTransform(mechanism.n_species, lam, floor, power)
