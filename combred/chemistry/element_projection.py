"""Elements kept: mass fractions are moved, as little as their size allows, until the mass of
every element is what it should be.

Used where states are perturbed (sampling) and where a network's answer is closed (network).
"""

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism


class ElementProjection(nn.Module):
    """Y_i' = Y_i exp(r_i), r = clip(w (E^T lam), -limit, limit), w_i = Y_i + 1e-8, with lam such
    that E Y' = E Y_target over the reactive species; inert species are copied from the target.

    To first order dY_i = (Y_i^2 + 1e-8 Y_i) (E^T lam)_i: abundant species carry the correction,
    traces keep their relative value. The exponential keeps Y' > 0. At most six
    steps of Newton's method on lam leave about 1e-13 where Y was off by some per cent; where it
    was far off, they may fail.
    """

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
        """Largest difference in the mass fraction of an element, (n,), inert species apart."""
        difference = (Y - target).index_select(1, self.reactive)
        return (difference @ self.elements.T).abs().amax(dim=1)

    def forward(self, Y: Tensor, target: Tensor) -> Tensor:
        """Y (n, n_species) >= 0 moved to the element masses of target (n, n_species); float64."""
        # Species by states in here: a row is contiguous, and what is done to it is vectorised.
        y = Y.T.index_select(0, self.reactive)
        b = self.elements @ target.T.index_select(0, self.reactive)
        weight = y + 1e-8
        moved, exponent = y, torch.zeros_like(y)
        lam = torch.zeros_like(b)
        for _ in range(6):
            lam = lam + self.solve(moved * weight, b - self.elements @ moved)  # Jacobian of E Y'
            before, exponent = exponent, weight * (self.elements.T @ lam)
            moved = y * torch.exp(exponent.clamp(-3.0, 3.0))
            if not Y.is_cuda and bool(((exponent - before).abs() < 1e-9).all()):
                break  # the next step would be its square; on a GPU, asking costs more than it
        return target.index_copy(1, self.reactive, moved.T)

    def solve(self, slope: Tensor, residual: Tensor) -> Tensor:
        """x (n_elements, n) of E diag(slope) E^T x = residual, slope (n_reactive, n), scaled to a
        unit diagonal; zero for an element that is absent."""
        m = self.n_elements
        jacobian = (self.products @ slope).view(m, m, -1)
        scale = torch.rsqrt(torch.diagonal(jacobian).T + 1e-60)
        scaled = jacobian * scale[:, None] * scale
        return scale * solve_small(scaled, scale * residual)

    @torch.jit.ignore
    def linearized(self, Y: Tensor, moved: Tensor, dY: Tensor) -> Tensor:
        """How `moved`, the answer to Y, changes with Y and the elements kept: dY' (n, n_species).

        With r = ln(Y' / Y): dY' = u + Y' w (E^T dlam), u = (Y' / Y) (1 + Y r / w) dY for lam as it
        is, and dlam from E dY' = 0. Exact where the answer is; inert species do not change.
        """
        y, end, change = (side.index_select(1, self.reactive) for side in (Y, moved, dY))
        weight, some = y + 1e-8, y > 0.0
        ratio = torch.where(some, end / torch.where(some, y, 1.0), 1.0)
        exponent = torch.log(ratio).clamp(-3.0, 3.0)
        free = exponent.abs() < 3.0 - 1e-9  # elsewhere it is clipped, and stays
        own = torch.where(free, y * exponent / weight, 0.0)
        u = torch.exp(exponent) * (1.0 + own) * change
        slope = torch.where(free, end * weight, 0.0)
        dlam = -self.solve(slope.T, self.elements @ u.T)
        kept = u + slope * (dlam.T @ self.elements)
        return torch.zeros_like(Y).index_copy(1, self.reactive, kept)


def solve_small(A: Tensor, b: Tensor) -> Tensor:
    """x (size, n) of A x = b for n symmetric positive (semi)definite matrices (size, size, n) with
    unit diagonal, by Gaussian elimination unrolled over `size` and vectorised over n; directions
    of vanishing pivot (an element that is absent) get x = 0.
    """
    size = A.size(0)
    rows = [torch.cat([A[i], b[i : i + 1]]) for i in range(size)]
    for i in range(size):
        pivot = rows[i][i]
        good = pivot > 1e-15
        inverse = torch.where(good, 1.0 / torch.where(good, pivot, 1.0), 0.0)
        rows[i] = rows[i] * inverse
        for j in range(size):
            if j != i:
                rows[j] = rows[j] - rows[j][i] * rows[i]
    return torch.stack([row[size] for row in rows])
