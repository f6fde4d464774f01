"""A compiled surrogate, as an `Advance`: its network, and the stiff solver behind it.

Takes the path of a library that was compiled; gives a `NativeSurrogate`, which the simulations take
in place of CVODE. Needs no torch.
"""

from pathlib import Path
from typing import Self

from combred.native.library import Library
from combred.native.solver.library import Integrator
from combred.surrogates.model.tolerance import NETWORK_TOLERANCE, usual_p


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

    def as_isothermal(self) -> Self:
        """Raises ValueError: networks are trained for adiabatic reactors."""
        raise ValueError(
            "the network of a surrogate is that of an adiabatic reactor: give combred.solver(FILE, "
            "isothermal=True) of its mechanism, or its exported libsolver.so"
        )

    def usual_p(self) -> tuple[float, float]:
        """As of `Stepper`: `FAR` times below and above those of the training."""
        return usual_p(*self.ranges["p"])
