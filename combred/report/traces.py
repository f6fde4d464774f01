"""Which ignitions a report shows, and in which window of time.

Takes the rollouts of validation.h5 and their rows of validation.json; gives `Trace`s, one a case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from combred.report.folder import Folder
from combred.simulation.ignition import Rollout

PANELS = 24  # ignitions on the overview; of more, those of the largest error


@dataclass(frozen=True)
class Trace:
    """One case: CVODE's rollout, that of each stage drawn, and their rows of validation.json."""

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
        """The delay error of the last stage; inf where it does not ignite."""
        return self.row["delay_error"] if self.row["ignited"] else np.inf

    def window(self) -> tuple[float, float]:
        """Times [s] around all delays, a few rise times wide, so that the ignition is seen."""
        t, T = self.reference.t, self.reference.T
        rise = (T.max() - T[0]) / (np.diff(T).max() / (t[1] - t[0]))
        delays = [row["delay"] for row in self.rows.values() if row["ignited"]]
        delays.append(self.row["reference_delay"])
        gap = max(delays) - min(delays)
        low, high = min(delays) - 5 * rise - 0.3 * gap, max(delays) + 5 * rise + 0.3 * gap
        return max(low, 0.0), min(high, t[-1])


def overview(traces: Sequence[Trace]) -> list[Trace]:
    """The traces that the overview shows: all, or the `PANELS` of largest delay error."""
    if len(traces) <= PANELS:
        return list(traces)
    worst = sorted(range(len(traces)), key=lambda i: -traces[i].error)[:PANELS]
    return [traces[i] for i in sorted(worst)]


def worst_of_each(traces: Sequence[Trace], most: int = 4) -> list[Trace]:
    """The case of the largest delay error of each equivalence ratio (of only one: of each T0)."""
    by = "phi" if len({t.reference.case.phi for t in traces}) > 1 else "T0"
    worst: dict[float, Trace] = {}
    for trace in traces:
        key = getattr(trace.reference.case, by)
        if key not in worst or trace.error > worst[key].error:
            worst[key] = trace
    chosen = sorted(worst, key=lambda key: -worst[key].error)[:most]
    return [worst[key] for key in sorted(chosen)]


def make_traces(folder: Folder) -> list[Trace]:
    """The cases with the rollouts of the first and the last stage.

    [] if CVODE's rollouts, or those of the last stage, are missing.
    """
    stages = [s for s in (folder.stages[0], folder.last) if f"stage{s}" in folder.rollouts]
    if "cvode" not in folder.rollouts or folder.last not in stages:
        return []
    return [
        Trace(
            reference,
            {stage: folder.rollouts[f"stage{stage}"][i] for stage in stages},
            {stage: folder.measured(stage)["cases"][i] for stage in stages},
            folder.last,
        )
        for i, reference in enumerate(folder.rollouts["cvode"])
    ]
