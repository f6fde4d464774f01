"""Calibration inputs, divided: `split` keeps a fifth of them from every fit, and the errors that a
reduction reports are of these."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from combred.reduction.fit.calibration import ROWS_A_UNIT, Calibration, batches

HELD_OUT = 5  # one input in so many is not fitted


@dataclass(frozen=True)
class _Part:
    """The inputs of batches whose digest is at most a limit, or (`held_out` False) above it."""

    calibration: Iterable[Tensor]
    limit: int
    held_out: bool

    def __iter__(self) -> Iterator[Tensor]:
        for x in self.calibration:
            held_out = torch.tensor([digest <= self.limit for digest in _digests(x)])
            rows = x[(held_out == self.held_out).to(x.device)]
            if len(rows):
                yield rows


def split(calibration: Calibration) -> tuple[Calibration, Calibration]:
    """Calibration inputs for the fit, and held-out ones, one in `HELD_OUT`, for its errors.

    The digest of an input decides its part: equal inputs are in one part, and batches may come in
    another order each time. Raises ValueError unless two inputs differ.
    """
    digests = sorted({digest for x in batches(calibration) for digest in _digests(x)})
    if len(digests) < 2:
        raise ValueError(
            "calibration needs at least two different inputs, one to fit and one to measure the "
            f"error on: give more, {ROWS_A_UNIT} for each unit that stays"
        )
    limit = digests[max(1, len(digests) // HELD_OUT) - 1]
    fitted, held_out = (_Part(batches(calibration), limit, fold) for fold in (False, True))
    if isinstance(calibration, Tensor):
        return torch.cat([*fitted]), torch.cat([*held_out])
    return fitted, held_out


def _digests(x: Tensor) -> list[int]:
    """A checksum of each input of a batch (n, ...)."""
    rows = x.detach().cpu().flatten(1).contiguous().view(torch.uint8).numpy()
    return [zlib.crc32(row) for row in rows]
