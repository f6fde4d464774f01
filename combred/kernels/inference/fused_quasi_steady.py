"""The quasi-steady prediction of a step, in Triton.

Called by the kernel of `fused_surrogate`. `combred.surrogate.quasi_steady` defines the prediction,
and `StateTransform.qss_features` the inputs of the network that are made from it. Each variable is
a vector (B,) over states, with one state per thread. Y is float64, changes are float32.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_closure import normalized
from combred.kernels.inference.fused_kinetics import PER_LN_10, production, times
from combred.kernels.inference.fused_thermo import clipped, species_cp, species_enthalpy
from combred.kernels.inference.fused_transform import expm1, log1p, real, signed_power


@triton.jit(noinline=True)
def qss_prediction(state, scale, MODEL: tl.constexpr, N: tl.constexpr):
    """The quasi-steady change of [T, F(Y)], and the inputs of the network that are made from it.

    state: columns of states; scale: pointer to the scale of the change. Returns two tuples of
    float32 vectors: the change of T and of each reacting species; and its signed powers in units of
    `scale`, followed by the stiffness log10(loss frequency dt + 1e-6) of each species.

    noinline: as `fused_closure.apply_closure`.
    """
    Y, _ = normalized(state, N)
    y = ()
    for k in tl.static_range(len(Y)):
        y = y + (tl.where(Y[k] < MODEL.floor, real(MODEL.floor), Y[k]),)
    T = clipped(state[0], MODEL)
    dT, dY, loss = quasi_steady(T, state[1], y, MODEL)
    change, feature = scaled(dT, tl.load(scale), MODEL)
    change, features, stiffness = (change,), (feature,), ()
    for i in tl.static_range(1, len(MODEL.rates.columns)):
        dF = change_of_F(y[MODEL.rates.columns[i] - 2], dY[MODEL.rates.columns[i] - 2], MODEL)
        dF, feature = scaled(dF, tl.load(scale + MODEL.rates.columns[i]), MODEL)
        change, features = change + (dF,), features + (feature,)
        x = loss[MODEL.rates.columns[i] - 2] * MODEL.rates.dt
        stiffness = stiffness + (tl.log(x + 1e-6) * PER_LN_10,)
    return change, features + stiffness


@triton.jit
def scaled(change, scale, MODEL: tl.constexpr):
    """A quasi-steady change, limited to `largest` times its scale, and its signed power in units of
    the scale."""
    d = change / scale
    d = tl.where(d < -MODEL.rates.largest, -MODEL.rates.largest, d)
    d = tl.where(d > MODEL.rates.largest, MODEL.rates.largest, d)
    return d * scale, signed_power(d, MODEL.power)


@triton.jit
def quasi_steady(T, p, Y, MODEL: tl.constexpr):
    """dT [K], dY and the loss frequencies of the species [1/s] over a step, float32.

    The rates are evaluated at the state and, with two evaluations, at the end of the step that the
    first predicts. Creation rates and loss frequencies are the means over the evaluations.
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
    for before in tl.range(0, MODEL.rates.evaluations):
        net_here, destroyed = production(T_at, p, multiplied(Y, ratio), MODEL.rates)
        net, loss = means(net, loss, net_here, destroyed, Y, ratio, 1.0 / (before + 1))
        dT, dY = step(net, loss, heat, MODEL.rates)
        T_at, ratio = end_of_step(T, Y, dT, dY, MODEL.rates)
    return dT, dY, loss


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
def step(net, loss, heat, RATES: tl.constexpr):
    """dT and dY with constant creation rates and loss frequencies (`QuasiSteadyState.step`)."""
    dT, dY = heat[0] * 0.0, ()
    for k in tl.static_range(len(net)):
        x = loss[k] * RATES.dt
        decayed = tl.where(x > 1e-4, -expm1(-x) / tl.maximum(x, 1e-4), 1.0 - x / 2)
        dY = dY + (net[k] * RATES.dt * decayed,)
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
