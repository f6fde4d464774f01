"""The reactions of a mechanism as C++, one after another.

Takes the numbers of `Kinetics`, in its order of the reactions; gives the text of `reactions.hpp`:
`set_constants`, `rates_of_progress` and `production`, from the parts in source/kinetics.hpp.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.kinetics import NEVER, Kinetics
from combred.native.arrays import constant, literal
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, PART

TERMS = 8  # of a sum, each of which waits for the one before it


@dataclass(frozen=True)
class Stoichiometry:
    """The coefficients of all reactions, (n_reactions, n_species) each.

    used, made: of reactants and products; net: their difference; orders: exponents of the
    concentrations in the forward rates; sign (n_reactions,): of the rate constants, 0 for a
    reaction that never happens; reversible (n_reactions,), bool.
    """

    used: np.ndarray
    made: np.ndarray
    net: np.ndarray
    orders: np.ndarray
    sign: np.ndarray
    reversible: np.ndarray


def stoichiometry(kinetics: Kinetics) -> Stoichiometry:
    """The coefficients that the matrices of `Kinetics` were made from."""
    weights = _numpy(kinetics.weights)
    counted = _numpy(kinetics.consumed_forward).T / weights[:, 0]  # with the sign of the rate
    sign = np.sign(counted.sum(axis=1))
    used, net = np.abs(np.round(counted, 5)), _numpy(kinetics.ratio_of)
    reversible = _numpy(kinetics.irreversible)[:, 0] == 0.0
    orders = _numpy(kinetics.orders)
    return Stoichiometry(used, used + net, net, orders, sign, reversible)


def write_reactions(kinetics: Kinetics, species: list[str]) -> str:
    """The text of `reactions.hpp`; species (n_species): their names, for the comments."""
    parts = stoichiometry(kinetics)
    sets, which = colliders(kinetics)
    text = [
        "// The reactions of the mechanism. Written by combred.native: change nothing here.\n"
        f"#pragma once\n\n{constant('COLLIDERS', max(len(sets), 1), 'int')}"
        '#include "kinetics.hpp"',
        _third_bodies(sets),
    ]
    constants, progress = [], []
    for i in range(kinetics.n_reactions):
        body = i - (kinetics.n_reactions - kinetics.n_bodies)
        fall = i - (kinetics.n_reactions - kinetics.n_falloff)
        mark = " (+M)" if fall >= 0 else " + M" if body >= 0 else ""
        title = f"// {i}: {equation(parts, i, species, mark)}"
        if parts.sign[i] == 0.0:
            progress.append([title, f"one_way(q, {i}, all_of(0.0f));"])
            continue
        M = f"gas.M[{which[body]}]" if body >= 0 else ""
        constants.append([title, *_constants(kinetics, parts, i, fall, M)])
        progress.append([title, *_progress(parts, i, M if fall < 0 else "")])
    text += [
        _functions("constants", "const Gas &gas, Constants &k", constants),
        "// Rate constants of all reactions, at the state of `gas`.\n"
        "INLINE void set_constants(Gas &gas, Double T, Constants &k) {\n"
        f"  set_gibbs_energies(gas, T);\n{_calls('constants', constants)}}}",
        _functions("progress", "const Gas &gas, const Constants &k, Progress &q", progress),
        "// Rates of progress of all reactions.\n"
        "INLINE void rates_of_progress(const Gas &gas, const Constants &k, Progress &q) {\n"
        f"{_calls('progress', progress)}}}",
    ]
    text.append(_production(kinetics, parts, species))
    return "\n\n".join(text) + "\n"


def _functions(name: str, arguments: str, blocks: list[list[str]]) -> str:
    """Functions with the lines of `PART` reactions each."""
    return "\n\n".join(
        f"PART void {name}_from_{start}({arguments}) {{\n"
        + "".join(f"  {line}\n" for block in blocks[start : start + PART] for line in block)
        + "}"
        for start in range(0, len(blocks), PART)
    )


def _calls(name: str, blocks: list[list[str]]) -> str:
    """The calls of these functions."""
    arguments = "gas, k" if name == "constants" else "gas, k, q"
    return "".join(
        f"  {name}_from_{start}({arguments});\n" for start in range(0, len(blocks), PART)
    )


def colliders(kinetics: Kinetics) -> tuple[list[np.ndarray], list[int]]:
    """The different sets of third-body efficiencies, (n_species,) each, and which of them each
    reaction with a third body has, (n_bodies,)."""
    places: dict[bytes, int] = {}
    sets, which = [], []
    for row in _numpy(kinetics.collider)[: kinetics.n_bodies]:
        if row.tobytes() not in places:
            places[row.tobytes()] = len(sets)
            sets.append(row)
        which.append(places[row.tobytes()])
    return sets, which


def _third_bodies(sets: list[np.ndarray]) -> str:
    """The function `third_bodies`: the concentration that each set gives. The species that have the
    same efficiency in all sets of many species are summed once."""
    many = np.array([np.count_nonzero(row) > len(row) / 2 for row in sets])
    lines, shared = [], None
    if many.sum() > 1:
        rows = np.array(sets)[many]
        shared = (rows == rows[0]).all(axis=0)
        lines.append(f"  const Float shared = {_sum(np.where(shared, rows[0], 0.0), 'gas.c')};\n")
    for j, row in enumerate(sets):
        text = _sum(row, "gas.c") or "all_of(0.0f)"
        if shared is not None and many[j]:
            rest = _sum(np.where(shared, 0.0, row), "gas.c")
            text = f"shared + {rest}" if rest else "shared"
        lines.append(f"  gas.M[{j}] = {text};\n")
    unused = "" if lines else "  (void)gas;\n"
    return f"PART void third_bodies(Gas &gas) {{\n{''.join(lines)}{unused}}}"


def _constants(kinetics: Kinetics, parts: Stoichiometry, i: int, fall: int, M: str) -> list[str]:
    """The lines of the rate constants of reaction i; fall: its number among those with falloff, or
    less than 0; M: its third body."""
    order = parts.orders[i].sum() + (bool(M) and fall < 0)
    lines = [f"  Float rate = {_arrhenius(_numpy(kinetics.arrhenius)[i], order)};"]
    if fall >= 0:
        lines += [f"  {line}" for line in _falloff(kinetics, fall, f"third_body({M})")]
    if parts.reversible[i]:
        ratio = _sum(parts.net[i], "gas.gibbs") or "all_of(0.0f)"
        lines.append(f"  reversible(k, {i}, rate, {ratio});")
    else:
        lines.append(f"  irreversible(k, {i}, rate);")
    return ["{", *lines, "}"]


def _progress(parts: Stoichiometry, i: int, M: str) -> list[str]:
    """The line of the rates of progress of reaction i; M: its third body, if any. The reverse order
    of a species is the forward one plus the species' net coefficient."""
    forward = _product(f"k.forward[{i}]", parts.orders[i], M)
    if not parts.reversible[i]:
        return [f"one_way(q, {i}, {forward});"]
    return [
        f"both_ways(q, {i}, {forward},",
        f"          {_product(f'k.reverse[{i}]', parts.orders[i] + parts.net[i], M)});",
    ]


def _product(first: str, orders: np.ndarray, M: str) -> str:
    """A rate constant times the powers of the concentrations, and of the third body `M`. Each
    factor is taken by itself: the product of two small concentrations alone may underflow."""
    factors = [first] + [M] * bool(M)
    for k, order in enumerate(np.round(orders, 9).tolist()):
        whole = order > 0 and order == round(order)
        if whole:
            factors += [f"gas.c[{k}]"] * round(order)
        elif order != 0.0:
            factors.append(f"power_of(gas.c[{k}], {_float(order)})")
    return " * ".join(factors)


def equation(parts: Stoichiometry, i: int, species: list[str], mark: str = "") -> str:
    """Reaction i as text; `mark`: the third body, written on both sides."""
    sides = []
    for coefficients in (parts.used[i], parts.made[i]):
        terms = [
            name if abs(c - 1.0) < 1e-9 else f"{c:g} {name}"
            for name, c in zip(species, coefficients, strict=True)
            if abs(c) > 1e-9
        ]
        sides.append(" + ".join(terms) + mark)
    return (" <=> " if parts.reversible[i] else " => ").join(sides)


def _arrhenius(constants: np.ndarray, order: float) -> str:
    """log2 of a rate constant from ln A, b and Ea / R [K], for concentrations over C0; order: the
    sum of their exponents."""
    ln_A, b, E = constants.tolist()
    text = f"all_of({_float(ln_A * LOG2_E + b * LOG2_T0 + order * LOG2_C0)})"
    for factor, of in ((b, "gas.log2_T"), (-E * LOG2_E, "gas.per_T")):
        if factor != 0.0:
            text += f" {'-' if factor < 0.0 else '+'} {_float(abs(factor))} * {of}"
    return text


def _falloff(kinetics: Kinetics, j: int, collider: str) -> list[str]:
    """The lines that multiply `rate`, the high-pressure limit, by the factor of falloff j."""
    low, high = _numpy(kinetics.low_pressure)[j], _numpy(kinetics.high_pressure)[j]
    lines = [f"const Float low_over_high = {_arrhenius(low - high, 1.0)};"]
    lines.append(f"const Float Pr = low_over_high + {collider};")
    a, b, per_c, d, e = _numpy(kinetics.sri)[:, j, 0]
    if a > 0.0:
        bracket = f"{_float(a)} * {_decay(b, 'gas.per_T')}"
        if per_c < NEVER:
            bracket += f" + {_decay(per_c, 'gas.T')}"
        log2_d = _float(np.log2(d) + e * LOG2_T0)
        lines.append(f"const Float F = sri(gas, {bracket}, {log2_d}, {_float(e)}, Pr);")
    elif _numpy(kinetics.is_troe)[j, 0]:
        a, per_T3, per_T1, T2 = _numpy(kinetics.troe)[:, j, 0]
        terms = [
            f"{_float(share)} * {_decay(per_T, 'gas.T')}"
            for share, per_T in ((1.0 - a, per_T3), (a, per_T1))
            if per_T < NEVER
        ]
        if T2 != 0.0:
            terms.append(_decay(T2, "gas.per_T"))
        lines.append(f"const Float F = troe({' + '.join(terms) or 'all_of(0.0f)'}, Pr);")
    else:
        lines.append("const Float F = all_of(0.0f);")
    activated = bool(_numpy(kinetics.activated)[j, 0])
    true_ratio = f"low_over_high - {_float(LOG2_C0)}"  # without the collider's C0
    factor = f"activated({true_ratio}, Pr, F)" if activated else "falloff(Pr, F)"
    return [*lines, f"rate = rate + {factor};"]


def _decay(rate: float, of: str) -> str:
    """exp(-rate of); a rate beyond the range of float is as good as `NEVER`."""
    return f"exp2({_float(-min(rate, NEVER) * LOG2_E)} * {of})"


def _production(kinetics: Kinetics, parts: Stoichiometry, species: list[str]) -> str:
    """The function `production`: sums over the reactions of each species."""
    weights = _numpy(kinetics.weights)[:, 0]
    forward = parts.sign[:, None]
    reverse = forward * parts.reversible[:, None]
    gained, lost = np.maximum(parts.net, 0.0), np.maximum(-parts.net, 0.0)
    on_both_sides = parts.used - lost
    lines = ["Float made, lost;"]
    for k, name in enumerate(species):
        weight = f"{_float(weights[k])} * gas.per_density"
        made = _sums(forward[:, 0] * gained[:, k], reverse[:, 0] * lost[:, k])
        taken = _sums(forward[:, 0] * lost[:, k], reverse[:, 0] * gained[:, k])
        lines += [f"// {name}", f"made = {made};", f"lost = {taken};"]
        lines.append(f"net[{k}] = ({weight}) * (made - lost);")
        if on_both_sides[:, k].any():
            through = on_both_sides[:, k]
            lines.append(
                f"lost = lost + {_sums(forward[:, 0] * through, reverse[:, 0] * through)};"
            )
        lines.append(f"destruction[{k}] = ({weight}) * lost;")
    body = "\n".join(f"  {line}" for line in lines)
    return (
        "// dY/dt and the destruction rate of each species, 1/s.\n"
        "PART void production(const Gas &gas, const Progress &q, Float *net, Float *destruction) "
        f"{{\n{body}\n}}"
    )


def _sums(forward: np.ndarray, reverse: np.ndarray) -> str:
    """The sum of coefficients times the forward and the reverse rates of progress."""
    found = _sum(forward, "q.forward"), _sum(reverse, "q.reverse")
    return " + ".join(f"({text})" for text in found if text) or "all_of(0.0f)"


def _sum(coefficients: np.ndarray, of: str) -> str:
    """The sum of coefficients times of[k], without those that are zero; empty where all are. A long
    sum is one of shorter ones, which a processor computes at the same time."""
    terms = [(k, c) for k, c in enumerate(coefficients.tolist()) if abs(c) >= 1e-12]
    parts = []
    for first in range(0, len(terms), TERMS):
        text = ""
        for k, c in terms[first : first + TERMS]:
            size = "" if abs(abs(c) - 1.0) < 1e-12 else f"{_float(abs(c))} * "
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += f"{sign}{size}{of}[{k}]"
        parts.append(text)
    return parts[0] if len(parts) == 1 else " + ".join(f"({part})" for part in parts)


def _float(value: float) -> str:
    return literal(value, "float")


def _numpy(tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
