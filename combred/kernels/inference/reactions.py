"""The reactions of a mechanism as constants of a Triton kernel, without their zeros.

Takes `Kinetics` and `Thermo`; gives the `Rates` that `fused_kinetics` and `fused_quasi_steady`
unroll. No surrogate is computed with them yet: they are the base of a fused integrator. Does not
import Triton.
"""

import copy
import math
from dataclasses import dataclass

from torch import Tensor

from combred.chemistry.kinetics import Kinetics
from combred.chemistry.thermo import GAS_CONSTANT, Thermo
from combred.kernels.inference.constants import Constants

Sparse = tuple[tuple[int, float], ...]  # (species, coefficient) of the nonzero coefficients


@dataclass(frozen=True)
class Falloff:
    """Falloff of a reaction: its low-pressure rate (ln A, b, Ea / R), whether it is chemically
    activated, and the parameters of Troe or SRI broadening (`Kinetics.broadening`) or None."""

    low: tuple[float, float, float]
    activated: bool
    troe: tuple[float, ...] | None
    sri: tuple[float, ...] | None


@dataclass(frozen=True)
class Reaction:
    """One reaction.

    `arrhenius`: ln A (in kmol, m3 and s), b, Ea / R [K]; `orders` of the forward rate; `net`
    stoichiometric coefficients; `made`: net kg of each species per kmol of progress;
    `consumed_forward`, `consumed_reverse`: kg consumed per kmol in either direction; `collider`:
    the index of its third body in `Rates.colliders`, -1 for none.
    """

    arrhenius: tuple[float, float, float]
    orders: Sparse
    net: Sparse
    reversible: bool
    made: Sparse
    consumed_forward: Sparse
    consumed_reverse: Sparse
    collider: int
    falloff: Falloff | None


@dataclass(frozen=True, repr=False, eq=False)
class Rates(Constants):
    """The reactions and the properties of the species.

    `colliders`: for each third body the efficiency of most species, and for the others the
    difference per kg of Y_k [kmol/kg]; `per_weight` [kmol/kg] and `ln_weights`: reciprocals and
    logarithms of the molecular weights; `gibbs_low`, `gibbs_high` (n_species, 7): coefficients of
    g / RT for 1 - ln T, T, ..., T^4, 1 / T and 1, below and above T_mid [K]; `ln_reference`:
    ln(p0 / R) [kmol K/m3]; `T_min`, `T_max` [K]: the range of the thermodynamic data.
    """

    reactions: tuple[Reaction, ...]
    colliders: tuple[tuple[float, Sparse], ...]
    per_weight: tuple[float, ...]
    ln_weights: tuple[float, ...]
    gibbs_low: tuple[tuple[float, ...], ...]
    gibbs_high: tuple[tuple[float, ...], ...]
    T_mid: tuple[float, ...]
    ln_reference: float
    T_min: float
    T_max: float


def rates_of(kinetics: Kinetics, thermo: Thermo) -> Rates:
    """The rates of a mechanism as constants of the program."""
    kinetics = copy.deepcopy(kinetics).cpu()
    reactions, colliders = _reactions_of(kinetics)
    weights = kinetics.weights[:, 0]
    low, high = (_gibbs(table) for table in (kinetics.nasa_low, kinetics.nasa_high))
    return Rates(
        reactions=reactions,
        colliders=colliders,
        per_weight=tuple((1.0 / weights).tolist()),
        ln_weights=tuple(weights.log().tolist()),
        gibbs_low=low,
        gibbs_high=high,
        T_mid=tuple(kinetics.T_mid[:, 0].tolist()),
        ln_reference=math.log(kinetics.reference_pressure.item() / GAS_CONSTANT),
        T_min=thermo.T_min,
        T_max=thermo.T_max,
    )


def _reactions_of(kinetics: Kinetics) -> tuple[tuple[Reaction, ...], tuple]:
    """The reactions in the order of `kinetics`, and the distinct third bodies to which they
    refer."""
    n_species = len(kinetics.weights)
    orders, arrhenius = kinetics.forward_of[:, :n_species], kinetics.forward_of[:, n_species:]
    first_body = kinetics.n_reactions - kinetics.n_bodies
    first_falloff = kinetics.n_reactions - kinetics.n_falloff
    bodies = [_collider(row, kinetics.weights[:, 0]) for row in kinetics.collider]
    colliders = tuple(dict.fromkeys(bodies))
    reactions = tuple(
        Reaction(
            arrhenius=tuple(arrhenius[r].tolist()),
            orders=_sparse(orders[r]),
            net=_sparse(kinetics.ratio_of[r]),
            reversible=kinetics.irreversible[r].item() == 0.0,
            made=_sparse(kinetics.made[:, r]),
            consumed_forward=_sparse(kinetics.consumed_forward[:, r]),
            consumed_reverse=_sparse(kinetics.consumed_reverse[:, r]),
            collider=colliders.index(bodies[r - first_body]) if r >= first_body else -1,
            falloff=_falloff(kinetics, r - first_falloff) if r >= first_falloff else None,
        )
        for r in range(kinetics.n_reactions)
    )
    return reactions, colliders


def _falloff(kinetics: Kinetics, i: int) -> Falloff:
    troe, sri = kinetics.troe[:, i, 0], kinetics.sri[:, i, 0]
    return Falloff(
        low=tuple(kinetics.low_pressure[i].tolist()),
        activated=bool(kinetics.activated[i]),
        troe=tuple(troe.tolist()) if kinetics.is_troe[i] else None,
        sri=tuple(sri.tolist()) if sri[0] > 0.0 else None,
    )


def _collider(efficiencies: Tensor, weights: Tensor) -> tuple[float, Sparse]:
    """The efficiency of most species, and the differences of the others from it, per kg."""
    usual = efficiencies.mode().values.item()
    return usual, _sparse((efficiencies - usual) / weights)


def _gibbs(nasa: Tensor) -> tuple[tuple[float, ...], ...]:
    """NASA-7 coefficients of g / RT = a1 (1 - ln T) - a2 T / 2 - a3 T^2 / 6 - ... + a6 / T - a7."""
    divisors = nasa.new_tensor([1.0, -2.0, -6.0, -12.0, -20.0, 1.0, -1.0])
    return tuple(tuple(row) for row in (nasa / divisors).tolist())


def _sparse(row: Tensor) -> Sparse:
    return tuple((k, value) for k, value in enumerate(row.tolist()) if value != 0.0)
