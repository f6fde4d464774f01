"""Fuel and oxidizer of a mechanism: their names as the mechanism spells them, and what is taken
where none are named.

Takes a `Mechanism`; gives compositions in moles, as Cantera reads them, and mixtures of them.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism

OXYGEN, NITROGEN, IN_AIR = {"O": 2}, {"N": 2}, 3.76  # mol of nitrogen for one of oxygen
HYDROGEN, AMMONIA, METHANE = {"H": 2}, {"H": 3, "N": 1}, {"C": 1, "H": 4}
LARGE = 4  # carbon atoms: a mechanism of such a fuel holds the smaller ones as its fragments


@dataclass(frozen=True)
class Mixture:
    """Fuel and oxidizer, compositions in moles, as "CH4:1" and "O2:1, N2:3.76"."""

    fuel: str
    oxidizer: str


def resolve_fuel(mechanism: Mechanism, fuel: str) -> str:
    """A fuel as a composition in moles, with the names of the mechanism; of "auto" that of
    `choose_fuel`. Raises ValueError as that and as `Mechanism.spelled`."""
    return choose_fuel(mechanism) if fuel == "auto" else mechanism.spelled(fuel)


def choose_fuel(mechanism: Mechanism) -> str:
    """The fuel that a mechanism was plainly made for, as a composition in moles.

    A hydrocarbon of at least `LARGE` carbon atoms that no reaction makes, as the lumped fuels of
    HyChem (Xu et al., Combust. Flame 193, 2018). Else fuels are hydrogen, ammonia, alkanes and
    molecules with as much hydrogen (alcohols, ethers) that react. Where there are several, the only
    one of at least `LARGE` carbon atoms; methane where all are smaller alkanes and hydrogen. Raises
    ValueError, with their names, where this leaves a choice.
    """
    lumped, fuels = _fuels(mechanism)
    large = [name for name, atoms in fuels.items() if atoms.get("C", 0) >= LARGE]
    methane = [name for name, atoms in fuels.items() if atoms == METHANE]
    if not large and all(atoms.keys() <= {"C", "H"} for atoms in fuels.values()):
        large = methane
    plain = lumped or (list(fuels) if len(fuels) == 1 else large)
    if len(plain) == 1:
        return f"{plain[0]}:1"
    names = list(dict.fromkeys([*lumped, *fuels]))
    several = f"{mechanism.name} has several fuels: {', '.join(names)}. Name"
    none = f"no species of {mechanism.name} is plainly its fuel. Name"
    raise ValueError(
        f"{several if names else none} one, as in {[*names, *mechanism.species_names][0]}:1"
    )


def _fuels(mechanism: Mechanism) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The lumped fuels of a mechanism and the others, as `choose_fuel` says; these with their
    atoms."""
    gas, fuels, lumped = mechanism.solution(transport=False), {}, []
    reversible = [reaction.reversible for reaction in gas.reactions()]
    all_made = gas.product_stoich_coeffs, gas.reactant_stoich_coeffs[:, reversible]
    made = np.any(np.hstack(all_made), axis=1)
    for k, (name, atoms) in enumerate(_atoms(mechanism).items()):
        carbon = atoms.get("C", 0)
        saturated = atoms.get("H", 0) == 2 * carbon + 2 and atoms.get("O", 0) <= 1
        alkane = carbon and atoms.keys() <= {"C", "H", "O"} and saturated
        if not mechanism.inert[k] and (alkane or atoms in (HYDROGEN, AMMONIA)):
            fuels[name] = atoms
        if not mechanism.inert[k] and carbon >= LARGE and atoms.keys() == {"C", "H"}:
            lumped += [] if made[k] else [name]
    return lumped, fuels


def _atoms(mechanism: Mechanism) -> dict[str, dict[str, float]]:
    """The atoms of each species by its name."""
    return {
        species.name: species.composition
        for species in mechanism.solution(transport=False).species()
    }


def name_mixture(mechanism: Mechanism, fuel: str, oxidizer: str) -> Mixture:
    """Fuel and oxidizer with the names of the mechanism; of "auto" the fuel of `choose_fuel`, and
    air. Raises ValueError as `spelled`, `choose_fuel` and `air`."""
    oxidizer = air(mechanism) if oxidizer == "auto" else mechanism.spelled(oxidizer)
    return Mixture(resolve_fuel(mechanism, fuel), oxidizer)


def air(mechanism: Mechanism) -> str:
    """Oxygen and nitrogen as a composition in moles, with the names of the mechanism. Raises
    ValueError where it lacks one of them."""
    oxygen, diluent = (_of_air(mechanism, molecule) for molecule in (OXYGEN, NITROGEN))
    return f"{oxygen}:1, {diluent}:{IN_AIR}"


def nitrogen(mechanism: Mechanism) -> str:
    """The name of N2 in the mechanism. Raises ValueError where it lacks it."""
    return _of_air(mechanism, NITROGEN)


def _of_air(mechanism: Mechanism, molecule: dict[str, int]) -> str:
    atoms = _atoms(mechanism)
    found = [name for name in atoms if atoms[name] == molecule]
    if not found:
        burnt = {"C", "H"}  # which an oxidizer does not hold
        rest = [name for name, of in atoms.items() if "O" in of and not of.keys() & burnt]
        rest = sorted(rest, key=lambda name: atoms[name] != OXYGEN)
        raise ValueError(
            f"{mechanism.name} has no {'O2' if molecule == OXYGEN else 'N2'}: name an oxidizer"
            + (f", as in {rest[0]}:1" if rest else "")
        )
    return found[0]
