"""A rate constant in generated code: made by `rate_constants`, printed by `progress`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Rate:
    """A forward rate constant k = r 2^log2_k for concentrations over C0, as C++.

    setup: statements; the others are expressions with the names that these set, empty where a type
    of rate has none. k: the rate constant itself, where it has no exponential; d: d ln k / d ln T
    at fixed [M] and p; of_M: d ln k / d ln [M] of a falloff; of_p: d ln k / d ln p; of_C: d ln k /
    dc of any species; of_c: by how much that of a collider is more, by species.
    """

    setup: list[str]
    log2_k: str = "rate"
    d: str = "d"
    k: str = ""
    r: str = ""
    of_M: str = ""
    of_p: str = ""
    of_C: str = ""
    of_c: dict[int, str] = field(default_factory=dict)
