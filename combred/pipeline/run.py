"""A run: its settings, its mechanism, its folder, and the device that it trains on."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.config import Settings
from combred.training.devices import Device


@dataclass(frozen=True)
class Run:
    """A run of the pipeline. The names of its files stand here and in `artefacts`."""

    settings: Settings
    mechanism: Mechanism
    folder: Path
    device: Device

    def path(self, name: str) -> Path:
        """A file of the run folder."""
        return self.folder / name

    def weights(self, stage: int) -> Path:
        """The trained network of a stage."""
        return self.path(f"stage{stage}.safetensors")

    def merged(self, stage: int) -> Path:
        """The network of a stage between its reduction and the end of its retraining."""
        return self.path(f"stage{stage}.merged.safetensors")

    def metrics(self, stage: int) -> Path:
        """The training metrics of a stage, JSON lines; its checkpoint lies beside."""
        return self.path(f"stage{stage}.jsonl")

    @property
    def workers(self) -> int:
        """Number of processes of sampling and of references."""
        return self.settings.workers or len(os.sched_getaffinity(0))

    @property
    def mixture(self) -> Mixture:
        """Fuel and oxidizer."""
        return Mixture(self.settings.sampling.fuel, self.settings.sampling.oxidizer)

    def barrier(self) -> None:
        """Wait for the other processes of torchrun, if there are any."""
        if self.device.world > 1:
            torch.distributed.barrier()

    def shared(self, make: Callable[[], Any]) -> Any:
        """The result of `make()`, called in the first process of torchrun alone, in all of them.

        Where it raises, all processes raise the same error.
        """
        if self.device.world == 1:
            return make()
        outcome: list = [None]
        if self.device.leads:
            try:
                outcome = [(make(), None)]
            except Exception as error:  # the other processes wait for it
                outcome = [(None, error)]
        torch.distributed.broadcast_object_list(outcome, src=0)
        made, failure = outcome[0]
        if failure is not None:
            raise failure
        return made
