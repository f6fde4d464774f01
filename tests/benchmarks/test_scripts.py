"""The parts of the benchmarks that are more than calls of combred."""

import numpy as np
import pytest
import torch

import combred
from benchmarks import accuracy, kernels, long, reduction
from combred.kernels import group
from combred.records import read_json


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.999])
@pytest.mark.parametrize("kind", ["random", "clustered"])
def test_the_literal_loop_groups_as_the_kernel_does(kind, threshold):
    weights = kernels.rows(80, kind)
    assert kernels.literal(weights, threshold) == group(weights, threshold)[0].tolist()


def test_a_random_choice_keeps_as_many_units_as_asked_and_the_same_for_a_seed():
    network = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3))
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    cuts = [
        combred.reduce(network, x[:1], method=reduction.random_choice, ratio=1 / 3, calibration=x)
        for _ in range(2)
    ]
    assert cuts[0].trace[0].units_after == 3
    assert torch.equal(cuts[0].network[0].weight, cuts[1].network[0].weight)


def test_delays_are_written_or_how_many_cases_do_not_ignite():
    judged = {"unlit": 0, "cases": 12, "delay_median": 0.0123, "delay_worst": 0.2}
    assert reduction.delay(judged) == "1.23 / 20.00 %"
    assert reduction.delay(judged | {"unlit": 5}) == "5 of 12 unlit"


def test_equilibrium_is_where_cvode_ends(drm19):
    Y0 = long.ignition.mixtures(drm19, long.CASES, long.FUEL, long.OXIDIZER)
    T, Y = long.equilibrium(drm19, Y0)
    ended = long.by_cvode(drm19, Y0, 0.05)
    # 50 ms are hundreds of relaxation times; the tolerances of CVODE are left.
    assert long.distance(*ended, T, Y)["T"] < 1e-6
    assert long.distance(T, Y, T, Y) == {"finite": True, "unlit": 0, "T": 0.0, "Y": 0.0}
    cold = np.array([case.T0 for case in long.CASES])
    assert long.distance(cold, Y0, T, Y)["unlit"] == len(long.CASES)


def test_the_shipped_models_have_been_measured():
    measured = [row["model"] for row in read_json(accuracy.RESULTS)["rows"]]
    assert measured == list(combred.models())
