"""Transforms in Triton: from tiles to columns, the inverse Box-Cox transform, the signed power,
and functions that are accurate near zero.

Called by the other `fused_` modules; `combred.surrogate.transform` defines the transforms.
"""

import triton
import triton.language as tl


@triton.jit
def columns(x, WIDTH: tl.constexpr):
    """The columns of x (B, WIDTH), WIDTH a power of two, as a tuple of WIDTH vectors (B,)."""
    if WIDTH == 1:
        return (tl.reshape(x, (x.shape[0],)),)
    else:
        halves = tl.permute(tl.reshape(x, (x.shape[0], 2, WIDTH // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        return columns(left, WIDTH // 2) + columns(right, WIDTH // 2)


@triton.jit
def replaced(x, value, K: tl.constexpr):
    """The tuple x with `value` at index K."""
    out = ()
    for k in tl.static_range(len(x)):
        if k == K:
            out = out + (value,)
        else:
            out = out + (x[k],)
    return out


@triton.jit
def real(x: tl.constexpr):
    """A constant as float64; older versions of Triton would make it float32."""
    return tl.full((), x, tl.float64)


@triton.jit
def expm1(r):
    """exp(r) - 1 in float32 with a relative error of some 1e-7."""
    return tl.where(tl.abs(r) < 0.25, small_expm1(r), tl.exp(r) - 1.0)


@triton.jit
def small_expm1(r):
    """`expm1` for |r| < 0.25."""
    return r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720))))))


@triton.jit
def signed_power(x, EXPONENT: tl.constexpr):
    """sign(x) |x|^EXPONENT in float32."""
    if EXPONENT % 2 == 1:
        return power(x, EXPONENT)
    else:
        size = power(tl.abs(x), EXPONENT)
        return tl.where(x < 0.0, -size, size)


@triton.jit
def power(x, EXPONENT: tl.constexpr):
    """x^EXPONENT in float32, x >= 0; by products if the exponent is an integer."""
    if EXPONENT == 1:
        return x
    elif EXPONENT % 1 != 0:
        some = tl.exp2(EXPONENT * tl.log2(tl.where(x > 0.0, x, 1.0)))
        return tl.where(x > 0.0, some, x)
    elif EXPONENT % 2 == 0:
        half = power(x, EXPONENT // 2)
        return half * half
    else:
        return x * power(x, EXPONENT - 1)


@triton.jit
def power_less_one(u, EXPONENT: tl.constexpr):
    """(1 + u)^EXPONENT - 1 without cancellation, u >= -1, float32.

    By ab - 1 = (a - 1) + (b - 1) + (a - 1)(b - 1) if the exponent is an integer, as 1 / lam is for
    lam = 0.1; otherwise in float64.
    """
    if EXPONENT == 1:
        return u
    elif EXPONENT % 1 != 0:
        base = 1.0 + u.to(tl.float64)
        some = tl.exp(real(EXPONENT) * tl.log(tl.where(base > 0.0, base, 1.0)))
        return tl.where(base > 0.0, some - 1.0, -1.0).to(tl.float32)
    elif EXPONENT % 2 == 0:
        half = power_less_one(u, EXPONENT // 2)
        return half * (2.0 + half)
    else:
        less = power_less_one(u, EXPONENT - 1)
        return less + u + less * u


@triton.jit
def raw_fraction(Y, change, MODEL: tl.constexpr):
    """F^-1(F(Y) + dF), float64: the predicted mass fraction of a species before closure."""
    base = tl.where(Y < MODEL.floor, real(MODEL.floor), Y)
    u = MODEL.lam * change * tl.exp2(-MODEL.lam * tl.log2(base.to(tl.float32)))
    u = tl.where(u < -1.0, -1.0, u)
    e = power_less_one(u, MODEL.inverse_lam)
    # 1 + e would lose digits by cancellation where most of Y is consumed.
    far = e < -0.75
    left = tl.where(far, power(1.0 + u, MODEL.inverse_lam), 1.0).to(tl.float64)
    return base * (left + tl.where(far, 0.0, e).to(tl.float64))
