"""A mechanism that is not compiled, and the graph that makes it small, on hydrogen."""

import numpy as np
import pytest
from compiled_program import ONE_STATE, compile_quickly

from combred.native.solver import multipliers
from combred.skeletal import large, result
from combred.skeletal.cases import ATM, Ranges
from combred.skeletal.compiled import Chemistry
from combred.skeletal.graph import base_of, importance, targets
from combred.skeletal.large import Detailed
from combred.skeletal.reducing import reduce_mechanism

RANGES = Ranges("H2:1", "O2:1, N2:3.76", (1000.0, 2000.0))


@pytest.fixture(scope="module")
def detailed(network):
    own = large._Own(network)
    return Detailed(network.mechanism, lambda work, tasks: [work(own, task) for task in tasks])


@pytest.fixture(scope="module")
def ignitions(h2o2):
    T, p = np.array([1100.0, 1600.0, 300.0]), np.array([1.0, 10.0, 1.0]) * ATM
    return T, p, h2o2.mixture(RANGES.fuel, RANGES.oxidizer, [1.0, 0.5, 1.0])


def test_it_is_the_compiled_solver(detailed, quick_factors, ignitions):
    """Times, states, rates and Jacobian, in which all species are; what does not ignite is late."""
    T, p, Y = ignitions
    times = [s.time_to(*ignitions, T + 400.0, 0.1, 1e-6) for s in (detailed, quick_factors)]
    assert np.allclose(*times, rtol=1e-4) and np.isinf(times[0][2])
    dt = 3.0 * times[0][:2]
    found, known = (s.attempt(T[:2], p[:2], Y[:2], dt, 1e-6) for s in (detailed, quick_factors))
    assert np.allclose(found.T, known.T, rtol=1e-3) and np.allclose(found.Y, known.Y, atol=1e-4)
    march = detailed.march(2)
    half = march.attempt(T[:2], p[:2], Y[:2], 0.5 * dt)
    again = march.attempt(half.T, half.p, half.Y, 0.5 * dt)
    assert np.allclose(again.T, found.T, rtol=1e-3) and np.all(half.T < found.T)
    T, p, Y = found.T, found.p, np.maximum(found.Y, 1e-6)
    rates, expected = (s.rates(T, p, Y)[0] for s in (detailed, quick_factors))
    assert np.allclose(rates, expected, atol=1e-6 * np.abs(expected).max())
    for row in zip(T, p, Y, strict=True):
        ours, exact = (s.jacobian(*row)[1:] for s in (detailed, quick_factors))
        assert np.allclose(ours, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max(axis=0))


def test_the_graph_keeps_what_the_delays_need(detailed, network, h2o2, ignitions):
    """Argon, which takes part in nothing else, is worth nothing, H and OH nearly everything; the
    base is the smallest in that order within a tenth of the limit."""
    begin = tuple(x[:2] for x in ignitions)
    half = begin[0] + 800.0
    delay = detailed.time_to(*begin, half, np.ones(2))
    of = targets(network, RANGES)
    assert {h2o2.species_names[k] for k in of} == {"H2", "O2", "H2O", "OH"}
    worth = importance(network, detailed, begin, delay, of)
    assert np.all(worth[of] == 1.0)
    assert min(worth[h2o2.index("H")], worth[h2o2.index("OH")]) > 0.3
    kept = frozenset(map(h2o2.index, ("H2", "O2", "N2")))
    base = base_of(network, detailed, (begin, half, delay), of, kept, 0.05)
    assert not base.species[h2o2.index("AR")] and base.species[list(kept)].all()
    gone = np.flatnonzero(~base.species)
    rest = [k for k in np.argsort(worth) if base.species[k] and k not in kept]
    for skeleton, within in ((base, True), (network.whole().without(*gone, rest[0]), False)):
        times = detailed.delays_of(skeleton, begin, half, 3.0 * delay)
        assert (np.abs(times / delay - 1.0).max() <= 0.005) == within


@pytest.mark.usefixtures("compiled_quickly")
def test_a_part_is_compiled_for_its_own_species(quick_factors, network, h2o2, ignitions):
    """The solver of a base without argon, for a skeleton of it: that of the detailed mechanism."""
    base = network.whole().without(h2o2.index("AR"))
    chemistry, skeleton = Chemistry.of(base), base.without(h2o2.index("H2O2"))
    T, p, Y = (x[:2] for x in ignitions)
    found = chemistry(skeleton).time_to(T, p, Y[:, chemistry.columns], T + 400.0, 1.0, 1e-6)
    whole = quick_factors.with_multipliers(skeleton.multipliers)
    assert np.allclose(found, whole.time_to(T, p, Y, T + 400.0, 1.0, 1e-6), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Cantera's own calls
@pytest.mark.usefixtures("in_this_process", "few_cases")
def test_a_large_mechanism_begins_with_the_graph(tmp_path, monkeypatch, quick_factors):
    """Hydrogen, as if it were large: what the graph leaves is the first step of the path, and the
    time of the detailed mechanism is not known."""
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O1", ONE_STATE))
    for module in (large, result):
        monkeypatch.setattr(module, "LARGE", 9)
    record = reduce_mechanism("h2o2.yaml", fuel="H2:1", error=0.02, folder=tmp_path)
    assert "AR" in record["path"][0]["removed"] and record["of"] == [10, 29]
    assert all(error <= 0.02 for error in record["judged"].values())
    held = [abs(e) for cases in record["held_out"].values() for e in cases.values()]
    assert len(held) > 60 and 0.0 < max(held) < 0.03
    assert record["times"][0] is None and record["times"][1] > 0.0
