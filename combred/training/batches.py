"""The rows of a state file as training sees them: encoded, in batches, some of them held out.

Takes a `StateTable` and a `StateTransform`; gives network inputs and targets.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from combred.dataset.states import CHUNK, FLAME, Block, StateTable
from combred.surrogate.network import Network
from combred.surrogate.transform import StateTransform
from combred.training.losses import l1


def fit_transform(transform: StateTransform, table: StateTable, held_out: np.ndarray) -> None:
    """Fit a transform to the training rows, streamed."""
    transform.fit(
        (torch.from_numpy(block.state()), torch.from_numpy(block.next_state()))
        for block in table.chunks(keep=~held_out)
    )
    transform.fit_qss(torch.from_numpy(block.state()) for block in table.chunks(keep=~held_out))


def encode(transform: StateTransform, block: Block) -> tuple[Tensor, Tensor]:
    """Network input and target, float32, of the rows of a block."""
    state = torch.from_numpy(block.state())
    v = transform.variables(state)
    change = transform.variables(torch.from_numpy(block.next_state())) - v
    x, qss_change = transform.prepared(state, v)
    return x, transform.target(change - qss_change).float()


class Rows:
    """Encoded rows of a state file, in memory or, if there are too many, in shuffled buffers; those
    of unperturbed flames `flame_oversampling` times.

    The batch of a step depends on seed and step alone, so that a resumed run sees what the
    uninterrupted one would have seen.
    """

    def __init__(
        self,
        table: StateTable,
        transform: StateTransform,
        keep: np.ndarray,
        memory_rows: int,
        device: torch.device,
        seed: int,
        flame_oversampling: int = 1,
    ):
        self.table, self.transform, self.keep = table, transform, keep
        self.device, self.seed, self.flame_oversampling = device, seed, flame_oversampling
        starts = np.arange(0, table.rows, CHUNK)
        counts = np.add.reduceat(np.where(keep, self.visits(table.samplers), 0), starts)
        self._chunks = [(int(s), int(c)) for s, c in zip(starts, counts, strict=True) if c > 0]
        self.rows = int(counts.sum())
        self.memory_rows = memory_rows
        self._loaded: tuple[tuple[int, ...], Tensor, Tensor] | None = None

    def visits(self, samplers: np.ndarray) -> np.ndarray:
        """How often rows of these samplers (n,) are seen in an epoch."""
        return np.where(samplers == FLAME, self.flame_oversampling, 1)

    def load(self, chunks: list[int]) -> tuple[Tensor, Tensor]:
        """Encoded rows of the chunks that start at the given rows; the last ones are kept."""
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
        """The batches of steps first, first + 1, ...; `sizes[step]` rows each (fewer where a
        buffer has fewer)."""
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
        """Groups of chunks that fit in memory: one group of all, or a fresh shuffle each epoch."""
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


class ValidationLoss:
    """Mean loss over held-out rows, at most 20,000 of them, whole and by sampler."""

    def __init__(
        self,
        table: StateTable,
        transform: StateTransform,
        held_out: np.ndarray,
        device: torch.device,
    ):
        if not held_out.any():
            raise ValueError(
                "these states are of one trajectory, and none can be held out: sample more than "
                "one (sampling.ignitions)"
            )
        rows = np.flatnonzero(held_out)
        chosen = np.zeros(table.rows, dtype=bool)
        chosen[rows[:: max(1, len(rows) // 20_000)]] = True
        blocks = list(table.chunks(keep=chosen))
        encoded = [encode(transform, block) for block in blocks]
        self.x, self.z = (torch.cat(side).to(device) for side in zip(*encoded, strict=True))
        self.samplers = np.concatenate([block.sampler for block in blocks])
        self.names = [str(name) for name in table.attributes["samplers"]]

    def __call__(self, network: Network) -> dict:
        with torch.no_grad():
            parts = [network(x) for x in self.x.split(4096)]
            prediction = torch.cat(parts)
            by_sampler = {}
            for i in np.unique(self.samplers):
                rows = torch.from_numpy(self.samplers == i).to(self.x.device)
                by_sampler[self.names[i]] = float(l1(prediction[rows], self.z[rows]))
            return {
                "validation": float(l1(prediction, self.z)),
                "validation_by_sampler": by_sampler,
            }
