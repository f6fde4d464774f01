"""What a network that was trained elsewhere reads and predicts, in numbers.

Takes states [T, p, Y]; gives the inputs of the network, and the targets that it was trained on.
`model.own` makes a surrogate of the network with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor

from combred.chemistry.states import require_real
from combred.config.fields import require
from combred.surrogates.model.transform import POWER, BoxCox, signed_power

LEAST_FLOOR, LEAST_EXPONENT = 1e-37, 1e-3
ALIKE = 1e-9  # spread of a variable that is rounding alone


@dataclass(frozen=True, eq=False)
class Transform:
    """The inputs and the targets of a network for one time step:

        x = (v - mean) / std,  v = [T, p, F(Y)],  F(Y) = (max(Y, floor)^boxcox - 1) / boxcox
        z = (w - target_mean) / target_std

    w is the change of v over the time step, or v after it (predicts="state"). boxcox = 1 stands for
    Y itself, F(Y) = max(Y, floor), boxcox = 0 for ln(max(Y, floor)). With power < 1, z is sign(d)
    |d|^power, d = w / target_std.

    mean, std (2 + n_species,); target_mean, target_std, one for each output: numbers of the
    training. Of a network of rates, w / dt, give dt times both. boxcox: in [0, 1]; floor: 0 only
    with boxcox > 0; power: in (0, 1]. outputs: the names of what the network predicts, "T", "p" and
    species. By default their number tells: T, p and all species; T and all species; all species; or
    all species but the last, where the last is inert. Species that are not predicted stay as they
    are but for the closure, and T without a prediction follows from enthalpy. Raises ValueError for
    other numbers.
    """

    mean: Any
    std: Any
    target_mean: Any
    target_std: Any
    boxcox: float = 1.0
    floor: float = 1e-30
    power: float = 1.0
    predicts: Literal["change", "state"] = "change"
    outputs: Sequence[str] = ()

    def __post_init__(self):
        for name in ("mean", "std", "target_mean", "target_std"):
            value = torch.from_numpy(require_real(name, getattr(self, name)).copy())
            require(value.dim() == 1 and bool(value.isfinite().all()), f"{name}: finite, (n,)")
            object.__setattr__(self, name, value)
        spreads = torch.cat([self.std, self.target_std])
        require(bool((spreads > 0).all()), "std and target_std have to be above 0; a variable that "
                "never changes has 1")  # fmt: skip
        sizes = [(self.mean, self.std), (self.target_mean, self.target_std)]
        require(all(len(a) == len(b) for a, b in sizes), "a mean and its std differ in length")
        for name in ("boxcox", "power"):
            value = float(require_real(name, getattr(self, name)))
            logarithm = name == "boxcox" and value == 0
            require(
                logarithm or LEAST_EXPONENT <= value <= 1, f"{name}={value} has to be in [0.001, 1]"
                " (boxcox=0: the logarithm)" * (name == "boxcox"),
            )  # fmt: skip
        floor = float(require_real("floor", self.floor))
        without = floor == 0 and self.boxcox > 0
        require(without or LEAST_FLOOR <= floor < 1, f"floor={floor} has to be from "
                f"{LEAST_FLOOR:g} to 1, or 0 with boxcox above 0")  # fmt: skip
        require(
            self.predicts in ("change", "state"), f"predicts={self.predicts!r}: change or state"
        )
        if self.power < 1:
            bare = self.predicts == "change" and not bool(self.target_mean.any())
            require(bare, "power < 1 is for a change without target_mean (zeros)")

    @classmethod
    def fit(
        cls, states: Any, later: Any, boxcox: float = 0.1, floor: float = 1e-13,
        power: float = POWER, predicts: Literal["change", "state"] = "change",
    ) -> Self:  # fmt: skip
        """The transform of a training from `states` to `later` [T, p, Y], (n, 2 + n_species) both.
        The mean of a change is not subtracted: zero stays zero."""
        states, later = require_real("states", states), require_real("later", later)
        are_pairs = states.ndim == 2 and states.shape == later.shape and len(states) > 1
        require(are_pairs, f"states and later are (n, 2 + n_species) both, n > 1, and not "
                f"{states.shape} and {later.shape}")  # fmt: skip
        n = states.shape[1]
        zeros, ones = torch.zeros(n), torch.ones(n)
        bare = cls(zeros, ones, zeros, ones, boxcox, floor)
        v, w = bare.variables(states), bare.variables(later)
        target = w if predicts == "state" else w - v
        mean = target.mean(0) if predicts == "state" else zeros
        power = 1.0 if predicts == "state" else power
        spreads = [torch.where(std > ALIKE, std, 1.0) for std in (v.std(0), target.std(0))]
        return cls(v.mean(0), spreads[0], mean, spreads[1], boxcox, floor, power, predicts)

    def variables(self, states: Any) -> Tensor:
        """v (n, 2 + n_species), float64, of states [T, p, Y], an array or a tensor."""
        state = torch.as_tensor(states, dtype=torch.float64)
        Y = BoxCox(self.boxcox, self.floor)(state[:, 2:])
        return torch.cat([state[:, :2], Y + 1.0 if self.boxcox == 1.0 else Y], dim=1)

    def inputs(self, states: Any) -> Tensor:
        """x (n, 2 + n_species), float32, of states [T, p, Y]."""
        return ((self.variables(states) - self.mean) / self.std).float()

    def targets(self, states: Any, later: Any) -> Tensor:
        """z (n, 2 + n_species), float32, of states [T, p, Y] and those a time step later, of a
        transform whose outputs are T, p and all species."""
        w = self.variables(later)
        w = w if self.predicts == "state" else w - self.variables(states)
        return signed_power((w - self.target_mean) / self.target_std, self.power).float()
