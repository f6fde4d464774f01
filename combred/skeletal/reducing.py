"""From a mechanism to the smallest one that an error allows.

Takes the name of a mechanism, its fuel, and a limit of the errors; gives the reduced mechanism as
a file, and the numbers of reduce.json, from which `combred.report.skeletal` draws the page. The
search sees the judged cases; the errors that count are those of the cases that were held out. A
second call with the same inputs goes on after the last step that is there.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import Mixture, name_mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.states import HIGHEST_T, LOWEST_T
from combred.config.fields import require
from combred.experiments.ignition.rollout import coldest_ignition, hottest_ignition
from combred.files.records import write_record
from combred.processes.lock import opened_folder
from combred.processes.workers import Processes
from combred.skeletal import cases
from combred.skeletal.base import Base, OnProgress
from combred.skeletal.cases import Pair, Ranges
from combred.skeletal.compiled import Chemistry
from combred.skeletal.flames import HELD_OUT, JUDGED, DetailedFlame, Solved
from combred.skeletal.judging import opened
from combred.skeletal.large import opened_detailed
from combred.skeletal.record import RECORD, Wanted, begun
from combred.skeletal.references import Asked, Results, detailed_results, judges_of
from combred.skeletal.refit import refit as refitted
from combred.skeletal.result import write_result
from combred.skeletal.search import Search, Step
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

REFITTED = 12.0  # limits: skeletons with larger errors are not refitted
END = 10.0  # the path ends where an error is this multiple of the limit
LOWEST_P, HIGHEST_P = 100.0, 1e8  # Pa: a p outside was meant in another unit


def reduce_mechanism(  # noqa: PLR0913
    file: str,
    phase: str = "",
    fuel: str = "auto",
    oxidizer: str = "auto",
    error: float = 0.01,
    species: int = 0,
    keep: tuple[str, ...] = (),
    refit: float = 0.0,
    folder: Path | None = None,
    workers: int = 0,
    on_progress: OnProgress = lambda *_: None,
    T0: Pair | None = None,
    p: Pair | None = None,
    phi: Pair | None = None,
) -> dict:
    """Take species and reactions out of a mechanism, as many as the limit of the errors allows.

    file, phase: as `combred.load_mechanism` takes them; fuel, oxidizer: compositions in moles,
    "auto": the fuel that the mechanism was plainly made for, and air; error, species, keep, refit:
    as of `Wanted`; folder: of reduce.json and of the reduced mechanism, None for `default_folder`;
    workers: processes, 0 for one of each core; on_progress(species removed, species, what is done);
    T0 [K], p [Pa], phi: ends of the ranges of judged ignitions, None for the usual ones.
    Returns the numbers of reduce.json; "file" is the name of the reduced mechanism in the folder.
    Raises ValueError where the mechanism has rates that are not known, where the fuel is not plain
    or does not ignite, where a range is none or nothing ignites in it, where the folder has a
    reduction of another mechanism or other ranges, or is in use, or where so few `species` do not
    ignite or burn; RuntimeError without a C++ compiler.
    """
    _require_valid(workers, keep)
    T0, p, phi = (
        _pair("T0", T0, LOWEST_T, HIGHEST_T),
        _pair("p", p, LOWEST_P, HIGHEST_P),
        _pair("phi", phi),
    )
    wanted = Wanted(error, species, tuple(keep), refit)
    mechanism, folder = load_mechanism(file, phase), Path(folder or default_folder(file, phase))
    gas = name_mixture(mechanism, fuel, oxidizer)
    peaks = tuple(mechanism.species_names[mechanism.index(name)] for name in wanted.keep)
    kept = _kept(mechanism, gas, peaks)  # raises before the compilation
    network, processes = ReactionNetwork.of(mechanism), Processes(workers or _cores())
    with opened_folder(folder):
        with opened_detailed(processes, network) as detailed:
            if T0 is None:
                coldest = coldest_ignition(mechanism, detailed, gas.fuel, gas.oxidizer)
                T0 = coldest, hottest_ignition(coldest)
            ranges = Ranges(gas.fuel, gas.oxidizer, T0).within(p, phi)
            record = begun(folder / RECORD, mechanism, ranges, wanted)
            if "file" in record:
                return record
            given, tell = (network, detailed), partial(on_progress, 0, mechanism.n_species)
            results = partial(detailed_results, processes, *given, folder=folder, tell=tell)
            judged = Asked(ranges, cases.judged(ranges), Solved(JUDGED, True, peaks))
            part = Base(*given, record, (judged, kept), wanted, on_progress)
            known, held, known_held = _known(results, part, judged)
            base = part.skeleton(known[0])
        judges = partial(judges_of, mechanism, Chemistry.of(base))
        with opened(processes, network, judges(judged, known)) as panel:
            search = Search(panel, wanted.error, kept)
            steps = walk(search, base, record, folder / RECORD, wanted, on_progress)
            chosen = choose(search, steps, wanted, on_progress)
            seen, curves = panel.told(chosen.skeleton), panel.curves(chosen.skeleton)
        on_progress(mechanism.n_species, mechanism.n_species, "held-out cases")
        with opened(processes, network, judges(held, known_held)) as panel:
            told = seen, panel.told(chosen.skeleton)
            write_result(folder / RECORD, record, chosen, told, curves)
        return record


def _known(results: Callable, part: Base, judged: Asked) -> tuple[Results, Asked, Results]:
    """The results of the detailed mechanism in the judged cases, the held-out cases, and the
    results in those, whose flames start from one of the judged."""
    known = results(replace(judged, begin=part.flame) if part.large else judged)
    near = next((DetailedFlame.of(flame) for flame in known[2] if flame), None)
    how = replace(judged.how, criteria=HELD_OUT, sensitive=False)
    held = Asked(judged.ranges, cases.held_out(judged.ranges), how, near)
    return known, held, results(held)


def _kept(mechanism: Mechanism, gas: Mixture, peaks: tuple[str, ...]) -> frozenset[int]:
    """The species that stay: those of the mixture, and those whose peaks are judged."""
    stay = mechanism.mixture(gas.fuel, gas.oxidizer, 1.0) > 0.0
    return frozenset([*np.flatnonzero(stay).tolist(), *map(mechanism.index, peaks)])


def _require_valid(workers: int, keep: tuple[str, ...]) -> None:
    whole = isinstance(workers, int | np.integer) and workers >= 0
    require(whole, f"workers={workers} has to be a whole number from 0 up; 0: one of each core")
    require(not isinstance(keep, str), f"keep={keep!r}: give a tuple of names, ({keep!r},)")


def _pair(name: str, pair: Pair | None, least: float = 0.0, most: float = math.inf) -> Pair | None:
    """A range, as floats. Raises ValueError where it is none, or not from `least` to `most`."""
    if pair is None:
        return None
    try:
        low, high = np.atleast_1d(np.asarray(pair, dtype=float)).tolist()
    except (TypeError, ValueError):  # no numbers, or not two
        low = high = math.nan
    fits = 0.0 < low <= high < math.inf
    require(fits, f"{name}={pair} is no range: give its lower and its upper end")
    unit = {"T0": "K", "p": "Pa"}.get(name, "1")
    require(
        least <= low and high <= most, f"{name}={pair} is not from {least:g} to {most:g} {unit}"
    )
    return low, high


def default_folder(file: str, phase: str = "") -> Path:
    """Where a reduction is kept if no folder is named."""
    return Path("-".join(["reduce", Path(file).stem, *([phase] if phase else [])]))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def walk(
    search: Search,
    base: Skeleton,
    record: dict,
    file: Path,
    wanted: Wanted,
    on_progress: OnProgress,
) -> list[Step]:
    """The steps of the path from a base: those that are in the record, and those that follow, which
    are kept in its file one by one. Raises ValueError where the base exceeds the limit."""
    mechanism, gone = base.network.mechanism, np.flatnonzero(~base.species).tolist()
    first, steps = search.judge(base, gone), []
    if gone and not wanted.species and first.error > wanted.error:
        raise ValueError(
            f"the graph leaves {base.n_species} species of {mechanism.name} with an error of "
            f"{first.error:.2g}, above error={wanted.error:g}: ask for a larger error"
        )
    spent = record["path"][-1]["seconds"] if record["path"] else 0.0
    since, size = time.perf_counter() - spent, mechanism.n_species
    search.score |= {mechanism.index(name): x for name, x in record.pop("scores", {}).items()}

    def keep(step: Step) -> None:
        steps.append(step)
        scores = {mechanism.species_names[k]: x for k, x in search.score.items()}
        record["path"].append({
            "species": step.skeleton.n_species, "reactions": int(step.skeleton.reactions.sum()),
            "removed": step.removed, "errors": step.errors,
            "seconds": time.perf_counter() - since,
        })  # fmt: skip
        write_record(file, record | {"scores": scores})  # by which the next step is found
        left = step.skeleton.n_species
        on_progress(size - left, size, f"{left} species, largest error {100 * step.error:.2g} %")

    if gone and not record["path"]:
        keep(first)
    else:
        steps.append(first)
    for row in record["path"][len(steps) - (not gone) :]:
        left = steps[-1].skeleton.without(*map(mechanism.index, row["removed"]))
        steps.append(Step(left, row["removed"], row["errors"]))
    end = np.inf if wanted.species else END * wanted.error
    for step in search.path(steps[-1], end, wanted.species):
        keep(step)
    return steps


def choose(search: Search, steps: list[Step], wanted: Wanted, on_progress: OnProgress) -> Step:
    """The smallest skeleton of a path within the limit, made smaller by swaps, or the first with
    the number of species that is wanted; without the reactions that it does not need. With `refit`,
    the smallest one that a refit brings within the limit."""
    size = len(steps[0].skeleton.species)

    def finished(step: Step) -> Step:
        left = step.skeleton.n_species
        on_progress(size, size, f"reactions, {left} species")
        step = search.remove_reactions(step)
        if wanted.refit:
            on_progress(size, size, f"refit, {left} species")
            step = refitted(search, step, wanted.refit)
        return step

    if wanted.species:
        fewest, error = steps[-1].skeleton.n_species, steps[-1].error
        if fewest > wanted.species:
            raise ValueError(
                f"with fewer than {fewest} species (largest error {100.0 * error:.2g} %) a judged "
                f"case does not ignite or burn, and {wanted.species} are asked for: ask for "
                f"{fewest} or more"
            )
        return finished(next(s for s in steps if s.skeleton.n_species <= wanted.species))
    chosen = [step for step in steps if step.error <= wanted.error][-1]
    if wanted.refit:
        smaller = reversed(steps[steps.index(chosen) + 1 :])
        for step in (one for one in smaller if one.error <= REFITTED * wanted.error):
            found = finished(step)
            if found.error <= wanted.error:
                return found
        return finished(chosen)
    index = chosen.skeleton.network.mechanism.index
    removed = [index(name) for step in steps for name in step.removed]
    while True:
        on_progress(size, size, f"swaps, {chosen.skeleton.n_species} species")
        swapped = search.swap(chosen, removed)
        if swapped is None:
            return finished(chosen)
        for step in (swapped, *search.path(swapped, wanted.error, 0)):
            if step.error <= wanted.error:
                chosen = step
                removed += map(index, step.removed)
