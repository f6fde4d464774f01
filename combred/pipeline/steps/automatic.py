"""Stage 1 by the automatic loop of Chen & Xu 2024 (figure 1): condense, train, test, restore.

Takes the surrogate of stage 0, and the trainer of the run; gives the network that the loop ends
with, and its record. The folder automatic/, with one of its own for all settings, is its memory.

The paper's metric is an accuracy, of 1 at most. Here it is the loss of stage 0 on held-out states
over the network's: 1 for stage 0 itself. So the paper's criteria (`AutomaticSettings`) hold as they
are. Three things differ: a training step has `STEPS` optimiser steps in place of an epoch, the
learning rate begins with that of the retraining, and there is no final cut, which is meant for a
layer that is much wider than the number of classes.
"""

import json
from dataclasses import replace
from hashlib import sha256
from typing import cast

import torch
from torch import nn

from combred.config.reduction import ReductionSettings
from combred.pipeline.console import console, progress
from combred.pipeline.files import NetworkArtefact
from combred.pipeline.stages import sizes
from combred.pipeline.steps.train import Trainer
from combred.reduction.automatic import (
    AutomaticReduction,
    AutomaticSettings,
    Event,
    reduce_automatically,
)
from combred.reduction.network.size import count_parameters
from combred.surrogates.model.network import Network
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.training import loop
from combred.surrogates.training.batches import TrainingData
from combred.surrogates.training.devices import open_device
from combred.surrogates.training.validation_loss import ValidationLoss

STEPS = 200  # optimiser steps of a training step
RATE_FALL = 0.01  # the paper's lowest learning rate, over its highest
TOLD = {"met": "condensed", "rollback": "restored"}  # events of a layer that are printed


def condense_in_loop(
    artefact: NetworkArtefact,
    parent: Surrogate,
    reduction: ReductionSettings,
    trainer: Trainer,
    loss: ValidationLoss,
) -> tuple[Network, dict]:
    """The network that the loop ends with, and its record. A loop that was interrupted goes on."""
    full, device, seed = count_parameters(parent.network), open_device(), [trainer.data.seed]
    first, target = loss(parent.network)["validation"], int(reduction.automatic * full)
    of = sha256(json.dumps(artefact.inputs, sort_keys=True).encode()).hexdigest()[:8]
    metrics = artefact.path.with_name("automatic") / of / "training.jsonl"
    most = -(-reduction.attempts * trainer.settings.steps // STEPS)
    sensitivity = trainer.sensitivity_loss(parent, device)

    def train(network: nn.Module, rate: float) -> float:
        loop.forget_checkpoint(metrics)  # of a training that was interrupted, and begins anew
        data, settings = trainer.data, replace(trainer.settings, steps=STEPS, lr=rate)
        rows = TrainingData(data.table, parent.transform, data.held_out, seed[0], sensitivity)
        numbers = loop.train(cast(Network, network), rows, settings, metrics, device)
        network.cpu()
        return numbers["validation"]

    def metric(network: nn.Module) -> float:
        return first / max(loss(cast(Network, network))["validation"], torch.finfo().tiny)

    def tell(event: Event) -> None:
        seed[0] = trainer.data.seed + event.event  # other batches in each training
        bar(event.step, most, f"{event.parameters:,} parameters")
        if event.kind in TOLD:
            console.print(
                f"  {event.layer} {TOLD[event.kind]} at {event.threshold:.3f}: {event.parameters:,}"
                f" parameters, {100 * event.metric:.0f} % of the accuracy of stage 0"
            )

    lr = trainer.settings.lr
    settings = AutomaticSettings(
        rate_max=lr, rate_min=RATE_FALL * lr, final_threshold=None, target=target, max_steps=most
    )
    with progress("automatic loop") as bar:
        found = reduce_automatically(
            parent.network, loss.x[:1], train, metric, settings,
            folder=metrics.parent, on_event=tell,
        )  # fmt: skip
    loop.forget_checkpoint(metrics)
    network = cast(Network, found.network)
    record = {"stage": 1, "method": "condensation", "parameters": reduction.automatic}
    record |= {"compensation": "own", **sizes(parent.network, network), "loop": _told(found)}
    return network, record


def _told(found: AutomaticReduction) -> dict:
    """What a loop did, for the record of the stage."""
    kinds = [event.kind for event in found.trace]
    return {
        "reason": found.reason,
        "reductions": kinds.count("met"),
        "restored": kinds.count("rollback"),
        "steps": found.trace[-1].step,
        "optimiser_steps": STEPS,
        "metric": found.smallest.metric,
    }
