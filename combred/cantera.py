"""Cantera's doors: states as a `SolutionArray`, and a reactor with a clock.

Takes any `Advance` (of `combred.solver`, a compiled library, a surrogate, CVODE); gives it the
interface of Cantera's samples.
"""

import functools
import math
import threading
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.phase import content_hash, multipliers_of
from combred.chemistry.states import require_real
from combred.chemistry.stepper import Advance
from combred.experiments.ignition import criteria
from combred.native.solver.library import Integrator, Solver

CLOSE = 1e-9  # relative difference of two times that are the same
_COMPARING = threading.Lock()
PROFILES = "temperature", "pressure", "volume"  # over the time of a `Reactor`
COMPARED = (300.0, 1e3), (900.0, 1e5), (2100.0, 3e6), (3500.0, 1e8)  # K, Pa, of `_agree`
# Relative difference of two multipliers that are the same, after a division and a product.
ROUNDING = 1e-15
SAME = 1e-6  # relative difference of rates that are the same, as of a file that Cantera has written


def advance(solver: Advance, states: ct.SolutionArray, dt: float | np.ndarray) -> ct.SolutionArray:
    """The states of a `SolutionArray` dt [s] later, a float or of its shape, as a new
    one; at constant pressure, or volume where the solver says so. A single state gets a new phase,
    which takes some 10 ms: `Reactor` is faster.

    Multipliers of its reactions hold, where the solver is of `combred.solver`. Raises ValueError
    where its species, reactions or polynomials are not the solver's, where a reaction has a
    multiplier and the solver is another, for a dt of another shape, and as `Stepper.integrate`.
    """
    phase = _phase(states)
    solver = of_phase(solver, phase)
    n, shape = int(np.prod(states.shape)), states.shape
    T, p = states.T.reshape(n), states.P.reshape(n)
    Y = states.Y.reshape(n, len(states.species_names))
    steps = require_real("dt", dt)
    if steps.shape not in ((), shape):
        raise ValueError(
            f"dt has shape {steps.shape}: give one time step [s], or an array of the shape {shape} "
            "of the states"
        )
    T_next, Y_next = solver.advance(T, p, Y, steps.reshape(n) if steps.ndim else steps)
    later = _new(states, shape)  # without columns that a user has added
    T_next, Y_next = T_next.reshape(shape), Y_next.reshape(*shape, Y.shape[1])
    if at_constant_volume(solver):
        later.TDY = T_next, states.density, Y_next
    else:
        later.TPY = T_next, states.P, Y_next
    return later


def ignition_delay(
    solver: Integrator, states: ct.SolutionArray, criterion: str | float = "max dT/dt", **how: Any
) -> np.ndarray:
    """The ignition delays [s] of the states of a `SolutionArray`, in its shape, as
    `combred.ignition_delay`, which tells the criteria and the other arguments. Multipliers as in
    `advance`, which raises the same errors."""
    phase = _phase(states)
    T, p, Y = states.T.ravel(), states.P.ravel(), states.Y.reshape(states.size, phase.n_species)
    found = criteria.ignition_delay(of_phase(solver, phase), T, p, Y, criterion, **how)  # type: ignore[arg-type]
    return found.reshape(states.shape)


def psr(
    solver: Integrator,
    inflow: ct.SolutionArray,
    residence_time: np.ndarray | float,
    isothermal: bool = False,
    **wall: Any,
) -> ct.SolutionArray:
    """The steady states of perfectly stirred reactors of the states that flow in, as a new
    `SolutionArray` of the shape that states and residence times [s] have together; as
    `combred.psr`, which tells the other arguments. Multipliers as in `advance`, which raises the
    same errors."""
    from combred.reactors import stirred  # of which those who advance states need nothing

    phase = _phase(inflow)
    wall = {"residence_time": residence_time, **wall}
    given = {name: require_real(name, x) for name, x in wall.items()}
    try:
        shape = np.broadcast_shapes(inflow.shape, *(x.shape for x in given.values()))
    except ValueError as error:
        told = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ValueError(
            f"shapes are {told} and {inflow.shape} of the inflow: give such as numpy broadcasts"
        ) from error
    found = _new(inflow, shape)
    n = found.size
    if not n:
        return found
    T, p = (np.broadcast_to(x, shape).reshape(n) for x in (inflow.T, inflow.P))
    wall = {name: np.broadcast_to(x, shape).reshape(n) for name, x in given.items()}
    Y = np.broadcast_to(inflow.Y, (*shape, phase.n_species)).reshape(n, -1)
    multiplied: Any = of_phase(solver, phase)
    now = stirred.psr(multiplied, T, p, Y, isothermal=isothermal, **wall)
    found.TPY = now[0].reshape(shape), p.reshape(shape), now[1].reshape(*shape, -1)
    return found


def _phase(states: ct.SolutionArray) -> Any:
    """The phase of states. Raises ValueError for a phase alone."""
    if not isinstance(states, ct.SolutionArray):
        raise ValueError(
            f"these states are a {type(states).__name__}: give a cantera.SolutionArray, of one "
            "state cantera.SolutionArray(gas, 1)"
        )
    return states._phase


def _new(states: ct.SolutionArray, shape: tuple[int, ...]) -> ct.SolutionArray:
    """A new array of states. Where it or the given one has a single state, it has a phase of its
    own: a Cantera array of one state has that of its phase, which another array would change."""
    phase = _phase(states)
    if 1 in (states.size, math.prod(shape)):
        own = ct.Solution(
            thermo=phase.thermo_model,
            kinetics=phase.kinetics_model,
            transport_model=phase.transport_model,
            species=phase.species(),
            reactions=phase.reactions(),
        )
        if not np.allclose(own.molecular_weights, phase.molecular_weights, rtol=SAME, atol=0.0):
            raise ValueError(
                f"elements of the phase {phase.name} have atomic weights of their own, which "
                "Cantera does not copy: give more than one state in an array"
            )
        own.name, own.basis = phase.name, phase.basis
        for i in range(phase.n_reactions):
            own.set_multiplier(phase.multiplier(i), i)
        phase = own
    return ct.SolutionArray(phase, shape)


class Reactor:
    """A reactor at constant pressure, or at constant volume where the solver says so, with the
    interface of a `cantera.ReactorNet` of one reactor.

    phase: a `cantera.Solution` in the initial state, which moves with the reactor; solver: an
    `Advance` of its species; time [s]: since the beginning. profile: of a `combred.solver`, t (m,)
    [s] and temperature [K], pressure [Pa] or volume (m,), isothermal, heat_transfer and T_wall, as
    of `combred.reactor`. Raises ValueError as `of_phase`, and for other names of a profile.
    """

    def __init__(self, phase: ct.Solution, solver: Advance, **profile: Any):
        if not isinstance(phase, ct.Solution):
            raise ValueError("give the phase first, then the solver: Reactor(gas, solver)")
        of_phase(solver, phase)
        self.phase, self.solver, self.time = phase, solver, 0.0
        constant = profile.pop("isothermal", False)
        unknown = profile.keys() - {*PROFILES, "t", "heat_transfer", "T_wall"}
        if unknown or ("t" in profile) != bool(profile.keys() & set(PROFILES)):
            raise ValueError(
                f"a reactor of {', '.join(profile)}: give t with pressure or volume, or "
                "temperature, and what else it may have, isothermal, heat_transfer and T_wall"
            )
        self.profile: dict[str, Any] = {name: require_real(name, x) for name, x in profile.items()}
        if constant:
            self.profile["isothermal"] = True

    def advance(self, time: float) -> float:
        """Go to a time [s], as counted from the beginning; returns it. Raises ValueError for a time
        that has passed or that the profile does not have, where the phase has changed, and as
        `Stepper.integrate` and `combred.reactor`."""
        end = require_real("time", time)
        if end.ndim or not np.isfinite(end):
            raise ValueError(f"time = {time} s: an end has to be one finite number")
        gas, dt = self.phase, float(end) - self.time
        solver = of_phase(self.solver, gas)
        if not dt >= -CLOSE * abs(time):
            raise ValueError(
                f"time = {time:g} s has passed: the reactor is at {self.time:g} s, and advance "
                "takes a time from the beginning, as Cantera's does, not a step"
            )
        if dt <= CLOSE * abs(time):
            return self.time
        if self.profile:
            gas.TPY = self._along(solver, float(end))
        else:
            volume, density, p = at_constant_volume(self.solver), gas.density, gas.P
            T, Y = solver.advance(np.array([gas.T]), np.array([p]), gas.Y[None], dt)
            if volume:
                gas.TDY = T[0], density, Y[0]
            else:
                gas.TPY = T[0], p, Y[0]
        self.time = float(time)
        return self.time

    def _along(self, solver: Advance, end: float) -> tuple[float, float, np.ndarray]:
        """T [K], p [Pa] and Y of the phase at a time on the profile. Density, or p, is linear
        between the times of the profile."""
        from combred.reactors import profile

        gas, given = self.phase, dict(self.profile)
        times = np.array([self.time, end])
        if "t" in given:
            t = profile.rising("t", given.pop("t"))
            if not t[0] <= self.time < end <= t[-1]:
                raise ValueError(f"time = {end:g} s: the profile is from {t[0]:g} to {t[-1]:g} s")
            times = np.unique([*times, *t[(t > self.time) & (t < end)]])
            for name in given.keys() & set(PROFILES):
                values = profile.profile_of(name, given[name], len(t), 1)[:, 0]
                power = -1.0 if name == "volume" else 1.0
                given[name] = np.interp(times, t, values**power) ** power
        state = np.array([gas.T]), gas.P, gas.Y[None]
        found = profile.reactor(solver, *state, times, **given)  # type: ignore[arg-type]
        return found.T[-1, 0], found.p[-1, 0], found.Y[-1, 0]


def at_constant_volume(solver: Advance) -> bool:
    """Whether a solver keeps the volume of a state, not its pressure."""
    return bool(getattr(solver, "volume", False))


def of_phase(solver: Advance, phase: ct.Solution) -> Advance:
    """The solver with the multipliers of a phase. Raises ValueError where the species, rates or
    polynomials of the phase are not those of the solver's mechanism."""
    if getattr(solver, "sources", None):
        raise ValueError("a solver with sources takes arrays: give solver.with_sources(None) here")
    known, names, own = species_of(solver), phase.species_names, "solver.mechanism.solution()"
    if known != names:
        raise ValueError(
            f"the phase has the species {' '.join(names)}, and the solver {' '.join(known)}: give "
            f"a cantera.Solution of the solver's mechanism, as {own}"
        )
    mechanism = getattr(solver, "mechanism", None)
    if mechanism is None:  # a loaded library
        same = content_hash(phase) == solver.library.mechanism_sha256  # type: ignore[attr-defined]
        solver = solver if same else with_multipliers(solver, phase)
    else:
        solver = with_multipliers(solver, phase)
        with _COMPARING:  # one at a time: the reference is for all threads
            same = _agree(phase, _reference(mechanism))
    if not same:
        raise ValueError(
            f"the reactions or species of the phase {phase.name} are not those of the solver's "
            "mechanism: give a cantera.Solution of its file, or a solver of another file"
        )
    return solver


def with_multipliers(solver: Advance, phase: ct.Solution) -> Advance:
    """The solver with the multipliers of a phase; some may be those of its mechanism's file. Raises
    ValueError where it has others, or cannot have any."""
    factors = multipliers_of(phase)
    mechanism = getattr(solver, "mechanism", None)
    of_file = np.ones_like(factors) if mechanism is None else mechanism.multipliers
    own = np.asarray(getattr(solver, "factors", 1.0)) * of_file
    if own.shape != factors.shape:
        return solver  # of another number of reactions, which `of_phase` refuses
    if np.allclose(factors, own, rtol=ROUNDING, atol=0.0):
        return solver
    if isinstance(solver, Solver) and not np.any(factors[of_file == 0.0]):
        return solver.with_multipliers(factors / np.where(of_file == 0.0, 1.0, of_file))
    i = int(np.flatnonzero(factors != own)[0])
    raise ValueError(
        f"reaction {i + 1} of the phase {phase.name}, {phase.reaction(i).equation}, has the "
        f"multiplier {factors[i]}, which this solver does not have: give each reaction that of the "
        f"solver, as gas.set_multiplier({own[i]}, {i}), or take combred.solver(FILE), which takes "
        "those of the phase, but no others where its file has 0"
    )


@functools.lru_cache(maxsize=8)
def _reference(mechanism: Mechanism) -> ct.Solution:
    """A phase of a mechanism, for `_agree`."""
    return mechanism.solution(transport=False)


def _agree(phase: ct.Solution, reference: ct.Solution) -> bool:
    """Whether phases of the same species have the same rates and polynomials, at some states, with
    the multipliers of the first."""
    if phase.n_reactions != reference.n_reactions:
        return False
    before, found = phase.state, []
    for i in range(phase.n_reactions):
        reference.set_multiplier(phase.multiplier(i), i)
    for one in (phase, reference):
        numbers = []
        for T, p in COMPARED:
            one.TPX = T, p, np.arange(1.0, one.n_species + 1.0)  # of which none stands for another
            numbers += [one.forward_rates_of_progress, one.reverse_rates_of_progress]
            numbers += [one.creation_rates, one.destruction_rates]
            numbers += [one.standard_enthalpies_RT, one.standard_entropies_R, one.standard_cp_R]
        found.append(np.concatenate(numbers))
    phase.state = before
    return np.allclose(found[0], found[1], rtol=SAME, atol=0.0, equal_nan=True)


def species_of(solver: Advance) -> list[str]:
    """The names of the species of a solver, a library, a surrogate or CVODE."""
    for owner, name in (("library", "species"), ("mechanism", "species_names")):
        if hasattr(solver, owner):
            return list(getattr(getattr(solver, owner), name))
    raise ValueError(f"{type(solver).__name__} does not say what its species are")
