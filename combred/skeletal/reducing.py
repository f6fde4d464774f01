"""From a mechanism to the smallest one that an error allows.

Takes the name of a mechanism, its fuel, and a limit of the errors; gives the reduced mechanism as
a file, and the numbers of reduce.json, from which `combred.report.skeletal` draws the page. The
search sees the judged cases; the errors that count are those of the cases that were held out. A
second call with the same inputs goes on after the last step that is there.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import name_mixture
from combred.chemistry.mechanism import load_mechanism
from combred.config.fields import require
from combred.experiments.ignition.rollout import coldest_ignition
from combred.files.records import write_record
from combred.processes.workers import Processes
from combred.skeletal import cases
from combred.skeletal.cases import Ranges, states
from combred.skeletal.compiled import Chemistry
from combred.skeletal.flames import HELD_OUT, JUDGED, DetailedFlame, Solved, flame_of_part
from combred.skeletal.graph import base_of, targets
from combred.skeletal.judging import opened
from combred.skeletal.large import Detailed, Solver, opened_detailed
from combred.skeletal.record import RECORD, Wanted, begun, opened_folder
from combred.skeletal.references import Asked, detailed_results, judges_of
from combred.skeletal.refit import refit as refitted
from combred.skeletal.result import write_result
from combred.skeletal.search import Search, Step
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

REFITTED = 12.0  # limits: skeletons with larger errors are not refitted
END = 10.0  # the path ends where an error is this multiple of the limit
HOTTEST = 2000.0  # K, of ignitions
OnProgress = Callable[[int, int, str], None]


def reduce_mechanism(
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
) -> dict:
    """Take species and reactions out of a mechanism, as many as the limit of the errors allows.

    file, phase: as `combred.load_mechanism` takes them; fuel, oxidizer: compositions in moles,
    "auto": the fuel that the mechanism was plainly made for, and air; error, species, keep, refit:
    as of `Wanted`; folder: of reduce.json and of the reduced mechanism, None for `default_folder`;
    workers: processes, 0 for one of each core; on_progress(species removed, species, what is done).
    Returns the numbers of reduce.json; "file" is the name of the reduced mechanism in the folder.

    Raises ValueError where the mechanism has rates that are not known, where the fuel is not plain
    or does not ignite, where the folder has a reduction of another mechanism or other ranges, or is
    in use, or where so few `species` do not ignite or burn; RuntimeError without a C++ compiler.
    """
    require(workers >= 0, f"workers={workers} cannot be negative; 0: one of each core")
    require(not isinstance(keep, str), f"keep={keep!r}: give a tuple of names, ({keep!r},)")
    wanted = Wanted(error, species, tuple(keep), refit)
    mechanism, folder = load_mechanism(file, phase), Path(folder or default_folder(file, phase))
    gas = name_mixture(mechanism, fuel, oxidizer)
    stay = mechanism.mixture(gas.fuel, gas.oxidizer, 1.0) > 0.0  # raises before the compilation
    peaks = tuple(mechanism.species_names[mechanism.index(name)] for name in wanted.keep)
    stay[[mechanism.index(name) for name in peaks]] = True
    network, processes = ReactionNetwork.of(mechanism), Processes(workers or _cores())
    with opened_folder(folder):
        with opened_detailed(processes, network) as detailed:
            coldest = coldest_ignition(mechanism, detailed, gas.fuel, gas.oxidizer)
            ranges = Ranges(gas.fuel, gas.oxidizer, (coldest, HOTTEST))
            record = begun(folder / RECORD, mechanism, ranges, wanted)
            if "file" in record:
                return record
            kept = frozenset(np.flatnonzero(stay).tolist())
            tell = partial(on_progress, 0, mechanism.n_species)
            given = processes, network, detailed
            results = partial(detailed_results, *given, folder=folder, tell=tell)
            judged = Asked(ranges, cases.judged(ranges), Solved(JUDGED, True, peaks))
            part = _Base(network, detailed, record, (judged, kept), wanted, on_progress)
            known = results(judged, begin=part.flame if part.is_large else None)
            near = next((DetailedFlame.of(flame) for flame in known[2] if flame), None)
            held = Asked(ranges, cases.held_out(ranges), Solved(HELD_OUT, False, peaks), near)
            known_held, base = results(held), part.skeleton(known[0])
        chemistry = Chemistry.of(base)
        with opened(processes, network, judges_of(mechanism, chemistry, judged, known)) as panel:
            search = Search(panel, wanted.error, kept)
            steps = walk(search, base, record, folder / RECORD, wanted, on_progress)
            chosen = choose(search, steps, wanted, on_progress)
        on_progress(mechanism.n_species, mechanism.n_species, "held-out cases")
        with opened(processes, network, judges_of(mechanism, chemistry, held, known_held)) as panel:
            errors = panel.by_case(chosen.skeleton)
        write_result(folder / RECORD, record, chosen, errors)
        return record


class _Base:
    """The skeleton from which the search begins: the detailed mechanism, or what the graph leaves
    of a large one, which is the first step of the path."""

    def __init__(
        self,
        network: ReactionNetwork,
        detailed: Solver,
        record: dict,
        judged: tuple[Asked, frozenset[int]],
        wanted: Wanted,
        on_progress: OnProgress,
    ):
        self.network, self.detailed, self.record = network, detailed, record
        self.asked, self.kept = judged
        self.limit, self.on_progress = wanted.error, on_progress
        self.is_large = isinstance(detailed, Detailed)
        self._found: Skeleton | None = None

    def skeleton(self, delays: list[np.ndarray]) -> Skeleton:
        """The skeleton, from the `detailed_delays` of the judged cases."""
        self._found = self._found or self._find(delays)
        return self._found

    def flame(self, delays: list[np.ndarray]) -> DetailedFlame | None:
        """Its flame in the first of the judged cases, from which that of a large mechanism
        starts."""
        skeleton, how = self.skeleton(delays), self.asked.how
        size = self.network.mechanism.n_species
        self.on_progress(0, size, f"flames, from that of {skeleton.n_species} species")
        gases = self.asked.cases.flames[:1]
        (T,), (p,), (Y,) = states(self.network.mechanism, self.asked.ranges, gases)
        return flame_of_part(skeleton, (T, p, Y), how.criteria)

    def _find(self, delays: list[np.ndarray]) -> Skeleton:
        whole, path = self.network.whole(), self.record["path"]
        if not isinstance(self.detailed, Detailed):
            return whole
        mechanism = self.network.mechanism
        if path:
            return whole.without(*map(mechanism.index, path[0]["removed"]))
        self.on_progress(0, mechanism.n_species, "graph")
        half, delay, *_ = delays
        ignites = np.isfinite(delay)
        T, p, Y = states(mechanism, self.asked.ranges, self.asked.cases.ignitions)
        ignitions = (T[ignites], p[ignites], Y[ignites]), half[ignites], delay[ignites]
        of = targets(self.network, self.asked.ranges)
        return base_of(self.network, self.detailed, ignitions, of, self.kept, self.limit)


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
