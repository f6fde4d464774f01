"""A stirred reactor, a premixed and a counterflow flame: the solver at its default tolerance beside
itself in doubles, and both beside CVODE.

Takes a `Mechanism` and `Conditions`; gives plain numbers for check.json, with the curves that the
page shows. Only the chemistry differs: mixing, transport and the beginning are the same. CVODE is
too slow for a whole flame: the solver in doubles is compared with it in one step of the cells of
Cantera's flame and of its own, and in one of the particles of a reactor. A small reactor is CVODE's
from beginning to end.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cantera as ct
import numpy as np

from combred.check.conditions import Conditions
from combred.chemistry.agreement import largest
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE
from combred.chemistry.transport import lacking
from combred.experiments.cells import WENT_OUT
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.experiment import CounterflowFlames
from combred.experiments.counterflow.flame import CounterflowMarch
from combred.experiments.flames import MarchedFlames
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch, MovingGrid
from combred.experiments.premixed.grid import FlameCase
from combred.experiments.stirred.experiment import StirredReactors, cases
from combred.native.solver import Solver
from combred.native.solver.library import PRECISE

T, P = 300.0, ct.one_atm  # of fresh gas and of streams
STIRRED = ct.one_atm, 20.0 * ct.one_atm  # Pa
# Of reactors beside those of CVODE, which takes a second or two for so few states. Gas stays for a
# tenth of the usual time, so that some flows in and burns.
SHORT: dict[str, Any] = {"residence": 2e-4, "particles": 12, "steps": 12}
PREMIXED = FlameMarch(cells=100)
STEPS_PER_TIME = 1000  # of the flame's thickness over its speed
COUNTERFLOW = CounterflowMarch(cells=60)
STRAINS, STEPS_PER_STRAIN = (100.0, 30.0, 10.0), 1000  # 1/s, and steps in its inverse
SHOWN = 4  # species whose profiles are kept


def stirred(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """Partially stirred reactors at the pressures `STIRRED`: largest relative differences of the
    means in time. Where one is not hotter at its end than the coldest gas that ignites, it has gone
    out, and the reason is given ("skipped")."""
    reactors = StirredReactors(mechanism, of.mixture, cases(list(STIRRED)))
    small = replace(reactors, cases=[replace(case, **SHORT) for case in reactors.cases])
    short = {"short": beside_cvode(small, solver)}
    exact = reactors.stir(Solver(mechanism, PRECISE))
    cold = [str(run.case) for run in exact if run.T[-1] < of.T0[0]]
    if cold:
        return {"skipped": f"the stirred reactor at {' and at '.join(cold)} goes out"} | short
    found = reactors.stir(solver)
    return {
        "cases": reactors.compare(found, exact),
        **short,
        "reference": largest(reactors.differences_from_cvode(exact)),
        "curves": [
            {"t": plain(one.t), "T": plain(one.T), "reference": plain(other.T)}
            for one, other in zip(found, exact, strict=True)
        ],
    }


def beside_cvode(reactors: StirredReactors, solver: Solver) -> float:
    """The largest relative difference of the mean T, in time, from reactors of CVODE."""
    exact = reactors.stir(CVODE(reactors.mechanism))
    rows = reactors.compare(reactors.stir(solver), exact)
    return max(row["errors"]["T"]["largest"] for row in rows)


def premixed_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A freely propagating flame of the stoichiometric mixture: speed, thickness, profile
    (`beside_itself`)."""
    case = FlameCase(T, P, 1.0)
    flames = PremixedFlames(mechanism, of.mixture, [case], np.nan, PREMIXED)
    try:
        begin = flames.begin(case)
    except ValueError as error:
        return {"skipped": str(error)}
    time = MovingGrid(mechanism, begin).thickness() / begin.speed
    flames = replace(flames, dt=time / STEPS_PER_TIME)
    found, exact = beside_itself(flames, solver, begin)
    if found is None:
        return {"skipped": f"the flame of {case} goes out"} | numbers(flames, begin)
    return numbers(flames, begin, found, exact)


def counterflow_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A counterflow diffusion flame of fuel against oxidizer at the highest of `STRAINS` at which
    it burns: peak temperature, peaks of species, profile (`beside_itself`)."""
    case, begin, reason = CounterflowCase(of.fuel, of.oxidizer, P, T, T), None, ""
    flames = CounterflowFlames(mechanism, of.mixture, [case], np.nan, COUNTERFLOW)
    for strain in STRAINS:
        try:
            begin = replace(flames, strain=strain).begin(case)
            break
        except ValueError as error:
            reason = str(error)
    if begin is None:
        return {"skipped": reason}
    flames = replace(flames, dt=1.0 / begin.strain / STEPS_PER_STRAIN)
    found, exact = beside_itself(flames, solver, begin)
    if found is None:
        skipped = {"skipped": f"the flame of {case} goes out at {begin.strain:.0f} 1/s"}
        return skipped | numbers(flames, begin)
    how = {"strain": begin.strain, "outcome": found.outcome}
    return how | numbers(flames, begin, found, exact)


def beside_itself(flames: MarchedFlames, solver: Solver, begin: Any) -> tuple[Any, Any]:
    """The flame of the solver, and that of the solver in doubles, both from the steady flame of the
    latter: they take as many steps unless one becomes steady earlier. None where it goes out."""
    precise = Solver(flames.mechanism, PRECISE)
    steady = flames.burn(precise, begin)
    if steady.outcome == WENT_OUT:
        return None, None
    found, exact = (flames.follow(one, [steady])[0] for one in (solver, precise))
    return found, exact


def numbers(flames: MarchedFlames, begin: Any, found: Any = None, exact: Any = None) -> dict:
    """Of a flame the difference of the solver in doubles from CVODE ("reference"), in a step of the
    cells of Cantera's flame, with which it begins, and of its own; where it burns its errors, and
    its profiles: T and the species to show, from the front of a premixed flame, or the stagnation
    plane of a counterflow flame, on."""
    cells = [(begin.T, begin.case.p, begin.Y, flames.dt)]
    if exact is None:
        return {"reference": largest(flames.steps_from_cvode(cells))}
    shown, names = species_to_show(exact.Y), flames.mechanism.species_names
    return {
        "dt": flames.dt,
        "errors": flames.compare([found], [exact])["cases"][0],
        "reference": largest(flames.steps_from_cvode([*cells, flames.end(exact)])),
        "curves": [
            {
                "x": plain(one.x - getattr(one, "front_x", 0.0)),
                "T": plain(one.T),
                "Y": {names[k]: plain(one.Y[:, k]) for k in shown},
            }
            for one in (found, exact)
        ],
    }


def where_possible(
    part: Callable[..., dict], mechanism: Mechanism, solver: Solver, of: Conditions
) -> dict:
    """The numbers of a part; {"skipped": reason} where the mechanism lacks data that it needs."""
    if part is not stirred and (lacks := lacking(mechanism.solution())):
        return {"skipped": f"{mechanism.name} has {lacks}"}
    return part(mechanism, solver, of)


def species_to_show(Y: np.ndarray) -> list[int]:
    """Indices of the `SHOWN` species that are largest inside a profile Y (n, n_species) and small
    at both of its ends: those that the flame forms and consumes."""
    inside, ends = Y.max(axis=0), np.maximum(Y[0], Y[-1])
    formed = np.where(ends < 0.5 * inside, inside, 0.0)
    return [int(k) for k in np.argsort(-formed)[:SHOWN]]


def plain(values: np.ndarray) -> list[float]:
    """Numbers for JSON, with six digits: they are drawn."""
    return [float(f"{value:.6g}") for value in values]
