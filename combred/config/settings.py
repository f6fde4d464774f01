"""All settings together."""

from dataclasses import dataclass, field

from combred.config.data import SamplingSettings, SensitivitySettings
from combred.config.export import ExportSettings
from combred.config.fields import require, shown
from combred.config.learning import NetworkSettings, RetrainingSettings, TrainingSettings
from combred.config.reduction import ReductionSettings
from combred.config.validation import ValidationSettings
from combred.config.values import check, setting

LONGEST_NAME = 200  # bytes of the name of a run; file systems have 255
STEPS = ("sample", "train", "reduce", "validate", "export", "report")


@dataclass(frozen=True)
class Settings:
    """All settings of `python -m combred.pipeline`."""

    stage: int = setting(2, "number of reductions; 0: the network is not reduced")
    profile: str = setting(
        "default", "starting point of all other settings: default, paper, condensed, smoke"
    )
    run: str = setting("", "name of the run folder, runs/NAME; empty: mechanism and profile")
    only: str = setting("", f"do this step alone: {', '.join(STEPS)}", among=("", *STEPS))
    start: str = setting(
        "shipped",
        "stage 0: 'shipped' takes a network that comes with combred, where one fits these settings "
        "(mechanism, dt, mixture, network, and ranges of sampling.* within its own), and trains "
        "otherwise; 'scratch' trains",
        among=("shipped", "scratch"),
    )
    mechanism: str = setting("drm19.yaml", "name of combred's or Cantera's mechanism, or a path")
    seed: int = setting(0, "seed of sampling, initialisation and training", within=(0, 2**32 - 1))
    workers: int = setting(0, "processes of sampling; 0: one of each core", within=(0, 4096))
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    sensitivity: SensitivitySettings = field(default_factory=SensitivitySettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    retraining: RetrainingSettings = field(default_factory=RetrainingSettings)
    reduction: ReductionSettings = field(default_factory=ReductionSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    export: ExportSettings = field(default_factory=ExportSettings)

    def __post_init__(self):
        check(self, "")
        low, high = self.sampling.dt
        require(
            self.network.kinetics or low == high,
            f"sampling.dt=[{low:g},{high:g}]: a network without reaction rates (network.kinetics="
            "false) has one dt; give it twice, as in sampling.dt=[1e-6,1e-6]",
        )
        require(
            self.network.kinetics or low == self.validation.dt,
            f"validation.dt={self.validation.dt:g}: a network without reaction rates takes its own "
            f"dt alone, that of sampling.dt, {low:g}",
        )
        stages = self.reduction.stages
        require(
            0 <= self.stage <= stages,
            f"stage={shown(self.stage)}: the stage table of these settings has stages 0 to "
            f"{stages}; say stage={stages}, or give more stages",
        )
        hidden = len(self.network.hidden)
        require(
            max(self.reduction.layers) <= hidden,
            f"reduction.layers={self.reduction.layers}: the network has {hidden} hidden layers",
        )
        require(
            "/" not in self.run and self.run not in (".", "..") and self.run.isprintable(),
            f"run={shown(self.run)} names a folder inside runs/, without a slash",
        )
        require(
            len(self.run.encode()) <= LONGEST_NAME,
            f"run={shown(self.run)}: the name of a folder has at most {LONGEST_NAME} bytes",
        )

    @property
    def run_name(self) -> str:
        """The run folder's name."""
        stem = self.mechanism.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return self.run or f"{stem}-{self.profile}"

    @property
    def retraining_settings(self) -> TrainingSettings:
        """All settings of the training after each reduction."""
        return self.retraining.of(self.training)
