"""Settings of the network, of its training and of the retraining after a reduction."""

import itertools
import math
from dataclasses import asdict, dataclass
from typing import ClassVar

from combred.config.fields import require, shown
from combred.config.values import check, is_positive, setting

LARGEST_SCALE = 1000.0  # of an initialisation
GROWN = 2  # initial batch of a retraining, over that of the training: fewer, smaller steps
MOST_WEIGHTS = 200_000_000  # between hidden layers: 0.8 GB, and more for the optimiser


@dataclass(frozen=True)
class NetworkSettings:
    """The network of stage 0."""

    hidden: list[int] = setting([384, 400, 376], "widths of the hidden layers", within=(1, 20_000))
    scales: list[str] = setting(
        ["0.5"],
        "initialisation of each layer: a factor of He's standard deviation, above 0 and at most "
        "1000, or 'condense' (Chen & Xu 2024, eq. 19); one value serves all layers",
    )
    kinetics: bool = setting(
        True,
        "true: the network corrects quasi-steady-state (QSS) steps, of any dt in its range; false: "
        "it sees the state alone, and has one dt",
    )

    def __post_init__(self):
        check(self, "network")
        require(len(self.hidden) > 0, "network.hidden=[] needs at least one width")
        require(
            len(self.scales) in (1, len(self.hidden) + 1),
            f"network.scales={shown(self.scales)} needs one value, or one for each layer: "
            f"{len(self.hidden) + 1} with network.hidden={shown(self.hidden)}",
        )
        for scale in self.scales:
            require(
                scale == "condense" or is_positive(scale, LARGEST_SCALE),
                f"network.scales: {shown(scale)!r} is neither a positive number, at most "
                f"{LARGEST_SCALE:g}, nor 'condense'",
            )
        weights = sum(a * b for a, b in itertools.pairwise(self.hidden))
        require(
            weights <= MOST_WEIGHTS,
            f"network.hidden={shown(self.hidden)}: {weights:.2g} weights between hidden layers are "
            f"more than {MOST_WEIGHTS:.0e}: give narrower layers, or fewer",
        )

    @property
    def layer_scales(self) -> list[str]:
        """One scale for each layer."""
        return self.scales * (len(self.hidden) + 1) if len(self.scales) == 1 else self.scales


@dataclass(frozen=True)
class TrainingSettings:
    """The training of stage 0: optimiser and batches."""

    # How often an epoch contains each unperturbed flame state; other states: once.
    flame_oversampling: ClassVar[int] = 1
    steps: int = setting(20_000, "optimiser steps", within=(0, 1e7))
    optimizer: str = setting(
        "soap",
        "'soap'; 'muon': Muon for layers wider than 1000, SOAP for others; 'adam', under which "
        "layers condense",
        among=("soap", "muon", "adam"),
    )
    lr: float = setting(6e-3, "highest learning rate; 1.5e-3 suits adam", within=(1e-9, 10.0))
    batch: int = setting(512, "initial batch size", within=(1, 1e7))
    batch_final: int = setting(
        4096, "final batch size; the batch doubles in phases of equal length", within=(1, 1e7)
    )

    def __post_init__(self):
        check(self, "training")
        require(
            self.batch <= self.batch_final,
            f"training.batch={self.batch} is more than training.batch_final={self.batch_final}",
        )

    @property
    def batch_phases(self) -> int:
        """Number of phases of the batch size, which about doubles from each to the next; two at
        least where it grows."""
        growth = self.batch_final / self.batch
        return 1 + max(round(math.log2(growth)), int(growth > 1))

    @property
    def outcome(self) -> dict:
        """All that decides the outcome of a training."""
        derived = ("batch_phases", "flame_oversampling")
        return asdict(self) | {name: getattr(self, name) for name in derived}


class _Retraining(TrainingSettings):
    """All settings of a retraining."""

    flame_oversampling: ClassVar[int] = 4  # flame speeds are nearer by it


@dataclass(frozen=True)
class RetrainingSettings:
    """The retraining after a reduction, where it differs from the training; the rest is its,
    but for an initial batch of twice the size."""

    steps: int = setting(2_000, "optimiser steps", within=(0, 1e7))
    lr: float = setting(3e-3, "highest learning rate", within=(1e-9, 10.0))

    def __post_init__(self):
        check(self, "retraining")

    def of(self, training: TrainingSettings) -> TrainingSettings:
        """All settings of the retraining."""
        batch = min(GROWN * training.batch, training.batch_final)
        return _Retraining(**asdict(training) | asdict(self) | {"batch": batch})
