"""Settings of the network, of its training and of the retraining after a reduction."""

from dataclasses import asdict, dataclass, replace

from combred.config.fields import is_positive, require, setting


@dataclass(frozen=True)
class NetworkSettings:
    """The network of stage 0."""

    hidden: list[int] = setting([384, 400, 376], "widths of the hidden layers")
    scales: list[str] = setting(
        ["0.5"],
        "initialisation of each layer: a factor of He's standard deviation, or 'condense' (Chen & "
        "Xu 2024, eq. 19); one value serves all layers",
    )
    kinetics: bool = setting(
        True,
        "true: the network corrects a quasi-steady-state step of the reaction rates, of any dt; "
        "false: it sees the state alone, and has one dt",
    )

    def __post_init__(self):
        require(
            len(self.hidden) > 0 and min(self.hidden) > 0,
            f"network.hidden={self.hidden} needs positive widths",
        )
        require(
            len(self.scales) in (1, len(self.hidden) + 1),
            f"network.scales={self.scales} needs one value, or {len(self.hidden) + 1}: "
            f"one for each layer",
        )
        for scale in self.scales:
            require(
                scale == "condense" or is_positive(scale),
                f"network.scales: {scale!r} is neither a positive number nor 'condense'",
            )

    @property
    def layer_scales(self) -> list[str]:
        """One scale for each layer."""
        return self.scales * (len(self.hidden) + 1) if len(self.scales) == 1 else self.scales


@dataclass(frozen=True)
class TrainingSettings:
    """The training of stage 0: optimiser, batches, precision."""

    steps: int = setting(20_000, "optimiser steps")
    optimizer: str = setting(
        "soap", "'soap'; 'muon' for layers wider than about 1000; 'adam', under which they condense"
    )
    lr: float = setting(6e-3, "highest learning rate; 1.5e-3 suits adam")
    batch: int = setting(512, "initial batch size")
    batch_final: int = setting(4096, "final batch size")
    batch_phases: int = setting(4, "phases of equal length over which the batch grows")
    precision: str = setting("auto", "'float32', 'bf16' (hidden layers), or 'auto'")
    flame_oversampling: int = setting(
        1, "how often an epoch contains each unperturbed flame state; other states: once"
    )
    rollout_share: float = setting(
        0.0, "last share of the steps, which also march along trajectory segments; 0: none"
    )
    rollout_weight: float = setting(0.5, "weight of the loss of segments beside that of the rows")
    checkpoint_seconds: float = setting(20.0, "interval of checkpoints", "s")

    def __post_init__(self):
        require(self.steps >= 0, f"steps={self.steps} must not be negative")
        require(self.lr > 0, f"lr={self.lr} must be positive")
        require(
            self.optimizer in ("soap", "muon", "adam"),
            f"optimizer={self.optimizer!r}: soap, muon or adam",
        )
        require(
            self.precision in ("auto", "float32", "bf16"),
            f"precision={self.precision!r}: auto, float32 or bf16",
        )
        require(0 < self.batch <= self.batch_final, f"batch={self.batch} to {self.batch_final}")
        require(self.batch_phases > 0, f"batch_phases={self.batch_phases} must be at least 1")
        require(
            self.flame_oversampling > 0,
            f"flame_oversampling={self.flame_oversampling} must be at least 1",
        )
        require(0 <= self.rollout_share <= 1, f"rollout_share={self.rollout_share} not in [0, 1]")
        require(
            self.rollout_weight > 0,
            f"rollout_weight={self.rollout_weight} must be positive; rollout_share=0 trains "
            "without segments",
        )


@dataclass(frozen=True)
class RetrainingSettings:
    """The retraining after a reduction, where it differs from the training; the rest is its."""

    steps: int = setting(12_000, "optimiser steps")
    lr: float = setting(3e-3, "highest learning rate")
    batch: int = setting(1024, "initial batch size")
    batch_phases: int = setting(3, "phases of equal length over which the batch grows")
    flame_oversampling: int = setting(4, "as training.flame_oversampling")
    rollout_share: float = setting(0.0, "as training.rollout_share")

    def of(self, training: TrainingSettings) -> TrainingSettings:
        """All settings of the retraining. Raises ValueError as `TrainingSettings` does."""
        return replace(training, **asdict(self))
