"""Fixtures for tests of trainings: a small training that can be killed, and its pieces."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from killed import Killed

from combred.config.learning import TrainingSettings
from combred.surrogates.dataset.table import StateTable
from combred.surrogates.model.network import Network
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.training import loop
from combred.surrogates.training.batches import TrainingData, fit_transform
from combred.surrogates.training.loop import train

CPU = torch.device("cpu")
HELD_OUT = 0.2
SETTINGS = TrainingSettings(steps=60, lr=2e-3, batch=32, batch_final=64)


@pytest.fixture(scope="package", autouse=True)
def in_float32():
    """Trainings of these tests are in float32, whatever the machine is fastest in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "fastest_precision", lambda device: ("float32", "asked for"))
        yield


def kill_at(step: int):
    """A callback that kills the training once `step` steps are done."""

    def on_progress(done, steps, text):
        if done >= step:
            raise Killed

    return on_progress


@dataclass(frozen=True)
class Training:
    """A small training: `fit` trains a new network, always the same one at first."""

    table: StateTable
    transform: StateTransform
    held_out: np.ndarray
    widths: list[int]
    make_network: object
    device: torch.device = CPU
    settings: TrainingSettings = SETTINGS
    killed: type = Killed

    def network(self, widths: list[int] | None = None) -> Network:
        """The network before training."""
        return self.make_network(widths or self.widths, output=0.5)

    def fit(
        self,
        metrics: Path,
        settings: TrainingSettings | None = None,
        network: Network | None = None,
        held_out: np.ndarray | None = None,
        seed: int = 0,
        stop: int | None = None,
        on_progress=None,
    ) -> tuple[Network, dict]:
        """Train, until killed at step `stop` if given; returns network and numbers."""
        network = self.network() if network is None else network
        held_out = self.held_out if held_out is None else held_out
        watch = on_progress or kill_at(10**9 if stop is None else stop)
        settings = settings or self.settings
        data = TrainingData(self.table, self.transform, held_out, seed)
        numbers = train(network, data, settings, metrics, self.device, watch)
        return network, numbers

    def fit_until_killed(self, metrics: Path, stop: int, **how) -> Network:
        """Train until killed at step `stop`; returns the network as the kill left it."""
        network = self.network()
        with pytest.raises(Killed):
            self.fit(metrics, network=network, stop=stop, **how)
        return network

    def changed(self, **changes) -> TrainingSettings:
        """The settings with changes."""
        return replace(self.settings, **changes)

    @staticmethod
    def lines(metrics: Path) -> list[dict]:
        """The lines of a file of metrics."""
        return [json.loads(line) for line in metrics.read_text().splitlines()]

    @staticmethod
    def same_weights(a: Network, b: Network) -> bool:
        """Whether two networks are equal to the last bit."""
        return all(torch.equal(a.state_dict()[k], b.state_dict()[k]) for k in a.state_dict())


@pytest.fixture(scope="module", autouse=True)
def frequent_checkpoints():
    """A checkpoint after each step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("combred.surrogates.training.loop.CHECKPOINT_SECONDS", 0.0)
        yield


@pytest.fixture(scope="session")
def training(table, drm19, make_network) -> Training:
    """A training on the state file of DRM19."""
    held_out = table.held_out(HELD_OUT, 0)
    transform = StateTransform(drm19.n_species, lam=0.1, floor=1e-13, power=1 / 3)
    fit_transform(transform, table, held_out)
    n = 2 + drm19.n_species
    return Training(table, transform, held_out, [n, 32, 24, n], make_network)
