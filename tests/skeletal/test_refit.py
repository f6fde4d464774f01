"""Refitted rate constants of hydrogen without H2O2."""

import cantera as ct
import numpy as np
import pytest

from combred.skeletal.cases import Ranges
from combred.skeletal.delays import Delays, detailed_delays
from combred.skeletal.extinction import Extinctions, detailed_extinctions
from combred.skeletal.flames import JUDGED, Flame, detailed_flame, results
from combred.skeletal.judging import Bench, Panel
from combred.skeletal.refit import refit
from combred.skeletal.search import Search

RANGES = Ranges("H2:1", "O2:1, N2:3.76", (1000.0, 2000.0))
ATM, LIMIT, UNCERTAINTY = ct.one_atm, 1e-3, 1.2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Cantera's own calls
def test_a_refit_mends_other_cases_too(network, h2o2, quick_factors, chemistry):
    """The largest error of all judges becomes less than a third, that of delays which were not
    fitted less than half; no factor leaves its bounds, and reactions that are gone keep theirs."""
    gases = [(T, p * ATM, phi) for T in (1250.0, 1600.0) for p in (1, 5) for phi in (0.5, 1.0)]
    others = [(1300.0, 3 * ATM, 0.7), (1400.0, 4 * ATM, 0.8), (1500.0, ATM, 0.6)]

    def judge(kind, detailed, gases):
        known = detailed(h2o2, quick_factors, gases, RANGES)
        return kind(h2o2, chemistry, gases, RANGES, known)

    stoichiometric = 300.0, ATM, 1.0
    unburnt = *stoichiometric[:2], h2o2.mixture("H2:1", RANGES.oxidizer, 1.0)
    detailed = detailed_flame(h2o2, unburnt, None, JUDGED, True)
    flame = Flame(detailed, stoichiometric, (), results(detailed, (), network.whole()))
    reactors = judge(Extinctions, detailed_extinctions, [stoichiometric])
    bench = Bench(network, [judge(Delays, detailed_delays, gases), reactors, flame])
    search = Search(
        Panel(bench.judges, lambda work, tasks: [work(bench, task) for task in tasks]),
        LIMIT, frozenset(),
    )  # fmt: skip
    skeleton = network.whole().without(h2o2.index("H2O2"))
    before = search.judge(skeleton, [h2o2.index("H2O2")])
    after = refit(search, before, UNCERTAINTY)
    assert before.error > 0.02 and after.error < before.error / 3 and after.removed == ["H2O2"]
    hidden = judge(Delays, detailed_delays, others)
    unfitted, fitted = (np.abs(hidden.errors(s.skeleton)).max() for s in (before, after))
    assert fitted < unfitted / 2
    factors = after.skeleton.factors
    assert np.abs(np.log(factors)).max() <= np.log(UNCERTAINTY) * (1 + 1e-9)
    assert np.all(factors[~skeleton.reactions] == 1.0) and np.any(factors != 1.0)
    assert refit(search, after, 1.0 + 1e-9).error <= after.error
