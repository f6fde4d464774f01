"""A stirred reactor, a premixed and a counterflow flame: the solver at its default tolerance beside
itself in doubles.

Takes a `Mechanism` and `Conditions`; gives plain numbers for check.json, with the curves that the
page shows. Only the chemistry differs: mixing, transport and the beginning are the same. The solver
in doubles is compared with CVODE in the states where a case ends.
"""

from collections.abc import Callable

import cantera as ct
import numpy as np

from combred.check.conditions import Conditions
from combred.chemistry.agreement import difference_from_cvode, largest, spread
from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import lacking
from combred.experiments.counterflow import errors as counterflow_errors
from combred.experiments.counterflow import flame as counterflow
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.flame import CounterflowMarch
from combred.experiments.outcome import WENT_OUT
from combred.experiments.premixed import errors as flame_errors
from combred.experiments.premixed import flame as premixed
from combred.experiments.premixed.flame import FlameMarch, MovingGrid
from combred.experiments.premixed.grid import FlameCase
from combred.experiments.stirred.cases import cases as stirred_cases
from combred.experiments.stirred.cases import compare_all, follow, pressure
from combred.native.solver import Solver
from combred.native.solver.library import PRECISE

T, P = 300.0, ct.one_atm  # of fresh gas and of streams
STIRRED = ct.one_atm, 20.0 * ct.one_atm  # Pa
PREMIXED = FlameMarch(cells=100)
STEPS_PER_TIME = 1000  # of the flame's thickness over its speed
COUNTERFLOW = CounterflowMarch(cells=60)
STRAINS, STEPS_PER_STRAIN = (100.0, 30.0, 10.0), 1000  # 1/s, and steps in its inverse
SHOWN = 4  # species whose profiles are kept


def stirred(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """Partially stirred reactors at the pressures `STIRRED`: largest relative differences of the
    means in time. Where one is not hotter at its end than the coldest gas that ignites, it has gone
    out, and the reason is given ("skipped")."""
    todo, gas = stirred_cases(list(STIRRED)), Mixture(of.fuel, of.oxidizer)
    exact = follow(mechanism, Solver(mechanism, PRECISE), gas, todo)
    cold = [pressure(run.case) for run in exact if run.T[-1] < of.T0[0]]
    if cold:
        return {"skipped": f"the stirred reactor at {' and at '.join(cold)} goes out"}
    found = follow(mechanism, solver, gas, todo)
    ends = [(run.particles_T, run.case.p, run.particles_Y, run.case.dt) for run in exact]
    return {
        "cases": compare_all(mechanism, found, exact, gas),
        "reference": worst([from_cvode(mechanism, *end) for end in ends]),
        "curves": [
            {"t": plain(one.t), "T": plain(one.T), "reference": plain(other.T)}
            for one, other in zip(found, exact, strict=True)
        ],
    }


def premixed_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A freely propagating flame of the stoichiometric mixture: speed, thickness, profile. Both
    start from the steady flame of the solver in doubles, and take as many steps unless one becomes
    steady earlier."""
    case, fresh = FlameCase(T, P, 1.0), mechanism.mixture(of.fuel, of.oxidizer, 1.0)
    try:
        begin = premixed.start(mechanism, case, fresh, PREMIXED.cells)
    except ValueError as error:
        return {"skipped": str(error)}
    dt = MovingGrid(mechanism, begin).thickness() / begin.speed / STEPS_PER_TIME
    precise = Solver(mechanism, PRECISE)
    steady = premixed.burn(mechanism, precise, dt, begin, PREMIXED)
    if steady.outcome == WENT_OUT:
        return {"skipped": f"the flame of {case} goes out"}
    found, exact = (
        premixed.burn(mechanism, one, dt, steady.profile, PREMIXED) for one in (solver, precise)
    )
    shown = species_to_show(mechanism, exact.Y)
    return {
        "dt": dt,
        "errors": flame_errors.compare(mechanism, [found], [exact])["cases"][0],
        "reference": from_cvode(mechanism, exact.T, P, exact.Y, dt),
        "curves": [
            {"x": plain(one.x - one.front_x), **profile(mechanism, one.T, one.Y, shown)}
            for one in (found, exact)
        ],
    }


def counterflow_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A counterflow diffusion flame of fuel against oxidizer at the highest of `STRAINS` at which
    it burns: peak temperature, peaks of species, profile; as in `premixed_flame`."""
    case, begin, reason = CounterflowCase(of.fuel, of.oxidizer, P, T, T), None, ""
    for strain in STRAINS:
        try:
            begin = counterflow.start(mechanism, case, strain, COUNTERFLOW.cells)
            break
        except IntegrationError as error:
            reason = str(error)
    if begin is None:
        return {"skipped": reason}
    dt, precise = 1.0 / begin.strain / STEPS_PER_STRAIN, Solver(mechanism, PRECISE)
    steady = counterflow.burn(mechanism, precise, dt, begin, COUNTERFLOW)
    if steady.outcome == WENT_OUT:
        return {"skipped": f"the flame of {case} goes out at {begin.strain:.0f} 1/s"}
    found, exact = (
        counterflow.burn(mechanism, one, dt, steady.profile, COUNTERFLOW)
        for one in (solver, precise)
    )
    errors = dict.fromkeys(("peak_T_error", "profile_T_error"), np.nan) | {"peak_errors": {}}
    if found.burns and exact.burns:
        both = map(counterflow_errors.of_flame, (found, exact))
        errors = counterflow_errors.compare(mechanism, *both)
    shown = species_to_show(mechanism, exact.Y)
    return {
        "dt": dt,
        "strain": begin.strain,
        "outcome": found.outcome,
        "errors": errors,
        "reference": from_cvode(mechanism, exact.T, P, exact.Y, dt),
        "curves": [
            {"x": plain(one.x), **profile(mechanism, one.T, one.Y, shown)} for one in (found, exact)
        ],
    }


def where_possible(
    part: Callable[..., dict], mechanism: Mechanism, solver: Solver, of: Conditions
) -> dict:
    """The numbers of a part; {"skipped": reason} where the mechanism lacks data that it needs."""
    if part is not stirred and (lacks := lacking(mechanism.solution())):
        return {"skipped": f"{mechanism.name} has {lacks}"}
    return part(mechanism, solver, of)


def worst(values: list[float]) -> float:
    """The largest; NaN if one is."""
    return float(np.max(values))


def from_cvode(mechanism: Mechanism, T: np.ndarray, p: float, Y: np.ndarray, dt: float) -> float:
    """The largest difference of the solver in doubles from CVODE, of 256 of the states, over
    one more step dt [s]; NaN where the solver fails, or CVODE in all of them."""
    T, Y = spread(T), spread(Y).clip(min=0.0)
    before = T, np.full(len(T), p), Y
    after = Solver(mechanism).attempt(*before, dt, PRECISE).or_nan()
    off = difference_from_cvode(mechanism, before, dt, after)
    return largest(off) if np.isfinite(after[0]).all() else np.nan


def species_to_show(mechanism: Mechanism, Y: np.ndarray) -> list[int]:
    """Indices of the `SHOWN` species that are largest inside a profile Y (n, n_species) and small
    at both of its ends: those that the flame forms and consumes."""
    inside, ends = Y.max(axis=0), np.maximum(Y[0], Y[-1])
    formed = np.where(ends < 0.5 * inside, inside, 0.0)
    return [int(k) for k in np.argsort(-formed)[:SHOWN]]


def profile(mechanism: Mechanism, T: np.ndarray, Y: np.ndarray, shown: list[int]) -> dict:
    """T and the chosen species of a profile as plain numbers."""
    return {"T": plain(T), "Y": {mechanism.species_names[k]: plain(Y[:, k]) for k in shown}}


def plain(values: np.ndarray) -> list[float]:
    """Numbers for JSON, with six digits: they are drawn."""
    return [float(f"{value:.6g}") for value in values]
