"""The time steps that the methods of a surrogate take beside the states."""

import torch

DT = 1e-6  # s, of every surrogate in the tests


def steps(state: torch.Tensor, dt: float = DT) -> torch.Tensor:
    """dt [s] for each of the states (n, 2 + n_species): (n,) float64."""
    return torch.full((len(state),), dt, dtype=torch.float64, device=state.device)
