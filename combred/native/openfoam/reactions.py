"""The dictionary `reactions` of OpenFOAM, in the format of its foamChemistryReader; from Foundation
8 on, chemistryProperties includes it.

Takes a phase of a mechanism; gives the text.
"""

from typing import Any

import cantera as ct

from combred.native.openfoam.files import HEAD


def reactions(gas: ct.Solution, listed: bool = True, short: bool = False) -> str:
    """The dictionary of elements, species and, if `listed`, reactions; short: with types named as
    from Foundation 8 on. Raises ValueError for a kind of reaction that OpenFOAM does not know."""
    elements, species = " ".join(gas.element_names), " ".join(gas.species_names)
    found = gas.reactions() if listed else []
    body = "\n".join(_reaction(gas, i, reaction, short) for i, reaction in enumerate(found))
    return (
        HEAD.format("reactions")
        + f"elements ( {elements} );\nspecies ( {species} );\nreactions\n{{\n{body}\n}}\n"
    )


def _reaction(gas: ct.Solution, number: int, reaction: ct.Reaction, short: bool) -> str:
    rate: Any = reaction.rate
    kind = type(rate)
    third = reaction.third_body
    forms = {ct.ArrheniusRate: "", ct.LindemannRate: "LindemannFallOff", ct.TroeRate: "TroeFallOff"}
    falloff = kind is not ct.ArrheniusRate
    if kind not in forms or reaction.orders or (falloff and rate.chemically_activated):
        raise ValueError(
            f"reaction {number + 1}, {reaction}, is of a kind that is not supported; supported are "
            "mass action with Arrhenius rates, third bodies, and falloff of Lindemann and Troe. "
            "OpenFOAM's chemistry solver `combred` does not need them"
        )
    form = "Arrhenius" + forms[kind]
    if third is not None and not falloff:
        form = "ThirdBodyArrhenius" if short else "thirdBodyArrhenius"
    way = "reversible" if reaction.reversible else "irreversible"
    sides = (_side(side) for side in (reaction.reactants, reaction.products))
    if not falloff:
        numbers = _arrhenius(rate)
    else:
        numbers = f"k0 {{ {_arrhenius(rate.low_rate)} }} kInf {{ {_arrhenius(rate.high_rate)} }}"
        numbers += f" F {{ {_troe(rate) if kind is ct.TroeRate else ''} }}"
    if third is not None:
        listed = " ".join(
            f"({name} {third.efficiencies.get(name, third.default_efficiency):.12g})"
            for name in gas.species_names
        )
        efficiencies = f"coeffs {gas.n_species} ( {listed} );"
        numbers += f" thirdBodyEfficiencies {{ {efficiencies} }}" if falloff else f" {efficiencies}"
    return (
        f"    reaction{number} {{ type {way}{form}{'' if short else 'Reaction'}; "
        f'reaction "{" = ".join(sides)}"; {numbers} }}'
    )


def _arrhenius(rate) -> str:
    """A in kmol, m and s, as in OpenFOAM and Cantera; Ta = Ea / R."""
    A, b, Ea = rate.pre_exponential_factor, rate.temperature_exponent, rate.activation_energy
    return f"A {A:.12g}; beta {b:.12g}; Ta {Ea / ct.gas_constant:.12g};"


def _troe(rate: ct.TroeRate) -> str:
    alpha, T3, T1, T2 = (*rate.falloff_coeffs, 1e30)[:4]  # exp(-1e30 / T) = 0 without the fourth
    T3, T1 = (T or 1e-30 for T in (T3, T1))  # OpenFOAM divides by them
    return f"alpha {alpha:.12g}; Tsss {T3:.12g}; Ts {T1:.12g}; Tss {T2:.12g};"


def _side(species: dict[str, float]) -> str:
    powers = [name for name in species if "^" in name]
    if powers:
        raise ValueError(f"OpenFOAM reads the ^ of {powers[0]} in a reaction as an exponent")
    # `2E` would be a number
    return " + ".join(
        name if n == 1 else f"{n:.12g}{' ' * (name[0] in 'Ee')}{name}"
        for name, n in species.items()
    )
