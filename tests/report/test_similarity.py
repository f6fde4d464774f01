"""The numbers of condensation, and the cosine similarities that are drawn."""

import json

import numpy as np
import pytest
import torch

from combred.report.folder import read_folder
from combred.report.similarity import block_means, condensation_numbers, ordered_similarity


def test_condensation_numbers_find_the_planted_pairs(whole, drm19, tmp_path):
    folder = read_folder(whole, drm19)
    numbers = condensation_numbers(tmp_path, folder.networks, folder.reductions)
    first = numbers["reductions"][0]
    assert first["before"]["units"] == 24 and first["before"]["groups"] == 12
    assert first["before"]["largest_group"] == 2 and first["after"]["units"] == 12
    groups = numbers["groups"]["stage0"]["1"]
    assert groups == sorted(groups, reverse=True) and groups[0] == 12
    with np.load(tmp_path / "condensation.npz") as matrices:
        matrix = matrices["stage1_before"].astype(float)
    pairs = np.abs(matrix - 1.0) < 1e-2
    assert pairs.sum() == 24 + 24 and all(pairs[i, i + 1] for i in range(0, 24, 2))
    assert json.loads((tmp_path / "condensation.json").read_text())["groups"]["stage2"]


def test_similarity_is_ordered_by_group_and_dead_units_come_last():
    layer = torch.nn.Linear(3, 7)
    axes = torch.eye(3)
    rows = [axes[0], axes[1], 2 * axes[1], 0 * axes[0], axes[2], 3 * axes[2], 0.5 * axes[2]]
    with torch.no_grad():
        layer.weight.copy_(torch.stack(rows))
        layer.bias.zero_()
    numbers, matrix = ordered_similarity(layer, 0.99)
    blocks_of_ones = np.zeros((7, 7))
    for start, size in ((0, 3), (3, 2), (5, 1)):
        blocks_of_ones[start : start + size, start : start + size] = 1.0
    np.testing.assert_allclose(matrix, blocks_of_ones, atol=1e-7)
    assert (numbers["groups"], numbers["largest_group"], numbers["dead_units"]) == (3, 3, 1)


def test_block_means_against_loops():
    matrix = torch.randn(11, 11, dtype=torch.float64)
    means = block_means(matrix, 4)
    for i in range(3):
        for j in range(3):
            block = matrix[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
            assert means[i, j] == pytest.approx(float(block.mean()), rel=1e-12)
    assert block_means(matrix, 1) is matrix
