"""Perturbed states: T, p and Y changed at random, with the masses of the elements kept.

Takes states of a trajectory (`sampling.premixed.states`); gives states around them, as in
Yi et al., arXiv 2512.05685.
"""

import numpy as np
import torch

from combred.experiments.labelled import States
from combred.surrogates.model.element_projection import ElementProjection

T_FLOOR, T_CEILING = 250.0, 3300.0  # K: perturbed temperatures are clipped to this range


def perturb(
    projection: ElementProjection,
    rng: np.random.Generator,
    states: States,
    count: int,
    width: tuple[float, float],
) -> States:
    """`count` states, each a perturbation of a random one of `states`:

        Y_k' = Y_k^(1 + s u_k)    T' = T + 400 K s N(0, 1)    p' = p (1 + s u / 2)

    with s log-uniform in `width`, and u_k, u uniform in [-1, 1]. Inert species and the mass of
    every element are kept; a perturbation whose `projection` to these masses fails is drawn again.
    Raises ValueError where 50 draws fail.
    """
    T, p, Y = states
    out_T, out_p, out_Y = np.empty(count), np.empty(count), np.empty((count, Y.shape[1]))
    low, high = np.log(width)
    open_rows = np.arange(count)
    for _ in range(50):
        if len(open_rows) == 0:
            return out_T, out_p, out_Y
        n = len(open_rows)
        base = rng.integers(0, len(T), n)
        s = np.exp(rng.uniform(low, high, n))
        u = rng.uniform(-1, 1, (n, Y.shape[1]))
        raw = np.where(Y[base] > 0, Y[base], 1.0) ** (1 + s[:, None] * u) * (Y[base] > 0)
        target = torch.tensor(Y[base])
        projected = projection(torch.tensor(raw), target)
        error = projection.error(projected, target).numpy()
        perturbed = projected.numpy()
        good = error < 1e-9
        rows = open_rows[good]
        noise = 400.0 * s * rng.standard_normal(n)
        out_T[rows] = np.clip(T[base] + noise, T_FLOOR, T_CEILING)[good]
        out_p[rows] = (p[base] * (1 + 0.5 * s * rng.uniform(-1, 1, n)))[good]
        out_Y[rows] = perturbed[good]
        open_rows = open_rows[~good]
    raise ValueError(
        f"{len(open_rows)} of {count} perturbations of width {list(width)} do not keep the "
        "element masses within 1e-9, after 50 draws each: choose another "
        "range of phi"
    )
