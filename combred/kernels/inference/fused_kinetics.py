"""Reaction rates in Triton: net and destruction rates of the species.

Takes T, p and Y of states; `combred.chemistry.kinetics` defines the rates. Called by
`fused_quasi_steady`, and by no kernel of a surrogate yet: both are the base of a fused integrator.
Each variable is a vector (B,) over states, with one state per thread. The mechanism is part of the
program: reactions are unrolled, each with its own species alone.

Near equilibrium forward and reverse rates cancel. The Gibbs energies and ln(reverse / forward),
their sum, are therefore float64; forward and reverse rates are float32. Over random states of 300
to 2900 K, errors of the net rates are 4e-7 of the turnover of a species in the median, 2e-5 at
most.
"""

import math

import triton
import triton.language as tl

from combred.chemistry import thermo
from combred.kernels.inference.fused_transform import real, replaced, small_expm1

GAS_CONSTANT = tl.constexpr(thermo.GAS_CONSTANT)
LEAST = tl.constexpr(1e-37)  # near the least float32: of an absent collider [kmol/m3], of F_cent
PER_LN_10 = tl.constexpr(1.0 / math.log(10.0))


@triton.jit
def production(T, p, Y, RATES: tl.constexpr):
    """dY/dt and the destruction rate of every species [1/s], two tuples of float32 vectors, at T
    [K], p [Pa] and Y > 0, float64."""
    moles = T * 0.0
    for k in tl.static_range(len(Y)):
        moles += Y[k] * real(RATES.per_weight[k])
    density = p / (real(GAS_CONSTANT) * T * moles)
    colliders = concentrations(density, Y, moles, RATES)
    ln_T, per_T, ln_density = tl.log(T), 1.0 / T, tl.log(density)
    # mu = ln c + g / RT - ln(p0 / RT): chemical potentials over RT.
    standard = real(RATES.ln_reference) - ln_T
    ln_c, mu, net, destruction = (), (), (), ()
    for k in tl.static_range(len(Y)):
        ln = tl.log(Y[k]) + (ln_density - real(RATES.ln_weights[k]))
        ln_c = ln_c + (ln.to(tl.float32),)
        mu = mu + (ln + (gibbs(T, ln_T, per_T, k, RATES) - standard),)
        net = net + (ln_c[k] * 0.0,)
        destruction = destruction + (ln_c[k] * 0.0,)
    T, ln_T, per_T = T.to(tl.float32), ln_T.to(tl.float32), per_T.to(tl.float32)
    for r in tl.static_range(len(RATES.reactions)):
        ln_forward = arrhenius(ln_T, per_T, RATES.reactions[r].arrhenius)
        ln_forward = dotted(ln_forward, ln_c, RATES.reactions[r].orders)
        if RATES.reactions[r].falloff is not None:
            ln_forward += pressure(
                T, ln_T, per_T, colliders[RATES.reactions[r].collider],
                RATES.reactions[r].arrhenius, RATES.reactions[r].falloff,
            )  # fmt: skip
        elif RATES.reactions[r].collider >= 0:
            ln_forward += colliders[RATES.reactions[r].collider]
        forward, reverse, progress = directions(ln_forward, mu, RATES.reactions[r])
        net = added(net, progress, RATES.reactions[r].made)
        destruction = added(destruction, forward, RATES.reactions[r].consumed_forward)
        if RATES.reactions[r].reversible:
            destruction = added(destruction, reverse, RATES.reactions[r].consumed_reverse)
    per_density = (1.0 / density).to(tl.float32)
    return times(net, per_density), times(destruction, per_density)


@triton.jit
def directions(ln_forward, mu, REACTION: tl.constexpr):
    """Forward, reverse and net rate of progress [kmol/(m3 s)] of a reaction, float32.

    Near equilibrium, reverse - forward is computed as forward expm1(ln(reverse / forward)).
    """
    forward = tl.exp(ln_forward)
    if REACTION.reversible:
        ln_ratio = dotted(mu[0] * 0.0, mu, REACTION.net).to(tl.float32)
        reverse = tl.exp(ln_forward + ln_ratio)
        near = -forward * small_expm1(ln_ratio)
        return forward, reverse, tl.where(tl.abs(ln_ratio) < 0.25, near, forward - reverse)
    else:
        return forward, forward, forward


@triton.jit
def arrhenius(ln_T, per_T, NUMBERS: tl.constexpr):
    """ln A + b ln T - (Ea / R) / T, float32."""
    if NUMBERS[1] != 0.0:
        ln_k = NUMBERS[0] + NUMBERS[1] * ln_T
    else:
        ln_k = tl.full(ln_T.shape, NUMBERS[0], tl.float32)
    if NUMBERS[2] != 0.0:
        ln_k -= NUMBERS[2] * per_T
    return ln_k


@triton.jit
def dotted(total, x, SPARSE: tl.constexpr):
    """total + sum_k coefficient_k x_k over the species of SPARSE, in the precision of total."""
    for i in tl.static_range(len(SPARSE)):
        if SPARSE[i][1] == 1.0:
            total += x[SPARSE[i][0]]
        elif SPARSE[i][1] == -1.0:
            total -= x[SPARSE[i][0]]
        else:
            total += x[SPARSE[i][0]] * tl.full((), SPARSE[i][1], total.dtype)
    return total


@triton.jit
def added(totals, amount, SPARSE: tl.constexpr):
    """totals_k + coefficient_k amount for the species of SPARSE."""
    for i in tl.static_range(len(SPARSE)):
        total = totals[SPARSE[i][0]] + amount * SPARSE[i][1]
        totals = replaced(totals, total, SPARSE[i][0])
    return totals


@triton.jit
def times(x, factor):
    """x_k factor for every k."""
    out = ()
    for k in tl.static_range(len(x)):
        out = out + (x[k] * factor,)
    return out


@triton.jit
def gibbs(T, ln_T, per_T, K: tl.constexpr, RATES: tl.constexpr):
    """g / RT of one species at T and the reference pressure, by NASA-7 polynomials."""
    low = gibbs_polynomial(T, ln_T, per_T, RATES.gibbs_low[K])
    high = gibbs_polynomial(T, ln_T, per_T, RATES.gibbs_high[K])
    return tl.where(T > real(RATES.T_mid[K]), high, low)


@triton.jit
def gibbs_polynomial(T, ln_T, per_T, C: tl.constexpr):
    """C_0 (1 - ln T) + C_1 T + ... + C_4 T^4 + C_5 / T + C_6."""
    powers = T * (real(C[1]) + T * (real(C[2]) + T * (real(C[3]) + T * real(C[4]))))
    return real(C[0]) * (1.0 - ln_T) + powers + real(C[5]) * per_T + real(C[6])


@triton.jit
def concentrations(density, Y, moles, RATES: tl.constexpr):
    """ln of the effective concentration of every third body [kmol/m3], float32."""
    out = ()
    for m in tl.static_range(len(RATES.colliders)):
        total = moles * real(RATES.colliders[m][0])
        total = dotted(total, Y, RATES.colliders[m][1])
        out = out + (tl.log(tl.maximum((density * total).to(tl.float32), LEAST)),)
    return out


@triton.jit
def pressure(T, ln_T, per_T, ln_M, HIGH: tl.constexpr, FALLOFF: tl.constexpr):
    """ln of the factor of falloff to the high-pressure rate constant: see `Kinetics.pressure`."""
    less = arrhenius(ln_T, per_T, FALLOFF.low) - arrhenius(ln_T, per_T, HIGH)
    ln_Pr = less + ln_M
    # ln (1 + Pr) = max(ln Pr, 0) + ln (1 + exp(-|ln Pr|)), of which the second is at most ln 2.
    beside = tl.log(1.0 + tl.exp(-tl.abs(ln_Pr)))
    if FALLOFF.activated:
        ratio = less - tl.maximum(ln_Pr, 0.0)
    else:
        ratio = tl.minimum(ln_Pr, 0.0)
    return ratio - beside + broadening(T, ln_T, per_T, ln_Pr, FALLOFF)


@triton.jit
def broadening(T, ln_T, per_T, ln_Pr, FALLOFF: tl.constexpr):
    """ln F of `Kinetics.broadening`; zero for Lindemann's."""
    log_Pr = ln_Pr * PER_LN_10
    if FALLOFF.troe is not None:
        a: tl.constexpr = FALLOFF.troe[0]
        center = (1.0 - a) * tl.exp(-T * FALLOFF.troe[1]) + a * tl.exp(-T * FALLOFF.troe[2])
        if FALLOFF.troe[3] != 0.0:
            center += tl.exp(-FALLOFF.troe[3] * per_T)
        ln_center = tl.log(tl.maximum(center, LEAST))
        log_center = ln_center * PER_LN_10
        C, N = log_Pr - 0.4 - 0.67 * log_center, 0.75 - 1.27 * log_center
        width = C / (N - 0.14 * C)
        return ln_center / (1.0 + width * width)
    elif FALLOFF.sri is not None:
        bracket = FALLOFF.sri[0] * tl.exp(-FALLOFF.sri[1] * per_T) + tl.exp(-T * FALLOFF.sri[2])
        ln_F = tl.log(bracket) / (1.0 + log_Pr * log_Pr) + FALLOFF.sri[4] * ln_T
        return ln_F + tl.log(tl.full((), FALLOFF.sri[3], tl.float32))
    else:
        return ln_Pr * 0.0
