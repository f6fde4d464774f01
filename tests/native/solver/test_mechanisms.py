"""Mechanisms that come with Cantera and with combred, over the whole range of states: rates are
Cantera's, no state is lost, and none is wrong. Takes minutes: `pytest -m mechanisms`."""

from pathlib import Path

import numpy as np
import pytest
from cantera_truth import cvode_later, random_rows, truth_of
from compiled_program import compile_quickly
from rate_kinds import assert_cantera_s

from combred import load_mechanism
from combred.chemistry.mechanism import Mechanism
from combred.native.solver import Solver

ALZUETA = "example_data/ammonia-CO-H2-Alzueta-2023.yaml"
BOIVIN = Path(__file__).parents[3] / "benchmarks" / "data" / "boivin.yaml"
MECHANISMS = {
    "h2o2.yaml": "", "drm19.yaml": "", "gri30.yaml": "", "gri30_highT.yaml": "", "ohn.yaml": "",
    "air.yaml": "", "SiF4_NH3_mec.yaml": "", "ptcombust.yaml": "gas",
    BOIVIN: "", f"{ALZUETA}:baseline": "baseline", f"{ALZUETA}:linear-Burke": "linear-Burke",
    "nDodecane_Reitz.yaml": "nDodecane_IG",
}  # fmt: skip
STEPS = (1e-8, 1e-6, 1e-5, 1e-3)  # s
pytestmark = pytest.mark.mechanisms


@pytest.fixture(scope="module", params=MECHANISMS, ids=lambda name: Path(name).name)
def mechanism(request) -> Mechanism:
    return load_mechanism(str(request.param).partition(":")[0], MECHANISMS[request.param])


@pytest.fixture(scope="module")
def solver(mechanism) -> Solver:
    with pytest.MonkeyPatch.context() as patch:
        compile_quickly(patch, "-O1")
        return Solver(mechanism)


@pytest.fixture(scope="module")
def states(mechanism):
    """T of 250 to 4000 K, p of 1 Pa to 200 bar, Y (n, n_species) from nearly pure species to equal
    parts, and dt of 400 states; a fifth is cold gas with radicals at 10 atm."""
    rng, n = np.random.default_rng(0), 400
    T, p = rng.uniform(250.0, 4000.0, n), 10.0 ** rng.uniform(0.0, 7.3, n)
    raw = rng.exponential(1.0, (n, mechanism.n_species)) ** rng.uniform(0.5, 8.0, (n, 1))
    T[::5], p[::5] = rng.uniform(250.0, 400.0, n // 5), 1e6
    return T, p, raw / raw.sum(axis=1, keepdims=True), rng.choice(STEPS, n)


@pytest.mark.parametrize("absent", [0.0, 1 / 3], ids=["all", "some"])
def test_rates_are_cantera_s(solver, absent):
    rows = random_rows(solver.mechanism, 100, seed=2, absent=absent)
    assert_cantera_s(solver, truth_of(solver.mechanism), *rows)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-6])
def test_no_state_is_lost_or_wrong(solver, states, tolerance):
    """But those that end above 6000 K, after few steps. A wrong one has an error of T or Y of more
    than a tenth of the change, plus 1 K or 1e-4."""
    T, p, Y, dt = states
    found = solver.attempt(T, p, Y, dt, tolerance)
    lost = ~(found.error <= 1.0)
    assert lost.mean() < 0.05 and found.steps[lost].max(initial=0) < 1000
    every = 8 if solver.mechanism.n_species < 60 else 32  # CVODE takes 0.2 s a state
    judged = np.concatenate([np.flatnonzero(lost)[:10], np.flatnonzero(~lost)[::every]])
    true_T, _, true_Y = cvode_later(solver.mechanism, False, *(x[judged] for x in states))
    ends = lost[judged]
    assert true_T[ends].min(initial=6000.0) >= 5990.0  # K: within the tolerance
    off_T = np.abs(found.T[judged] - true_T) > 0.1 * np.abs(true_T - T[judged]) + 1.0
    moved = np.abs(true_Y - Y[judged]).max(axis=1)
    off_Y = np.abs(found.Y[judged] - true_Y).max(axis=1) > 0.1 * moved + 1e-4
    assert not ((off_T | off_Y) & ~ends).any()
