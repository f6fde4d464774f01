"""All parts of a check, each kept in check.json as soon as it is finished.

Takes the name of a mechanism; gives the numbers of the check, from which `combred.report.check`
draws the page. A second call with the same inputs does the parts that are missing.
"""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import combred
from combred.check import flows, ignitions, states
from combred.check.conditions import Conditions, find_conditions
from combred.check.verdict import judge
from combred.chemistry.fuel import name_mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactions import read_reactions
from combred.config.fields import require
from combred.files.code import code_digest
from combred.files.records import read_begun, strict, write_record
from combred.native.solver import Solver
from combred.processes.lock import opened_folder
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.processes.workers import Processes

RECORD = "check.json"
IGNITIONS, ROWS = 40, 4096  # of each time step; states of flows


def parts(size: float) -> dict[str, Callable[[Mechanism, Solver, Conditions], object]]:
    """The parts of a check by name. Those that take longest come first."""
    rows, cases = max(round(size * ROWS), 256), max(round(size * IGNITIONS), 2)
    return {
        "premixed flame": partial(flows.where_possible, flows.premixed_flame),
        "counterflow flame": partial(flows.where_possible, flows.counterflow_flame),
        **{
            f"ignitions, dt {dt:g} s": partial(ignitions.delays, dt=dt, count=cases)
            for dt in ignitions.STEPS
        },
        "states of flows": partial(states.compare, rows=rows),
        "stirred reactors": partial(flows.where_possible, flows.stirred),
    }


def check_mechanism(  # noqa: PLR0913
    file: str,
    phase: str = "",
    fuel: str = "auto",
    oxidizer: str = "auto",
    folder: Path | None = None,
    workers: int = 0,
    size: float = 1.0,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> dict:
    """Compare the solver of a mechanism with CVODE, and give the numbers of check.json.

    file, phase: as `combred.load_mechanism` takes them; fuel, oxidizer: compositions in moles,
    "auto": the fuel that the mechanism was plainly made for, and air; folder: where check.json is
    kept, None for `default_folder`; workers: processes, 0 for one of each core; size: numbers of
    ignitions and states, relative to the usual ones; on_progress(parts done, parts, what is done).

    Raises ValueError where the mechanism has rates that are not known, where the fuel is not plain
    or does not ignite, or where the folder is in use; RuntimeError without a C++ compiler.
    """
    require(0.0 < size <= 1000.0, f"size={size} has to be above 0, and at most 1000")
    whole = isinstance(workers, int) and workers >= 0
    require(whole, f"workers={workers} has to be a whole number from 0 up; 0: one of each core")
    mechanism = load_mechanism(file, phase)
    folder = folder or default_folder(file, phase)
    gas = name_mixture(mechanism, fuel, oxidizer)  # a question is asked before the long compilation
    mechanism.mixture(gas.fuel, gas.oxidizer, 1.0)
    with opened_folder(folder):
        begun = time.perf_counter()
        solver = Solver(mechanism)
        built = time.perf_counter() - begun
        of = find_conditions(mechanism, solver, gas.fuel, gas.oxidizer)
        inputs = {
            "mechanism": mechanism.name,
            "phase": mechanism.phase,
            "sha256": mechanism.sha256,
            # With the transport data.
            "text": hashlib.sha256(mechanism.text.encode()).hexdigest(),
            "conditions": strict(asdict(of)),
            "size": size,
            "version": combred.__version__,
            "code": code_digest(__name__),
        }
        record = read_begun(folder / RECORD, inputs, "check") or {
            "inputs": inputs,
            "about": about(mechanism, built),
            "seconds": {},
            "parts": {},
        }
        _do_parts(record, folder / RECORD, mechanism, of, workers, on_progress)
        if "times" not in record:  # alone on the machine
            with one_thread():
                record["times"] = states.times(mechanism, solver, of)
            record["machine"] = machine()
        record["verdict"] = strict(judge(record))
        write_record(folder / RECORD, record)
        count = len(parts(size)) + 1
        on_progress(count, count, "times")
        return record


def _do_parts(
    record: dict,
    file: Path,
    mechanism: Mechanism,
    of: Conditions,
    workers: int,
    on_progress: Callable[[int, int, str], None],
) -> None:
    """Do the parts that a record lacks, and keep it in its file after each."""
    size = record["inputs"]["size"]
    todo = parts(size)
    waiting = [name for name in todo if name not in record["parts"]]
    if not waiting:
        return
    count, done = len(todo) + 1, len(todo) - len(waiting)
    processes, work = Processes(workers or len(os.sched_getaffinity(0))), partial(_work, of, size)
    with processes.completed(Solver, (mechanism,), work, waiting) as results:
        on_progress(done, count, ", ".join(waiting[:2]))
        for name, (found, seconds) in results:
            record["parts"][name], record["seconds"][name] = strict(found), seconds
            write_record(file, record)
            done += 1
            on_progress(done, count, name)


def default_folder(file: str, phase: str = "") -> Path:
    """Where a check is kept if no folder is named."""
    return Path("-".join(["check", Path(file).stem, *([phase] if phase else [])]))


def about(mechanism: Mechanism, built: float) -> dict:
    """What a mechanism holds, and the time to generate and compile its solver [s], which is short
    where it was in the cache."""
    kinds = [type(reaction.rate).__name__ for reaction in read_reactions(mechanism)]
    return {
        "species": mechanism.n_species,
        "reactions": mechanism.solution(transport=False).n_reactions,
        "rates": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "build_seconds": built,
    }


def _work(of: Conditions, size: float, solver: Solver, name: str) -> tuple[object, float]:
    """The numbers of a part, and its time [s]."""
    begun = time.perf_counter()
    with one_thread():
        found = parts(size)[name](solver.mechanism, solver, of)
    return found, time.perf_counter() - begun
