"""The step `train`: the network of stage 0; and the training of any stage.

Takes `Data`; writes stage0.safetensors, stage0.jsonl and train.json, and hands on the surrogate.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from rich.markup import escape

from combred.config import TrainingSettings
from combred.files.records import digest, write_record
from combred.pipeline import artefacts
from combred.pipeline.console import console, progress
from combred.pipeline.run import Run
from combred.pipeline.steps.networks import load_first, start_of, stored_inputs
from combred.pipeline.steps.sample import Data
from combred.pipeline.tables import shape
from combred.surrogate import shipped
from combred.surrogate.correction import CorrectionTransform, make_transform
from combred.surrogate.forms import make_surrogate
from combred.surrogate.network import Network, initialize
from combred.surrogate.storage import save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import BOXCOX, FLOOR, POWER
from combred.training import loop
from combred.training.batches import TrainingData, fit_transform
from combred.training.loop import forget_checkpoint
from combred.training.sensitivity_loss import SensitivityLoss
from combred.training.validation_loss import ValidationLoss


def train(run: Run, data: Data) -> Surrogate:
    """The network of stage 0: reused, taken from the models that come with combred, or trained."""
    if run.weights(0).exists():
        surrogate = load_first(run)
        name = stored_inputs(run, 0).get("shipped")
        came = f", {name}, which comes with combred" if name else ""
        console.print(f"stage 0: {shape(surrogate.network)}{came}, reused")
        return surrogate
    name, why_not = start_of(run)
    if name:
        take_shipped(run, data, name)
        return load_first(run)
    if run.settings.start == "shipped":
        console.print(f"  stage 0 is trained, none that comes with combred fits: {escape(why_not)}")
    surrogate, inputs = untrained(run, data), artefacts.trained_network(run).inputs
    record = run.path("train.json")
    train_stage(
        run,
        data,
        0,
        surrogate,
        lambda numbers: write_record(record, {"inputs": inputs, **numbers}),
        inputs,
    )
    return surrogate


def untrained(run: Run, data: Data) -> Surrogate:
    """A surrogate with transforms fitted to the states, and a network that is initialised."""
    s, table, held_out = run.settings, data.table, data.held_out
    transform = make_transform(run.mechanism, BOXCOX, FLOOR, POWER, s.network.kinetics)
    fit_transform(transform, table, held_out)
    network = Network([transform.n_inputs, *s.network.hidden, transform.n_outputs])
    initialize(network, s.network.layer_scales, torch.Generator().manual_seed(s.seed))
    surrogate = make_surrogate(run.mechanism, transform, network)
    surrogate.fit_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    return surrogate


def take_shipped(run: Run, data: Data, name: str) -> None:
    """Write a model that comes with combred as the network of stage 0.

    Its range of training is cut to the range of these states, on which its reductions are trained.
    """
    surrogate, table, held_out = shipped.load(name), data.table, data.held_out
    surrogate.narrow_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    loss = ValidationLoss(table, surrogate.transform, held_out, torch.device("cpu"))
    inputs = artefacts.shipped_network(run, name).inputs
    write_record(
        run.path("train.json"), {"inputs": inputs, "shipped": name, **loss(surrogate.network)}
    )
    forget_checkpoint(run.metrics(0))  # of a training that was not finished
    run.metrics(0).unlink(missing_ok=True)
    save_surrogate(run.weights(0), surrogate, run.mechanism, inputs=inputs)
    shown = shape(surrogate.network)
    console.print(f"stage 0: {shown}, {name}, which comes with combred; start=scratch trains one")


def train_stage(
    run: Run,
    data: Data,
    stage: int,
    surrogate: Surrogate,
    record: Callable[[dict], None],
    inputs: dict,
) -> None:
    """Train a surrogate's network in place, and save it as the network of a stage.

    inputs: what the network is made from. record: stores the numbers of the training. It is called
    before the network is saved, so that a network on disk always has its numbers.
    """
    settings = run.settings.retraining_settings if stage else run.settings.training
    numbers = train_network(run, data, surrogate, settings, run.metrics(stage), f"stage {stage}")
    record(numbers | {"metrics": digest(run.metrics(stage))})
    save_surrogate(run.weights(stage), surrogate, run.mechanism, inputs=inputs)
    forget_checkpoint(run.metrics(stage))
    console.print(
        f"stage {stage}: {shape(surrogate.network)}, validation loss "
        f"{numbers['validation']:.4f}, {numbers['samples_per_second']:,.0f} samples/s",
    )


def train_network(
    run: Run, data: Data, surrogate: Surrogate, settings: TrainingSettings, metrics: Path, what: str
) -> dict:
    """Train a surrogate's network in place on the run's data, with a progress bar; its numbers.

    metrics: the file of training metrics; a checkpoint beside it is resumed.
    """
    with progress(f"training {what}") as bar:
        rows = TrainingData(
            data.table,
            surrogate.transform,
            data.held_out,
            run.settings.seed,
            sensitivity_loss(run, data, surrogate),
        )
        numbers = loop.train(surrogate.network, rows, settings, metrics, run.device, bar)
    surrogate.cpu().eval()
    return numbers


def sensitivity_loss(run: Run, data: Data, surrogate: Surrogate) -> SensitivityLoss | None:
    """The loss of delays, speeds, peaks and masses, where sensitivities are asked for. Raises
    FileNotFoundError where they are, and are not there."""
    transform, artefact = surrogate.transform, artefacts.sensitive(run)
    if not artefact.inputs or not isinstance(transform, CorrectionTransform):
        return None
    if data.sensitive is None:
        raise FileNotFoundError(
            f"no sensitivities at {artefact.path}: run `python -m combred.pipeline only=sample` "
            "with these settings, or give sensitivity.ignitions=0 sensitivity.flames=0 "
            "sensitivity.counterflows=0 sensitivity.kernels=0"
        )
    return SensitivityLoss(data.sensitive, transform, run.mechanism, run.device, run.settings.seed)
