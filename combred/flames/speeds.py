"""Flames of one or many unburnt gases: the functions for users.

Takes a solver and states; gives a `FreeFlame`, or the speeds of all states. Many flames are solved
in an order in which each has a neighbour that is known.
"""

import warnings
from dataclasses import replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows, require_columns, require_real
from combred.flames.free import Profiles, free_flame
from combred.flames.grid import Criteria
from combred.flames.problems import FlameError, Gas, NoFlame, gases, mechanism_of
from combred.flames.result import FreeFlame
from combred.native.flame_library import flame_library
from combred.native.solver.library import Integrator
from combred.processes.workers import Processes

# Differences that count as much as one of 1 in this measure: of T [K], ln p, and burnt T [K].
SCALES = 100.0, 0.5, 200.0
LARGEST_DISTANCE = 6.0  # in this measure: a flame further away is no start
# Of the criteria, below which points are taken out of the grids of neighbours.
PRUNE = 0.05


def flame(  # noqa: PLR0913
    solver: Integrator | Mechanism | str,
    T: float,
    p: float,
    Y: np.ndarray,
    initial: FreeFlame | None = None,
    transport: str = "mixture-averaged",
    ratio: float = 3.0,
    slope: float = 0.06,
    curve: float = 0.12,
    prune: float = 0.0,
) -> FreeFlame:
    """The freely propagating premixed flame of an unburnt gas, steady and one-dimensional.

    solver: a `combred.solver(...)`, with the multipliers that it has, or a mechanism, or its name;
    T [K], p [Pa], Y (n_species,): the unburnt gas; initial: a flame that is like it, of the same
    mechanism, to start from; transport: "mixture-averaged" or "unity-Lewis-number"; ratio, slope,
    curve, prune: Cantera's criteria of refinement.

    Raises NoFlame where the gas does not burn, and FlameError, with what was tried, where no steady
    flame is found, both ValueErrors of `combred.flames.problems`; ValueError for a gas that is
    none, for a mechanism without transport data or with ions, and for a solver that has no rates,
    or another reactor than that of constant pressure.
    """
    criteria = Criteria(ratio, slope, curve, prune)
    one_p, fractions = np.atleast_1d(require_real("p", p)), np.atleast_2d(require_real("Y", Y))
    (gas,) = gases(solver, np.atleast_1d(require_real("T", T)), one_p, fractions, transport)
    if isinstance(gas, FlameError):
        raise gas
    if initial is not None and initial.mechanism.sha256 != gas.mechanism.sha256:
        raise ValueError(
            f"the flame near it is of {initial.mechanism.name}, and this one of "
            f"{gas.mechanism.name}: give one of the same mechanism"
        )
    return FreeFlame(free_flame(gas, criteria, initial.profiles if initial else None))


def flame_speed(  # noqa: PLR0913
    solver: Integrator | Mechanism | str,
    T: Real,
    p: Real,
    Y: Rows,
    transport: str = "mixture-averaged",
    ratio: float = 3.0,
    slope: float = 0.06,
    curve: float = 0.12,
    workers: int = 1,
) -> Rows:
    """The laminar flame speeds (n,) [m/s] of unburnt gases T [K], p [Pa], Y (n, n_species); T and
    p: one for all, or (n,). 0 of a gas that does not burn; NaN of one whose flame is not found,
    with a warning that tells why.

    Each flame starts from one near it, so that n speeds take less time than n flames. workers:
    processes that share them. The other arguments and errors are those of `flame`.
    """
    criteria = Criteria(ratio, slope, curve, PRUNE)
    speeds, failures = speeds_and_failures(solver, T, p, Y, transport, criteria, workers)
    if failures:
        row, failure = next(iter(failures.items()))
        warnings.warn(
            f"{len(failures)} of {len(speeds)} flames: row {row}: {failure}", stacklevel=2
        )
    return speeds


def speeds_and_failures(  # noqa: PLR0913
    solver: Integrator | Mechanism | str,
    T: Real,
    p: Real,
    Y: Rows,
    transport: str,
    criteria: Criteria,
    workers: int,
) -> tuple[Rows, dict[int, str]]:
    """The speeds of `flame_speed`, and of each row whose flame is not found why. Raises ValueError
    as that."""
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r}: give a number of processes, from 1")
    mechanism, _ = mechanism_of(solver)
    Y = np.atleast_2d(require_real("Y", Y))
    require_columns((len(Y), 2 + Y.shape[1]), 2 + mechanism.n_species)
    T, p = require_real("T", T), require_real("p", p)
    n = max(len(Y), T.size, p.size)
    for name, array in (("T", T), ("p", p), ("Y", Y[:, 0])):
        if array.shape not in ((), (1,), (n,)):
            raise ValueError(f"{name} is of {array.size} gases: give one for all, or {n}")
    rows = np.broadcast_to(T, n), np.broadcast_to(p, n), np.broadcast_to(Y, (n, Y.shape[1]))
    states = gases(solver, *rows, transport)
    speeds, failures = np.zeros(n), {}
    for i, gas in enumerate(states):
        if isinstance(gas, FlameError) and not isinstance(gas, NoFlame):
            speeds[i], failures[i] = np.nan, str(gas)
    burning = {i: gas for i, gas in enumerate(states) if isinstance(gas, Gas)}
    if burning:
        flame_library(mechanism)  # compiled before others need it
        for i, speed, failure in _shared(burning, criteria, workers):
            speeds[i] = speed
            failures |= {i: failure} if failure else {}
    return speeds, failures


def _shared(
    burning: dict[int, Gas], criteria: Criteria, workers: int
) -> list[tuple[int, float, str]]:
    """Index, speed and failure of each gas, from processes that share them."""
    indices = list(burning)
    order = [indices[i] for i in _order(list(burning.values()))]
    workers = max(1, min(workers, len(order) // 2))
    shares = [share.tolist() for share in np.array_split(order, workers)]
    tasks = [([burning[i] for i in share], criteria) for share in shares]
    chains = [_chain(*tasks[0])] if workers == 1 else Processes(workers).results(_chain, tasks)
    return [
        (i, *answer)
        for share, chain in zip(shares, chains, strict=True)
        for i, answer in zip(share, chain, strict=True)
    ]


def _places(burning: list[Gas]) -> Rows:
    """Places (n, 4) of gases, in which like flames are near each other."""
    rich = [_excess(gas) for gas in burning]
    rows = [
        (gas.T / SCALES[0], np.log(gas.p) / SCALES[1], gas.burnt_T / SCALES[2], excess)
        for gas, excess in zip(burning, rich, strict=True)
    ]
    return np.array(rows)


def _excess(gas: Gas) -> float:
    """The mass fraction of O2 that is left at equilibrium, less what is missing, over 5 %: lean
    and rich flames of one burnt T are no neighbours."""
    names, Y = gas.mechanism.species_names, gas.burnt_Y
    fractions = {name: Y[names.index(name)] for name in ("O2", "CO", "H2") if name in names}
    fuel = fractions.get("CO", 0.0) + 8.0 * fractions.get("H2", 0.0)
    return float((fractions.get("O2", 0.0) - fuel) / 0.05)


def _order(burning: list[Gas]) -> list[int]:
    """An order of gases that begins with the hottest burnt gas, each next one near those before."""
    places = _places(burning)
    order = [int(np.argmax([gas.burnt_T for gas in burning]))]
    left = np.ones(len(places), bool)
    left[order[0]] = False
    nearest = np.linalg.norm(places - places[order[0]], axis=1)
    while left.any():
        i = int(np.argmin(np.where(left, nearest, np.inf)))
        left[i] = False
        order.append(i)
        nearest = np.minimum(nearest, np.linalg.norm(places - places[i], axis=1))
    return order


def _chain(burning: list[Gas], criteria: Criteria) -> list[tuple[float, str]]:
    """Speed and failure of each gas, whose flames start from the nearest before."""
    places, flames = _places(burning), {}
    answers: list[tuple[float, str]] = []
    for i, gas in enumerate(burning):
        distances = {j: float(np.linalg.norm(places[i] - places[j])) for j in flames}
        nearest = min(distances, key=distances.__getitem__, default=None)
        initial: Profiles | None = None
        if nearest is not None and distances[nearest] < LARGEST_DISTANCE:
            initial = flames[nearest]
        try:
            flames[i] = replace(free_flame(gas, criteria, initial), counts={})
            answers.append((flames[i].speed, ""))
        except NoFlame:
            answers.append((0.0, ""))
        except FlameError as error:
            answers.append((np.nan, str(error)))
    return answers
