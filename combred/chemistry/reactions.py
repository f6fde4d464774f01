"""The reactions of a mechanism as plain numbers: stoichiometry, orders, third bodies, rates.

Takes a `Mechanism`; gives a `Reaction` each, whose rate is one of the classes of `rate_forms`.
`Kinetics` and the generated solvers are made from them. Units are kmol, m3, s and K.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
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
)

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
    """The reactions of a mechanism, in its order.

    Raises ValueError, with the first reactions and their number, where rates are of other types
    than those of `rate_forms` (as of plasmas or surfaces).
    """
    gas = mechanism.solution(transport=False)
    reactions = gas.reactions()
    other = [(i, r) for i, r in enumerate(reactions) if type(r.rate) not in READERS]
    if other:
        named = "; ".join(
            f"{i + 1}, {r.equation}, of type {r.rate.type!r}" for i, r in other[:NAMED]
        )
        raise ValueError(
            f"{len(other)} of the {len(reactions)} reactions of {mechanism.name} have rates of "
            f"types that combred does not know (reaction {named}{'; ...' * (len(other) > NAMED)}). "
            "Remove these reactions, or give another mechanism"
        )
    return [_read(i, reaction, gas) for i, reaction in enumerate(reactions)]


def _read(index: int, reaction: ct.Reaction, gas: ct.Solution) -> Reaction:
    """The description of one reaction of a phase."""

    def by_index(values: dict[str, float]) -> dict[int, float]:
        return {gas.species_index(name): float(value) for name, value in values.items()}

    rate = READERS[type(reaction.rate)](reaction.rate, gas)
    reactants, body = by_index(reaction.reactants), reaction.third_body
    efficiencies = None
    # A linear-Burke reaction has the third body (+M), which takes no part in its rate.
    if body is not None and (body.mass_action or isinstance(rate, Falloff)):
        efficiencies = np.array([body.efficiency(name) for name in gas.species_names])
        if efficiencies.min(initial=0.0) < 0.0:  # Cantera's [M] may be negative then
            raise ValueError(f"reaction {index + 1}, {reaction}, has an efficiency below zero")
    return Reaction(
        index=index,
        equation=reaction.equation,
        reactants=reactants,
        products=by_index(reaction.products),
        orders=reactants | by_index(reaction.orders),
        reversible=reaction.reversible,
        efficiencies=efficiencies,
        rate=rate,
    )


def _arrhenius(A: float, b: float, Ea: float) -> Arrhenius:
    """The expression with A in kmol, m3 and s, and Ea in J/kmol."""
    ln_A = float(np.log(abs(A))) if A else 0.0
    return Arrhenius(ln_A, float(b), float(Ea) / ct.gas_constant, float(np.sign(A)))


def _read_arrhenius(rate: ct.ArrheniusRate, gas: ct.Solution) -> Arrhenius:
    A, Ea = rate.pre_exponential_factor, rate.activation_energy
    return _arrhenius(A, rate.temperature_exponent, Ea)


def _read_falloff(rate: ct.FalloffRate, gas: ct.Solution) -> Falloff:
    low, high = _read_arrhenius(rate.low_rate, gas), _read_arrhenius(rate.high_rate, gas)
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


def _read_plog(rate: ct.PlogRate, gas: ct.Solution) -> Plog:
    return _plog([(p, _read_arrhenius(one, gas)) for p, one in rate.rates])


def _read_chebyshev(rate: ct.ChebyshevRate, gas: ct.Solution) -> Chebyshev:
    T, p = rate.temperature_range, rate.pressure_range
    return Chebyshev((T[0], T[1]), (p[0], p[1]), np.array(rate.data))


def _read_blowers_masel(rate: ct.BlowersMaselRate, gas: ct.Solution) -> BlowersMasel:
    given: Any = rate.input_data  # rate.activation_energy is that of the present enthalpies
    A, b, E0, w = (given["rate-constant"][name] for name in ("A", "b", "Ea0", "w"))
    k = _arrhenius(A, b, E0)
    return BlowersMasel(k.ln_A, k.b, k.T_a, w / ct.gas_constant, k.sign)


def _read_linear_burke(rate: ct.LinearBurkeRate, gas: ct.Solution) -> LinearBurke:
    # Cantera gives the colliders only as a dictionary, in kmol, m3, s and J/kmol, and eigenvalues
    # (eig0) as efficiencies, over that of the first collider.
    given: Any = rate.input_data
    first, *others = given["colliders"]
    colliders = [Collider(None, _arrhenius(1.0, 0.0, 0.0), _table(first))]
    for one in others:
        if one["name"] not in gas.species_names:  # Cantera skips a collider that is no species
            continue
        efficiency = _arrhenius(*(one["efficiency"][name] for name in ("A", "b", "Ea")))
        colliders.append(Collider(gas.species_index(one["name"]), efficiency, _table(one)))
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


READERS: dict[type, Callable[[Any, ct.Solution], Rate]] = {
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
