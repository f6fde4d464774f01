"""Perfectly stirred reactors: steady states of many residence times, and the curve to extinction.

Takes a solver and the gas that flows in; gives the states in the reactors. A batch of reactors is
followed from burnt gas until Newton's method (`combred.reactors.branch`) finds the steady state.
Isothermal reactors begin with the gas that flows in, as an experiment does.
Burnt gas has few radicals, and may go out where a reactor that burns already burns on: a burning
state there lies on the branch of a longer residence time.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.states import (
    Real,
    Rows,
    require_columns,
    require_real,
    require_states,
    states_of,
)
from combred.chemistry.thermo import Thermo
from combred.native.solver.library import Integrator, require_adiabatic
from combred.native.solver.sources import Sources
from combred.reactors.branch import COLDEST, Branch, Inflow, Point
from combred.reactors.wall import density, mechanism_of, reactor_solver

# Residence times between the first two attempts of Newton's method, by how much they grow after
# each, and how many there are: radicals may multiply slowly near the limit of an ignition.
MARCH, GROWTH, MARCHES = 5.0, 1.05, 60
# K, and a share of the change from the inflow, between the state of a march and the steady state
# that it is near; mass fraction below which a change does not count.
NEAR, NEAR_Y, TRACE = 100.0, 0.2, 1e-6
KELVINS = 100.0  # that count as much as a change of ln tau by 1
WALK, SHORTEST, MOST = 0.5, 1e-3, 300  # steps along the curve, in this measure; how many
LONGER, TRIES = 3.0, 5  # residence times at which a reactor that is out may burn, each times this
# K, J/(kg K): gas that would lose its heat to the wall in a residence time is not tried.
HOT, LEAST_CP = 2000.0, 1000.0


def psr(  # noqa: PLR0913
    solver: Integrator,
    T: Real,
    p: Real,
    Y: Rows,
    residence_time: Real,
    heat_transfer: Real = 0.0,
    T_wall: Real = 300.0,
    isothermal: bool = False,
) -> tuple[Rows, Rows]:
    """The steady states T (n,) [K] and Y (n, n_species) of perfectly stirred reactors at constant
    pressure, `solver` = `combred.solver(...)`: burning, or extinguished where the residence time is
    too short, below the end of the `extinction_curve`.

    T [K], p [Pa], Y (n_species,) or (n, n_species): of the gas that flows in; residence_time [s]:
    mass in the reactor over mass flow; heat_transfer [W/(m3 K)]: heat transfer coefficient times
    area of the wall, over the volume, to a wall of T_wall [K]. Each is one for all, or (n,).
    isothermal: T is that of the reactor, which begins filled with the gas that flows in; where it
    has several steady states, this is the one that it reaches.

    Raises ValueError for other shapes, for a residence time that is not positive, for a solver at
    constant volume, and where no steady state is found: it may oscillate.
    """
    solver = reactor_solver(solver, isothermal, heat_transfer)
    inflows, tau = _rows(solver, (T, p, residence_time, heat_transfer, T_wall), Y)
    solver = solver.warned_of(p)
    return _steady(solver, _branches(solver, inflows), tau)


@dataclass(frozen=True, eq=False)
class ExtinctionCurve:
    """Steady states of a perfectly stirred reactor from its longest residence time to that of
    extinction, the last: residence_time (points,) [s], T (points,) [K], Y (points, n_species)."""

    residence_time: Rows
    T: Rows
    Y: Rows


def extinction_curve(  # noqa: PLR0913
    solver: Integrator,
    T: float,
    p: float,
    Y: Rows,
    points: int = 20,
    longest: float = 0.1,
    heat_transfer: float = 0.0,
    T_wall: float = 300.0,
) -> ExtinctionCurve:
    """The burning states of a perfectly stirred reactor, from the residence time `longest` [s] to
    the turning point, below whose residence time it extinguishes; the points are evenly spaced in
    T and ln(residence time). The other arguments: one number each, and Y (n_species,), as of `psr`.

    Raises ValueError as `psr`, where the reactor does not burn at the residence time `longest`,
    where its branch does not end above `COLDEST`, and for an isothermal solver.
    """
    require_adiabatic(solver, "extinction needs a balance of energy")
    if not isinstance(points, int | np.integer) or points < 2:
        raise ValueError(f"points={points!r}: a curve has a whole number of points, at least 2")
    inflows, tau = _rows(solver, (T, p, longest, heat_transfer, T_wall), Y)
    if len(inflows) > 1:
        raise ValueError("an extinction curve is that of one inflow: give numbers, and one Y")
    solver = solver.warned_of(p)
    (branch,) = branches = _branches(solver, inflows)
    hot, burnt = _steady(solver, branches, tau)
    if hot[0] < COLDEST:
        raise ValueError(
            f"the reactor does not burn at the residence time longest={tau[0]:g} s: give a longer "
            "one, or a shorter one where it loses heat"
        )
    path = _walk(branch, Point(float(hot[0]), float(tau[0]), burnt[0]))
    return _spaced(branch, path, points)


def _rows(
    solver: Integrator, numbers: tuple[Real, Real, Real, Real, Real], Y: Rows
) -> tuple[list[Inflow], np.ndarray]:
    """Inflow and residence time of each reactor. Raises ValueError as `psr`."""
    names = "T", "p", "residence_time", "heat_transfer", "T_wall"
    given = [require_real(name, x) for name, x in zip(names, numbers, strict=True)]
    Y = np.atleast_1d(require_real("Y", Y))
    shapes = {x.shape for x in (*given, Y[..., 0])} - {()}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        told = ", ".join(f"{name} {x.shape}" for name, x in zip(names, given, strict=True))
        raise ValueError(f"shapes are {told}, Y {Y.shape}: give one for all, or n of each")
    n = max(shapes, default=(1,))[0]
    T, p, tau, transfer, wall = (np.broadcast_to(x, n) for x in given)
    Y = np.broadcast_to(Y, (n, Y.shape[-1]))
    states = states_of(T, p, Y)
    require_columns(states.shape, 2 + len(solver.library.species))
    require_states(states, "gases that flow in")
    if not ((tau > 0.0) & np.isfinite(tau)).all():
        raise ValueError("residence_time has to be positive and finite [s]")
    rows = zip(T, p, Y / Y.sum(1, keepdims=True), transfer, wall, strict=True)
    return [Inflow(float(a), float(b), y, float(u), float(w)) for a, b, y, u, w in rows], tau


def _branches(solver: Integrator, inflows: list[Inflow]) -> list[Branch]:
    mechanism = mechanism_of(solver)
    thermo, weights = Thermo(mechanism), mechanism.molecular_weights
    if solver.volume:
        raise ValueError("a perfectly stirred reactor keeps its pressure: take volume=False")
    return [Branch(solver, thermo, of, weights, solver.isothermal) for of in inflows]


# -- steady states ---------------------------------------------------------------------------------


def _steady(solver: Integrator, branches: list[Branch], tau: np.ndarray) -> tuple[Rows, Rows]:
    """The steady states of reactors: burning where there is such a one."""
    initial = _initial(solver, branches)
    T, Y = _followed(solver, branches, tau, initial)
    burning: dict[bytes, list[Point]] = {}
    extinguished: set[bytes] = set()  # inflows without heat loss: at shorter times they are, too
    for i in np.argsort(-tau) if not solver.isothermal else ():
        inflow = branches[i].of
        numbers = inflow.T, inflow.p, inflow.heat_transfer, inflow.T_wall
        key = np.array([*numbers, *inflow.Y]).tobytes()
        longer = burning.setdefault(key, [])
        if T[i] < COLDEST and key not in extinguished:
            start = initial[0][[i]], initial[1][[i]]
            point = _burning(solver, branches[i], float(tau[i]), longer, start)
            if point:
                T[i], Y[i] = point.T, point.Y
            elif not inflow.heat_transfer:
                extinguished.add(key)
        if T[i] >= COLDEST:
            longer.append(Point(float(T[i]), float(tau[i]), Y[i]))
    return T, Y


def _followed(
    solver: Integrator, branches: list[Branch], tau: np.ndarray, initial: tuple[Rows, Rows]
) -> tuple[Rows, Rows]:
    """The steady states of reactors that begin filled with the gas `initial`, T and Y."""
    inflows = [branch.of for branch in branches]
    columns = [(of.T, of.p, of.heat_transfer, of.T_wall) for of in inflows]
    T0, p, transfer, T_wall = np.array(columns).T
    mixing = Sources(0.0, 0.0, 1.0 / tau, T0, np.array([of.Y for of in inflows]))
    mixing = replace(mixing, heat_transfer=transfer, T_wall=T_wall)
    T, Y = initial[0].copy(), initial[1].copy()
    pending = np.arange(len(T))
    march = MARCH * tau
    for _ in range(MARCHES):
        stirred = solver.with_sources(mixing.of(pending))
        T[pending], Y[pending] = stirred.advance(T[pending], p[pending], Y[pending], march[pending])
        march *= GROWTH
        steady = []
        for i in pending:
            point = branches[i].solve(Point(float(T[i]), float(tau[i]), Y[i]), "tau")
            if point and point.stable and _is_near(point, T[i], Y[i], inflows[i].Y):
                T[i], Y[i] = point.T, point.Y
                steady.append(i)
        pending = np.setdiff1d(pending, steady)
        if not len(pending):
            return T, Y
    raise ValueError(
        f"no steady state was found for the residence time {tau[pending[0]]:g} s (row "
        f"{pending[0]}) in {MARCH * (GROWTH**MARCHES - 1.0) / (GROWTH - 1.0):.0f} residence times: "
        "the reactor may oscillate"
    )


def _is_near(point: Point, T: float, Y: np.ndarray, inflow: np.ndarray) -> bool:
    """Whether a state T, Y is near a steady one: by T, and by a share of the change from the
    inflow."""
    change = abs(point.Y - inflow).max()
    return abs(point.T - T) < NEAR and abs(point.Y - Y).max() <= NEAR_Y * change + TRACE


def _burning(
    solver: Integrator,
    branch: Branch,
    tau: float,
    burning: list[Point],
    initial: tuple[Rows, Rows],
) -> Point | None:
    """The burning state of a reactor at tau [s], on the branch of the last of the `burning` ones at
    longer residence times; None where there is none."""
    inflow, longer, most = branch.of, tau, tau * LONGER**TRIES
    if inflow.heat_transfer:
        hot = np.array([HOT]), np.array([inflow.p]), inflow.Y[None]
        rho = float(density(mechanism_of(solver), hot)[0])
        most = min(most, LEAST_CP * rho / inflow.heat_transfer)
    try:
        while not burning and longer * LONGER <= most * 1.001:
            longer *= LONGER
            T, Y = _followed(solver, [branch], np.array([longer]), initial)
            burning = [Point(float(T[0]), longer, Y[0])] if T[0] >= COLDEST else []
        if not burning:
            return None
        last = _walk(branch, burning[-1], tau)[-1]
    except ValueError:  # no steady state, or the branch does not end above `COLDEST`
        return None
    point = branch.solve(replace(last, tau=tau), "tau") if last.tau <= tau else None
    return point if point and point.stable and point.T >= COLDEST else None


def _initial(solver: Integrator, branches: list[Branch]) -> tuple[Rows, Rows]:
    """T (n,) and Y (n, n_species) of the gas that reactors begin with: the inflow at equilibrium,
    or in isothermal ones as it is."""
    if not branches:
        raise ValueError("there is no residence time and no gas that flows in: give at least one")
    rows = np.array([[branch.of.T, branch.of.p, *branch.of.Y] for branch in branches])
    if solver.isothermal:
        return rows[:, 0], rows[:, 2:]
    gas = mechanism_of(solver).solution(transport=False)
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    hot, burnt = equilibrium(gas, rows[:, 0], rows[:, 1], rows[:, 2:])
    if not np.isfinite(hot).all():
        raise ValueError("Cantera finds no equilibrium of the gas that flows in: give another one")
    return hot[which.ravel()], burnt[which.ravel()].clip(min=0.0)


# -- the curve -------------------------------------------------------------------------------------


def _measure(after: Point, before: Point) -> np.ndarray:
    """The way between points, in T over `KELVINS` and ln tau."""
    return np.array([(after.T - before.T) / KELVINS, np.log(after.tau / before.tau)])


def _walk(branch: Branch, start: Point, until: float = 0.0) -> list[Point]:
    """Points from a burning one to the extinction, or to the first whose tau [s] is at most
    `until`. Each step prescribes T or tau, whichever changed more over the last one."""
    path, way, length = [start], np.array([0.0, -1.0]), WALK
    while len(path) < MOST and length > SHORTEST:
        if path[-1].tau <= until:
            return path
        now, given = path[-1], "T" if abs(way[0]) > abs(way[1]) else "tau"
        T, tau = now.T + length * way[0] * KELVINS, now.tau * float(np.exp(length * way[1]))
        found = branch.solve(replace(now, T=T, tau=tau), given)
        step = _measure(found, now) if found else np.zeros(2)
        if found is None or not 0.0 < step @ way < 3.0 * length or found.T < COLDEST:
            length *= 0.5
            continue
        path.append(found)
        if given == "T" and step[0] * found.slope > 0.0:  # tau rises: beyond the turning point
            curvature = (path[-2].slope - found.slope) / (path[-2].T - found.T)
            turned = branch.turn(found, curvature) if curvature > 0.0 else None
            end = turned and branch.solve(turned[0])
            if end:
                return [*path[:-1], end]
            path.pop()
            length *= 0.5
            continue
        way, length = step / np.linalg.norm(step), min(2.0 * length, WALK)
    raise ValueError(
        f"the burning branch is lost at T = {path[-1].T:.0f} K, residence time {path[-1].tau:g} s: "
        f"it does not end above {COLDEST:g} K"
    )


def _spaced(branch: Branch, path: list[Point], points: int) -> ExtinctionCurve:
    """Steady states at even distances on a path, of its first and last point, too."""
    ways = np.array([_measure(b, a) for a, b in pairwise(path)])
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(ways, axis=1))])
    found = [path[0]]
    for s in np.linspace(0.0, at[-1], points)[1:-1]:
        i = int(np.searchsorted(at, s, "right")) - 1
        a, b, share = path[i], path[i + 1], (s - at[i]) / (at[i + 1] - at[i])
        T, tau = a.T + share * (b.T - a.T), a.tau * (b.tau / a.tau) ** share
        guess = Point(float(T), float(tau), a.Y + share * (b.Y - a.Y))
        point = branch.solve(guess, "T" if abs(ways[i, 0]) > abs(ways[i, 1]) else "tau")
        if point is None:
            raise ValueError(f"no steady state was found at {T:.1f} K: give fewer points")
        found.append(point)
    tau, T = np.array([(x.tau, x.T) for x in (*found, path[-1])]).T
    return ExtinctionCurve(tau, T, np.array([x.Y for x in (*found, path[-1])]))
