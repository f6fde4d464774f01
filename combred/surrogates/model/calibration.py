"""Inputs of a surrogate's network, by which a reduction of the network is calibrated.

Takes a transform and, where there are some, states; gives network inputs, as `combred.reduce` asks
for them by `Surrogate.network_inputs`.
"""

import torch
from torch import Tensor

from combred.surrogates.model.correction import CorrectionTransform
from combred.surrogates.model.transform import StateTransform


def gaussian_inputs(transform: StateTransform, n: int = 4096, seed: int = 0) -> Tensor:
    """Network inputs (n, n_inputs), float32, for calibration without states.

    Gaussian draws with zero mean and the covariance of the training inputs, which the transform of
    a surrogate keeps. Where the network also sees the quasi-steady-state (QSS) prediction, the
    draws are made into states and the prediction is computed for these. seed: of the draws.
    """
    values, vectors = torch.linalg.eigh(transform.covariance.double().cpu())
    root = vectors * values.clamp(min=0.0).sqrt()
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(n, len(values), generator=generator, dtype=torch.float64)
    x = (draws @ root.T).to(transform.mean.device)
    if not isinstance(transform, CorrectionTransform):
        return x.float()
    variables = transform.mean + x * transform.std
    Y = transform.boxcox.inverse(variables[:, 2:])
    T, ln_p = torch.maximum(variables[:, :2], transform.low[:2]).unbind(1)
    states = torch.cat([torch.stack([T, ln_p.exp()], 1), Y / Y.sum(dim=1, keepdim=True)], dim=1)
    return transform.inputs(states, random_steps(transform, n, seed))


def random_steps(transform: StateTransform, n: int, seed: int) -> Tensor:
    """n time steps (n,) [s], log-uniform in the transform's range."""
    generator = torch.Generator().manual_seed(seed)
    low, high = transform.dt_range.cpu()
    drawn = low * (high / low) ** torch.rand(n, generator=generator, dtype=torch.float64)
    return drawn.to(transform.dt_range.device)
