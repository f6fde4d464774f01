"""A compiled surrogate, as an `Advance`.

Takes a `Surrogate`, or the path of a library that was compiled before; gives a `NativeSurrogate`,
which the simulations take in place of CVODE or of the torch surrogate.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import require_real, states_of
from combred.native.builder import build
from combred.native.generator import generate
from combred.native.interface import Library
from combred.surrogate.surrogate import Surrogate


def compile(
    surrogate: Surrogate,
    folder: Path | None = None,
    mechanism: Mechanism | None = None,
    bf16: bool = False,
) -> "NativeSurrogate":
    """Write a surrogate as C++, compile and load it.

    surrogate: one that corrects QSS steps; folder: where sources and library are written
    (None: a cache, `combred.native.builder.cache_folder`); mechanism: the surrogate's, so that the
    library can tell its hash; bf16: products of hidden layers with 8 bits, see `generate`. Raises
    ValueError for a network of the state alone, RuntimeError without a C++ compiler.
    """
    return NativeSurrogate(build(generate(surrogate, mechanism, bf16=bf16), folder))


class NativeSurrogate(Library):
    """A surrogate as a compiled library. `advance` makes it an `Advance` (see
    `combred.chemistry.reactor`); threads may share it.

    library: its path; dt_range: the smallest and the largest dt [s] of one step in training;
    ranges: (lowest, highest) of T [K], p [Pa], phi and each species' mass fraction in training, by
    name, NaN where they are not known; the other attributes and the errors are those of `Library`.
    """

    TOLERANCE = Surrogate.TOLERANCE

    def __init__(self, library: Path, level: str = ""):
        super().__init__(library, level)
        self.library = self.path
        self.dt_range = self.range_of("dt_range")
        columns = {"T": 0, "p": 1} | {name: 2 + k for k, name in enumerate(self.species)}
        self.ranges = {name: self.range_of("range", i) for name, i in columns.items()}
        self.ranges["phi"] = self.range_of("phi_range")

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K], p (n,) [Pa], Y (n, n_species) [-] -> T (n,) [K] and Y after dt [s], a float
        or (n,), within the default tolerance. Raises ValueError as `integrate`."""
        state = states_of(T, p, Y)
        self.integrate_in_place(state, dt, self.TOLERANCE, 0)
        return state[:, 0], state[:, 2:]

    def integrate(
        self,
        state: np.ndarray,
        dt: float | np.ndarray,
        tolerance: float = TOLERANCE,
        max_steps: int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States dt later within a tolerance, as `Surrogate.integrate` gives them.

        state (n, 2 + n_species): [T, p, Y]; dt [s]: a float or (n,); max_steps: the largest number
        of steps of a state, 0 for no limit. Returns the states (n, 2 + n_species); the error
        ratio of each (n,), infinite also where max_steps was too few; and the number of steps of
        each (n,), int64. Raises ValueError for other shapes, for dt or a tolerance that is not
        positive and finite, and for a negative max_steps.
        """
        later = np.array(require_real("states", state), order="C")
        return later, *self.integrate_in_place(later, dt, tolerance, max_steps)
