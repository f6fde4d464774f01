"""The result of a reduction: the file of the reduced mechanism, and the record that tells of it."""

import math
import time
from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.files.records import strict, write_bytes, write_record
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.multipliers import MultipliedSolver
from combred.processes.machine import machine
from combred.skeletal.cases import ATM
from combred.skeletal.judging import Told
from combred.skeletal.large import LARGE
from combred.skeletal.record import digest_of_text, free_name
from combred.skeletal.search import Step
from combred.skeletal.skeleton import Skeleton
from combred.skeletal.writing import mechanism_of, require_same_rates

TIMED, TRIES, TIMED_DT = 2048, 3, 1e-6  # states, and how often they are advanced, over s
TIMED_T, TIMED_AFTER = 1600.0, (1e-7, 1e-1)  # K, of the ignition; s, its first and last state


def write_result(
    file: Path, record: dict, chosen: Step, told: tuple[Told, Told], curves: dict[str, list]
) -> None:
    """Write the reduced mechanism beside the file of the record, and complete the record with it,
    what is told of its judged and of its held-out cases, and the curves of judged reactors."""
    judged, held_out = told
    skeleton, detailed = chosen.skeleton, chosen.skeleton.network.mechanism
    n, inputs, factors = skeleton.n_species, record["inputs"], factors_of(skeleton)
    stem, wanted = f"{Path(detailed.name).stem}-{n}{'-refitted' * bool(factors)}", inputs["species"]
    asked = f"{wanted} species" if wanted else f"errors of at most {100 * inputs['error']:g} %"
    note = (
        f"{detailed.name} (sha256 {detailed.sha256[:16]}) reduced by combred {inputs['version']} "
        f"for {inputs['ranges']['fuel']} in {inputs['ranges']['oxidizer']} to {asked}: {n} of "
        f"{detailed.n_species} species, {int(skeleton.reactions.sum())} of "
        f"{len(skeleton.reactions)} reactions. {_changed(inputs, len(factors))}"
    )
    reduced = mechanism_of(skeleton, f"{stem}.yaml", note)
    require_same_rates(skeleton, reduced)
    text = reduced.text.encode()
    name = free_name(file.parent, stem, text)
    write_bytes(file.parent / name, text)
    record |= strict({
        "judged": chosen.errors,
        "judged_cases": judged.errors,
        "held_out": held_out.errors,
        "values": {"judged_cases": judged.values, "held_out": held_out.values},
        "curves": curves,
        "species": skeleton.names(),
        "reactions": int(skeleton.reactions.sum()),
        "factors": factors,
        "of": [detailed.n_species, len(skeleton.reactions)],
        "times": times(skeleton, reduced, inputs["ranges"]),
        "machine": machine(),
        "file": name,
        "file_sha256": digest_of_text(text),
    })  # fmt: skip
    write_record(file, strict(record))


def factors_of(skeleton: Skeleton) -> dict[str, float]:
    """The factors of the rate constants that are changed, by number and equation."""
    equations = skeleton.network.mechanism.solution(transport=False).reaction_equations()
    factors = skeleton.multipliers
    rows = np.flatnonzero(skeleton.reactions & (factors != 1.0))
    return {f"{i + 1}: {equations[i]}": float(factors[i]) for i in rows}


def _changed(inputs: dict, n: int) -> str:
    if not n:
        return "No rate constant is changed."
    return (
        f"CAUTION: {n} rate constants were refitted within a factor of {inputs['refit']:g}, and "
        "are those of no measurement."
    )


def times(skeleton: Skeleton, reduced: Mechanism, ranges: dict) -> list[float]:
    """CPU time [s] of one state on one core over `TIMED_DT` at the default tolerance, by the
    solvers of the detailed and of the reduced mechanism, in states along an ignition of each; NaN
    of a detailed mechanism that is too large to compile. Both have factors on their rate constants,
    which the search has compiled, and which cost both 3 to 5 %."""
    detailed, after = skeleton.network.mechanism, np.geomspace(*TIMED_AFTER, TIMED)
    found = []
    for one in (detailed, reduced):
        if one.n_species > LARGE:
            found.append(math.nan)
            continue
        n_reactions = one.solution(transport=False).n_reactions
        solver = MultipliedSolver(one, np.ones(n_reactions), TOLERANCE)
        Y0 = one.mixture(ranges["fuel"], ranges["oxidizer"], 1.0)
        path = solver.attempt(np.full(TIMED, TIMED_T), ATM, np.tile(Y0, (TIMED, 1)), after)
        seconds = []
        for _ in range(TRIES):
            begun = time.process_time()
            solver.attempt(path.T, ATM, path.Y, TIMED_DT)
            seconds.append(time.process_time() - begun)
        found.append(min(seconds) / TIMED)
    return found
