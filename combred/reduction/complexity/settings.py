"""Settings of complexity-aware training: the objective, and how it is minimised."""

from dataclasses import dataclass

from combred.reduction.complexity.bernoulli_masks import DECIDED


@dataclass(frozen=True)
class Complexity:
    """The objective C(W, theta) + lambda/2 |W|^2 + nu J_FP (equation 15), and how it is minimised.

    nu >= 0: price of the whole network, in units of the loss C. beta in [0, 2]: weight of
    operations in J_FP, 1 - beta that of parameters (above 1 parameters are rewarded; their table 5
    has 1.7). alpha >= 0: weight of blocks. weight_decay >= 0: lambda. theta_0 in (theta_tol, 1]:
    every theta at the start (the paper: 1 on ImageNet, 0.75 on CIFAR). theta_rate in (0, 1): Adam's
    learning rate of theta (the paper: 1e-3 to 5e-3). theta_tol in [0, 0.5): units and blocks with
    theta up to this are removed, after every `prune_every` steps (the paper: an epoch).
    settle_after: the step after which theta is rounded and the weights alone are trained (not in
    the paper; None: theta is rounded at the end). seed: of the samples of the masks.
    prunes: "both", or "units" or "blocks" alone (layer-only pruning is the last row of table 4).
    """

    nu: float
    beta: float = 0.5
    alpha: float = 0.0
    weight_decay: float = 1e-4
    theta_0: float = 1.0
    theta_rate: float = 2e-3
    theta_tol: float = 0.1
    prune_every: int = 100
    settle_after: int | None = None
    seed: int = 0
    prunes: str = "both"

    def __post_init__(self):
        checks = {
            "nu must not be negative": self.nu >= 0,
            "alpha must not be negative": self.alpha >= 0,
            "weight_decay must not be negative": self.weight_decay >= 0,
            "beta must lie in [0, 2]": 0 <= self.beta <= 2,
            f"theta_tol must lie in [0, {DECIDED})": 0 <= self.theta_tol < DECIDED,
            "theta_0 must lie above theta_tol, up to 1": self.theta_tol < self.theta_0 <= 1,
            "theta_rate must lie in (0, 1)": 0 < self.theta_rate < 1,
            "prune_every must be at least 1": self.prune_every >= 1,
            "prunes is both, units or blocks": self.prunes in ("both", "units", "blocks"),
            "settle_after must not be negative": (self.settle_after or 0) >= 0,
        }
        if wrong := [message for message, right in checks.items() if not right]:
            raise ValueError(f"{'; '.join(wrong)}: {self}")
