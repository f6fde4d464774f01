"""The reactions of a mechanism as rows of numbers, for torch's `Kinetics`."""

from typing import Any

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.rate_forms import SRI, Arrhenius, Falloff, Troe
from combred.chemistry.reactions import Reaction, read_reactions

NEVER = 1e30  # 1/K: the reciprocal of a temperature of zero; exp(-T NEVER) underflows to zero
LN_ZERO = -1e3  # ln of a pre-exponential factor of zero: exp of it underflows


def readable(mechanism: Mechanism) -> list[Reaction]:
    """The reactions of a mechanism. Raises ValueError for a rate of a type that `Kinetics` does not
    have (pressure tables, Chebyshev, Tsang's falloff, ...), with the first such reaction."""
    reactions = read_reactions(mechanism)
    for reaction in reactions:
        rate = reaction.rate
        known = isinstance(rate, Arrhenius)
        if isinstance(rate, Falloff):
            form = rate.broadening
            known = form is None or isinstance(form, Troe) or (isinstance(form, SRI) and form.a > 0)
        if not known:
            kind: Any = mechanism.solution(transport=False).reaction(reaction.index).rate
            kind = "-".join(filter(None, (kind.type, kind.sub_type)))
            raise ValueError(
                f"reaction {reaction.index + 1} of {mechanism.name}, {reaction.equation}, has a "
                f"rate of type {kind!r}; quasi-steady networks evaluate Arrhenius, third-body and "
                "falloff rates (Lindemann, Troe, SRI with a > 0); a state-only network needs none"
            )
    return reactions


def numbers_of(reaction: Reaction) -> dict:
    """The numbers of a reaction's rate. "arrhenius" is the high-pressure limit of a reaction with
    falloff; "low" is its low-pressure limit, and None for other reactions."""
    rate: Any = reaction.rate
    fall = isinstance(rate, Falloff)
    form = rate.broadening if fall else None
    limit = rate.high if fall else rate
    troe, sri = [1.0, NEVER, NEVER, 0.0], [0.0, 0.0, NEVER, 1.0, 0.0]
    if isinstance(form, Troe):
        troe = [form.a, _reciprocal(form.T3), _reciprocal(form.T1), form.T2]
    if isinstance(form, SRI):
        sri = [form.a, form.b, _reciprocal(form.c), form.d, form.e]
    return {
        "arrhenius": _arrhenius(limit),
        "sign": limit.sign,
        "low": _arrhenius(rate.low) if fall else None,
        "activated": fall and rate.activated,
        "is_troe": isinstance(form, Troe),
        "troe": troe,
        "sri": sri,
    }


def _arrhenius(rate: Arrhenius) -> list[float]:
    """ln |A|, b and Ea/R [K]."""
    return [rate.ln_A if rate.sign else LN_ZERO, rate.b, rate.T_a]


def _reciprocal(T: float) -> float:
    """1 / T; for T = 0 a value whose exponential vanishes, as in Cantera."""
    return 1.0 / T if abs(T) > 1e-300 else NEVER
