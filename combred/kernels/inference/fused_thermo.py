"""Thermodynamics inside one Triton program: enthalpy, heat capacity, and T from enthalpy, float64.

Called by `fused_closure` and, of single species, by `fused_quasi_steady`; what it computes is
defined in `combred.chemistry.thermo`. Where T is looked for, the species' polynomials are summed once for a
composition, below and above T_mid: what Newton's method then does for a state needs no species.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_transform import real


@triton.jit
def enthalpy_sums(Y, MODEL: tl.constexpr):
    """Coefficients of the mixture's enthalpy below and above T_mid: two tuples (c_0, ..., c_5) for
    each of MODEL.T_mid, of the species that have it."""
    sums = ()
    for m in tl.static_range(len(MODEL.T_mid)):
        sums = sums + (summed_up(Y, MODEL.low, m, MODEL), summed_up(Y, MODEL.high, m, MODEL))
    return sums


@triton.jit
def summed_up(Y, coefficients: tl.constexpr, M: tl.constexpr, MODEL: tl.constexpr):
    """sum_k Y_k c_kj over the species with the T_mid of number M; j = 0, ..., 5."""
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
    """Coefficients (c_0, ..., c_5) of h(T) = c_0 T + ... + c_4 T^5 + c_5 [J/kg] on the sides of
    T_mid on which T lies."""
    c = ()
    for j in tl.static_range(6):
        total = T * 0.0
        for m in tl.static_range(len(MODEL.T_mid)):
            total += tl.where(T > real(MODEL.T_mid[m]), sums[2 * m + 1][j], sums[2 * m][j])
        c = c + (total,)
    return c


@triton.jit
def polynomial(c, T):
    """h [J/kg] of the coefficients `enthalpy`."""
    return c[5] + T * (c[0] + T * (c[1] + T * (c[2] + T * (c[3] + T * c[4]))))


@triton.jit
def species_enthalpy(T, K: tl.constexpr, MODEL: tl.constexpr):
    """h_k [J/kg] of one species."""
    low, high = polynomial(constants(MODEL.low[K]), T), polynomial(constants(MODEL.high[K]), T)
    return tl.where(T > real(MODEL.T_mid[MODEL.side[K]]), high, low)


@triton.jit
def species_cp(T, K: tl.constexpr, MODEL: tl.constexpr):
    """cp_k [J/(kg K)] of one species."""
    low, high = slope(constants(MODEL.low[K]), T), slope(constants(MODEL.high[K]), T)
    return tl.where(T > real(MODEL.T_mid[MODEL.side[K]]), high, low)


@triton.jit
def constants(row: tl.constexpr):
    """A row of numbers as a tuple of float64."""
    out = ()
    for j in tl.static_range(len(row)):
        out = out + (real(row[j]),)
    return out


@triton.jit
def slope(c, T):
    """cp [J/(kg K)] of the coefficients `enthalpy`."""
    return c[0] + T * (2.0 * c[1] + T * (3.0 * c[2] + T * (4.0 * c[3] + T * (5.0 * c[4]))))


@triton.jit
def clipped(T, MODEL: tl.constexpr):
    """T within [T_min / 2, T_max + 1000 K], as in `Thermo.temperature`; NaN stays."""
    T = tl.where(T < real(MODEL.T_least), real(MODEL.T_least), T)
    return tl.where(T > real(MODEL.T_most), real(MODEL.T_most), T)


@triton.jit
def temperature(h, Y, guess, MODEL: tl.constexpr):
    """T [K] with the enthalpy h [J/kg], by Newton's method from a guess [K].

    Four steps, as in `Thermo.temperature`. The slope cp is divided by in float32: that leaves 1e-7
    of a step, for the next one.
    """
    sums = enthalpy_sums(Y, MODEL)
    T = clipped(guess, MODEL)
    for _ in tl.static_range(4):
        c = enthalpy(sums, T, MODEL)
        T -= (polynomial(c, T) - h) * (1.0 / slope(c, T).to(tl.float32)).to(tl.float64)
        T = clipped(T, MODEL)
    return T
