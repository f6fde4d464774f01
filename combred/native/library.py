"""A compiled surrogate, as an `Advance`: its network, and the stiff solver behind it.

Takes a `Surrogate`, or the path of a library that was compiled before; gives a `NativeSurrogate`,
which the simulations take in place of CVODE.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from combred.chemistry.stepper import FAR, NETWORK_TOLERANCE
from combred.native.builder import build
from combred.native.interface import Library, load_built
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.library import Integrator

if TYPE_CHECKING:
    from combred.surrogate.surrogate import Surrogate


def compile(surrogate: "Surrogate", folder: Path | None = None) -> "NativeSurrogate":
    """Write a surrogate and the solver of its mechanism as C++, compile and load them.

    folder: where sources and library are written (None: a cache,
    `combred.files.records.cache_folder`). Raises ValueError for a network that is too large
    (`combred.native.generator.MOST_WEIGHTS`), RuntimeError without a C++ compiler.
    """
    from combred.native.generator import generate

    return NativeSurrogate(load_built(lambda: build(generate(surrogate), folder)).path)


def load(library: Path | str, volume: bool = False) -> Integrator:
    """A compiled library, of a solver (libsolver.so) or of a surrogate (libsurrogate.so), as an
    `Advance`; needs no torch.

    volume: at constant volume, not at constant pressure. Raises FileNotFoundError if there is none,
    ValueError as `Library`.
    """
    found = Library(Path(library))
    if math.isnan(found.range_of("dt_range")[0]):  # which only a network has
        return Integrator(found, TOLERANCE, volume)
    return NativeSurrogate(Path(library), volume=volume)


class NativeSurrogate(Integrator):
    """A network's step is taken where its error estimate is within the tolerance; the solver
    advances the other states. Of the `Solution` that `integrate` returns, `steps` is 0 where the
    network's step was taken, and of states that are not valid.

    library: the path of a compiled library; tolerance: of `advance`; level: as in `Library`.
    dt_range: the smallest and the largest dt [s] of the network's training; ranges: (lowest,
    highest) of T [K], p [Pa], phi and each species' mass fraction in training, by name, NaN where
    they are not known. Errors are those of `Library`.
    """

    def __init__(
        self,
        library: Path,
        tolerance: float = NETWORK_TOLERANCE,
        level: str = "",
        volume: bool = False,
    ):
        super().__init__(Library(library, level), tolerance, volume)
        found = self.library
        self.dt_range = found.range_of("dt_range")
        columns = {"T": 0, "p": 1} | {name: 2 + k for k, name in enumerate(found.species)}
        self.ranges = {name: found.range_of("range", i) for name, i in columns.items()}
        self.ranges["phi"] = found.range_of("phi_range")

    def usual_p(self) -> tuple[float, float]:
        """As of `Stepper`: `FAR` times below and above those of the training."""
        low, high = self.ranges["p"]
        return low / FAR, high * FAR
