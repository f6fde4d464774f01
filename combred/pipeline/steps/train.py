"""The step `train`: the network of stage 0; and the training of any stage.

Takes `Data`; writes stage0.safetensors, stage0.jsonl and train.json, and hands on the surrogate.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from combred.chemistry.mechanism import Mechanism
from combred.config.learning import NetworkSettings, TrainingSettings
from combred.files.records import digest
from combred.pipeline.console import console, progress
from combred.pipeline.files import NetworkArtefact
from combred.pipeline.steps.sample import Data
from combred.pipeline.tables import shape
from combred.surrogates.files import shipped
from combred.surrogates.model.correction import CorrectionTransform, make_transform
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.network import Network, initialize
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.model.transform import BOXCOX, FLOOR, POWER
from combred.surrogates.training import loop
from combred.surrogates.training.batches import TrainingData, fit_transform
from combred.surrogates.training.devices import open_device
from combred.surrogates.training.loop import forget_checkpoint
from combred.surrogates.training.sensitivity_loss import SensitivityLoss
from combred.surrogates.training.validation_loss import ValidationLoss


@dataclass(frozen=True)
class Trainer:
    """Trains networks on `data`, with `settings`."""

    data: Data
    settings: TrainingSettings

    def make(self, artefact: NetworkArtefact, surrogate: Surrogate) -> None:
        """Train a surrogate's network in place, and save it as the network of a stage; its numbers
        go first, so that a network on disk always has them."""
        what = f"stage {artefact.stage}"
        numbers = self.train(surrogate, artefact.metrics, what)
        told = numbers | {"metrics": digest(artefact.metrics)}
        if artefact.stage:
            told = artefact.numbers() | {"retraining": told}
        artefact.write_numbers(told)
        artefact.save(surrogate)
        forget_checkpoint(artefact.metrics)
        console.print(
            f"{what}: {shape(surrogate.network)}, validation loss "
            f"{numbers['validation']:.4f}, {numbers['samples_per_second']:,.0f} samples/s"
        )

    def train(self, surrogate: Surrogate, metrics: Path, what: str) -> dict:
        """Train a surrogate's network in place, with a progress bar; the numbers of the training.

        metrics: the file of training metrics; a checkpoint beside it is resumed.
        """
        data, transform, device = self.data, surrogate.transform, open_device()
        loss = self.sensitivity_loss(surrogate, device)
        rows = TrainingData(data.table, transform, data.held_out, data.seed, loss)
        with progress(f"training {what}") as bar:
            numbers = loop.train(surrogate.network, rows, self.settings, metrics, device, bar)
        surrogate.cpu().eval()
        return numbers

    def sensitivity_loss(
        self, surrogate: Surrogate, device: torch.device
    ) -> SensitivityLoss | None:
        """The loss of delays, speeds, peaks and masses, where sensitivities are asked for. Raises
        FileNotFoundError where they are, and are not there."""
        data, transform = self.data, surrogate.transform
        if not data.sensitive_file.inputs or not isinstance(transform, CorrectionTransform):
            return None
        if data.sensitive is None:
            raise FileNotFoundError(
                f"no sensitivities at {data.sensitive_file.path}: run `python -m combred.pipeline "
                "only=sample` with these settings, or give sensitivity.ignitions=0 "
                "sensitivity.flames=0 sensitivity.counterflows=0 sensitivity.kernels=0"
            )
        return SensitivityLoss(data.sensitive, transform, surrogate.mechanism, device, data.seed)


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
    artefact.write_numbers({"shipped": name, **loss(surrogate.network)})
    forget_checkpoint(artefact.metrics)  # of a training that was not finished
    artefact.metrics.unlink(missing_ok=True)
    artefact.save(surrogate)
    shown = shape(surrogate.network)
    console.print(f"stage 0: {shown}, {name}, which comes with combred; start=scratch trains one")
    return surrogate
