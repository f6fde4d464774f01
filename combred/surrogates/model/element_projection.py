"""Element projection: mass fractions are corrected until every element has its given mass.

Takes mass fractions and a target state; gives mass fractions with the target's element masses. Used
where sampling perturbs states (`sampling.premixed.perturbation`) and where the surrogate
closes the prediction of its network (`model.surrogate`).
"""

from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism


class ElementProjection(nn.Module):
    """Solves E Y' = E Y_target over the reactive species for

        Y_i' = Y_i exp(r_i)    r = clip(w (E^T lam), -3, 3)    w_i = d_i / max d + 1e-4

    with one multiplier lam per element, and d the difference of Y and the target. E (n_elements,
    n_species): mass of an element per mass of a species. Inert species are copied from the target.

    To first order dY_i = Y_i w_i (E^T lam)_i: the species carry the correction which are abundant,
    and were changed. Traces keep their relative value, and CO2 in burnt gas where fuel decomposes
    is nearly what it was. The exponential keeps Y' positive. At most six steps of
    Newton's method on lam leave an error of about 1e-13 where Y was wrong by some per cent. Where
    Y was far off, they may not converge: ask `error`.
    """

    elements: Tensor
    products: Tensor
    reactive: Tensor

    WEIGHT_FLOOR: Final[float] = 1e-4  # of w
    LEAST: Final[float] = 1e-30  # of max d, where nothing was changed
    LARGEST: Final[float] = 3.0  # exponent r
    STEPS: Final[int] = 6  # of Newton's method

    def __init__(self, mechanism: Mechanism):
        super().__init__()
        reactive = ~mechanism.inert
        E = mechanism.elements[:, reactive]
        E = E[E.any(axis=1)]
        products = (E[:, None] * E).reshape(len(E) ** 2, -1)  # of each pair of elements
        self.register_buffer("elements", torch.tensor(E, dtype=torch.float64))
        self.register_buffer("products", torch.tensor(products), persistent=False)
        self.register_buffer("reactive", torch.tensor(reactive.nonzero()[0]))
        self.n_elements: int = len(E)

    def error(self, Y: Tensor, target: Tensor) -> Tensor:
        """Largest difference in an element's mass fraction, (n,), between Y and target
        (n, n_species), over the reactive species."""
        difference = (Y - target).index_select(1, self.reactive)
        return (difference @ self.elements.T).abs().amax(dim=1)

    def forward(self, Y: Tensor, target: Tensor) -> Tensor:
        """Y (n, n_species) >= 0 with the element masses of target (n, n_species); float64."""
        # Arrays are species by states here: rows are contiguous, so operations on them vectorise.
        y = Y.T.index_select(0, self.reactive)
        given = target.T.index_select(0, self.reactive)
        b, weight = self.elements @ given, self.weight(y, given)
        corrected, exponent = y, torch.zeros_like(y)
        lam = torch.zeros_like(b)
        for _ in range(self.STEPS):
            residual = b - self.elements @ corrected
            lam = lam + self.solve(corrected * weight, residual)  # the Jacobian of E Y'
            before, exponent = exponent, weight * (self.elements.T @ lam)
            corrected = y * torch.exp(exponent.clamp(-self.LARGEST, self.LARGEST))
            # Newton's next step would be of the order of the square of this one. On a GPU the test
            # would cost more than the steps it saves.
            if not Y.is_cuda and bool(((exponent - before).abs() < 1e-9).all()):
                break
        return target.index_copy(1, self.reactive, corrected.T)

    def weight(self, y: Tensor, given: Tensor) -> Tensor:
        """w (n_reactive, n) of the reactive species y and those of the target `given`."""
        d = (y - given).abs()
        return d / d.amax(dim=0).clamp(min=self.LEAST) + self.WEIGHT_FLOOR

    def solve(self, slope: Tensor, residual: Tensor) -> Tensor:
        """x (n_elements, n) of E diag(slope) E^T x = residual, slope (n_reactive, n), scaled to a
        unit diagonal; x is zero for an element that is absent."""
        m = self.n_elements
        jacobian = (self.products @ slope).view(m, m, -1)
        scale = torch.rsqrt(torch.diagonal(jacobian).T + 1e-60)
        scaled = jacobian * scale[:, None] * scale
        return scale * solve_small(scaled, scale * residual)


def solve_small(A: Tensor, b: Tensor) -> Tensor:
    """x (size, n) of A x = b, for n symmetric positive semidefinite matrices A (size, size, n) with
    unit diagonal and right-hand sides b (size, n).

    Gaussian elimination, unrolled over `size` and vectorised over n. A pivot below 1e-15 (an
    element that is absent) gives x = 0.
    """
    size = A.size(0)
    rows = [torch.cat([A[i], b[i : i + 1]]) for i in range(size)]
    for i in range(size):
        pivot = rows[i][i]
        regular = pivot > 1e-15
        inverse = torch.where(regular, 1.0 / torch.where(regular, pivot, 1.0), 0.0)
        rows[i] = rows[i] * inverse
        for j in range(size):
            if j != i:
                rows[j] = rows[j] - rows[j][i] * rows[i]
    return torch.stack([row[size] for row in rows])
