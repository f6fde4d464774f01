"""The quasi-steady-state (QSS) step in Triton: predictor and corrector of the change over dt.

Takes T, p, Y and dt of each state; gives what `QuasiSteadyState.forward` does, which defines it
(`combred.surrogate.quasi_steady`). No kernel of a surrogate calls it yet: with `fused_kinetics` it
is the base of a fused integrator with step size control. Each variable is a vector (B,) over
states, with one state per thread. T, p and Y are float64, dt and changes are float32.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_kinetics import PER_LN_10, production, times
from combred.kernels.inference.fused_thermo import clipped, species_cp, species_enthalpy
from combred.kernels.inference.fused_transform import expm1, log1p, real


@triton.jit(noinline=True)
def qss_changes(
    state, Y, EVALUATIONS: tl.constexpr, MODEL: tl.constexpr, RATES: tl.constexpr
):  # fmt: skip
    """The corrector's and the predictor's change of [T, F(Y)], and the stiffness
    log10(dt / tau + 1e-6) of each reacting species: three tuples of float32 vectors.

    state: a tuple of T [K], p [Pa] and dt [s]; Y >= floor: a tuple of all species. EVALUATIONS of
    the rates: 2 as in `QuasiSteadyState`; with 1 the first tuple is the predictor and the second
    zero. MODEL: see `packing.model_of`; RATES: see `reactions.rates_of`.

    noinline: as `fused_closure.apply_closure`; the arguments of such functions are scalars or
    tuples.
    """
    T, dt = clipped(state[0], MODEL), state[2].to(tl.float32)
    dT, dY, dT_before, dY_before, loss = quasi_steady(T, state[1], Y, dt, EVALUATIONS, MODEL, RATES)
    corrector, predictor, stiffness = (dT,), (dT_before,), ()
    for k in tl.static_range(len(Y)):
        if not MODEL.inert[k]:
            corrector = corrector + (change_of_F(Y[k], dY[k], MODEL),)
            predictor = predictor + (change_of_F(Y[k], dY_before[k], MODEL),)
            stiffness = stiffness + (tl.log(loss[k] * dt + 1e-6) * PER_LN_10,)
    return corrector, predictor, stiffness


@triton.jit
def quasi_steady(
    T, p, Y, dt, EVALUATIONS: tl.constexpr, MODEL: tl.constexpr, RATES: tl.constexpr
):  # fmt: skip
    """dT [K] and dY by the last evaluation of the rates and by the one before it, and the loss
    frequencies of the species [1/s], float32.

    The rates are evaluated at the state, and then at the end of the step that the evaluations
    before predict. Creation rates and loss frequencies are the means over the evaluations.
    """
    cp, heat, net, loss = T * 0.0, (), (), ()
    for k in tl.static_range(len(Y)):
        cp += Y[k] * species_cp(T, k, MODEL)
    per_cp = 1.0 / cp
    for k in tl.static_range(len(Y)):
        heat = heat + ((species_enthalpy(T, k, MODEL) * per_cp).to(tl.float32),)
        net = net + (heat[k] * 0.0,)
        loss = loss + (heat[k] * 0.0,)
    T_at, ratio, dT, dY = T, ones(heat), heat[0] * 0.0, net
    dT_before, dY_before = dT, dY
    for before in tl.range(0, EVALUATIONS):
        dT_before, dY_before = dT, dY
        net_here, destroyed = production(T_at, p, multiplied(Y, ratio), RATES)
        net, loss = means(net, loss, net_here, destroyed, Y, ratio, 1.0 / (before + 1))
        dT, dY = step(net, loss, heat, dt)
        T_at, ratio = end_of_step(T, Y, dT, dY, RATES)
    return dT, dY, dT_before, dY_before, loss


@triton.jit
def ones(like):
    """A tuple of vectors of ones."""
    out = ()
    for k in tl.static_range(len(like)):
        out = out + (like[k] * 0.0 + 1.0,)
    return out


@triton.jit
def multiplied(Y, ratio):
    """Y_k ratio_k, float64."""
    out = ()
    for k in tl.static_range(len(Y)):
        out = out + (Y[k] * ratio[k].to(tl.float64),)
    return out


@triton.jit
def means(net, loss, net_here, destroyed, Y, ratio, share):
    """Means over the evaluations, of which the newest has the weight `share`: the net rates at Y
    and the loss frequencies.

    net, loss: the means over the earlier ones; net_here, destroyed: net rates and destruction rates
    [1/s] of the newest, at the mass fractions Y ratio.
    """
    mean_net, mean_loss = (), ()
    for k in tl.static_range(len(Y)):
        y = Y[k].to(tl.float32)
        newest = destroyed[k] / (y * ratio[k])
        found = net_here[k] + y * (ratio[k] - 1.0) * newest
        mean_net = mean_net + (net[k] + (found - net[k]) * share,)
        mean_loss = mean_loss + (loss[k] + (newest - loss[k]) * share,)
    return mean_net, mean_loss


@triton.jit
def step(net, loss, heat, dt):
    """dT and dY with constant creation rates and loss frequencies (`QuasiSteadyState.step`)."""
    dT, dY = heat[0] * 0.0, ()
    for k in tl.static_range(len(net)):
        x = loss[k] * dt
        decayed = tl.where(x > 1e-4, -expm1(-x) / tl.maximum(x, 1e-4), 1.0 - x / 2)
        dY = dY + (net[k] * dt * decayed,)
        dT -= heat[k] * dY[k]
    return dT, dY


@triton.jit
def end_of_step(T, Y, dT, dY, RATES: tl.constexpr):
    """T at the end of the step, float64, and the ratio of the mass fractions there to Y, float32,
    for the next evaluation."""
    total, ratio = T * 0.0, ()
    for k in tl.static_range(len(Y)):
        growth = 1.0 + dY[k] / Y[k].to(tl.float32)
        ratio = ratio + (tl.where(growth < 1e-6, 1e-6, growth),)
        total += Y[k] * ratio[k].to(tl.float64)
    T_at = T + dT.to(tl.float64)
    T_at = tl.where(T_at < real(RATES.T_min), real(RATES.T_min), T_at)
    T_at = tl.where(T_at > real(RATES.T_max), real(RATES.T_max), T_at)
    return T_at, times(ratio, (1.0 / total).to(tl.float32))


@triton.jit
def change_of_F(Y, dY, MODEL: tl.constexpr):
    """F(Y + dY) - F(Y) of a species (`QuasiSteadyState.change_of_F`), float32; Y float64."""
    y = Y.to(tl.float32)
    growth = dY / y
    # Exactly 1 at the floor, where Y cannot decay: the division on a GPU has an error of 1e-7.
    least = tl.where(y > MODEL.floor, MODEL.floor / y, 1.0)
    grown = tl.where(1.0 + growth < least, least, 1.0 + growth)
    growth = tl.where(growth < least - 1.0, least - 1.0, growth)
    ln = tl.where(tl.abs(growth) < 0.25, log1p(growth), tl.log(grown))
    return tl.exp2(MODEL.lam * tl.log2(y)) * expm1(MODEL.lam * ln) * MODEL.inverse_lam
