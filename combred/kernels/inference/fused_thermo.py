"""Thermodynamics in Triton: enthalpy, heat capacity, and T from enthalpy, float64.

Called by `fused_closure`; `combred.chemistry.thermo` defines the
quantities. To solve for T, the polynomials of the species
are summed once for a composition, below and above T_mid, so that Newton's method needs no further
sums over species.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_transform import real


@triton.jit
def enthalpy_sums(Y, MODEL: tl.constexpr):
    """Coefficients of the enthalpy of the mixture: for each of MODEL.T_mid two tuples (c_0, ...,
    c_5), below and above it, summed over the species that have it."""
    sums = ()
    for m in tl.static_range(len(MODEL.T_mid)):
        sums = sums + (summed_up(Y, MODEL.low, m, MODEL), summed_up(Y, MODEL.high, m, MODEL))
    return sums


@triton.jit
def summed_up(Y, coefficients: tl.constexpr, M: tl.constexpr, MODEL: tl.constexpr):
    """sum_k Y_k c_kj over the species whose T_mid has the index M; j = 0, ..., 5."""
    c = ()
    for j in tl.static_range(6):
        total = Y[0] * 0.0
        for k in tl.static_range(len(MODEL.side)):
            if MODEL.side[k] == M:
                total += Y[k] * real(coefficients[k][j])
        c = c + (total,)
    return c


@triton.jit
def enthalpy(sums, T, MODEL: tl.constexpr):
    """Coefficients (c_0, ..., c_5) of h(T) = c_0 T + ... + c_4 T^5 + c_5 [J/kg] at T, each species
    with those below or above its T_mid."""
    c = ()
    for j in tl.static_range(6):
        total = T * 0.0
        for m in tl.static_range(len(MODEL.T_mid)):
            total += tl.where(T > real(MODEL.T_mid[m]), sums[2 * m + 1][j], sums[2 * m][j])
        c = c + (total,)
    return c


@triton.jit
def polynomial(c, T):
    """h [J/kg] at T from the coefficients of `enthalpy`."""
    return c[5] + T * (c[0] + T * (c[1] + T * (c[2] + T * (c[3] + T * c[4]))))


@triton.jit
def slope(c, T):
    """cp = dh/dT [J/(kg K)] at T from the coefficients of `enthalpy`."""
    return c[0] + T * (2.0 * c[1] + T * (3.0 * c[2] + T * (4.0 * c[3] + T * (5.0 * c[4]))))


@triton.jit
def clipped(T, MODEL: tl.constexpr):
    """T limited to [T_min / 2, T_max + 1000 K], as in `Thermo.temperature`; NaN is kept."""
    T = tl.where(T < real(MODEL.T_least), real(MODEL.T_least), T)
    return tl.where(T > real(MODEL.T_most), real(MODEL.T_most), T)


@triton.jit
def temperature(h, sums, guess, MODEL: tl.constexpr):
    """T [K] at which the enthalpy is h [J/kg], by Newton's method from a guess [K]; sums: the
    `enthalpy_sums` of the composition.

    Four steps, as in `Thermo.temperature`. The reciprocal of cp is float32: its error of 1e-7 of a
    step is removed by the next one.
    """
    T = clipped(guess, MODEL)
    for _ in tl.static_range(4):
        c = enthalpy(sums, T, MODEL)
        T -= (polynomial(c, T) - h) * (1.0 / slope(c, T).to(tl.float32)).to(tl.float64)
        T = clipped(T, MODEL)
    return T
