"""The reactions of a mechanism as plain numbers: stoichiometry, orders, third bodies, rates.

Takes a `Mechanism`; gives a `Reaction` each, whose rate is one of the classes of `rate_forms`.
`Kinetics` and the generated solvers are made from them. Units are kmol, m3, s and K.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.phase import multipliers_of
from combred.chemistry.rate_forms import (
    SRI,
    Arrhenius,
    BlowersMasel,
    Chebyshev,
    Collider,
    Falloff,
    LinearBurke,
    Plog,
    Rate,
    Troe,
    Tsang,
    scaled,
)
from combred.chemistry.species_names import species_index

NAMED = 3  # reactions that an error names
LEAST_T2 = 1e-300  # K: below it Cantera omits the third term of Troe's F_cent


@dataclass(frozen=True, eq=False)
class Reaction:
    """One reaction. Its forward rate of progress [kmol/m3/s] is k [M] prod_k c_k^order_k, where [M]
    is the factor of a third body, if there is one and `rate` is not a `Falloff`, which has it in k.

    index: place in the mechanism, from 0. reactants, products: stoichiometric coefficients by index
    of the species, without the third body; orders: exponents of the forward rate, those of the
    reactants unless told; as in Cantera the rate is 0 where a species with a negative order is
    absent. reversible: the reverse rate follows from the equilibrium constant;
    Cantera has no reversible reactions with orders of their own. efficiencies (n_species,): of the
    species as third bodies, [M] = sum_k efficiencies_k c_k, None without. An explicit collider, as
    AR in 2 O + AR <=> O2 + AR, is one with a single entry, and not among reactants and products.
    """

    index: int
    equation: str
    reactants: dict[int, float]
    products: dict[int, float]
    orders: dict[int, float]
    reversible: bool
    efficiencies: np.ndarray | None
    rate: Rate


def read_reactions(mechanism: Mechanism) -> list[Reaction]:
    """The reactions of a mechanism, as `reactions_of`."""
    return reactions_of(mechanism.solution(transport=False), mechanism.name)


def reactions_of(gas: ct.Solution, name: str = "") -> list[Reaction]:
    """The reactions of a phase, in its order; name: of its mechanism, in messages. Rate constants
    have the multipliers of the phase, which must not be negative.

    Raises ValueError, with the first reactions and their number, where rates are of other types
    than those of `rate_forms` (as of plasmas or surfaces).
    """
    reactions, names = gas.reactions(), tuple(gas.species_names)
    other = [(i, r) for i, r in enumerate(reactions) if type(r.rate) not in READERS]
    if other:
        named = "; ".join(
            f"{i + 1}, {r.equation}, of type {r.rate.type!r}" for i, r in other[:NAMED]
        )
        raise ValueError(
            f"{len(other)} of the {len(reactions)} reactions of {name or gas.name} have rates of "
            f"types that combred does not know (reaction {named}{'; ...' * (len(other) > NAMED)}). "
            "Remove these reactions, or give another mechanism"
        )
    multipliers = multipliers_of(gas)
    return [
        _read(i, reaction, names, float(multipliers[i])) for i, reaction in enumerate(reactions)
    ]


def _read(index: int, reaction: ct.Reaction, names: tuple[str, ...], factor: float) -> Reaction:
    """The description of one reaction, whose rate constant is multiplied by a factor."""
    rate = READERS[type(reaction.rate)](reaction.rate, names)
    # A linear-Burke reaction has the third body (+M), which takes no part in its rate.
    body, efficiencies = reaction.third_body, None
    if body is not None and (body.mass_action or isinstance(rate, Falloff)):
        efficiencies = efficiencies_of(body, names)
        if efficiencies.min(initial=0.0) < 0.0:  # Cantera's [M] may be negative then
            raise ValueError(f"reaction {index + 1}, {reaction}, has an efficiency below zero")
    return Reaction(
        index=index,
        equation=reaction.equation,
        reactants=_sums(reaction.reactants, names),
        products=_sums(reaction.products, names),
        orders=_orders(reaction, names),
        reversible=reaction.reversible,
        efficiencies=efficiencies,
        rate=scaled(rate, factor),
    )


def efficiencies_of(body: ct.ThirdBody, names: Sequence[str]) -> np.ndarray:
    """(n_species,): the efficiencies of the species, of these names, as a third body. Names that
    stand for no species have no effect (`skip-undeclared-third-bodies`); of two spellings of one
    name the later counts, as in Cantera."""
    efficiencies = np.full(len(names), body.default_efficiency)
    for name, efficiency in sorted(body.efficiencies.items()):
        k = species_index(names, name)
        if k is not None:
            efficiencies[k] = efficiency
    return efficiencies


def _index(names: Sequence[str], name: str) -> int:
    k = species_index(names, name)
    assert k is not None  # else Cantera had refused the reaction
    return k


def _sums(side: dict[str, float], names: Sequence[str]) -> dict[int, float]:
    """The stoichiometric coefficients of a side by species. Cantera adds those of a species that is
    there in two spellings, as H and h."""
    sums: dict[int, float] = {}
    for name, coefficient in side.items():
        k = _index(names, name)
        sums[k] = sums.get(k, 0.0) + float(coefficient)
    return sums


def _orders(reaction: ct.Reaction, names: Sequence[str]) -> dict[int, float]:
    """The exponents of the forward rate by species. As in Cantera, an order replaces that of the
    first spelling of the species among the reactants and the orders before it."""
    terms = [(_index(names, name), float(n)) for name, n in sorted(reaction.reactants.items())]
    for name, order in sorted(reaction.orders.items()):
        k = _index(names, name)
        place = next((i for i, (species, _) in enumerate(terms) if species == k), len(terms))
        terms[place : place + 1] = [(k, float(order))]
    orders: dict[int, float] = {}
    for k, order in terms:
        orders[k] = orders.get(k, 0.0) + order
    return orders


def _arrhenius(A: float, b: float, Ea: float) -> Arrhenius:
    """The expression with A in kmol, m3 and s, and Ea in J/kmol."""
    ln_A = float(np.log(abs(A))) if A else 0.0
    return Arrhenius(ln_A, float(b), float(Ea) / ct.gas_constant, float(np.sign(A)))


def _read_arrhenius(rate: ct.ArrheniusRate, names: Sequence[str]) -> Arrhenius:
    A, Ea = rate.pre_exponential_factor, rate.activation_energy
    return _arrhenius(A, rate.temperature_exponent, Ea)


def _read_falloff(rate: ct.FalloffRate, names: Sequence[str]) -> Falloff:
    low, high = _read_arrhenius(rate.low_rate, names), _read_arrhenius(rate.high_rate, names)
    numbers = [float(x) for x in rate.falloff_coeffs]
    return Falloff(low, high, _broadening(type(rate), numbers), rate.chemically_activated)


def _broadening(kind: type, numbers: list[float]) -> Troe | SRI | Tsang | None:
    """The broadening factor of one of Cantera's classes of falloff, from its coefficients."""
    if kind is ct.TroeRate:
        a, T3, T1, T2 = (numbers + [0.0])[:4]
        return Troe(a, T3, T1, T2 if abs(T2) > LEAST_T2 else 0.0)
    if kind is ct.SriRate:
        return SRI(*numbers)  # all five, also where three are given
    if kind is ct.TsangRate:
        return Tsang(*(numbers + [0.0])[:2])
    return None


def _plog(rates: list[tuple[float, Arrhenius]]) -> Plog:
    """The table of rates at pressures [Pa], which ascend; those at one pressure are summed."""
    at: dict[float, list[Arrhenius]] = {}
    for p, rate in rates:
        at.setdefault(p, []).append(rate)
    return Plog(tuple(at), tuple(map(tuple, at.values())))


def _read_plog(rate: ct.PlogRate, names: Sequence[str]) -> Plog:
    return _plog([(p, _read_arrhenius(one, names)) for p, one in rate.rates])


def _read_chebyshev(rate: ct.ChebyshevRate, names: Sequence[str]) -> Chebyshev:
    T, p = rate.temperature_range, rate.pressure_range
    return Chebyshev((T[0], T[1]), (p[0], p[1]), np.array(rate.data))


def _read_blowers_masel(rate: ct.BlowersMaselRate, names: Sequence[str]) -> BlowersMasel:
    given: Any = rate.input_data  # rate.activation_energy is that of the present enthalpies
    A, b, E0, w = (given["rate-constant"][name] for name in ("A", "b", "Ea0", "w"))
    k = _arrhenius(A, b, E0)
    return BlowersMasel(k.ln_A, k.b, k.T_a, w / ct.gas_constant, k.sign)


def _read_linear_burke(rate: ct.LinearBurkeRate, names: Sequence[str]) -> LinearBurke:
    # Cantera gives the colliders only as a dictionary, in kmol, m3, s and J/kmol, and eigenvalues
    # (eig0) as efficiencies, over that of the first collider.
    given: Any = rate.input_data
    first, *others = given["colliders"]
    colliders = [Collider(None, _arrhenius(1.0, 0.0, 0.0), _table(first))]
    for one in others:
        k = species_index(names, one["name"])
        if k is None:  # Cantera skips a collider that is no species
            continue
        efficiency = _arrhenius(*(one["efficiency"][name] for name in ("A", "b", "Ea")))
        colliders.append(Collider(k, efficiency, _table(one)))
    return LinearBurke(tuple(colliders))


def _table(given: dict[str, Any]) -> Plog | Chebyshev | Falloff | None:
    """The rate constant of one collider, if it has one, from Cantera's dictionary."""

    def arrhenius(one: dict[str, float]) -> Arrhenius:
        return _arrhenius(one["A"], one["b"], one["Ea"])

    if "rate-constants" in given:
        return _plog([(one["P"], arrhenius(one)) for one in given["rate-constants"]])
    if "pressure-range" in given:
        T_range, p_range = tuple(given["temperature-range"]), tuple(given["pressure-range"])
        return Chebyshev(T_range, p_range, np.array(given["data"], dtype=float))
    if "Troe" in given:  # the only form of falloff that Cantera takes here
        low, high = (arrhenius(given[f"{limit}-P-rate-constant"]) for limit in ("low", "high"))
        numbers = [given["Troe"].get(name, 0.0) for name in ("A", "T3", "T1", "T2")]
        return Falloff(low, high, _broadening(ct.TroeRate, numbers), activated=False)
    return None


READERS: dict[type, Callable[[Any, Sequence[str]], Rate]] = {
    ct.ArrheniusRate: _read_arrhenius,
    ct.LindemannRate: _read_falloff,
    ct.TroeRate: _read_falloff,
    ct.SriRate: _read_falloff,
    ct.TsangRate: _read_falloff,
    ct.PlogRate: _read_plog,
    ct.ChebyshevRate: _read_chebyshev,
    ct.BlowersMaselRate: _read_blowers_masel,
    ct.LinearBurkeRate: _read_linear_burke,
}
