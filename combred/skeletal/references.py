"""The judges of cases, with the results of the detailed mechanism, which a folder keeps.

Takes the network of a mechanism, its solvers, and cases; gives judges. What the detailed mechanism
gives is computed once for all reductions in a folder: a part of `combred.files.parts` for the
delays, one for the extinctions, one for each flame.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.transport import lacking
from combred.config.fields import require
from combred.files.code import code_digest
from combred.files.parts import Parts
from combred.processes.workers import Processes, open_pool
from combred.skeletal.cases import Cases, Ranges, states
from combred.skeletal.compiled import Chemistry
from combred.skeletal.delays import Delays, detailed_delays
from combred.skeletal.extinction import Extinctions, detailed_extinctions
from combred.skeletal.flames import DetailedFlame, Flame, Solved, flame_of
from combred.skeletal.judging import Judge
from combred.skeletal.large import Solver
from combred.skeletal.skeleton import ReactionNetwork

DELAYS, EXTINCTIONS, FLAMES = 0, 1, 2  # numbers of the parts; that of the first flame
Results = tuple[list[np.ndarray], list[np.ndarray], list[list[np.ndarray]]]


@dataclass(frozen=True, eq=False)
class Asked:
    """The cases of judges, and how their flames are solved; near: a flame from which those start,
    None: from the first of them; begin: gives, from the delays, one near that first."""

    ranges: Ranges
    cases: Cases
    how: Solved
    near: DetailedFlame | None = None
    begin: Callable[[list[np.ndarray]], DetailedFlame | None] | None = None


def detailed_results(
    processes: Processes,
    network: ReactionNetwork,
    detailed: Solver,
    asked: Asked,
    folder: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Results:
    """The results of the detailed mechanism in cases: delays, extinctions, and of each flame; no
    flames for a mechanism without transport data. folder: where they are kept, None for nowhere;
    tell: is called with what is computed next."""
    mechanism, todo = network.mechanism, asked.cases
    gases = [] if lacking(mechanism.solution()) else todo.flames
    T, p, Y = states(mechanism, asked.ranges, gases)
    known = _Known(folder, mechanism, asked)
    with open_pool(processes.workers, ct.suppress_thermo_warnings) as pool:

        def ask(i: int, near: DetailedFlame | None) -> Callable[[], list[np.ndarray]]:
            unburnt = float(T[i]), float(p[i]), Y[i]
            return pool.submit(flame_of, network.whole(), unburnt, near, asked.how).result

        given = mechanism, detailed, todo.ignitions, asked.ranges
        find_delays = partial(known.get, DELAYS, partial(detailed_delays, *given))
        flames = [known.read(FLAMES + i) for i in range(len(gases))]
        near, delays = asked.near, None
        tell("delays")
        if asked.begin and flames and flames[0] is None:
            delays = find_delays()
            near = asked.begin(delays)
        first = ask(0, near) if flames and flames[0] is None else None
        delays = delays or find_delays()
        given = mechanism, detailed, todo.reactors, asked.ranges
        tell("extinction")
        ends = known.get(EXTINCTIONS, partial(detailed_extinctions, *given))
        if first:
            tell(f"flame 1 of {len(gases)}")
            flames[0] = known.get(FLAMES, first)
        near = asked.near or (DetailedFlame.of(flames[0]) if flames and flames[0] else None)
        rest = {i: ask(i, near) for i, flame in enumerate(flames) if flame is None}
        for i, flame in rest.items():
            tell(f"flame {i + 1} of {len(gases)}")
            flames[i] = known.get(FLAMES + i, flame)
        return delays, ends, [flame for flame in flames if flame is not None]


def judges_of(
    mechanism: Mechanism, chemistry: Chemistry, asked: Asked, known: Results
) -> list[Judge]:
    """The judges of cases with the `detailed_results`; chemistry: of skeletons."""
    (delays, ends, flames), todo = known, asked.cases
    given = mechanism, chemistry
    judges: list[Judge] = [Delays(*given, todo.ignitions, asked.ranges, delays)]
    require(
        bool(judges[0].cases),
        f"nothing ignites at {asked.ranges.T0} K: ask for other temperatures (T0)",
    )
    extinctions = Extinctions(*given, todo.reactors, asked.ranges, ends)
    judges += [extinctions] if extinctions.cases else []
    for gas, flame in zip(todo.flames, flames, strict=False):  # none without transport data
        if flame:
            judges.append(Flame(DetailedFlame.of(flame), gas, asked.how.peaks, flame[-1]))
    return judges


class _Known:
    """The results that are kept: lists of arrays by number, empty for a flame that there is not."""

    def __init__(self, folder: Path | None, mechanism: Mechanism, asked: Asked):
        inputs = {
            "mechanism": hashlib.sha256(mechanism.text.encode()).hexdigest(),
            "phase": mechanism.phase,
            **{key: asdict(getattr(asked, key)) for key in ("ranges", "cases", "how")},
            "code": code_digest(__name__),
        }
        self.parts = Parts(folder / "references", inputs) if folder else None

    def read(self, number: int) -> list[np.ndarray] | None:
        return self.parts.read(number) if self.parts else None

    def get(self, number: int, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
        found = self.read(number)
        if found is None:
            found = compute()
            if self.parts:
                self.parts.write(number, found)
        return found
