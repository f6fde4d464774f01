"""Batches of training rows, encoded as network inputs and targets.

Takes a `StateTable`, a `StateTransform` and a mask of rows; gives the batch of every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from combred.dataset.schema import CHUNK, FLAME, Block
from combred.dataset.table import StateTable
from combred.surrogate.correction import CorrectionTransform
from combred.surrogate.transform import StateTransform
from combred.training.sensitivity_loss import SensitivityLoss


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

    Rows of unperturbed flames count `flame_oversampling` times. All are held in memory, or, if
    there are more than `memory_rows`, one buffer at a time, of chunks drawn anew in each epoch. The
    batch of a step depends on seed and step alone, so that a resumed training gets the batches of
    the uninterrupted one.
    """

    def __init__(
        self,
        data: TrainingData,
        memory_rows: int,
        device: torch.device,
        flame_oversampling: int = 1,
    ):
        table, keep = data.table, ~data.held_out
        self.table, self.transform, self.keep = table, data.transform, keep
        self.device, self.seed, self.flame_oversampling = device, data.seed, flame_oversampling
        starts = np.arange(0, table.rows, CHUNK)
        counts = np.add.reduceat(np.where(keep, self.visits(table.samplers), 0), starts)
        self._chunks = [(int(s), int(c)) for s, c in zip(starts, counts, strict=True) if c > 0]
        self.rows = int(counts.sum())
        self.memory_rows = memory_rows
        self._loaded: tuple[tuple[int, ...], Tensor, Tensor] | None = None

    def visits(self, samplers: np.ndarray) -> np.ndarray:
        """How often a row of each of these samplers (n,) occurs in an epoch."""
        return np.where(samplers == FLAME, self.flame_oversampling, 1)

    def load(self, chunks: list[int]) -> tuple[Tensor, Tensor]:
        """Encoded rows of the chunks that start at the given rows. The result of the last call is
        kept."""
        key = tuple(chunks)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = None
            parts = []
            for start in chunks:
                stop = min(start + CHUNK, self.table.rows)
                block = self.table.read(start, stop).rows(self.keep[start:stop])
                visits = torch.from_numpy(self.visits(block.sampler))
                encoded = encode(self.transform, block)
                parts.append([side.repeat_interleave(visits, dim=0) for side in encoded])
            x, z = (torch.cat(side).to(self.device) for side in zip(*parts, strict=True))
            self._loaded = key, x, z
        return self._loaded[1:]

    def batches(self, sizes: list[int], first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches (inputs, targets) of the steps `first`, `first` + 1, ...; `sizes[step]` rows
        each, or all of a buffer that has fewer."""
        step, epoch = 0, 0
        while step < len(sizes):
            for index, (chunks, rows) in enumerate(self._buffers(epoch)):
                order, at = None, 0
                while step < len(sizes) and (at == 0 or at + sizes[step] <= rows):
                    size = min(sizes[step], rows)
                    if step >= first:
                        x, z = self.load(chunks)
                        if order is None:
                            order = self._permutation(rows, epoch, index)
                        pick = order[at : at + size]
                        yield x[pick], z[pick]
                    at += size
                    step += 1
                if step == len(sizes):
                    return
            epoch += 1

    def _buffers(self, epoch: int) -> list[tuple[list[int], int]]:
        """Chunks and number of rows of each buffer of an epoch: one buffer if all rows fit in
        memory, else the chunks in random order."""
        if self.rows <= self.memory_rows:
            return [([start for start, _ in self._chunks], self.rows)]
        rng = np.random.default_rng([self.seed, 3, epoch])
        groups: list[tuple[list[int], int]] = []
        for i in rng.permutation(len(self._chunks)):
            start, count = self._chunks[i]
            if not groups or groups[-1][1] + count > self.memory_rows:
                groups.append(([], 0))
            groups[-1] = groups[-1][0] + [start], groups[-1][1] + count
        return groups

    def _permutation(self, rows: int, epoch: int, index: int) -> Tensor:
        rng = np.random.default_rng([self.seed, 4, epoch, index])
        return torch.from_numpy(rng.permutation(rows)).to(self.device)
