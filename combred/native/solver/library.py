"""A stiff solver of a mechanism: a generated library, as an `Advance`.

Takes a `Mechanism`; gives a `Solver`, which simulations take in place of CVODE. `Integrator` has
what a compiled surrogate has, too.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Self

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.states import Real, Rows, Tolerance, require_rates, states_of
from combred.chemistry.stepper import Solution, Stepper
from combred.native.builder import build
from combred.native.library import Library, load_built
from combred.native.solver.generator import TOLERANCE, files_of

if TYPE_CHECKING:
    from combred.native.solver.multipliers import MultipliedSolver
    from combred.native.solver.sources import Sources

PRECISE = 1e-6  # tolerance of labels and of references, in doubles


def solver(
    mechanism: Mechanism | str | ct.Solution,
    phase: str = "",
    volume: bool = False,
    enthalpy: bool = False,
    isothermal: bool = False,
) -> "Solver":
    """The solver of a mechanism, compiled at its first use and then kept in the cache.

    mechanism: a loaded one, or what `load_mechanism` takes, with `phase`; volume, enthalpy,
    isothermal: as of `Integrator`. Raises ValueError, with the names of the reactions, for rates
    that are not known; RuntimeError without a C++ compiler.
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(mechanism, phase)
    return Solver(mechanism, volume=volume, enthalpy=enthalpy, isothermal=isothermal)


class Integrator(Stepper):
    """A compiled library on numpy arrays: a `Stepper`; threads may share it.

    tolerance: of `advance`; volume: adiabatic at constant volume, not at constant pressure;
    enthalpy: with `volume`, of constant density and enthalpy, as low-Mach flow solvers hold both;
    isothermal: T is constant, or `Sources.dT_dt` changes it, and no energy is conserved; sources:
    None, or those of `with_sources`.
    """

    sources: "Sources | None" = None

    def __init__(
        self,
        library: Library,
        tolerance: float,
        volume: bool = False,
        enthalpy: bool = False,
        isothermal: bool = False,
    ):
        if enthalpy and not volume:
            raise ValueError("constant pressure keeps the enthalpy: give enthalpy with volume=True")
        self.library, self.tolerance, self.volume = library, tolerance, volume
        self.enthalpy, self.isothermal = enthalpy, isothermal
        if enthalpy and isothermal:
            raise ValueError("an isothermal reactor does not keep its enthalpy: leave enthalpy out")

    @property
    def reactor(self) -> int:
        """The `combred_reactor` of combred.h."""
        return int(self.volume) + int(self.enthalpy) + 3 * int(self.isothermal)

    def as_isothermal(self) -> Self:
        """This one, isothermal. Raises ValueError at constant density and enthalpy."""
        if self.enthalpy:
            raise ValueError("an isothermal reactor does not keep its enthalpy: leave enthalpy out")
        return self._with(isothermal=True)

    def _with(self, **changed: object) -> Self:
        """This one with other attributes; copy.copy would look for the library again: 8 ms."""
        copy = object.__new__(type(self))
        copy.__dict__ |= self.__dict__ | changed
        return copy

    def with_sources(self, sources: "Sources | None") -> Self:
        """This one with sources beside the reactions, constant over each time step. Its network
        takes no step then; `rates` and `jacobian` are those of the reactions. Raises TypeError for
        other objects."""
        if not hasattr(sources, "rows") and sources is not None:
            raise TypeError(f"sources are a {type(sources).__name__}: give combred.Sources or None")
        return self._with(sources=sources)

    def advance(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, threads: int = 1
    ) -> tuple[Rows, Rows]:
        """As `Stepper.advance`; threads: how many share the states, without sources."""
        found = self.checked(self._attempt_on(threads, T, p, Y, dt, tolerance), dt)
        self.warn_of(p)
        return found.T, found.Y

    def integrate(  # noqa: PLR0913
        self,
        T: Rows,
        p: Real,
        Y: Rows,
        dt: Real,
        tolerance: Tolerance = None,
        max_steps: int = 0,
        threads: int = 1,
    ) -> Solution:
        """As `Stepper.integrate`; threads as in `advance`."""
        found = self.checked(self._attempt_on(threads, T, p, Y, dt, tolerance, max_steps), dt)
        self.warn_of(p)
        return found

    def _attempt_on(self, threads: int, T: Rows, p: Real, Y: Rows, *how) -> Solution:
        if threads == 1:
            return self.attempt(T, p, Y, *how)
        if self.sources:
            raise ValueError("threads do not share sources: give threads=1")
        from combred.native.solver.sharing import attempt_on

        return attempt_on(threads, self, states_of(T, p, Y), *how)

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Stepper.attempt`; max_steps: 0 for `MOST_ATTEMPTS`. Raises ValueError as
        `Sources.rows`, too."""
        states = states_of(T, p, Y)
        chosen = self.tolerance if tolerance is None else tolerance
        how: tuple = dt, chosen, max_steps, self.reactor
        if self.sources:
            n = len(states)
            how += self.sources.rows(self.library, n, self.reactor), self.sources.walls(n)
        error, steps = self.library.integrate_in_place(states, *how)
        return Solution(states[:, 0], states[:, 1], states[:, 2:], error, steps)

    def _why(self, found: Solution, i: int, dt: float) -> str:
        return super()._why(found, i, dt) + ", or smaller sources" * (self.sources is not None)

    def time_to(
        self, T: Rows, p: Real, Y: Rows, until: Rows, longest: Real, tolerance: Tolerance = None
    ) -> Rows:
        """The times (n,) [s] at which states T (n,) [K], p [Pa], Y (n, n_species) pass the
        temperatures `until` (n,) [K] from below: ignition delays, in one call of the solver alone.
        Infinite where a state does not within `longest` [s], one for all or (n,); 0 where it is
        above before; NaN where the solver fails. Raises ValueError as `attempt`, with sources and
        for an isothermal solver, too.
        """
        require_adiabatic(self, "time_to waits for a temperature")
        if self.sources:
            raise ValueError("time_to knows no sources: advance in short steps, and look at T")
        states = states_of(T, p, Y)
        wanted, times = np.array(np.broadcast_to(until, len(states)), float), np.empty(len(states))
        chosen = self.tolerance if tolerance is None else tolerance
        how = longest, chosen, 0, self.reactor, (wanted, times)
        error, _ = self.library.integrate_in_place(states, *how)
        self.warn_of(p)
        return np.where(error <= 1.0, times, np.nan)

    def rates(self, T: Rows, p: Real, Y: Rows) -> tuple[Rows, Rows]:
        """Net production rate dY/dt and destruction rate [1/s] of each species, (n, n_species)
        each, at T (n,) [K], p [Pa], one for all or (n,), Y (n, n_species); net 0 of inert species.
        Raises ValueError as `states_of` and `require_rates`."""
        states = require_rates(states_of(T, p, Y))
        self.warn_of(p)
        return self.library.rates(states)

    def jacobian(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """d(dT/dt, dY/dt) / d(T, Y) of one state, (1 + n_species, 1 + n_species): T [K], p [Pa], Y
        (n_species,), each Y by itself, of this reactor. Raises ValueError as `rates`."""
        state = require_rates(states_of(np.array([T]), p, np.asarray(Y)[None]))
        self.warn_of(p)
        return self.library.jacobian(state[0], self.reactor)


def require_adiabatic(solver: object, why: str) -> None:
    """ValueError for an isothermal solver; why: what needs a balance of energy, in words."""
    if getattr(solver, "isothermal", False):
        raise ValueError(f"{why}, and this solver is isothermal: give one without isothermal=True")


class Solver(Integrator):
    """A Rosenbrock method with generated rates, Jacobian and sparse elimination, one state in each
    lane of a vector.

    tolerance: relative to the change of a state over a step, plus 1 K and 1e-5 in Y. From 5e-4 on
    the lanes are floats with Shampine's method (1982), of order 4; below, down to 1e-9, they are
    doubles with the exact Jacobian and Rodas5P (Steinebach 2023), of order 5. volume, enthalpy,
    isothermal: as in `Integrator`; folder: where sources and library are written, None for a cache.
    mechanism: the solver's; library: the compiled one, a `Library`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        tolerance: float = TOLERANCE,
        volume: bool = False,
        folder: Path | None = None,
        enthalpy: bool = False,
        isothermal: bool = False,
    ):
        library = load_built(lambda: build(files_of(mechanism), folder))
        super().__init__(library, tolerance, volume, enthalpy, isothermal)
        self.mechanism = mechanism

    def with_multipliers(self, factors: Rows) -> "MultipliedSolver":
        """This solver with factors (n_reactions,) on its rate constants, as `MultipliedSolver`."""
        from combred.native.solver.multipliers import MultipliedSolver

        reactor = self.volume, self.enthalpy, self.isothermal
        solver = MultipliedSolver(self.mechanism, factors, self.tolerance, *reactor)
        solver = solver.with_sources(self.sources)
        solver.warns = self.warns
        return solver

    def __repr__(self) -> str:
        kept = ("pressure", "volume", "density and enthalpy", "T and pressure", "T and volume")
        said = f"of {self.mechanism.name}: {self.mechanism.n_species} species"
        said = f"{said}, at constant {kept[self.reactor]}"
        return f"<combred.solver {said}, tolerance {self.tolerance:g}>"

    def __reduce__(self) -> tuple:
        of = self.mechanism, self.tolerance, self.volume, None, self.enthalpy, self.isothermal
        return type(self), of, {"sources": self.sources}
