"""A run: its settings, its mechanism, and its folder.

What puts the steps together knows it; a step takes its own settings and artefacts.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.config.settings import Settings


@dataclass(frozen=True)
class Run:
    """A run of the pipeline. The names of its files stand here and in `artefacts`."""

    settings: Settings
    mechanism: Mechanism
    folder: Path

    def path(self, name: str) -> Path:
        """A file of the run folder."""
        return self.folder / name

    def weights(self, stage: int) -> Path:
        """The trained network of a stage."""
        return self.path(f"stage{stage}.safetensors")

    @property
    def workers(self) -> int:
        """Number of processes of sampling and of references."""
        return self.settings.workers or len(os.sched_getaffinity(0))

    @property
    def mixture(self) -> Mixture:
        """Fuel and oxidizer."""
        return Mixture(self.settings.sampling.fuel, self.settings.sampling.oxidizer)
