"""Premixed flames, freely propagating, compared by speed, thickness and profile.

Takes cases and an `Advance`; gives a `Flame` of each case (`combred.experiments.premixed.flame`),
and errors for validation.json (`combred.experiments.premixed.errors`).
"""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.config import ValidationSettings
from combred.experiments.flames import MarchedFlames
from combred.experiments.premixed import flame
from combred.experiments.premixed.errors import compare
from combred.experiments.premixed.flame import Flame, FlameMarch
from combred.experiments.premixed.grid import FlameCase, Profile


@dataclass(frozen=True)
class PremixedFlames(MarchedFlames[Flame]):
    """Flames of the `FlameCase`s."""

    march: FlameMarch = flame.MARCH

    name: ClassVar = "flames"
    kind: ClassVar = Flame
    limits: ClassVar = {"flame": ("speed_error", "worst")}

    @classmethod
    def of(cls, mechanism: Mechanism, mixture: Mixture, settings: ValidationSettings) -> Self:
        """All combinations of the temperatures of fresh gas, pressures and equivalence ratios of
        the flames of `settings`."""
        values = product(settings.flame_T, settings.p, settings.flame_phi)
        cases = [FlameCase(*value) for value in values]
        return cls(mechanism, mixture, cases, settings.dt, flame.MARCH)

    def begin(self, case: FlameCase) -> Profile:
        """Cantera's flame. Raises ValueError where it finds none."""
        fresh = self.mechanism.mixture(self.mixture.fuel, self.mixture.oxidizer, case.phi)
        return flame.start(self.mechanism, case, fresh, self.march.cells)

    def burn(self, advance: Advance, begin: Profile, march: FlameMarch | None = None) -> Flame:
        """As `combred.experiments.premixed.flame.burn`."""
        return flame.burn(self.mechanism, advance, self.dt, begin, march or self.march)

    def compare(self, found: list[Flame], references: list[Flame]) -> dict:
        """As `combred.experiments.premixed.errors.compare`."""
        return compare(self.mechanism, found, references)
