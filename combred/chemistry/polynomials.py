"""The thermodynamic polynomials of species, all in NASA-9 form, and in NASA-7 form where they are.

Takes the species of a Cantera phase, or coefficients in NASA-9 form; gives plain arrays, which
`Mechanism` holds.
"""

from collections.abc import Callable
from typing import Any

import cantera as ct
import numpy as np

GAS_CONSTANT = 8314.46261815324  # J/(kmol K), CODATA 2018, as in Cantera
NASA9 = 9  # coefficients of a temperature range
# Of a temperature between NASA-9 regions in K, which `read_polynomials` gives as the number below.
DECIMALS = 9
ANY_T_MID = 1000.0  # K: the usual T_mid, of species that have one temperature range


def read_polynomials(species: list[ct.Species]) -> tuple[np.ndarray, np.ndarray]:
    """NASA-9 coefficients (n_species, n_regions, 9) and the temperatures between the regions
    (n_species, n_regions - 1) [K] of species with NASA-7, NASA-9 or constant-cp thermodynamics.

    With the coefficients a0 ... a8 of a region (McBride, Zehe & Gordon, NASA/TP-2002-211556, eq. 1
    to 3), at the reference pressure:

        cp/R = a0 / T^2 + a1 / T + a2 + a3 T + a4 T^2 + a5 T^3 + a6 T^4
        h/RT = -a0 / T^2 + a1 ln(T) / T + a2 + a3 T/2 + a4 T^2/3 + a5 T^3/4 + a6 T^4/5 + a7 / T
        s/R  = -a0 / (2 T^2) - a1 / T + a2 ln T + a3 T + a4 T^2/2 + a5 T^3/3 + a6 T^4/4 + a8

    A species with fewer regions than others repeats its last one, beyond infinite temperatures. At
    a temperature between regions the lower one holds, as for NASA-7 in Cantera. For NASA-9 the
    upper one holds there, so that these temperatures are the numbers just below. Raises ValueError,
    with the names of the species, for thermodynamics of another type.
    """
    other = [s.name for s in species if not isinstance(s.thermo, tuple(READERS))]
    if other:
        raise ValueError(
            "combred reads NASA-7 and NASA-9 polynomials and constant heat capacities, and these "
            f"species have other thermodynamic data: {' '.join(other)}. Fit NASA-7 polynomials to "
            "them"
        )
    found = [READERS[type(s.thermo)](s.thermo) for s in species]
    n_regions = max(len(regions) for regions, _ in found)
    coefficients = np.empty((len(species), n_regions, NASA9))
    breaks = np.full((len(species), n_regions - 1), np.inf)
    for k, (regions, between) in enumerate(found):
        coefficients[k, : len(regions)] = regions
        coefficients[k, len(regions) :] = regions[-1]
        breaks[k, : len(between)] = between
    return coefficients, breaks


def cp_of(a: np.ndarray, T: np.ndarray) -> np.ndarray:
    """cp/R of coefficients a (9, ...) at T [K], by the equation of `read_polynomials`."""
    found = a[2] + T * (a[3] + T * (a[4] + T * (a[5] + T * a[6])))
    return found + (a[0] / T + a[1]) / T if a[:2].any() else found


def h_of(a: np.ndarray, T: np.ndarray) -> np.ndarray:
    """h/R [K], as `cp_of`."""
    found = a[7] + T * (a[2] + T * (a[3] / 2 + T * (a[4] / 3 + T * (a[5] / 4 + T * a[6] / 5))))
    return found - a[0] / T + a[1] * np.log(T) if a[:2].any() else found


def s_of(a: np.ndarray, T: np.ndarray) -> np.ndarray:
    """s/R, as `cp_of`."""
    found = a[2] * np.log(T) + a[8] - (a[0] / (2 * T) + a[1]) / T
    return found + T * (a[3] + T * (a[4] / 2 + T * (a[5] / 3 + T * a[6] / 4)))


def of_species(
    quantity: Callable[[np.ndarray, np.ndarray], np.ndarray],
    coefficients: np.ndarray,
    breaks: np.ndarray,
    T: np.ndarray,
) -> np.ndarray:
    """`cp_of`, `h_of` or `s_of` of all species, (n, n_species), at T (n,) [K], of the arrays of
    `read_polynomials`: each is linear in the coefficients."""
    T = T[:, None]
    terms = quantity(np.eye(NASA9)[:, None], T)  # (n, 9): what the coefficients multiply
    found = terms @ coefficients[:, 0].T
    for region in range(1, coefficients.shape[1]):
        above = T > breaks[:, region - 1]
        found = np.where(above, terms @ coefficients[:, region].T, found)
    return found


def evaluate(
    coefficients: np.ndarray, breaks: np.ndarray, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """cp/R, h/RT and s/R of all species, (n, n_species) each, at T (n,) [K] and the reference
    pressure, as `of_species`."""
    cp, h, s = (of_species(each, coefficients, breaks, T) for each in (cp_of, h_of, s_of))
    return cp, h / T[:, None], s


def nasa7(
    coefficients: np.ndarray, breaks: np.ndarray, names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """NASA-7 coefficients below and above T_mid, (n_species, 7) each, and T_mid (n_species,) [K],
    of the arrays of `read_polynomials` and the names of their species.

    cp/R = a1 + a2 T + a3 T^2 + a4 T^3 + a5 T^4; a6 and a7 are the constants of h/R and s/R. A
    species with one region has it on both sides of a T_mid that another species has. Raises
    ValueError, with the names of the species, where there are more than two regions, or terms in
    1 / T^2 or 1 / T.
    """
    ranges = np.isfinite(breaks).sum(axis=1) + 1
    many = (ranges > 2) | np.any(coefficients[:, :, :2] != 0.0, axis=(1, 2))
    if many.any():
        raise ValueError(
            "combred evaluates NASA-7 polynomials of at most two temperature ranges here, and "
            "these species have other thermodynamic data: "
            f"{' '.join(name for name, is_so in zip(names, many, strict=True) if is_so)}. Fit "
            "NASA-7 polynomials to them, or give another mechanism"
        )
    finite = breaks[np.isfinite(breaks)]
    T_mid = np.full(len(names), finite.min() if finite.size else ANY_T_MID)
    if finite.size:
        T_mid = np.where(np.isfinite(breaks[:, 0]), breaks[:, 0], T_mid)
    T_mid = np.round(T_mid, DECIMALS)
    return coefficients[:, 0, 2:], coefficients[:, min(1, breaks.shape[1]), 2:], T_mid


def _from_nasa7(thermo: ct.NasaPoly2) -> tuple[np.ndarray, list[float]]:
    T_mid, high, low = thermo.coeffs[0], thermo.coeffs[1:8], thermo.coeffs[8:15]
    return np.pad(np.array([low, high]), [(0, 0), (2, 0)]), [T_mid]


def _from_nasa9(thermo: ct.Nasa9PolyMultiTempRegion) -> tuple[np.ndarray, list[float]]:
    regions = thermo.coeffs[1:].reshape(-1, 2 + NASA9)  # T_min, T_max and the coefficients of each
    return regions[:, 2:], np.nextafter(regions[1:, 0], 0.0).tolist()


def _from_constant_cp(thermo: ct.ConstantCp) -> tuple[np.ndarray, list[float]]:
    T0, h0, s0, cp = thermo.coeffs / np.array([1.0, *[ct.gas_constant] * 3])
    return np.array([[0.0, 0.0, cp, 0.0, 0.0, 0.0, 0.0, h0 - cp * T0, s0 - cp * np.log(T0)]]), []


READERS: dict[type, Callable[[Any], tuple[np.ndarray, list[float]]]] = {
    ct.NasaPoly2: _from_nasa7,
    ct.Nasa9PolyMultiTempRegion: _from_nasa9,
    ct.ConstantCp: _from_constant_cp,
}
