"""Delays, extinction and flames of skeletons against Cantera's."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.phase import multipliers_of
from combred.chemistry.reactor import Reactor
from combred.experiments.ignition.delay import time_to as cvode_time_to
from combred.reactors.branch import Branch
from combred.skeletal.cases import Ranges, held_out, judged
from combred.skeletal.delays import Delays, detailed_delays
from combred.skeletal.extinction import Extinctions, detailed_extinctions
from combred.skeletal.flames import (
    HELD_OUT,
    JUDGED,
    Flame,
    detailed_flame,
    flame_of_part,
    results,
    speed_sensitivities,
)
from combred.skeletal.phases import phase_of

RANGES = Ranges("H2:1", "O2:1, N2:3.76", (1000.0, 2000.0))
ATM = ct.one_atm
N = 29  # reactions of h2o2.yaml


@pytest.fixture
def without_peroxide(network, h2o2):
    """A skeleton: hydrogen without H2O2, and with one reaction slower."""
    skeleton = network.whole().without(h2o2.index("H2O2"))
    slower = [r.equation for r in network.reactions].index("H + O2 <=> O + OH")
    return skeleton, slower


def test_delays_are_cvode_s(quick_factors, chemistry, h2o2, without_peroxide):
    """Of the detailed mechanism and of a skeleton, within .1 % (seen: .02); a mixture that does not
    ignite or is hotter than its equilibrium is left out, and one that ignites too late has an
    infinite error."""
    skeleton, slower = without_peroxide
    gases = [(1100.0, ATM, 1.0), (300.0, ATM, 1.0), (1600.0, 10 * ATM, 0.5), (3500.0, ATM, 1.0)]
    known = detailed_delays(h2o2, quick_factors.with_multipliers(np.ones(N)), gases, RANGES)
    judge = Delays(h2o2, chemistry, gases, RANGES, known)
    assert judge.cases == ["1100 K, 1 atm, phi 1", "1600 K, 10 atm, phi 0.5"]
    reactor = Reactor(h2o2, 1e-10, 1e-18)

    def exact() -> np.ndarray:
        rows = zip(judge.T, judge.p, judge.Y, judge.until, strict=True)
        return np.array([cvode_time_to(reactor, *row, 1.0) for row in rows])

    assert np.allclose(judge.values, exact(), rtol=1e-3)
    for i, factor in enumerate(skeleton.multipliers):
        reactor.gas.set_multiplier(float(factor), i)
    found = judge.errors(skeleton)
    assert np.allclose(found, exact() / judge.values - 1.0, atol=1e-3)
    assert np.isinf(judge.errors(skeleton.without_reactions(slower))).all()


def final_T(skeleton, of, tau: float, T: float, Y: np.ndarray) -> float:
    """T [K] of Cantera's stirred reactor with the inflow `of` after 3000 residence times tau [s],
    from the state T [K], Y."""
    gas = skeleton.network.mechanism.solution(transport=False)
    for i, factor in enumerate(skeleton.multipliers):
        gas.set_multiplier(float(factor), i)
    gas.TPY = of.T, of.p, of.Y
    inlet, outlet = ct.Reservoir(gas, clone=True), ct.Reservoir(gas, clone=True)
    gas.TPY = T, of.p, Y * skeleton.species
    stirred = ct.IdealGasConstPressureReactor(gas, clone=False)
    flows = [ct.MassFlowController(inlet, stirred), ct.MassFlowController(stirred, outlet)]
    for flow in flows:
        flow.mass_flow_rate = stirred.mass / tau
    ct.ReactorNet([stirred]).advance(3000.0 * tau)
    return stirred.T


def test_a_reactor_goes_out_below_its_residence_time_at_extinction(
    quick_factors, chemistry, h2o2, without_peroxide
):
    """Cantera's reactor, begun on the burning branch, burns on at 1.01 of the residence time and
    goes out at .99, for the detailed mechanism and for a skeleton; along the curves it stays at
    their T."""
    gases = [(300.0, ATM, 1.0)]
    known = detailed_extinctions(h2o2, quick_factors, gases, RANGES)
    judge = Extinctions(h2o2, chemistry, gases, RANGES, known)
    (reactor,), (less, _) = judge.reactors, without_peroxide
    whole = less.network.whole()
    assert judge.cases == ["300 K, 1 atm, phi 1, residence time", "300 K, 1 atm, phi 1, T"]
    assert np.abs(judge.errors(whole)).max() < 1e-6
    errors = judge.errors(less)
    assert 1e-6 < abs(errors[0]) < 0.1
    burning = Branch(quick_factors, judge.thermo, reactor.of).solve(
        replace(reactor.end, T=reactor.end.T + 40.0)
    )
    begin = burning.T, burning.Y
    curves = judge.curves(less)["300 K, 1 atm, phi 1"]
    for skeleton, error, curve in ((whole, 0.0, curves[0]), (less, errors[0], curves[1])):
        tau = reactor.end.tau * (1.0 + error)
        assert final_T(skeleton, reactor.of, 1.01 * tau, *begin) > reactor.end.T - 100.0
        assert final_T(skeleton, reactor.of, 0.99 * tau, *begin) < 400.0
        assert curve[0][1] == pytest.approx(tau, rel=1e-6)
        for T, along in curve[4:15:5]:  # Cantera's tolerance gives .01 K
            assert final_T(skeleton, reactor.of, along, *begin) == pytest.approx(T, abs=0.05)
    known = [np.concatenate([of, of]) for of in known]
    twice = Extinctions(h2o2, chemistry, 2 * gases, RANGES, known)
    assert twice.curves(less).keys() == {"300 K, 1 atm, phi 1", "300 K, 1 atm, phi 1, case 2"}


def test_a_phase_has_all_colliders_of_its_own(network, h2o2):
    """Cantera's phases share their reactions: the one before had no H2O."""
    phase_of(network.whole().without(h2o2.index("H2O")), transport=False)
    found, exact = phase_of(network.whole(), transport=False), h2o2.solution(transport=False)
    for gas in (found, exact):
        gas.TPX = 1500.0, ATM, np.arange(1.0, 11.0)
    assert np.array_equal(found.net_production_rates, exact.net_production_rates)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Cantera's own calls
def test_flames_are_cantera_s(network, h2o2, without_peroxide):
    """A skeleton's speed, largest T and peak of OH, as Cantera finds them for the same mechanism
    from its own guess and grid (1 %, the error of the coarse grids), and to first order from the
    sensitivities; a skeleton without reactions has infinite errors."""
    skeleton, slower = without_peroxide
    unburnt = 300.0, ATM, h2o2.mixture("H2:1", RANGES.oxidizer, 1.0)
    detailed = detailed_flame(h2o2, unburnt, None, HELD_OUT, True)
    reference = results(detailed, ("OH",), network.whole())
    judge = Flame(detailed, (300.0, ATM, 1.0), ("OH",), reference)
    cases = ["speed", "largest T", "peak of OH"]
    assert judge.cases == [f"300 K, 1 atm, phi 1, {one}" for one in cases]
    assert np.abs(judge.errors(network.whole())).max() < 1e-6
    gas = phase_of(skeleton)
    gas.TPY = *unburnt[:2], unburnt[2][skeleton.species]
    flame = ct.FreeFlame(gas, width=detailed.grid[-1])
    flame.set_refine_criteria(ratio=3, slope=0.06, curve=0.12)
    flame.solve(0)
    found = judge.values * (1.0 + judge.errors(skeleton))
    true = [flame.velocity[0], flame.T.max(), flame.X[gas.species_index("OH")].max()]
    assert np.allclose(found, true, rtol=0.01)
    factors = np.ones(N)
    factors[slower] = 0.97
    changed = type(skeleton)(network, network.whole().species, network.whole().listed, factors)
    assert judge.first_order(changed) == pytest.approx(judge.errors(changed)[0], rel=0.1)
    assert abs(judge.errors(skeleton.without_reactions(slower))[0]) > 0.9
    inert = skeleton.without_reactions(np.arange(N))
    assert np.isinf(judge.errors(inert)).all()
    absent = Flame(detailed, (300.0, ATM, 1.0), ("AR", "OH"), np.insert(reference, 2, 1e-80))
    assert absent.peaks == ("OH",) and absent.cases == judge.cases  # its peak is rounding alone
    assert np.array_equal(absent.values, judge.values)
    # From a flame near it, or from that of the skeleton: that of Cantera from its own guess, within
    # the error of the grids.
    lean = 300.0, 2.0 * ATM, h2o2.mixture("H2:1", RANGES.oxidizer, 0.8)
    part = flame_of_part(skeleton, lean, JUDGED)
    assert not part.profile_Y[~skeleton.species].any() and part.velocity[0] > 0.5
    near, of_part, alone = (
        detailed_flame(h2o2, lean, begin, JUDGED, False) for begin in (detailed, part, None)
    )
    assert near.velocity[0] == pytest.approx(alone.velocity[0], rel=0.02)
    assert of_part.velocity[0] == pytest.approx(alone.velocity[0], rel=0.02)
    assert flame_of_part(inert, lean, JUDGED) is None


@pytest.mark.parametrize("coldest, n", [(1000.0, 4), (625.0, 8), (1900.0, 2)])
def test_initial_temperatures_are_near_each_other(coldest, n):
    """Their inverses at most 1/6000 K apart, each at three pressures and three ratios."""
    found = [T for T, _, _ in judged(Ranges("H2:1", "O2:1", (coldest, 2000.0))).ignitions]
    inverse = 1.0 / np.unique(found)
    assert len(inverse) == n and len(found) == 9 * n
    assert (
        inverse.max() == pytest.approx(1.0 / coldest)
        and np.abs(np.diff(inverse)).max() < 1.0 / 5999.0
    )


@pytest.mark.parametrize(
    "p, phi",
    [(None, None), ((1.0, 40.0), None), ((20.0, 40.0), (0.3, 0.6)), (None, (1.0, 2.0))],
)
def test_held_out_cases_are_others_inside_the_ranges(p, phi):
    """Of flames and reactors, too, which stay inside the ranges of p [atm] and phi asked for."""
    of = RANGES.within(p and (p[0] * ATM, p[1] * ATM), phi)
    seen, held = judged(of), held_out(of)
    assert np.ptp([case[1] for case in seen.ignitions]) == pytest.approx(of.p[1] - of.p[0])
    for cases in (*vars(seen).values(), *vars(held).values()):
        _, all_p, all_phi = np.array(cases).T
        assert np.all((all_p >= of.p[0] * (1 - 1e-9)) & (all_p <= of.p[1] * (1 + 1e-9)))
        assert of.phi[0] <= all_phi.min() and all_phi.max() <= of.phi[1] and len(set(cases)) > 1
    for name in ("ignitions", "flames", "reactors"):
        known, new = getattr(seen, name), getattr(held, name)
        assert known and new and not set(known) & set(new)
        low, high = np.min(known, axis=0), np.max(known, axis=0)
        high[0] += 50.0 * (name != "ignitions" and low[1] == high[1])  # unburnt gas is warmer
        assert np.all((np.array(new) >= low * (1 - 1e-9)) & (np.array(new) <= high * (1 + 1e-9)))


class LinearFlame:
    """In place of a flame of Cantera: its speed is the sum of (i + 1) times the multipliers i. As
    there, sensitivities are by the multipliers, each about 1, and leave them at 1."""

    def __init__(self, gas: ct.Solution):
        self.gas = gas

    def get_flame_speed_reaction_sensitivities(self) -> np.ndarray:
        weights = np.arange(1.0, 1.0 + self.gas.n_reactions)
        speed = weights @ multipliers_of(self.gas)
        self.gas.set_multiplier(1.0)
        return weights / speed


def test_sensitivities_of_flames_are_by_the_rate_constants(h2o2):
    gas, factors = h2o2.solution(), np.random.default_rng(0).uniform(0.0, 2.0, N)
    for i, factor in enumerate(factors):
        gas.set_multiplier(factor, i)
    found = speed_sensitivities(LinearFlame(gas))
    assert found.sum() == pytest.approx(1.0, rel=1e-12)  # the speed is linear in all of them
    assert np.array_equal(multipliers_of(gas), factors)
