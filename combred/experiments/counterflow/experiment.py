"""Counterflow flames of fuel against oxidizer, compared by peak temperature, profile and radicals.

Takes streams and an `Advance`; gives a `CounterflowFlame` of each case
(`combred.experiments.counterflow.flame`), and errors as plain numbers
(`combred.experiments.counterflow.errors`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from combred.chemistry.reactor import Advance, IntegrationError
from combred.experiments.counterflow import flame
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.errors import compare, of_flame
from combred.experiments.counterflow.flame import CounterflowFlame, CounterflowMarch
from combred.experiments.counterflow.grid import CounterflowProfile
from combred.experiments.flames import MarchedFlames

FAILED = {"peak_T_error": np.nan, "profile_T_error": np.nan, "peak_errors": {}}


@dataclass(frozen=True)
class CounterflowFlames(MarchedFlames[CounterflowFlame]):
    """Flames of the `CounterflowCase`s at the strain rate `strain` [1/s] of the inlets."""

    march: CounterflowMarch = flame.MARCH
    strain: float = 100.0

    name: ClassVar = "counterflow flames"
    kind: ClassVar = CounterflowFlame

    def begin(self, case: CounterflowCase) -> CounterflowProfile:
        """Cantera's flame. Raises ValueError where it finds none, or where it is extinct."""
        try:
            return flame.start(self.mechanism, case, self.strain, self.march.cells)
        except IntegrationError as error:
            raise ValueError(str(error)) from error

    def burn(
        self, advance: Advance, begin: CounterflowProfile, march: CounterflowMarch | None = None
    ) -> CounterflowFlame:
        """As `combred.experiments.counterflow.flame.burn`."""
        return flame.burn(self.mechanism, advance, self.dt, begin, march or self.march)

    def compare(
        self, found: list[CounterflowFlame], references: list[CounterflowFlame]
    ) -> list[dict]:
        """Of each case as `combred.experiments.counterflow.errors.compare`; NaN where one of both
        flames does not burn."""
        return [
            compare(self.mechanism, of_flame(one), of_flame(reference))
            if one.burns and reference.burns
            else dict(FAILED)
            for one, reference in zip(found, references, strict=True)
        ]
