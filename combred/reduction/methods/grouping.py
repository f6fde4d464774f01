"""Groups of units that point the same way, and the merge that they make.

Chen & Xu 2024, section 2.2.3. The grouping itself is `combred.kernels.group`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from combred import kernels
from combred.reduction.merge import Merge


def group_rows(rows: Tensor, dead: Tensor, threshold: float) -> Tensor:
    """Main unit (m,) of each row's group; -1 for dead rows."""
    main_of = torch.full((len(rows),), -1, dtype=torch.int64, device=rows.device)
    alive = (~dead).nonzero()[:, 0]
    if len(alive) == 0:
        alive = torch.zeros(1, dtype=torch.int64, device=rows.device)  # one unit has to stay
    labels, mains = kernels.group(rows[alive], threshold)
    main_of[alive] = alive[mains][labels]
    return main_of


def merge_groups(rows: Tensor, main_of: Tensor, constants: Tensor) -> Merge:
    """Each unit as its norm ratio times the main unit of its group; dead ones (-1) as `constants`
    (m,)."""
    m = len(rows)
    alive = main_of >= 0
    kept = main_of[alive].unique()
    norm = rows.norm(dim=1)
    mains = main_of[alive]
    ratio = torch.where(norm[mains] > 0, norm[alive] / norm[mains].clamp(min=1e-300), 1.0)
    mixing = torch.zeros(len(kept), m, dtype=torch.float64, device=rows.device)
    mixing[torch.searchsorted(kept, mains), alive.nonzero()[:, 0]] = ratio
    return Merge(kept, mixing, torch.where(alive, 0.0, constants))


def threshold_for(rows: Tensor, keep: int | None) -> float:
    """A cosine threshold that leaves at most `keep` groups, while 1e-6 more leaves more; bisection.

    The highest one, as long as a higher threshold never leaves fewer groups; greedy groups, which
    need not be nested, keep to that nearly, not always.
    """
    if keep is None or keep < 1:
        raise ValueError(f"condensation wants threshold=, or keep= of at least 1, not keep={keep}")
    return bisect_groups(lambda t: len(kernels.group(rows, t)[1]), keep, -1.0, 1.0)


def bisect_groups(count: Callable[[float], int], keep: int, few: float, many: float) -> float:
    """The threshold nearest to `many`, towards `few`, at which `count` is at most `keep`."""
    if count(many) <= keep:
        return many
    while abs(many - few) > 1e-6:
        middle = 0.5 * (few + many)
        few, many = (middle, many) if count(middle) <= keep else (few, middle)
    return few
