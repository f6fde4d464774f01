"""Settings: one frozen dataclass per stage, and how `key=value` becomes one.

A leaf: imports nothing else of combred. Nothing else reads the command line.
"""

import difflib
import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException


def setting(default: Any, help: str, unit: str = "") -> Any:
    """A dataclass field with its unit and one line of help."""
    metadata = {"help": help, "unit": unit}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def require(condition: bool, message: str) -> None:
    """ValueError(message) unless the condition holds."""
    if not condition:
        raise ValueError(message)


@dataclass(frozen=True)
class ChemistrySettings:
    """CVODE, as it labels states and serves as the reference."""

    rtol: float = setting(1e-8, "relative tolerance of CVODE")
    atol: float = setting(1e-16, "absolute tolerance of CVODE")

    def __post_init__(self):
        require(0 < self.rtol < 1, f"chemistry.rtol={self.rtol} must lie in (0, 1)")
        require(self.atol > 0, f"chemistry.atol={self.atol} must be positive")


@dataclass(frozen=True)
class SamplingSettings:
    """Which states the network is trained on."""

    states: int = setting(400_000, "rows of the state file")
    fuel: str = setting(
        "auto", "fuel, moles, as in CH4:1; auto: the first of CH4, H2, ... there is"
    )
    oxidizer: str = setting("O2:1, N2:3.76", "oxidizer, moles")
    ignitions: int = setting(1200, "0D ignition trajectories")
    T0: list[float] = setting([1150.0, 2100.0], "initial temperature of ignitions", "K")
    p: list[float] = setting([40_530.0, 253_312.0], "pressure, log-uniform", "Pa")
    phi: list[float] = setting([0.35, 2.3], "equivalence ratio of ignitions")
    longest: float = setting(1.0, "longest time an ignition is followed", "s")
    burnt_time: float = setting(5e-3, "time followed past ignition", "s")
    flames: int = setting(80, "1D premixed flames")
    flame_phi: list[float] = setting([0.5, 1.7], "equivalence ratio of flames")
    flame_T: list[float] = setting(
        [300.0, 450.0, 600.0, 800.0], "unburnt temperatures of flames", "K"
    )
    flame_share: float = setting(0.4, "share of the rows that come from flames")
    exact: float = setting(1.0, "weight of unperturbed states in the mix")
    perturbed: float = setting(1.0, "weight of perturbed states in the mix")
    relaxed: float = setting(1.0, "weight of perturbed and relaxed states in the mix")
    perturbation: list[float] = setting([1e-3, 0.1], "width s of perturbed states, log-uniform")
    relaxed_perturbation: list[float] = setting([1e-2, 0.16], "width s before relaxation")
    relaxation: list[float] = setting([1e-7, 1e-4], "relaxation time, log-uniform", "s")
    keep_elements: bool = setting(True, "perturbed states keep the mass of every element")

    def __post_init__(self):
        for name in (
            "T0",
            "p",
            "phi",
            "flame_phi",
            "perturbation",
            "relaxed_perturbation",
            "relaxation",
        ):
            low_high = getattr(self, name)
            require(
                len(low_high) == 2 and 0 < low_high[0] <= low_high[1],
                f"sampling.{name}={low_high} must be [low, high] with 0 < low <= high",
            )
        require(self.ignitions > 0, "sampling.ignitions must be at least 1")
        require(self.flames >= 0, "sampling.flames must not be negative")
        require(len(self.flame_T) > 0, "sampling.flame_T needs at least one temperature")
        require(0 <= self.flame_share < 1, "sampling.flame_share must lie in [0, 1)")
        require(
            min(self.exact, self.perturbed, self.relaxed) >= 0 and self.exact > 0,
            "the mix needs sampling.exact > 0 and no negative weight",
        )
        trajectories = self.ignitions + self.flames
        require(
            self.states >= 10 * trajectories,
            f"sampling.states={self.states} are fewer than ten for each of {trajectories} "
            "trajectories: ask for more states, or fewer sampling.ignitions",
        )


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
                scale == "condense" or _is_positive(scale),
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
    flame_visits: int = setting(
        1, "times that an unperturbed flame state is seen in an epoch; others are seen once"
    )
    memory_rows: int = setting(4_000_000, "rows held in memory; more are streamed in buffers")
    rollout_steps: int = setting(
        0, "steps that windows of CVODE's ignitions are marched while training; 0: none"
    )
    rollout_share: float = setting(0.25, "last share of the steps, in which windows are marched")
    rollout_weight: float = setting(0.2, "weight of the windows' loss beside that of the rows")
    rollout_batch: int = setting(256, "windows of a step")
    rollout_floor: float = setting(
        1e-3, "added to the change that a window's error is relative to", "standard changes a step"
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
        require(self.flame_visits > 0, f"flame_visits={self.flame_visits} must be at least 1")
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
            "trains without windows",
        )


@dataclass(frozen=True)
class WindowSettings:
    """The windows that a training with rollout_steps marches: of ignitions, whose ranges, mixture
    and longest delay are those of the sampling, and from states of its flames."""

    trajectories: int = setting(500, "0D ignitions that windows are taken from")
    each: int = setting(120, "windows of each")
    coldest: float = setting(1250.0, "their initial temperature, at least", "K")
    burnt_time: float = setting(4e-4, "time past ignition up to which windows begin", "s")
    flames: int = setting(
        40_000, "windows that begin at unperturbed flame states of the state file, if it has some"
    )

    def __post_init__(self):
        require(
            self.trajectories > 0 and self.each >= 4,
            f"windows.trajectories={self.trajectories} must be at least 1, and "
            f"windows.each={self.each} at least 4",
        )
        require(
            self.coldest > 0 and self.burnt_time > 0,
            "windows.coldest and windows.burnt_time must be positive",
        )
        require(self.flames >= 0, f"windows.flames={self.flames} must not be negative")


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


@dataclass(frozen=True)
class ValidationSettings:
    """The ignitions, and the flames if any, that a network is judged by."""

    T0: list[float] = setting([1400.0, 1500.0, 1600.0, 1700.0, 1800.0], "initial temperatures", "K")
    phi: list[float] = setting([0.6, 1.0, 1.4], "equivalence ratios")
    p: list[float] = setting([101325.0], "pressures", "Pa")
    burnt_time: float = setting(2e-3, "time marched past ignition", "s")
    longest: float = setting(0.1, "longest ignition delay waited for", "s")
    flame_phi: list[float] = setting([], "equivalence ratios of 1D flames; empty: no flames")
    flame_T: list[float] = setting([300.0], "unburnt temperatures of flames", "K")
    flame_cells: int = setting(200, "cells of a flame, over eight thicknesses")
    flame_tolerance: float = setting(0.001, "a flame is steady when its speed changes by less")
    flame_longest: float = setting(6.0, "longest march of a flame", "flame times")

    def __post_init__(self):
        for name in ("T0", "phi", "p", "flame_T"):
            values = getattr(self, name)
            require(
                len(values) > 0 and min(values) > 0, f"validation.{name}={values} must be positive"
            )
        require(
            min(self.flame_phi, default=1.0) > 0,
            f"validation.flame_phi={self.flame_phi} must be positive",
        )
        require(
            self.flame_cells >= 40,
            f"validation.flame_cells={self.flame_cells}: a flame needs at least 40, five to its "
            "thickness",
        )
        require(
            0 < self.flame_tolerance < 0.1 and self.flame_longest >= 1,
            f"validation.flame_tolerance={self.flame_tolerance} must lie in (0, 0.1), and "
            f"flame_longest={self.flame_longest} be at least 1 flame time",
        )
        require(
            min(self.burnt_time, self.longest) > 0,
            "validation.burnt_time and validation.longest must be positive",
        )


REDUCTIONS = (
    *("condensation", "brain_surgeon", "interpolative", "folding"),
    *("neuron_merging", "channel_similarity", "magnitude"),
)


GATES = {
    "ignition": "worst relative error of the ignition delay",
    "ignition_mean": "mean relative error of the ignition delay",
    "flame": "worst relative error of the laminar flame speed",
}


def parse_gate(text: str) -> dict[str, float]:
    """The limits of a gate by kind, as shares: "ignition:1%,flame:0.005" -> 0.01 and 0.005.

    Raises ValueError for a kind that is not in `GATES`, naming the nearest, for one given twice,
    and for a limit that is no positive number; a plain number of 1 or more is taken for a percent
    sign forgotten.
    """
    limits: dict[str, float] = {}
    for item in text.split(",") if text.strip() else []:
        name, _, amount = (part.strip() for part in item.partition(":"))
        if name not in GATES:
            near = difflib.get_close_matches(name, GATES, n=1, cutoff=0.4)
            raise ValueError(
                f"reduction.gate: {name!r} is none of {', '.join(GATES)}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        require(name not in limits, f"reduction.gate: {name} is given twice")
        number = amount.removesuffix("%").strip()
        require(
            _is_positive(number) and math.isfinite(float(number)),
            f"reduction.gate: {item.strip()!r} wants a positive limit, as in {name}:1%",
        )
        require(
            amount.endswith("%") or float(number) < 1,
            f"reduction.gate: {item.strip()!r}: a plain number is a share (0.01 is 1 %); for "
            f"percent write {name}:{number}%",
        )
        limits[name] = float(number) / (100 if amount.endswith("%") else 1)
    return limits


@dataclass(frozen=True)
class ReductionSettings:
    """The stage table: stage i condenses hidden layer layers[i-1] at thresholds[i-1]; or, where
    `parameters` are given, leaves parameters[i-1] of the first network's, by any method; or, where
    a `gate` is given, stage 1 is the smallest network found that passes it."""

    method: str = setting("brain_surgeon", f"how units are chosen: {', '.join(REDUCTIONS)}")
    parameters: list[float] = setting(
        [0.115, 0.033, 0.012],
        "share of stage 0's parameters that each stage leaves, widths of all layers chosen; "
        "empty: the table of reduction.layers and reduction.thresholds",
    )
    layers: list[int] = setting(
        [1, 1, 1],
        "hidden layer condensed in each stage (1 is the first); given, it takes the place of "
        "reduction.parameters",
    )
    thresholds: list[float] = setting(
        [0.9, 0.8, 0.7], "cosine threshold of each stage; given, as reduction.layers"
    )
    compensation: str = setting("least_squares", "'norm' (the paper's ratios) or 'least_squares'")
    ridge: float = setting(1e-6, "relative ridge of the least squares")
    calibration: int = setting(20_000, "training states that least squares and errors use")
    min_width: int = setting(16, "a stage that would leave fewer units is refused")
    rates: list[float] = setting([], "retraining rate of each stage; empty: retraining.lr for all")
    gate: str = setting(
        "",
        "errors that may be, as ignition:1%,flame:0.5%: stage 1 is then the smallest network found "
        f"that keeps them, widths of all layers chosen; of {', '.join(GATES)}",
    )
    gate_ignitions: int = setting(12, "ignitions of the gate, drawn inside the validation's range")
    gate_flames: int = setting(3, "flames of the gate, drawn inside the validation's range")
    gate_seed: int = setting(1, "seed of the gate's cases")
    factor: float = setting(0.5, "share of the parameters that the gate's first cuts leave")
    gentlest: float = setting(0.88, "a gate's cut that would leave more is not tried")
    attempts: int = setting(12, "cuts that the gate may judge")

    def __post_init__(self):
        self._require_gate()
        require(
            len(self.layers) == len(self.thresholds) > 0,
            f"reduction.layers={self.layers} and reduction.thresholds={self.thresholds} need one "
            "entry each for every stage",
        )
        require(min(self.layers) > 0, f"reduction.layers={self.layers}: hidden layers count from 1")
        require(
            self.method in REDUCTIONS,
            f"reduction.method={self.method!r} is none of {', '.join(REDUCTIONS)}",
        )
        falling = all(a > b for a, b in zip([1.0, *self.parameters], self.parameters, strict=False))
        require(
            falling and min(self.parameters, default=1.0) > 0,
            f"reduction.parameters={self.parameters} are shares of the first network's: they lie "
            "between 1 and 0 and fall from stage to stage",
        )
        require(
            bool(self.parameters or self.gate) or self.method == "condensation",
            f"reduction.method={self.method} wants reduction.parameters=[...], the share of the "
            "parameters that each stage leaves: a cosine threshold means nothing to it",
        )
        require(
            all(-1 <= t <= 1 for t in self.thresholds),
            f"reduction.thresholds={self.thresholds} must lie in [-1, 1]",
        )
        require(
            self.compensation in ("norm", "least_squares"),
            f"reduction.compensation={self.compensation!r}: norm or least_squares",
        )
        require(
            not self.rates
            or bool(self.gate)
            or (len(self.rates) == self.stages and min(self.rates) > 0),
            f"reduction.rates={self.rates} needs one positive rate for each of {self.stages} "
            "stages, or none",
        )
        require(
            self.calibration > 0 and self.min_width > 0 and self.ridge >= 0,
            "reduction.calibration and min_width must be positive, ridge not negative",
        )

    def _require_gate(self) -> None:
        parse_gate(self.gate)
        require(
            0 < self.factor <= self.gentlest < 1,
            f"reduction.factor={self.factor} and reduction.gentlest={self.gentlest} are shares of "
            "the parameters that a cut leaves: 0 < factor <= gentlest < 1",
        )
        for name in ("gate_ignitions", "gate_flames", "attempts"):
            value = getattr(self, name)
            require(value > 0, f"reduction.{name}={value} must be at least 1")
        require(self.gate_seed >= 0, f"reduction.gate_seed={self.gate_seed} must not be negative")

    @property
    def limits(self) -> dict[str, float]:
        """What the gate asks for: the largest error of each kind, a share. {}: there is no gate."""
        return parse_gate(self.gate)

    @property
    def stages(self) -> int:
        """How many stages the table has."""
        return 1 if self.gate else len(self.parameters) or len(self.layers)

    def retraining_of(self, stage: int, settings: TrainingSettings) -> TrainingSettings:
        """The training settings after the reduction of a stage (1 is the first)."""
        if self.gate or not self.rates:
            return settings
        return replace(settings, lr=self.rates[stage - 1])


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
    windows: WindowSettings = field(default_factory=WindowSettings)
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


RETRAINING = {
    "steps": 12_000,
    "lr": 3e-3,
    "batch": 1024,
    "batch_phases": 3,
    "flame_visits": 4,
    "rollout_steps": 8,
    "rollout_share": 0.2,
    "rollout_weight": 0.5,
}

# Around 1 atm: what the networks were trained on before they were trained widely.
NARROW = {
    "states": 300_000,
    "ignitions": 600,
    "T0": [1150.0, 2100.0],
    "p": [91192.5, 111457.5],
    "phi": [0.4, 1.8],
    "flames": 16,
    "flame_phi": [0.5, 1.6],
    "flame_T": [300.0, 700.0],
    "flame_share": 0.33,
}
# Layers condense under Adam more than under the others (docs/findings.md).
ADAM = {"optimizer": "adam", "lr": 1.5e-3}
BY_LAYERS = {"method": "condensation", "parameters": []}

PROFILES: dict[str, dict] = {
    # The best found so far (docs/findings.md): He times 0.5, a long training on wide states, the
    # brain surgeon. It stands as the default of every setting.
    "default": {},
    # What the networks that come with combred were made with: more states and flames, which also
    # the first training sees more often, and marches; an hour.
    "shipped": {
        "start": "scratch",
        "sampling": {"states": 1_000_000, "ignitions": 1600, "flames": 240},
        "training": {
            "flame_visits": 4,
            "rollout_steps": 8,
            "rollout_share": 0.2,
            "rollout_weight": 0.5,
        },
    },
    # The method of Chen & Xu 2024 at a size that two cores train: a first layer that starts small
    # enough to condense, and is condensed stage after stage.
    "condensed": {
        "sampling": NARROW,
        "network": {
            "hidden": [800, 200, 200],
            "scales": ["condense", "0.5", "0.5", "0.5"],
            "kinetics": 0,
        },
        "training": {**ADAM, "steps": 13_000, "batch_final": 2048, "batch_phases": 3},
        "retraining": {
            **ADAM,
            "steps": 5000,
            "batch_final": 2048,
            "batch_phases": 2,
            "rollout_steps": 0,
        },
        "reduction": BY_LAYERS,
    },
    # The network of Chen & Xu 2024 and its first two stages (section 3.1.3), on the states of the
    # shipped ones, with an optimiser that brings so wide a network there in hours of a CPU core.
    # The third, layer 2 at 0.999, merges nothing here: layer 1 goes on instead.
    "full": {
        "start": "scratch",
        "sampling": {"states": 1_000_000, "ignitions": 1600, "flames": 240},
        "network": {
            "hidden": [3200, 1600, 800, 400],
            "scales": ["condense", "0.5", "0.5", "0.5", "0.5"],
            "kinetics": 0,
        },
        "training": {
            "optimizer": "muon",
            "steps": 3200,
            "lr": 2e-3,
            "batch": 1024,
            "batch_final": 8192,
        },
        "retraining": {
            "optimizer": "muon",
            "steps": 300,
            "lr": 1e-3,
            "batch": 4096,
            "batch_final": 8192,
            "batch_phases": 2,
            "rollout_steps": 0,
        },
        "reduction": {**BY_LAYERS, "layers": [1, 1, 1], "thresholds": [0.9, 0.8, 0.7]},
    },
    # Chen & Xu 2024, sections 3.1.2 and 3.1.3. Their target is plain (network.power=1); with it a
    # case did not ignite here (docs/findings.md), so the signed power stays.
    "paper": {
        "sampling": NARROW,
        "network": {"hidden": [3200, 1600, 800, 400], "scales": ["condense"], "kinetics": 0},
        "training": {
            "optimizer": "adam",
            "steps": 5000,
            "lr": 1e-4,
            "schedule": "step",
            "decay": 0.5,
            "decay_every": 1000,
            "warmup": 0.0,
            "batch": 1024,
            "batch_final": 90_960,
            "batch_phases": 5,
        },
        "retraining": {
            "optimizer": "adam",
            "steps": 5000,
            "lr": 1e-4,
            "schedule": "step",
            "decay": 0.1,
            "decay_every": 2500,
            "warmup": 0.0,
            "batch": 1024,
            "batch_final": 131_072,
            "batch_phases": 2,
            "rollout_steps": 0,
        },
        "reduction": {
            **BY_LAYERS,
            "layers": [1, 1, 2],
            "thresholds": [0.9, 0.8, 0.999],
            "compensation": "norm",
            "rates": [1e-4, 1e-4, 4e-5],
        },
    },
    # Everything real and far too small: minutes of CI, not a usable network.
    "smoke": {
        "sampling": {
            **NARROW,
            "states": 3000,
            "ignitions": 40,
            "flames": 1,
            "flame_T": [300.0],
            "flame_phi": [1.0, 1.0],
            "flame_share": 0.1,
        },
        "network": {"hidden": [64, 32], "scales": ["condense", "0.5", "0.5"], "kinetics": 0},
        "training": {
            **ADAM,
            "steps": 600,
            "batch": 256,
            "batch_final": 256,
            "evaluate_every": 100,
        },
        "retraining": {
            **ADAM,
            "steps": 100,
            "batch": 256,
            "batch_final": 256,
            "evaluate_every": 50,
            "rollout_steps": 2,
        },
        "windows": {"trajectories": 8, "each": 40, "flames": 100},
        "reduction": {
            **BY_LAYERS,
            "layers": [1, 1],
            "thresholds": [0.9, 0.8],
            "min_width": 2,
            "calibration": 1000,
        },
        "validation": {"T0": [1700.0, 1800.0], "phi": [1.0], "burnt_time": 2e-4},
    },
}


def keys(kind: type = Settings, prefix: str = "") -> dict[str, Any]:
    """Every dotted key of the settings and its dataclass field."""
    found: dict[str, Any] = {}
    for item in fields(kind):
        if is_dataclass(item.type):
            found |= keys(item.type, f"{prefix}{item.name}.")
        else:
            found[prefix + item.name] = item
    return found


def resolve(arguments: list[str]) -> Settings:
    """Settings from `key=value` arguments, on top of a profile.

    Raises ValueError for an argument that is not key=value, an unknown key (naming the nearest), a
    value of the wrong type, and values that a settings class refuses.
    """
    given: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise ValueError(
                f"{argument!r} is not key=value (as in stage=2, or training.steps=9000)"
            )
        if key not in keys():
            near = difflib.get_close_matches(key, keys(), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(
                f"there is no setting {key!r}{hint} "
                "`python -m combred.pipeline` without arguments prints all of them."
            )
        given[key] = value
    both = {"reduction.layers", "reduction.thresholds"} & given.keys()
    require(
        not both or "reduction.parameters" not in given,
        "reduction.parameters chooses layers and widths itself: leave out "
        f"{', '.join(sorted(both))}",
    )
    table = both | ({"reduction.parameters", "reduction.rates"} & given.keys())
    require(
        not table or not given.get("reduction.gate"),
        "reduction.gate looks for the stage itself, all layers together: leave out "
        f"{', '.join(sorted(table))}",
    )
    if both:  # a table of layers is asked for
        given = {"reduction.method": "condensation", "reduction.parameters": "[]", **given}
    if "reduction.gate" in given:  # blanks after a colon would make it YAML's
        given["reduction.gate"] = "".join(given["reduction.gate"].split())
    profile = given.get("profile", "default")
    require(profile in PROFILES, f"profile={profile!r} is none of {', '.join(PROFILES)}")
    try:
        merged = OmegaConf.merge(
            OmegaConf.structured(Settings),
            PROFILES[profile],
            OmegaConf.from_dotlist([f"{key}={value}" for key, value in given.items()]),
        )
        return OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        told = str(error).strip().splitlines()
        raise ValueError(f"{error.full_key or 'settings'}: {told[0]}") from error
