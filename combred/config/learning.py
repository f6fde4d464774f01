"""Settings of the network and of its training."""

from dataclasses import dataclass

from combred.config.fields import is_positive, require, setting


@dataclass(frozen=True)
class NetworkSettings:
    """The network of stage 0 and the transforms around it."""

    hidden: list[int] = setting([384, 400, 376], "widths of the hidden layers")
    scales: list[str] = setting(
        ["0.5"],
        "per layer: times He's standard deviation, or 'condense' (Chen & Xu 2024, eq. 19); "
        "one value serves all layers",
    )
    boxcox: float = setting(0.1, "exponent lambda of the Box-Cox transform of Y")
    floor: float = setting(1e-13, "mass fractions below are taken as this")
    power: float = setting(1 / 3, "exponent of the signed power of the target; 1 is plain")
    kinetics: int = setting(
        2,
        "evaluations of the reaction rates for a quasi-steady-state step, which the network sees "
        "beside the state and corrects: 2 (predictor and corrector), 1 or 0 (the state alone)",
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
        require(0 < self.boxcox <= 1, f"network.boxcox={self.boxcox} must lie in (0, 1]")
        require(0 < self.floor < 1e-3, f"network.floor={self.floor} must lie in (0, 1e-3)")
        require(0 < self.power <= 1, f"network.power={self.power} must lie in (0, 1]")
        require(self.kinetics in (0, 1, 2), f"network.kinetics={self.kinetics}: 0, 1 or 2")

    @property
    def layer_scales(self) -> list[str]:
        """One scale for each layer."""
        return self.scales * (len(self.hidden) + 1) if len(self.scales) == 1 else self.scales


@dataclass(frozen=True)
class TrainingSettings:
    """One training run: optimiser, schedules, precision."""

    steps: int = setting(20_000, "optimiser steps")
    optimizer: str = setting(
        "soap", "'soap'; 'muon' where layers are wider than about 1000; 'adam', which condenses"
    )
    lr: float = setting(6e-3, "highest learning rate; with adam 1.5e-3 is right")
    schedule: str = setting(
        "cosine", "'cosine' to lr_final, or 'step': times decay every decay_every"
    )
    lr_final: float = setting(1e-6, "learning rate at the end of a cosine")
    warmup: float = setting(0.02, "share of the steps over which the rate rises from 0")
    decay: float = setting(0.5, "factor of the step schedule")
    decay_every: int = setting(1000, "interval of the step schedule", "steps")
    batch: int = setting(512, "initial batch size")
    batch_final: int = setting(4096, "final batch size")
    batch_phases: int = setting(4, "phases of equal length over which the batch grows")
    loss: str = setting("l1", "'l1' or 'mse'")
    precision: str = setting("auto", "'float32', 'bf16' (hidden layers), or 'auto'")
    held_out: float = setting(0.05, "share of the rows, whole trajectories, held out")
    evaluate_every: int = setting(200, "interval of a line of metrics", "steps")
    checkpoint_seconds: float = setting(20.0, "interval of checkpoints", "s")
    flame_oversampling: int = setting(
        1, "times that an unperturbed flame state is seen in an epoch; others are seen once"
    )
    memory_rows: int = setting(4_000_000, "rows held in memory; more are streamed in buffers")
    rollout_steps: int = setting(
        0, "steps that segments of CVODE's ignitions are marched while training; 0: none"
    )
    rollout_share: float = setting(0.25, "last share of the steps, in which segments are marched")
    rollout_weight: float = setting(0.2, "weight of the segments' loss beside that of the rows")
    rollout_batch: int = setting(256, "segments of a step")
    rollout_floor: float = setting(
        1e-3, "added to the change that a segment's error is relative to", "standard changes a step"
    )

    def __post_init__(self):
        require(self.steps >= 0, f"steps={self.steps} must not be negative")
        require(self.lr > 0 and self.lr_final >= 0, f"lr={self.lr}, lr_final={self.lr_final}")
        require(
            self.optimizer in ("soap", "muon", "adam"),
            f"optimizer={self.optimizer!r}: soap, muon or adam",
        )
        require(self.schedule in ("cosine", "step"), f"schedule={self.schedule!r}: cosine or step")
        require(self.loss in ("l1", "mse"), f"loss={self.loss!r}: l1 or mse")
        require(
            self.precision in ("auto", "float32", "bf16"),
            f"precision={self.precision!r}: auto, float32 or bf16",
        )
        require(0 < self.batch <= self.batch_final, f"batch={self.batch} to {self.batch_final}")
        require(
            self.batch_phases > 0 and self.decay_every > 0 and self.evaluate_every > 0,
            "batch_phases, decay_every and evaluate_every must be positive",
        )
        require(
            self.flame_oversampling > 0,
            f"flame_oversampling={self.flame_oversampling} must be at least 1",
        )
        require(0 <= self.warmup < 1, f"warmup={self.warmup} must lie in [0, 1)")
        require(0 < self.held_out < 1, f"held_out={self.held_out} must lie in (0, 1)")
        require(self.memory_rows >= self.batch_final, "memory_rows must hold the largest batch")
        require(
            self.rollout_steps >= 0 and self.rollout_steps.bit_count() <= 1,
            f"rollout_steps={self.rollout_steps} must be 0 or a power of two",
        )
        require(0 < self.rollout_share <= 1, f"rollout_share={self.rollout_share} not in (0, 1]")
        require(
            self.rollout_weight > 0 and self.rollout_batch > 0 and self.rollout_floor > 0,
            "rollout_weight, rollout_batch and rollout_floor must be positive; rollout_steps=0 "
            "trains without segments",
        )
