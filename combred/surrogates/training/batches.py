"""Batches of training rows, encoded as network inputs and targets.

Takes a `StateTable`, a `StateTransform` and a mask of rows; gives the batch of every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from combred.experiments.labelled import Block
from combred.surrogates.dataset.schema import FLAME
from combred.surrogates.dataset.table import StateTable
from combred.surrogates.model.correction import CorrectionTransform
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.training.sensitivity_loss import SensitivityLoss


def fit_transform(transform: StateTransform, table: StateTable, held_out: np.ndarray) -> None:
    """Fit a transform, in place, to the training rows of a state file, streamed. `held_out`
    (n_rows,) bool: rows that are left out."""
    transform.fit(
        tuple(torch.from_numpy(side) for side in (block.state(), block.next_state(), block.dt))
        for block in table.chunks(keep=~held_out)
    )
    if isinstance(transform, CorrectionTransform):
        transform.fit_qss(
            (torch.from_numpy(block.state()), torch.from_numpy(block.dt))
            for block in table.chunks(keep=~held_out)
        )


def encode(transform: StateTransform, block: Block) -> tuple[Tensor, Tensor]:
    """Network inputs (n, n_inputs) and targets (`StateTransform.target`), float32, of a block of
    rows."""
    state = torch.from_numpy(block.state())
    v = transform.variables(state)
    change = transform.variables(torch.from_numpy(block.next_state())) - v
    with torch.no_grad():
        x, base, size = transform.prepared(state, v, torch.from_numpy(block.dt))
        return x, transform.target(change - base, size).float()


@dataclass(frozen=True)
class TrainingData:
    """What a network is trained on: a state file and its fitted transform; `held_out` (n_rows,)
    bool: the rows that validate and are not trained on; the seed of the order of the others; and
    the loss of delays, speeds, peaks and masses, if any, which is added to that of the rows."""

    table: StateTable
    transform: StateTransform
    held_out: np.ndarray
    seed: int = 0
    sensitivity: SensitivityLoss | None = None


class RowBatches:
    """Yields batches of encoded rows of a state file, of those that are not held out.

    Rows of unperturbed flames count `flame_oversampling` times. All are held on the device. The
    batch of a step depends on seed and step alone, so that a resumed training gets the batches of
    the uninterrupted one.
    """

    def __init__(self, data: TrainingData, device: torch.device, flame_oversampling: int = 1):
        self.seed, arrays = data.seed, []
        for block in data.table.chunks(keep=~data.held_out):
            visits = np.where(block.sampler == FLAME, flame_oversampling, 1)
            repeats = torch.from_numpy(visits)
            sides = encode(data.transform, block)
            arrays.append([side.repeat_interleave(repeats, dim=0) for side in sides])
        self.x, self.z = (torch.cat(side).to(device) for side in zip(*arrays, strict=True))

    def batches(self, sizes: list[int], first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches (inputs, targets) of the steps `first`, `first` + 1, ...; `sizes[step]` rows
        each, or all if there are fewer. Each epoch has its own random order; the rows that do not
        fill its last batch are left out."""
        rows, epoch, position = len(self.x), 0, 0
        order = None
        for step, wanted in enumerate(sizes):
            if position > 0 and position + wanted > rows:
                epoch, position, order = epoch + 1, 0, None
            size = min(wanted, rows)
            if step >= first:
                if order is None:
                    rng = np.random.default_rng([self.seed, 4, epoch, 0])
                    order = torch.from_numpy(rng.permutation(rows)).to(self.x.device)
                pick = order[position : position + size]
                # x[pick] takes four times as long
                yield self.x.index_select(0, pick), self.z.index_select(0, pick)
            position += size
