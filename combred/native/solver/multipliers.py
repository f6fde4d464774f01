"""A solver with factors on the rate constants of its reactions, which are set at run time.

One library, compiled for a mechanism once, serves all factors: perturbed rate constants, and
mechanisms that lack reactions, whose factors are 0. It is another library than that of
`combred.native.solver.library`, which pays nothing for them.
"""

from functools import lru_cache

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows, Tolerance, require_real
from combred.chemistry.stepper import Solution
from combred.native.builder import build
from combred.native.library import Library, load_built
from combred.native.solver.generator import generate
from combred.native.solver.library import Integrator


@lru_cache(maxsize=8)
def _library(mechanism: Mechanism) -> tuple[Library, int]:
    """The library with factors, and how many reactions have one."""
    library = load_built(lambda: build(generate(mechanism, multiplied=True)))
    return library, mechanism.solution(transport=False).n_reactions


class MultipliedSolver(Integrator):
    """A `Solver` of a mechanism with factors (n_reactions,) on its rate constants, forward and
    reverse, in the order of the mechanism's reactions. They are those of Cantera's
    `set_multiplier`, over the `rate-multipliers` of the mechanism's file. A reaction with a factor
    of 0 is not there.

    The library is compiled at the first use. tolerance, kept (volume, enthalpy and isothermal): as
    of `Integrator`. Raises ValueError for factors of another shape, and for those that are negative
    or not finite.
    """

    def __init__(self, mechanism: Mechanism, factors: Rows, tolerance: float, *kept: bool):
        library, n = _library(mechanism)
        super().__init__(library, tolerance, *kept)
        self.mechanism = mechanism
        self.factors = require_real("multipliers", factors).copy()
        if self.factors.shape != (n,):
            raise ValueError(
                f"multipliers have shape {self.factors.shape}: give one for each of the {n} "
                f"reactions of {mechanism.name}, ({n},)"
            )
        wrong = np.flatnonzero(~((self.factors >= 0.0) & np.isfinite(self.factors)))
        if wrong.size:
            raise ValueError(
                f"the multiplier of reaction {wrong[0] + 1} is {self.factors[wrong[0]]}: give "
                "numbers from 0 up"
            )

    def __reduce__(self) -> tuple:
        kept = self.volume, self.enthalpy, self.isothermal
        of = self.mechanism, self.factors, self.tolerance, *kept
        return type(self), of, {"sources": self.sources}

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Integrator.attempt`."""
        self.library.multiply(self.factors)
        return super().attempt(T, p, Y, dt, tolerance, max_steps)

    def time_to(
        self, T: Rows, p: Real, Y: Rows, until: Rows, longest: Real, tolerance: Tolerance = None
    ) -> Rows:
        """As `Integrator.time_to`."""
        self.library.multiply(self.factors)
        return super().time_to(T, p, Y, until, longest, tolerance)

    def rates(self, T: Rows, p: Real, Y: Rows) -> tuple[Rows, Rows]:
        """As `Integrator.rates`."""
        self.library.multiply(self.factors)
        return super().rates(T, p, Y)

    def jacobian(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """As `Integrator.jacobian`."""
        self.library.multiply(self.factors)
        return super().jacobian(T, p, Y)
