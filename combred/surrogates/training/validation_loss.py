"""The validation loss: the training loss over held-out rows.

Takes a `StateTable`, a fitted `StateTransform` and a mask of rows; gives a function of a network.
"""

import numpy as np
import torch

from combred.surrogates.dataset.table import StateTable
from combred.surrogates.model.network import Network
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.training.batches import encode


class ValidationLoss:
    """Mean loss over held-out rows, at most 20,000 of them.

    `held_out` (n_rows,) bool: the rows of `table`. Raises ValueError as `require_held_out`.
    """

    def __init__(
        self,
        table: StateTable,
        transform: StateTransform,
        held_out: np.ndarray,
        device: torch.device,
    ):
        require_held_out(held_out)
        rows = np.flatnonzero(held_out)
        chosen = np.zeros(table.rows, dtype=bool)
        chosen[rows[:: max(1, len(rows) // 20_000)]] = True
        encoded = [encode(transform, block) for block in table.chunks(keep=chosen)]
        self.x, self.z = (torch.cat(side).to(device) for side in zip(*encoded, strict=True))
        self.loss = transform.loss

    def __call__(self, network: Network) -> dict:
        """The loss of a network ("validation")."""
        with torch.no_grad():
            prediction = torch.cat([network(x) for x in self.x.split(4096)])
            return {"validation": float(self.loss(prediction, self.z))}


def require_held_out(rows: np.ndarray) -> None:
    """ValueError unless some of the rows (n,) bool are held out."""
    if not rows.any():
        raise ValueError(
            f"none of {len(rows)} states is held out for validation, which needs at least two "
            "ignitions or flames, or two blocks of 256 states of a flow: take more of them"
        )
