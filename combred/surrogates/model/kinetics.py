"""Reaction rates in torch: net production and destruction of every species. Scriptable.

Takes a `Mechanism`; gives dY/dt of states, for the quasi-steady-state step of the surrogate. An
evaluation is two products with stoichiometric matrices, with exponentials between them. Arrays are
species or reactions by states: rows are contiguous, so operations on them vectorise.
"""

from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.rate_forms import SCARCE, Falloff
from combred.surrogates.model.rate_numbers import numbers_of, readable


class Kinetics(nn.Module):
    """Mass action kinetics. Rate constants are k = A T^b exp(-Ea / RT), with third bodies and with
    falloff or chemical activation after Lindemann, Troe (Gilbert, Luther & Troe, Ber. Bunsenges.
    Phys. Chem. 87 (1983)) and SRI (Stewart, Larson & Golden, Combust. Flame 75 (1989)). Reverse
    rates follow from equilibrium constants.

    The logarithms of the rates of progress q are linear in ln k, in ln c_k (concentrations) and in
    the Gibbs energies g_k:

        ln q_forward = ln k + sum_k nu'_k ln c_k
        ln (q_reverse / q_forward) = sum_k nu_k (ln c_k + g_k / RT - ln(p0 / RT)) = a

    a is minus the affinity of the reaction over RT, and zero at its equilibrium. All logarithms are
    float64, everything after them is of `dtype`. The net rate -q_forward expm1(a) keeps its full
    precision where forward and reverse rates nearly balance. The error of float32 is therefore no
    larger than that of rate constants that are wrong by some 1e-6.

    An order m below 1, also 0 of a species that is consumed, goes straight to zero below the
    concentration `SCARCE`, as c SCARCE^(m - 1): c^m has no bounded derivative at zero.

    Raises ValueError as `model.rate_numbers.readable`.
    """

    LEAST: Final[float] = 1e-300  # kmol/m3: concentration of an absent species, for its logarithm
    SLOWEST: Final[float] = -85.0  # ln of the smallest rate: float32 underflows at exp(-87)
    GAS_CONSTANT: Final[float] = GAS_CONSTANT
    LN_10: Final[float] = float(np.log(10.0))
    LN_SCARCE: Final[float] = float(np.log(SCARCE))
    weights: Tensor
    reference_pressure: Tensor
    orders: Tensor
    low_orders: Tensor
    arrhenius: Tensor
    ratio_of: Tensor
    irreversible: Tensor
    made: Tensor
    consumed_forward: Tensor
    consumed_reverse: Tensor
    collider: Tensor
    high_pressure: Tensor
    low_pressure: Tensor
    activated: Tensor
    troe: Tensor
    is_troe: Tensor
    sri: Tensor
    thermo: Tensor
    T_breaks: Tensor

    def __init__(self, mechanism: Mechanism, dtype: torch.dtype = torch.float64):
        super().__init__()
        reactions = readable(mechanism)
        # Reactions with third bodies come last, and those with falloff after them.
        reactions.sort(key=lambda r: (isinstance(r.rate, Falloff), r.efficiencies is not None))
        rates = [numbers_of(reaction) for reaction in reactions]
        falloff = [rate for rate in rates if rate["low"] is not None]

        def matrix(rows: list[dict[int, float]]) -> np.ndarray:
            full = np.zeros((len(rows), mechanism.n_species))
            for row, values in zip(full, rows, strict=True):
                row[list(values)] = list(values.values())
            return full

        used = matrix([reaction.reactants for reaction in reactions])
        made = matrix([reaction.products for reaction in reactions])
        orders = matrix([reaction.orders for reaction in reactions])
        bodies = [one.efficiencies for one in reactions if one.efficiencies is not None]
        collider = np.reshape(bodies, (-1, mechanism.n_species))
        arrhenius = np.array([rate["arrhenius"] for rate in rates])
        reversible = np.array([float(reaction.reversible) for reaction in reactions])
        net = made - used
        # kg of each species per kmol of progress of each reaction.
        counted = np.array([rate["sign"] for rate in rates])[:, None] * mechanism.molecular_weights

        def keep(name: str, value: Any, dtype: torch.dtype = torch.float64) -> None:
            tensor = torch.as_tensor(np.asarray(value), dtype=dtype).contiguous()
            self.register_buffer(name, tensor, persistent=False)  # made from the mechanism

        def keep_columns(name: str, values: Any, dtype: torch.dtype = torch.float64) -> None:
            keep(name, np.asarray(values)[..., None], dtype)

        self.n_reactions: int = len(rates)
        self.n_bodies: int = len(bodies)
        self.n_falloff: int = len(falloff)
        self.any_irreversible: bool = bool((reversible == 0.0).any())
        self.any_activated: bool = any(rate["activated"] for rate in rates)
        self.any_sri: bool = any(rate["sri"][0] > 0 for rate in rates)
        keep_columns("weights", mechanism.molecular_weights)
        keep("reference_pressure", mechanism.reference_pressure)
        low = (orders != np.round(orders)) & (orders < 1.0) | (orders < 0.0)
        low |= (orders == 0.0) & (net < 0.0)  # of a species that is consumed
        self.any_low: bool = bool(low.any())
        keep("orders", np.where(low, 1.0, orders))  # of ln c
        keep("low_orders", np.where(low, orders - 1.0, 0.0))  # of ln max(c, SCARCE)
        keep("arrhenius", arrhenius)  # of [1, ln T, -1 / T]
        keep("ratio_of", net)  # of ln c, and of g / RT - ln(p0 / RT)
        keep_columns("irreversible", np.where(reversible, 0.0, np.inf))
        keep("made", (counted * net).T, dtype)
        keep("consumed_forward", (counted * used).T, dtype)
        keep("consumed_reverse", (counted * made * reversible[:, None]).T, dtype)
        keep("collider", collider)
        keep("high_pressure", np.reshape([rate["arrhenius"] for rate in falloff], (-1, 3)))
        keep("low_pressure", np.reshape([rate["low"] for rate in falloff], (-1, 3)))
        keep_columns("activated", [rate["activated"] for rate in falloff], torch.bool)
        keep_columns("troe", np.reshape([rate["troe"] for rate in falloff], (-1, 4)).T)
        keep_columns("is_troe", [rate["is_troe"] for rate in falloff], torch.bool)
        keep_columns("sri", np.reshape([rate["sri"] for rate in falloff], (-1, 5)).T)
        keep("thermo", np.moveaxis(mechanism.thermo, 1, 0))
        keep_columns("T_breaks", mechanism.T_breaks.T)

    def forward(self, T: Tensor, p: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Net production rate dY/dt and destruction rate of every species, both (n_species, n)
        [1/s] (kg of the species per kg of mixture and second) and of `dtype`.

        T (n,) [K], p (n,) [Pa], Y (n_species, n) >= 0 with sum 1, all float64. The creation rate is
        the sum of the two.
        """
        return self.rates(self.constants(T, p, Y), T, p, Y)

    def constants(self, T: Tensor, p: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """ln k, of the forward rate constants with falloff, and ln of the reverse ones over them,
        both (n_reactions, n) and float64; of the states of `forward`."""
        arrhenius = torch.stack([torch.ones_like(T), torch.log(T), -1.0 / T])
        ln_k = self.arrhenius @ arrhenius
        if self.n_falloff > 0:
            _, c = self.concentrations(T, p, Y)
            last = ln_k[self.n_reactions - self.n_falloff :]
            last.add_(self.falloff(T, c, arrhenius))
        standard = torch.log(self.reference_pressure / (self.GAS_CONSTANT * T))
        return ln_k, self.ratio_of @ (self.gibbs(T) - standard)

    def rates(
        self, constants: tuple[Tensor, Tensor], T: Tensor, p: Tensor, Y: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `forward`, with rate constants that may be those of another state (`constants`)."""
        density, c = self.concentrations(T, p, Y)
        ln_c = torch.log(c.clamp(min=self.LEAST))
        ln_forward = constants[0] + self.orders @ ln_c
        if self.any_low:
            ln_forward = ln_forward + self.low_orders @ ln_c.clamp(min=self.LN_SCARCE)
        if self.n_bodies > self.n_falloff:
            first, end = self.n_reactions - self.n_bodies, self.n_reactions - self.n_falloff
            M = self.collider[: end - first] @ c
            ln_forward[first:end].add_(torch.log(M.clamp(min=self.LEAST)))
        ln_ratio = constants[1] + self.ratio_of @ ln_c
        if self.any_irreversible:
            ln_ratio = ln_ratio - self.irreversible
        ln_reverse, dtype = ln_forward + ln_ratio, self.made.dtype
        forward = torch.exp(ln_forward.to(dtype).clamp(min=self.SLOWEST))
        reverse = torch.exp(ln_reverse.to(dtype).clamp(min=self.SLOWEST))
        ln_ratio, density = ln_ratio.to(dtype), density.to(dtype)
        near = -forward * torch.expm1(ln_ratio.clamp(max=1.0))
        net = torch.where(ln_ratio < 1.0, near, forward - reverse)
        destruction = self.consumed_forward @ forward + self.consumed_reverse @ reverse
        return (self.made @ net) / density, destruction / density

    def concentrations(self, T: Tensor, p: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """The density (n,) [kg/m3] and the concentrations (n_species, n) [kmol/m3]."""
        moles = Y / self.weights
        density = p / (self.GAS_CONSTANT * T * moles.sum(dim=0))
        return density, density * moles

    def falloff(self, T: Tensor, c: Tensor, arrhenius: Tensor) -> Tensor:
        """ln (n_falloff, n) of the factors by which falloff multiplies the rate constants at high
        pressure. T (n,) [K]; c (n_species, n) [kmol/m3]; arrhenius (3, n): 1, ln T, -1 / T."""
        collider = self.collider[self.n_bodies - self.n_falloff :]
        ln_M = torch.log((collider @ c).clamp(min=self.LEAST))
        ln_high, ln_low = self.high_pressure @ arrhenius, self.low_pressure @ arrhenius
        ln_Pr = ln_low + ln_M - ln_high
        # Falloff: k = k_high Pr / (1 + Pr) F. Chemically activated: k = k_low / (1 + Pr) F.
        ratio = -torch.logaddexp(torch.zeros_like(ln_Pr), -ln_Pr)
        if self.any_activated:
            from_low = ln_low - ln_high - torch.logaddexp(torch.zeros_like(ln_Pr), ln_Pr)
            ratio = torch.where(self.activated, from_low, ratio)
        return ratio + self.broadening(T, ln_Pr)

    def broadening(self, T: Tensor, ln_Pr: Tensor) -> Tensor:
        """ln F (n_falloff, n), F the broadening factor, at T (n,) [K] and ln of the reduced
        pressures Pr (n_falloff, n); zero for Lindemann falloff."""
        log_Pr = ln_Pr / self.LN_10
        a, per_T3, per_T1, T2 = self.troe.unbind(0)
        center = (1.0 - a) * torch.exp(-T * per_T3) + a * torch.exp(-T * per_T1)
        center = center + torch.where(T2 != 0.0, torch.exp(-T2 / T), 0.0)
        log_center = torch.log10(center.clamp(min=self.LEAST))
        C, N = log_Pr - 0.4 - 0.67 * log_center, 0.75 - 1.27 * log_center
        ln_F = self.LN_10 * log_center / (1.0 + (C / (N - 0.14 * C)) ** 2)
        ln_F = torch.where(self.is_troe, ln_F, 0.0)
        if self.any_sri:
            a, b, per_c, d, e = self.sri.unbind(0)
            bracket = torch.log(a * torch.exp(-b / T) + torch.exp(-T * per_c))
            ln_sri = torch.log(d) + bracket / (1.0 + log_Pr**2) + e * torch.log(T)
            ln_F = torch.where(a > 0.0, ln_sri, ln_F)
        return ln_F

    def gibbs(self, T: Tensor) -> Tensor:
        """g_k / RT (n_species, n) at T (n,) [K] and the reference pressure: h/RT - s/R by the
        equations of `combred.chemistry.polynomials.read_polynomials`."""
        one, ln_T = torch.ones_like(T), torch.log(T)
        reciprocal = [-0.5 / T**2, (ln_T + 1.0) / T]
        rising = [one - ln_T, -T / 2, -(T**2) / 6, -(T**3) / 12, -(T**4) / 20]
        terms = torch.stack(reciprocal + rising + [1 / T, -one])
        found = self.thermo[0] @ terms
        for i in range(1, len(self.thermo)):
            found = torch.where(T > self.T_breaks[i - 1], self.thermo[i] @ terms, found)
        return found
