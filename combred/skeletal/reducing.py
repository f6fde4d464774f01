"""From a mechanism to the smallest one that an error allows.

Takes the name of a mechanism, its fuel, and a limit of the errors; gives the reduced mechanism as
a file, and the numbers of reduce.json, from which `combred.report.skeletal` draws the page. The
search sees the judged cases; the errors that count are those of the cases that were held out. A
second call with the same inputs goes on after the last step that is there.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cantera as ct
import numpy as np

import combred
from combred.chemistry.fuel import name_mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.transport import lacking
from combred.config.fields import require
from combred.experiments.ignition.rollout import coldest_ignition
from combred.files.records import read_begun, strict, write_bytes, write_record
from combred.native.solver.library import Solver
from combred.native.solver.multipliers import MultipliedSolver
from combred.processes.machine import machine
from combred.processes.workers import Processes, open_pool
from combred.skeletal import cases
from combred.skeletal.cases import ATM, Cases, Ranges, states
from combred.skeletal.delays import TOLERANCE, Delays
from combred.skeletal.extinction import Extinctions
from combred.skeletal.flames import HELD_OUT, JUDGED, DetailedFlame, Solved, flame_of
from combred.skeletal.judging import Judge, opened
from combred.skeletal.search import Search, Step
from combred.skeletal.skeleton import ReactionNetwork, Skeleton
from combred.skeletal.writing import mechanism_of, require_same_rates

RECORD = "reduce.json"
LEAST = 1e-3  # limit of the errors: those of the judges themselves are a fifth of it
END = 10.0  # the path ends where an error is this multiple of the limit
HOTTEST = 2000.0  # K, of ignitions
TIMED, TRIES, TIMED_DT = 2048, 3, 1e-6  # states, and how often they are advanced, over s
TIMED_T, TIMED_AFTER = 1600.0, (1e-7, 1e-1)  # K, of the ignition; s, its first and last state
OnProgress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Wanted:
    """What a user asks for. error: limit of each relative error; species: how many may be left, 0
    for as few as the limit allows; keep: names of species that stay beside fuel and oxidizer, whose
    peaks in flames are judged, too."""

    error: float = 0.01
    species: int = 0
    keep: tuple[str, ...] = ()

    def __post_init__(self):
        require(LEAST <= self.error < 1.0, f"error={self.error} is not from {LEAST:g} to 1")
        require(self.species >= 0, f"species={self.species} cannot be negative")


def reduce_mechanism(
    file: str,
    phase: str = "",
    fuel: str = "auto",
    oxidizer: str = "auto",
    error: float = 0.01,
    species: int = 0,
    keep: tuple[str, ...] = (),
    folder: Path | None = None,
    workers: int = 0,
    on_progress: OnProgress = lambda *_: None,
) -> dict:
    """Take species and reactions out of a mechanism, as many as the limit of the errors allows.

    file, phase: as `combred.load_mechanism` takes them; fuel, oxidizer: compositions in moles,
    "auto": the fuel that the mechanism was plainly made for, and air; error, species, keep: as of
    `Wanted`; folder: of reduce.json and of the reduced mechanism, None for `default_folder`;
    workers: processes, 0 for one of each core; on_progress(species removed, species, what is done).
    Returns the numbers of reduce.json; "file" is the name of the reduced mechanism in the folder.

    Raises ValueError where the mechanism has rates that are not known, where the fuel is not plain
    or does not ignite, where the folder has another reduction, or where so few `species` do not
    ignite or burn; RuntimeError without a C++ compiler.
    """
    require(workers >= 0, f"workers={workers} cannot be negative; 0: one of each core")
    wanted = Wanted(error, species, tuple(keep))
    mechanism, folder = load_mechanism(file, phase), folder or default_folder(file, phase)
    gas = name_mixture(mechanism, fuel, oxidizer)
    stay = mechanism.mixture(gas.fuel, gas.oxidizer, 1.0) > 0.0  # raises before the compilation
    peaks = tuple(mechanism.species_names[mechanism.index(name)] for name in wanted.keep)
    stay[[mechanism.index(name) for name in peaks]] = True
    solver = Solver(mechanism)
    coldest = coldest_ignition(mechanism, solver, gas.fuel, gas.oxidizer)
    ranges = Ranges(gas.fuel, gas.oxidizer, (coldest, HOTTEST))
    record = begun(folder / RECORD, mechanism, ranges, wanted)
    if "file" in record:
        return record
    folder.mkdir(parents=True, exist_ok=True)
    on_progress(0, mechanism.n_species, "references")
    network, processes = ReactionNetwork.of(mechanism), Processes(workers or _cores())
    how = Solved(JUDGED, True, peaks)
    judges = make_judges(processes, network, (ranges, cases.judged(ranges)), how)
    with opened(processes, network, judges) as panel:
        search = Search(panel, wanted.error, frozenset(np.flatnonzero(stay).tolist()))
        steps = walk(search, network, record, folder / RECORD, wanted, on_progress)
        chosen = choose(search, steps, wanted, on_progress)
    on_progress(mechanism.n_species, mechanism.n_species, "held-out cases")
    near = next((flame.detailed for flame in panel.flames), None)
    how, of = Solved(HELD_OUT, False, peaks), (ranges, cases.held_out(ranges))
    with opened(processes, network, make_judges(processes, network, of, how, near)) as panel:
        errors = panel.by_case(chosen.skeleton)
    write_result(folder, record, chosen, errors)
    return record


def default_folder(file: str, phase: str = "") -> Path:
    """Where a reduction is kept if no folder is named."""
    return Path("-".join(["reduce", Path(file).stem, *([phase] if phase else [])]))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def begun(file: Path, mechanism: Mechanism, ranges: Ranges, wanted: Wanted) -> dict:
    """The record of a reduction, with the path so far. Raises ValueError where it has other
    inputs."""
    inputs = {
        "mechanism": mechanism.name,
        "phase": mechanism.phase,
        "sha256": mechanism.sha256,
        "ranges": strict(asdict(ranges)),
        **asdict(wanted),
        "keep": sorted(wanted.keep),
        "version": combred.__version__,
    }
    return read_begun(file, inputs, "reduction") or {"inputs": inputs, "path": []}


def make_judges(
    processes: Processes,
    network: ReactionNetwork,
    of: tuple[Ranges, Cases],
    how: Solved,
    near: DetailedFlame | None = None,
) -> list[Judge]:
    """The judges of cases: delays, extinction, and flames, which start from one `near` them, or
    from the first of them; no flames for a mechanism without transport data."""
    mechanism, n, (ranges, todo) = network.mechanism, len(network.reactions), of
    given = mechanism, partial(MultipliedSolver, mechanism, tolerance=TOLERANCE), n
    gases = [] if lacking(mechanism.solution()) else todo.flames
    unburnt = zip(*states(mechanism, ranges, gases), strict=True)
    tasks = [
        (network.whole(), gas, (float(T), float(p), Y))
        for gas, (T, p, Y) in zip(gases, unburnt, strict=True)
    ]
    with open_pool(processes.workers, ct.suppress_thermo_warnings) as pool:
        first = [pool.submit(flame_of, *task, near, how) for task in tasks[:1]]
        judges: list[Judge] = [Delays(*given, todo.ignitions, ranges)]
        extinctions = Extinctions(*given, todo.reactors, ranges)
        judges += [extinctions] if extinctions.cases else []
        found = [one.result() for one in first]
        near = near or next((flame.detailed for flame in found if flame), None)
        rest = [pool.submit(flame_of, *task, near, how) for task in tasks[1:]]
        found += [one.result() for one in rest]
    return judges + [flame for flame in found if flame]


def walk(
    search: Search,
    network: ReactionNetwork,
    record: dict,
    file: Path,
    wanted: Wanted,
    on_progress: OnProgress,
) -> list[Step]:
    """The steps of the path: those that are in the record, and those that follow, which are kept in
    its file one by one."""
    mechanism, steps = network.mechanism, [search.judge(network.whole(), [])]
    for row in record["path"]:
        left = steps[-1].skeleton.without(*map(mechanism.index, row["removed"]))
        steps.append(Step(left, row["removed"], row["errors"]))
    since, size = time.perf_counter(), mechanism.n_species

    def keep(step: Step) -> None:
        steps.append(step)
        record["path"].append({
            "species": step.skeleton.n_species, "reactions": int(step.skeleton.reactions.sum()),
            "removed": step.removed, "errors": step.errors,
            "seconds": time.perf_counter() - since,
        })  # fmt: skip
        write_record(file, record)
        left = step.skeleton.n_species
        on_progress(size - left, size, f"{left} species, largest error {100 * step.error:.2g} %")

    end = np.inf if wanted.species else END * wanted.error
    for step in search.path(steps[-1], end, wanted.species):
        keep(step)
    return steps


def choose(search: Search, steps: list[Step], wanted: Wanted, on_progress: OnProgress) -> Step:
    """The smallest skeleton of a path within the limit, made smaller by swaps, or the first with
    the number of species that is wanted; without the reactions that it does not need."""
    size = len(steps[0].skeleton.species)
    if wanted.species:
        fewest = steps[-1].skeleton.n_species
        if fewest > wanted.species:
            raise ValueError(
                f"with fewer than {fewest} species a judged case does not ignite or burn, and "
                f"{wanted.species} are asked for: ask for {fewest} or more"
            )
        chosen = next(step for step in steps if step.skeleton.n_species <= wanted.species)
    else:
        chosen = [step for step in steps if step.error <= wanted.error][-1]
        index = chosen.skeleton.network.mechanism.index
        removed = [index(name) for step in steps for name in step.removed]
        while True:
            on_progress(size, size, f"swaps, {chosen.skeleton.n_species} species")
            found = search.swap(chosen, removed)
            if found is None:
                break
            chosen = found
    on_progress(size, size, "reactions")
    return search.remove_reactions(chosen)


def write_result(folder: Path, record: dict, chosen: Step, held_out: dict[str, Any]) -> None:
    """Write the reduced mechanism, and complete the record with it."""
    skeleton, detailed = chosen.skeleton, chosen.skeleton.network.mechanism
    n, inputs = skeleton.n_species, record["inputs"]
    name = f"{Path(detailed.name).stem}-{n}.yaml"
    note = (
        f"{detailed.name} (sha256 {detailed.sha256[:16]}) reduced by combred {inputs['version']} "
        f"for {inputs['ranges']['fuel']} in {inputs['ranges']['oxidizer']}: {n} of "
        f"{detailed.n_species} species, {int(skeleton.reactions.sum())} of "
        f"{len(skeleton.reactions)} reactions. No rate constant is changed."
    )
    reduced = mechanism_of(skeleton, name, note)
    require_same_rates(skeleton, reduced)
    write_bytes(folder / name, reduced.text.encode())
    record |= {
        "judged": chosen.errors,
        "held_out": strict(held_out),
        "species": skeleton.names(),
        "reactions": int(skeleton.reactions.sum()),
        "of": [detailed.n_species, len(skeleton.reactions)],
        "times": times(skeleton, reduced, inputs["ranges"]),
        "machine": machine(),
        "file": name,
    }
    write_record(folder / RECORD, strict(record))


def times(skeleton: Skeleton, reduced: Mechanism, ranges: dict) -> list[float]:
    """CPU time [s] of one state on one core over `TIMED_DT` at the default tolerance, by the
    solvers of the detailed and of the reduced mechanism, in states along an ignition."""
    detailed, kept = Solver(skeleton.network.mechanism), skeleton.species
    Y0 = detailed.mechanism.mixture(ranges["fuel"], ranges["oxidizer"], 1.0)
    after = np.geomspace(*TIMED_AFTER, TIMED)
    path = detailed.attempt(np.full(TIMED, TIMED_T), ATM, np.tile(Y0, (TIMED, 1)), after)
    left = path.Y[:, kept] / path.Y[:, kept].sum(axis=1, keepdims=True)
    found = []
    for solver, Y in ((detailed, path.Y), (Solver(reduced), left)):
        seconds = []
        for _ in range(TRIES):
            begun = time.process_time()
            solver.attempt(path.T, ATM, Y, TIMED_DT)
            seconds.append(time.process_time() - begun)
        found.append(min(seconds) / TIMED)
    return found
