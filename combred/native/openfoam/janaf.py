"""NASA-7 polynomials whose two temperature ranges meet at one temperature for all species.

OpenFOAM's janaf thermodynamics mixes the coefficients of the species, and takes the break of the
first species for the mixture (`Tcommon`): species with other breaks get wrong enthalpies.
"""

import logging

import cantera as ct
import numpy as np

from combred.chemistry.polynomials import ANY_T_MID, evaluate, nasa7, read_polynomials
from combred.chemistry.states import HIGHEST_T, LOWEST_T

log = logging.getLogger(__name__)

LARGEST_T_ERROR = 5.0  # K: error of h over cp, of a refitted species
LARGEST_CP_ERROR = 0.03  # relative
Halves = tuple[np.ndarray, np.ndarray, np.ndarray]  # below and above T_mid [K], and T_mid
TRIED = 5  # the most common breaks, one after the other
T_REFERENCE = 298.15  # K, where heats of formation are kept
H_WEIGHT = 0.01  # 1/K, of errors of h/R beside those of cp/R: both are small with it


def share_break(species: list[ct.Species]) -> tuple[float, np.ndarray, np.ndarray]:
    """The common break [K], and NASA-7 coefficients (n_species, 7) below and above it.

    The break is the one that most species have; their polynomials stay exact, as do those of
    species with one range. Of the others, one half is refitted, with continuous cp, h and s and the
    heat of formation at 298.15 K; the log names them, with the measured errors from 100 to 6000 K.
    Raises ValueError where cp would differ by more than 3 %, or h by more than cp times 5 K, with
    the names of the species, and for species without NASA-7 polynomials.
    """
    names = tuple(one.name for one in species)
    low, high, T_mid = nasa7(*read_polynomials(species), names)
    two_ranges = (low != high).any(axis=1)
    breaks, counts = np.unique(T_mid[two_ranges], return_counts=True)
    if not breaks.size:
        return ANY_T_MID, low, high
    refused = []
    for T_common in breaks[np.argsort(-counts, kind="stable")][:TRIED]:
        T_now = np.where(two_ranges, T_mid, T_common)
        found = _move(low, high, T_now, T_common)
        dT, dcp = _errors((low, high, T_now), (*found, np.full(len(names), T_common)))
        wrong = ~((dT <= LARGEST_T_ERROR) & (dcp <= LARGEST_CP_ERROR))
        if not wrong.any():
            if (T_now != T_common).any():
                log.warning(
                    "OpenFOAM has one temperature between the polynomials of all species. %g K is "
                    "taken, and refitted are %s: cp within %.2g %%, h within cp times %.2g K",
                    T_common, _list(names, T_now != T_common), 100 * dcp.max(), dT.max(),
                )  # fmt: skip
            return float(T_common), *found
        refused.append(f"{_list(names, wrong)} for {T_common:g} K")
    raise ValueError(
        "OpenFOAM has one temperature between the polynomials of all species. Refitted "
        f"polynomials of {refused[0]} err by more than {100 * LARGEST_CP_ERROR:g} % in cp or "
        f"{LARGEST_T_ERROR:g} K in h over cp: give these species polynomials with that temperature"
    )


def _list(names: tuple[str, ...], rows: np.ndarray) -> str:
    """The names of some rows, the first ten of them."""
    chosen = [name for name, is_so in zip(names, rows, strict=True) if is_so]
    return " ".join(chosen[:10]) + (f" and {len(chosen) - 10} others" if len(chosen) > 10 else "")


def _values(low: np.ndarray, high: np.ndarray, T_mid: np.ndarray, T: np.ndarray):
    """cp/R, h/R [K] and s/R (n, n_species) of species at T (n,) [K]."""
    both = np.pad(np.stack([low, high], axis=1), [(0, 0), (0, 0), (2, 0)])
    cp, h, s = evaluate(both, T_mid[:, None], T)
    return cp, h * T[:, None], s


def _move(
    low: np.ndarray, high: np.ndarray, T_mid: np.ndarray, T_common: float
) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients with the break T_common: of a species with another break, the half in which
    that break lies is refitted."""
    low, high = low.copy(), high.copy()
    for half, end, rows in (
        (high, HIGHEST_T, T_mid > T_common),
        (low, LOWEST_T, T_mid < T_common),
    ):
        if rows.any():
            half[rows] = _refit((low[rows], high[rows], T_mid[rows]), T_common, end)
    return low, high


def _refit(of: Halves, begin: float, end: float) -> np.ndarray:
    """NASA-7 coefficients (n_species, 7) from `begin` to `end` [K]: least squares of cp/R and h/R,
    with the values at `begin`, and with h at 298.15 K where it is between."""
    T, length = np.linspace(begin, end, 300), end - begin
    cp, h, _ = _values(*of, T)
    (cp0,), (h0,), (s0,) = _values(*of, np.array([begin]))
    powers = np.arange(1, 5)

    def rise(T):  # of h/R by the four unknowns, of powers of x = (T - begin) / length
        return length * ((T[:, None] - begin) / length) ** (powers + 1) / (powers + 1)

    left = [((T[:, None] - begin) / length) ** powers, H_WEIGHT * rise(T)]
    right = [cp - cp0, H_WEIGHT * (h - h0 - cp0 * (T[:, None] - begin))]
    if end < T_REFERENCE < begin:
        there = np.array([T_REFERENCE])
        left.append(1e4 * rise(there))
        right.append(1e4 * (_values(*of, there)[1] - h0 - cp0 * (there - begin)))
    x = np.linalg.lstsq(np.concatenate(left), np.concatenate(right), rcond=None)[0]
    found = np.zeros((len(cp0), 7))
    for row, constant, others in zip(found, cp0, x.T, strict=True):
        in_x = np.polynomial.Polynomial([constant, *others], [begin, end], [0.0, 1.0])
        in_T = in_x.convert(domain=[-1.0, 1.0]).coef
        row[: len(in_T)] = in_T
    (_,), (h_now,), (s_now,) = _values(found, found, np.full(len(found), begin), np.array([begin]))
    found[:, 5], found[:, 6] = h0 - h_now, s0 - s_now
    return found


def _errors(exact: Halves, found: Halves) -> tuple[np.ndarray, np.ndarray]:
    """Largest errors (n_species,) of h over cp [K], and of cp, relative."""
    T = np.linspace(LOWEST_T, HIGHEST_T, 1181)
    (cp, h, _), (cp_found, h_found, _) = _values(*exact, T), _values(*found, T)
    return np.abs((h_found - h) / cp).max(axis=0), np.abs(cp_found / cp - 1.0).max(axis=0)
