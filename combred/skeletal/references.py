"""The judges of cases, with the results of the detailed mechanism, which a folder keeps.

Takes the network of a mechanism, its solvers, and cases; gives judges. What the detailed mechanism
gives is computed once for all reductions in a folder: a part of `combred.files.parts` for the
delays, one for the extinctions, one for each flame.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.transport import lacking
from combred.files.parts import Parts
from combred.native.solver.library import Integrator
from combred.processes.workers import Processes, open_pool
from combred.skeletal.cases import Cases, Ranges, states
from combred.skeletal.delays import Delays, detailed_delays
from combred.skeletal.extinction import Extinctions, detailed_extinctions
from combred.skeletal.flames import DetailedFlame, Flame, Solved, flame_of
from combred.skeletal.judging import Judge
from combred.skeletal.skeleton import Chemistry, ReactionNetwork

DELAYS, EXTINCTIONS, FLAMES = 0, 1, 2  # numbers of the parts; that of the first flame


@dataclass(frozen=True, eq=False)
class Asked:
    """The cases of judges, and how their flames are solved; near: a flame from which those start,
    None: from the first of them."""

    ranges: Ranges
    cases: Cases
    how: Solved
    near: DetailedFlame | None = None


def make_judges(
    processes: Processes,
    network: ReactionNetwork,
    solvers: tuple[Integrator, Chemistry],
    asked: Asked,
    folder: Path | None = None,
) -> list[Judge]:
    """The judges of cases: delays, extinction, and flames; no flames for a mechanism without
    transport data. solvers: of the detailed mechanism and of skeletons; folder: where the results
    of the detailed mechanism are kept, None for nowhere."""
    mechanism, todo, (detailed, chemistry) = network.mechanism, asked.cases, solvers
    gases = [] if lacking(mechanism.solution()) else todo.flames
    T, p, Y = states(mechanism, asked.ranges, gases)
    known = _Known(folder, mechanism, asked)

    def compute(what: Callable, gases: list) -> Callable[[], list[np.ndarray]]:
        return lambda: what(mechanism, detailed, gases, asked.ranges)

    with open_pool(processes.workers, ct.suppress_thermo_warnings) as pool:

        def ask(i: int, near: DetailedFlame | None) -> Callable[[], list[np.ndarray]]:
            unburnt = float(T[i]), float(p[i]), Y[i]
            given = network.whole(), unburnt, near, asked.how
            return pool.submit(flame_of, *given).result

        found = [known.read(FLAMES + i) for i in range(len(gases))]
        first = ask(0, asked.near) if found and found[0] is None else None
        delays = known.get(DELAYS, compute(detailed_delays, todo.ignitions))
        ends = known.get(EXTINCTIONS, compute(detailed_extinctions, todo.reactors))
        if first:
            found[0] = known.get(FLAMES, first)
        near = asked.near or next((DetailedFlame.of(flame) for flame in found if flame), None)
        rest = {i: ask(i, near) for i, flame in enumerate(found) if flame is None}
        for i, result in rest.items():
            found[i] = known.get(FLAMES + i, result)
    judges: list[Judge] = [Delays(mechanism, chemistry, todo.ignitions, asked.ranges, delays)]
    extinctions = Extinctions(mechanism, chemistry, todo.reactors, asked.ranges, ends)
    judges += [extinctions] if extinctions.cases else []
    for gas, flame in zip(gases, found, strict=True):
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
            "code": code_digest(),
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


@cache
def code_digest() -> str:
    """Of the version of combred, and of the code of this subpackage."""
    found = hashlib.sha256(combred.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
