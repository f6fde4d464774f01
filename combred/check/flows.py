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
from combred.chemistry.agreement import CHECKED, difference_from_cvode
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import has_transport
from combred.native.solver import Solver
from combred.native.solver.library import PRECISE
from combred.simulation import counterflow, counterflow_errors, flame_errors
from combred.simulation import flame as premixed
from combred.simulation.counterflow import CounterflowMarch
from combred.simulation.counterflow_flame import CounterflowCase
from combred.simulation.counterflow_grid import CounterflowProfile
from combred.simulation.flame import FlameMarch, MovingGrid
from combred.simulation.moving_grid import FlameCase
from combred.simulation.stirred_cases import cases as stirred_cases
from combred.simulation.stirred_cases import compare_all, follow

T, P = 300.0, ct.one_atm  # of fresh gas and of streams
STIRRED = ct.one_atm, 20.0 * ct.one_atm  # Pa
PREMIXED = FlameMarch(cells=100)
STEPS_PER_TIME = 1000  # of the flame's thickness over its speed
COUNTERFLOW = CounterflowMarch(cells=60)
STRAINS, STEPS_PER_STRAIN = (100.0, 30.0, 10.0), 1000  # 1/s, and steps in its inverse
SHOWN = 4  # species whose profiles are kept


def stirred(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """Partially stirred reactors at the pressures `STIRRED`: largest relative differences of the
    means in time."""
    todo = stirred_cases(list(STIRRED))
    exact = follow(mechanism, Solver(mechanism, PRECISE), of.fuel, of.oxidizer, todo)
    found = follow(mechanism, solver, of.fuel, of.oxidizer, todo)
    ends = [(run.particles_T, run.case.p, run.particles_Y, run.case.dt) for run in exact]
    return {
        "cases": compare_all(mechanism, found, exact),
        "reference": max(from_cvode(mechanism, *end) for end in ends),
        "curves": [
            {"t": plain(one.t), "T": plain(one.T), "reference": plain(other.T)}
            for one, other in zip(found, exact, strict=True)
        ],
    }


def premixed_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A freely propagating flame of the stoichiometric mixture: speed, thickness, profile. Both
    start from the steady flame of the solver in doubles, and take as many steps unless one becomes
    steady earlier. Where there is no flame, the reason ("skipped")."""
    case, fresh = FlameCase(T, P, 1.0), mechanism.mixture(of.fuel, of.oxidizer, 1.0)
    precise = Solver(mechanism, PRECISE)
    begin = premixed.start(mechanism, case, fresh, PREMIXED.cells)
    dt = MovingGrid(mechanism, begin).thickness() / begin.speed / STEPS_PER_TIME
    steady = premixed.burn(mechanism, precise, dt, begin, PREMIXED).profile
    found, exact = (
        premixed.burn(mechanism, one, dt, steady, PREMIXED) for one in (solver, precise)
    )
    errors = flame_errors.compare(mechanism, [found], [exact])["cases"][0]
    shown = species_to_show(mechanism, exact.Y)
    return {
        "dt": dt,
        "errors": errors,
        "reference": from_cvode(mechanism, exact.T, P, exact.Y, dt),
        "curves": [
            {"x": plain(one.x - one.front_x), **profile(mechanism, one.T, one.Y, shown)}
            for one in (found, exact)
        ],
    }


def counterflow_flame(mechanism: Mechanism, solver: Solver, of: Conditions) -> dict:
    """A counterflow diffusion flame of fuel against oxidizer at the highest of `STRAINS` at which
    it burns: peak temperature, peaks of species, profile; as in `premixed_flame`."""
    case = CounterflowCase(P, T, T, of.fuel, of.oxidizer)
    begin, precise = first_that_burns(mechanism, case), Solver(mechanism, PRECISE)
    dt = 1.0 / begin.strain / STEPS_PER_STRAIN
    steady = counterflow.burn(mechanism, precise, dt, begin, COUNTERFLOW).profile
    found, exact = (
        counterflow.burn(mechanism, one, dt, steady, COUNTERFLOW) for one in (solver, precise)
    )
    shown = species_to_show(mechanism, exact.Y)
    return {
        "dt": dt,
        "strain": begin.strain,
        "outcome": found.outcome,
        "errors": counterflow_errors.compare(
            mechanism, *map(counterflow_errors.of_flame, (found, exact))
        ),
        "reference": from_cvode(mechanism, exact.T, P, exact.Y, dt),
        "curves": [
            {"x": plain(one.x), **profile(mechanism, one.T, one.Y, shown)} for one in (found, exact)
        ],
    }


def first_that_burns(mechanism: Mechanism, case: CounterflowCase) -> CounterflowProfile:
    """Cantera's flame at the highest of `STRAINS` at which it finds one. Raises IntegrationError
    where it finds none."""
    for strain in STRAINS:
        try:
            return counterflow.start(mechanism, case, strain, COUNTERFLOW.cells)
        except IntegrationError as error:
            failure = error
    raise failure


def where_there_is_one(
    flame: Callable[..., dict], mechanism: Mechanism, solver: Solver, of: Conditions
) -> dict:
    """The numbers of a flame; {"skipped": reason} where it cannot be computed."""
    if not has_transport(mechanism):
        return {"skipped": f"{mechanism.name} has no transport data"}
    try:
        return flame(mechanism, solver, of)
    except (ValueError, IntegrationError, FloatingPointError) as error:
        return {"skipped": str(error)}


def from_cvode(mechanism: Mechanism, T: np.ndarray, p: float, Y: np.ndarray, dt: float) -> float:
    """The largest difference of the solver in doubles from CVODE, of `CHECKED` of the states, over
    one more step dt [s]."""
    chosen = np.linspace(0, len(T) - 1, min(CHECKED, len(T))).astype(int)
    before = T[chosen], np.full(len(chosen), p), Y[chosen].clip(min=0.0)
    after = Solver(mechanism, PRECISE).advance(*before, dt)
    return float(np.nanmax(difference_from_cvode(mechanism, before, dt, after)))


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
