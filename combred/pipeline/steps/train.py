"""The step `train`: the network of stage 0; and the training of any stage.

Takes `Data`; writes stage0.safetensors, stage0.jsonl and train.json, and hands on the surrogate.
"""

from collections.abc import Callable
from pathlib import Path

import torch

from combred.chemistry.mechanism import Mechanism
from combred.config import NetworkSettings, TrainingSettings
from combred.files.records import digest, write_record
from combred.pipeline.artefacts import NetworkArtefact
from combred.pipeline.console import console, progress
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
from combred.training.devices import open_device
from combred.training.loop import forget_checkpoint
from combred.training.sensitivity_loss import SensitivityLoss
from combred.training.validation_loss import ValidationLoss


def train_first(
    artefact: NetworkArtefact,
    mechanism: Mechanism,
    data: Data,
    network: NetworkSettings,
    training: TrainingSettings,
) -> Surrogate:
    """Train the network of stage 0."""
    surrogate = untrained(mechanism, data, network)

    def record(numbers: dict) -> None:
        write_record(artefact.record, {"inputs": artefact.inputs, **numbers})

    train_stage(artefact, surrogate, data, training, record)
    return surrogate


def untrained(mechanism: Mechanism, data: Data, settings: NetworkSettings) -> Surrogate:
    """A surrogate with transforms fitted to the states, and a network that is initialised."""
    table, held_out = data.table, data.held_out
    transform = make_transform(mechanism, BOXCOX, FLOOR, POWER, settings.kinetics)
    fit_transform(transform, table, held_out)
    network = Network([transform.n_inputs, *settings.hidden, transform.n_outputs])
    initialize(network, settings.layer_scales, torch.Generator().manual_seed(data.seed))
    surrogate = make_surrogate(mechanism, transform, network)
    surrogate.fit_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    return surrogate


def take_shipped(artefact: NetworkArtefact, data: Data, name: str) -> Surrogate:
    """Write a model that comes with combred as the network of stage 0.

    Its range of training is cut to the range of these states, on which its reductions are trained.
    """
    surrogate, table, held_out = shipped.load(name), data.table, data.held_out
    surrogate.narrow_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    loss = ValidationLoss(table, surrogate.transform, held_out, torch.device("cpu"))
    made = {"inputs": artefact.inputs, "shipped": name}
    write_record(artefact.record, made | loss(surrogate.network))
    forget_checkpoint(artefact.metrics)  # of a training that was not finished
    artefact.metrics.unlink(missing_ok=True)
    save_surrogate(artefact.path, surrogate, surrogate.mechanism, inputs=artefact.inputs)
    shown = shape(surrogate.network)
    console.print(f"stage 0: {shown}, {name}, which comes with combred; start=scratch trains one")
    return surrogate


def train_stage(
    artefact: NetworkArtefact,
    surrogate: Surrogate,
    data: Data,
    settings: TrainingSettings,
    record: Callable[[dict], None],
) -> None:
    """Train a surrogate's network in place, and save it as the network of a stage.

    record: stores the numbers of the training. It is called before the network is saved, so that a
    network on disk always has its numbers.
    """
    what = f"stage {artefact.stage}"
    numbers = train_network(surrogate, data, settings, artefact.metrics, what)
    record(numbers | {"metrics": digest(artefact.metrics)})
    save_surrogate(artefact.path, surrogate, surrogate.mechanism, inputs=artefact.inputs)
    forget_checkpoint(artefact.metrics)
    console.print(
        f"{what}: {shape(surrogate.network)}, validation loss "
        f"{numbers['validation']:.4f}, {numbers['samples_per_second']:,.0f} samples/s",
    )


def train_network(
    surrogate: Surrogate, data: Data, settings: TrainingSettings, metrics: Path, what: str
) -> dict:
    """Train a surrogate's network in place, with a progress bar; the numbers of the training.

    metrics: the file of training metrics; a checkpoint beside it is resumed.
    """
    device = open_device()
    loss = sensitivity_loss(surrogate, data, device)
    rows = TrainingData(data.table, surrogate.transform, data.held_out, data.seed, loss)
    with progress(f"training {what}") as bar:
        numbers = loop.train(surrogate.network, rows, settings, metrics, device, bar)
    surrogate.cpu().eval()
    return numbers


def sensitivity_loss(
    surrogate: Surrogate, data: Data, device: torch.device
) -> SensitivityLoss | None:
    """The loss of delays, speeds, peaks and masses, where sensitivities are asked for. Raises
    FileNotFoundError where they are, and are not there."""
    transform, file = surrogate.transform, data.sensitive_file
    if not file.inputs or not isinstance(transform, CorrectionTransform):
        return None
    if data.sensitive is None:
        raise FileNotFoundError(
            f"no sensitivities at {file.path}: run `python -m combred.pipeline only=sample` "
            "with these settings, or give sensitivity.ignitions=0 sensitivity.flames=0 "
            "sensitivity.counterflows=0 sensitivity.kernels=0"
        )
    return SensitivityLoss(data.sensitive, transform, surrogate.mechanism, device, data.seed)
