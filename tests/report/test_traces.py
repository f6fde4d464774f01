"""Which ignitions a report shows."""

import numpy as np

from combred.report.traces import PANELS, Trace, overview, worst_of_each
from combred.simulation.ignition import Case, Rollout


def test_shown_cases_are_the_worst():
    """Of more cases than panels the worst are shown, in order; of each phi the worst."""
    rng = np.random.default_rng(0)
    errors = rng.permutation(PANELS + 6) / 100
    flat = np.zeros(3)
    traces = [
        Trace(
            Rollout(Case(1000.0 + i, 1e5, (0.6, 1.0)[i % 2]), flat, flat, flat),
            {},
            {0: {"delay_error": error, "ignited": i != 3}},
            last=0,
        )
        for i, error in enumerate(errors)
    ]
    shown = overview(traces)
    assert len(shown) == PANELS and traces[3] in shown and overview(shown) == shown
    assert min(t.error for t in shown) >= sorted(t.error for t in traces)[6]
    assert [t.reference.case.T0 for t in shown] == sorted(t.reference.case.T0 for t in shown)
    lean, rich = worst_of_each(traces)
    assert lean.error == max(t.error for t in traces[::2]) and rich is traces[3]
