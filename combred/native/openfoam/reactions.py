"""The dictionary `reactions` of OpenFOAM, in the format of its foamChemistryReader; from Foundation
8 on, chemistryProperties includes it.

Takes a phase of a mechanism; gives the text.
"""

import logging
import math

import cantera as ct

from combred.chemistry.rate_forms import Arrhenius, Falloff, Troe
from combred.chemistry.reactions import Reaction, reactions_of
from combred.native.openfoam.files import HEAD

log = logging.getLogger(__name__)
# K: a temperature for which Troe's exp(-T / T_3) is zero; OpenFOAM divides by it.
COLDEST = 1e-30
# K: a temperature for which Troe's exp(-T_2 / T) is zero.
HOTTEST = 1e30


def reactions(gas: ct.Solution, listed: bool = True, short: bool = False) -> str:
    """The dictionary of elements, species and, if `listed`, reactions; short: with types named as
    from Foundation 8 on. Reactions with a falloff whose rate is zero are left out, and the log
    names them: OpenFOAM would divide by zero. Raises ValueError for a kind of reaction that
    OpenFOAM does not know."""
    elements, species = " ".join(gas.element_names), " ".join(gas.species_names)
    body = []
    for reaction in reactions_of(gas) if listed else []:
        rate = reaction.rate
        if isinstance(rate, Falloff) and 0.0 in (rate.low.sign, rate.high.sign):
            log.warning(
                "Reaction %d, %s, has a rate of zero: the file `reactions` lacks it",
                reaction.index + 1, reaction.equation,
            )  # fmt: skip
        else:
            body.append(_reaction(gas.species_names, reaction, short))
    text = "\n".join(body)
    return (
        HEAD.format("reactions")
        + f"elements ( {elements} );\nspecies ( {species} );\nreactions\n{{\n{text}\n}}\n"
    )


def _reaction(names: list[str], reaction: Reaction, short: bool) -> str:
    rate, bodies = reaction.rate, reaction.efficiencies
    falloff = isinstance(rate, Falloff)
    if isinstance(rate, Falloff) and not rate.activated:
        forms = {type(None): "LindemannFallOff", Troe: "TroeFallOff"}
        form = forms.get(type(rate.broadening))
    else:
        form = "" if isinstance(rate, Arrhenius) else None
    if form is None or reaction.orders != reaction.reactants:
        raise ValueError(
            f"reaction {reaction.index + 1}, {reaction.equation}, is of a kind that is not "
            "supported; supported are mass action with Arrhenius rates, third bodies, and falloff "
            "of Lindemann and Troe. OpenFOAM's chemistry solver `combred` does not need them"
        )
    form = f"Arrhenius{form}"
    if bodies is not None and not falloff:
        form = "ThirdBodyArrhenius" if short else "thirdBodyArrhenius"
    way = "reversible" if reaction.reversible else "irreversible"
    sides = (
        _side({names[k]: n for k, n in side.items()})
        for side in (reaction.reactants, reaction.products)
    )
    if isinstance(rate, Falloff):
        numbers = f"k0 {{ {_arrhenius(rate.low)} }} kInf {{ {_arrhenius(rate.high)} }}"
        numbers += f" F {{ {_troe(rate.broadening) if isinstance(rate.broadening, Troe) else ''} }}"
    else:
        assert isinstance(rate, Arrhenius)  # by the forms above
        numbers = _arrhenius(rate)
    if bodies is not None:
        listed = " ".join(f"({name} {n:.12g})" for name, n in zip(names, bodies, strict=True))
        efficiencies = f"coeffs {len(names)} ( {listed} );"
        numbers += f" thirdBodyEfficiencies {{ {efficiencies} }}" if falloff else f" {efficiencies}"
    return (
        f"    reaction{reaction.index} {{ type {way}{form}{'' if short else 'Reaction'}; "
        f'reaction "{" = ".join(sides)}"; {numbers} }}'
    )


def _arrhenius(rate: Arrhenius) -> str:
    """A in kmol, m and s, as in OpenFOAM and Cantera; Ta = Ea / R."""
    A = rate.sign * math.exp(rate.ln_A)
    return f"A {A:.12g}; beta {rate.b:.12g}; Ta {rate.T_a:.12g};"


def _troe(form: Troe) -> str:
    T3, T1, T2 = form.T3 or COLDEST, form.T1 or COLDEST, form.T2 or HOTTEST
    return f"alpha {form.a:.12g}; Tsss {T3:.12g}; Ts {T1:.12g}; Tss {T2:.12g};"


def _side(species: dict[str, float]) -> str:
    powers = [name for name in species if "^" in name]
    if powers:
        raise ValueError(f"OpenFOAM reads the ^ of {powers[0]} in a reaction as an exponent")
    # `2E` would be a number
    return " + ".join(
        name if n == 1 else f"{n:.12g}{' ' * (name[0] in 'Ee')}{name}"
        for name, n in species.items()
    )
