"""All settings together."""

from dataclasses import dataclass, field

from combred.config.data import ChemistrySettings, SamplingSettings, SegmentSettings
from combred.config.fields import require, setting
from combred.config.learning import NetworkSettings, TrainingSettings
from combred.config.reduction import ReductionSettings
from combred.config.validation import ValidationSettings

RETRAINING = {
    "steps": 12_000,
    "lr": 3e-3,
    "batch": 1024,
    "batch_phases": 3,
    "flame_oversampling": 4,
    "rollout_steps": 8,
    "rollout_share": 0.2,
    "rollout_weight": 0.5,
}


STEPS = ("sample", "train", "reduce", "validate", "export", "report")


@dataclass(frozen=True)
class Settings:
    """Everything `python -m combred.pipeline` can be told."""

    stage: int = setting(2, "reductions wanted; 0 is the full network")
    profile: str = setting(
        "default", "starting point of all other settings: default, shipped, condensed, paper, smoke"
    )
    run: str = setting("", "name of the run folder, runs/NAME; if not given: mechanism and profile")
    only: str = setting("", f"do one step and no other: {', '.join(STEPS)}")
    start: str = setting(
        "shipped",
        "stage 0: 'shipped' takes the network that comes with combred, where one has the "
        "mechanism, dt, mixture and network asked for and was trained on all of the range of "
        "sampling.*, and trains where none was, or where training.* or seed are given that are "
        "not the profile's; 'scratch' trains",
    )
    mechanism: str = setting("drm19.yaml", "combred's, Cantera's, or a path")
    dt: float = setting(1e-6, "time step of the surrogate", "s")
    seed: int = setting(0, "seed of sampling, initialisation and training")
    workers: int = setting(0, "processes for CVODE; 0: one per core")
    chemistry: ChemistrySettings = field(default_factory=ChemistrySettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    segments: SegmentSettings = field(default_factory=SegmentSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    retraining: TrainingSettings = field(default_factory=lambda: TrainingSettings(**RETRAINING))
    reduction: ReductionSettings = field(default_factory=ReductionSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)

    def __post_init__(self):
        require(self.only in ("", *STEPS), f"only={self.only!r} is none of {', '.join(STEPS)}")
        require(self.start in ("shipped", "scratch"), f"start={self.start!r}: shipped or scratch")
        require(self.dt > 0, f"dt={self.dt} must be positive")
        require(self.workers >= 0, f"workers={self.workers} must not be negative")
        stages = self.reduction.stages
        require(
            0 <= self.stage <= stages,
            f"stage={self.stage}: the stage table of these settings has stages 0 to {stages}; say "
            f"stage={stages}, or give more stages",
        )
        hidden = len(self.network.hidden)
        require(
            max(self.reduction.layers) <= hidden,
            f"reduction.layers={self.reduction.layers}: the network has {hidden} hidden layers",
        )
        require(
            "/" not in self.run and self.run not in (".", ".."),
            f"run={self.run!r} names a folder inside runs/",
        )

    @property
    def run_name(self) -> str:
        """The run folder's name."""
        stem = self.mechanism.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return self.run or f"{stem}-{self.profile}"
