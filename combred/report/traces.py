"""Which ignitions a report shows, and over which times.

Takes the rollouts of validation.h5 and their rows of validation.json; gives a `Trace` of each case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from combred.report.folder import Folder
from combred.simulation.ignition import Rollout

PANELS = 24  # ignitions shown at most; of more, those with the largest errors


@dataclass(frozen=True)
class Trace:
    """One case: the rollouts of CVODE and of the stages shown, and their rows of
    validation.json."""

    reference: Rollout
    rollouts: dict[int, Rollout]
    rows: dict[int, dict]
    last: int

    @property
    def row(self) -> dict:
        """The row of the last stage."""
        return self.rows[self.last]

    @property
    def error(self) -> float:
        """The delay error of the last stage; infinite if it does not ignite."""
        return self.row["delay_error"] if self.row["ignited"] else np.inf

    def time_range(self) -> tuple[float, float]:
        """First and last time [s] shown around the ignition: a few rise times around all delays."""
        t, T = self.reference.t, self.reference.T
        rise = (T.max() - T[0]) / (np.diff(T).max() / (t[1] - t[0]))
        delays = [row["delay"] for row in self.rows.values() if row["ignited"]]
        delays.append(self.row["reference_delay"])
        gap = max(delays) - min(delays)
        low, high = min(delays) - 5 * rise - 0.3 * gap, max(delays) + 5 * rise + 0.3 * gap
        return max(low, 0.0), min(high, t[-1])


def overview(traces: Sequence[Trace]) -> list[Trace]:
    """The traces in the figure of all cases: all, or the `PANELS` with the largest delay errors."""
    if len(traces) <= PANELS:
        return list(traces)
    worst = sorted(range(len(traces)), key=lambda i: -traces[i].error)[:PANELS]
    return [traces[i] for i in sorted(worst)]


def worst_of_each(traces: Sequence[Trace], most: int = 4) -> list[Trace]:
    """The case with the largest delay error for each equivalence ratio, or for each T0 if there is
    only one equivalence ratio."""
    by = "phi" if len({t.reference.case.phi for t in traces}) > 1 else "T0"
    worst: dict[float, Trace] = {}
    for trace in traces:
        key = getattr(trace.reference.case, by)
        if key not in worst or trace.error > worst[key].error:
            worst[key] = trace
    chosen = sorted(worst, key=lambda key: -worst[key].error)[:most]
    return [worst[key] for key in sorted(chosen)]


def make_traces(folder: Folder) -> list[Trace]:
    """The cases with the rollouts of the first and the last stage; [] if the rollouts of CVODE or
    of the last stage are missing."""
    stages = [s for s in (folder.stages[0], folder.last) if f"stage{s}" in folder.rollouts]
    if "reference" not in folder.rollouts or folder.last not in stages:
        return []
    return [
        Trace(
            reference,
            {stage: folder.rollouts[f"stage{stage}"][i] for stage in stages},
            {stage: folder.measured(stage)["cases"][i] for stage in stages},
            folder.last,
        )
        for i, reference in enumerate(folder.rollouts["reference"])
    ]
