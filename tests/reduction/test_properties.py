"""Properties of condensation that hold for any network, on networks that hypothesis draws."""

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from combred.reduction import apply_merge, condense, describe_units, find_layers

few = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**31 - 1)
thresholds = st.sampled_from([-1.0, 0.0, 0.3, 0.5, 0.8, 0.95])


def network_of(rows: np.ndarray, seed: int = 0, outputs: int = 3) -> nn.Sequential:
    """A network whose one hidden layer has the rows [W | b], float64."""
    m, d = rows.shape
    network = nn.Sequential(nn.Linear(d - 1, m), nn.ReLU(), nn.Linear(m, outputs)).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        network[0].weight.copy_(torch.from_numpy(rows[:, :-1]))
        network[0].bias.copy_(torch.from_numpy(rows[:, -1]))
        network[2].weight.normal_(generator=generator)
        network[2].bias.normal_(generator=generator)
    return network


def condensed(network: nn.Sequential, **how):
    """The merge of the hidden layer, and the network after it."""
    layer = find_layers(network, torch.zeros(1, network[0].in_features).double())[1]
    merge = condense(describe_units(network, layer), **how)
    return merge, apply_merge(network, layer, merge)


@st.composite
def layers(draw) -> np.ndarray:
    """Rows (m, d): random, in clusters, or multiples of a few; some of them zero or negated."""
    rng = np.random.default_rng(draw(seeds))
    m, d = draw(st.integers(1, 40)), draw(st.integers(2, 8))
    centres = rng.standard_normal((draw(st.integers(1, m)), d))
    spread = draw(st.sampled_from([0.0, 0.1, 0.5]))
    rows = centres[rng.integers(0, len(centres), m)] + spread * rng.standard_normal((m, d))
    rows *= 10.0 ** rng.uniform(-2, 2, (m, 1)) * rng.choice([-1.0, 1.0, 1.0], (m, 1))
    rows[rng.random(m) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    return rows


@few
@given(layers(), thresholds)
def test_the_mixing_has_one_positive_entry_per_column(rows, threshold):
    network = network_of(rows)
    merge, reduced = condensed(network, threshold=threshold)
    m, k = len(rows), len(merge.kept)
    assert 1 <= k <= m and reduced[0].out_features == reduced[2].in_features == k
    assert sum(p.numel() for p in reduced.parameters()) <= sum(
        p.numel() for p in network.parameters()
    )
    assert sorted(set(merge.kept.tolist())) == merge.kept.tolist()
    # Kim et al. 2020, theorem 1; dead units are constants, without an entry.
    positive = (merge.mixing > 0).sum(dim=0)
    dead = torch.from_numpy(~rows[:, :-1].any(axis=1))
    assert (merge.mixing >= 0).all() and torch.isfinite(merge.mixing).all()
    assert (positive[~dead] == 1).all() and (positive[dead] <= 1).all()
    assert torch.equal(merge.mixing[:, merge.kept], torch.eye(k).double())


def greedy(rows: np.ndarray, threshold: float, order: np.ndarray) -> list[tuple[int, set[int]]]:
    """Main unit and members of each group, ties going to the unit that comes first in `order`."""
    norm = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(norm > 0, norm, 1.0)[:, None]
    similar = unit @ unit.T >= threshold - 1e-12
    left, found = list(order), []
    while left:
        near = {i: {j for j in left if similar[i, j] or i == j} for i in left}
        main = max(left, key=lambda i: len(near[i]))  # the first of the largest
        found.append((int(main), near[main]))
        left = [i for i in left if i not in near[main]]
    return found


@few
@given(layers(), thresholds, seeds)
def test_a_permutation_of_units_permutes_the_result(rows, threshold, seed):
    rows = rows[rows[:, :-1].any(axis=1)]
    assume(len(rows))
    order = np.random.default_rng(seed).permutation(len(rows))
    merge, _ = condensed(network_of(rows[order]), threshold=threshold)
    expected = dict(greedy(rows, threshold, order))  # ties follow the order
    assert {int(order[i]) for i in merge.kept} == set(expected)
    for column, i in enumerate(merge.kept.tolist()):
        members = {int(order[j]) for j in merge.mixing[column].nonzero()[:, 0].tolist()}
        assert members == expected[int(order[i])]


@few
@given(layers(), thresholds, seeds)
def test_scaling_units_changes_neither_groups_nor_network(rows, threshold, seed):
    """Rows are multiplied by powers of two, and the columns that read them divided by the same."""
    rows = rows[rows[:, :-1].any(axis=1)]
    assume(len(rows))
    scale = 2.0 ** np.random.default_rng(seed).integers(-8, 8, len(rows))  # exact in binary
    network, scaled = network_of(rows), network_of(rows * scale[:, None])
    with torch.no_grad():
        scaled[2].weight.copy_(network[2].weight / torch.from_numpy(scale))
    merge, reduced = condensed(network, threshold=threshold)
    other, reduced_scaled = condensed(scaled, threshold=threshold)
    assert torch.equal(merge.kept, other.kept)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((20, rows.shape[1] - 1)))
    with torch.no_grad():
        out = reduced(x)
        # Norms are rounded alike.
        assert (reduced_scaled(x) - out).abs().max() <= 1e-13 * out.abs().max()
