"""The closure in Triton: the state one time step later from the output of the network.

Called by the kernel of `fused_surrogate`; computes what `Surrogate.step` and `Closure` do in eager
torch for a network of the state alone. Each variable is a vector (B,) over states, with one state
per thread. The mechanism is part of the program: its numbers are constants, zeros are omitted, and
sums over species stay within a thread.

The predicted change is float32, the state float64. The change is applied as an increment, Y + Y e
with e = (1 + u)^(1 / lam) - 1 and u = lam dF / Y^lam, so that rounding is relative to the change,
not to Y. Sums over species, the small linear systems and T are float64. The exponentials of the
projection are float32; a last step without exponentials removes their rounding error.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_thermo import (
    enthalpy,
    enthalpy_sums,
    polynomial,
    slope,
    temperature,
)
from combred.kernels.inference.fused_transform import expm1, raw_fraction, real, signed_power
from combred.surrogate.closure import Closure

WEIGHT = tl.constexpr(1e-8)  # w = Y + WEIGHT, as in `ElementProjection`
ENTHALPY = tl.constexpr(Closure.ENTHALPY)


@triton.jit(noinline=True)
def apply_closure(before, z, scale, MODEL: tl.constexpr, LIMITS: tl.constexpr, N: tl.constexpr):
    """The columns of the states one time step later, a tuple of N vectors (B,).

    before: columns of the states; z: columns of the network's output; scale: pointer to the scale
    of the change. With LIMITS, (STATE_SHARE, STATE_FLOOR_Y, STATE_FLOOR_T) of `Surrogate`, the
    closure error follows as column N + 1; it is infinite where elements or enthalpy are not
    conserved.

    noinline: the time of some of Triton's passes grows with the square of a function's length for
    every load and store in it, and there are few of them here.
    """
    Y, _ = normalized(before, N)
    raw, change = (), predicted_change(z, scale, MODEL, N)
    for k in tl.static_range(2, N):
        raw = raw + (raw_fraction(Y[k - 2], change[k], MODEL),)
    Y_next, conserves = projected(raw, Y, MODEL)
    T = before[0]
    guess = T + change[0].to(tl.float64)
    h = polynomial(enthalpy(enthalpy_sums(Y, MODEL), T, MODEL), T)
    sums = enthalpy_sums(Y_next, MODEL)
    T_next = temperature(h, sums, guess, MODEL)
    after = (T_next, before[1]) + Y_next
    if LIMITS is not None:
        error = closure_error(Y_next, raw, Y, T_next, guess, T, LIMITS)
        conserves = conserves & has_enthalpy(h, sums, T_next, MODEL)
        after = after + (tl.where(conserves & (error < float("inf")), error, float("inf")),)
    return after


@triton.jit
def has_enthalpy(h, sums, T, MODEL: tl.constexpr):
    """Whether the enthalpy at T is h within `Closure.ENTHALPY`, (B,) bool."""
    c = enthalpy(sums, T, MODEL)
    return tl.abs(polynomial(c, T) - h) <= real(ENTHALPY) * (tl.abs(h) + slope(c, T) * T)


@triton.jit
def predicted_change(z, scale, MODEL: tl.constexpr, N: tl.constexpr):
    """The predicted change of [T, p, F(Y)], float32."""
    change = ()
    for k in tl.static_range(N):
        change = change + (signed_power(z[k], MODEL.inverse_power) * tl.load(scale + k),)
    return change


@triton.jit
def normalized(x, N: tl.constexpr):
    """Mass fractions clipped at zero and scaled to sum 1, and their sum before scaling. x: columns
    of states. NaN is kept."""
    total = x[0] * 0.0
    positive = ()
    for k in tl.static_range(2, N):
        positive = positive + (tl.where(x[k] < 0.0, 0.0, x[k]),)
        total += positive[k - 2]
    inverse, Y = 1.0 / total, ()
    for k in tl.static_range(2, N):
        Y = Y + (positive[k - 2] * inverse,)
    return Y, total


@triton.jit
def closure_error(Y_next, raw, Y, T_next, guess, T, LIMITS: tl.constexpr):
    """Correction of the prediction by the closure over its tolerance (B,), the larger of Y and T,
    as in `Surrogate.step`. LIMITS: STATE_SHARE, STATE_FLOOR_Y, STATE_FLOOR_T."""
    moved_Y, changed_Y = T * 0.0, T * 0.0
    for k in tl.static_range(len(Y)):
        moved_Y = tl.maximum(moved_Y, tl.abs(Y_next[k] - raw[k]))
        changed_Y = tl.maximum(changed_Y, tl.abs(Y_next[k] - Y[k]))
    tolerance_Y = real(LIMITS[0]) * changed_Y + real(LIMITS[1])
    tolerance_T = real(LIMITS[0]) * tl.abs(T_next - T) + real(LIMITS[2])
    return tl.maximum(moved_Y / tolerance_Y, tl.abs(T_next - guess) / tolerance_T)


@triton.jit
def weighted_elements(multipliers, K: tl.constexpr, MODEL: tl.constexpr):
    """(E^T lambda) of one species, float64."""
    s = multipliers[0] * 0.0
    for e in tl.static_range(len(MODEL.elements)):
        if MODEL.elements[e][K] != 0.0:
            s += multipliers[e] * real(MODEL.elements[e][K])
    return s


@triton.jit
def corrected(y, multipliers, K: tl.constexpr, MODEL: tl.constexpr):
    """y exp(clip(w (E^T lambda), -3, 3)), w = y + 1e-8, of one species (`ElementProjection`)."""
    r = ((y + real(WEIGHT)) * weighted_elements(multipliers, K, MODEL)).to(tl.float32)
    r = tl.minimum(tl.maximum(r, -3.0), 3.0)
    return y + y * expm1(r).to(tl.float64)


@triton.jit
def element_masses(Y, MODEL: tl.constexpr):
    """E Y: mass fractions of the elements in the species that react, one float64 vector each."""
    out = ()
    for e in tl.static_range(len(MODEL.elements)):
        total = Y[0] * 0.0
        for k in tl.static_range(len(MODEL.inert)):
            if MODEL.elements[e][k] != 0.0:
                total += Y[k] * real(MODEL.elements[e][k])
        out = out + (total,)
    return out


@triton.jit
def residual(y, b, multipliers, FIRST: tl.constexpr, MODEL: tl.constexpr):
    """b - E Y' with Y' from `corrected`, and the upper triangle of the Jacobian of E Y' with
    respect to the multipliers, one float64 vector each. FIRST: the multipliers are zero."""
    r, jacobian = b, ()
    for _ in tl.static_range(len(MODEL.pairs)):
        jacobian = jacobian + (b[0] * 0.0,)
    for k in tl.static_range(len(MODEL.inert)):
        if not MODEL.inert[k]:
            end = y[k]
            if not FIRST:
                end = corrected(y[k], multipliers, k, MODEL)
            r = add_to_elements(r, -end, k, MODEL)
            jacobian = add_to_jacobian(jacobian, end * (y[k] + real(WEIGHT)), k, MODEL)
    return r, jacobian


@triton.jit
def add_to_elements(totals, amount, K: tl.constexpr, MODEL: tl.constexpr):
    """totals_e + E_ek amount."""
    out = ()
    for e in tl.static_range(len(MODEL.elements)):
        if MODEL.elements[e][K] != 0.0:
            out = out + (totals[e] + amount * real(MODEL.elements[e][K]),)
        else:
            out = out + (totals[e],)
    return out


@triton.jit
def add_to_jacobian(jacobian, slope, K: tl.constexpr, MODEL: tl.constexpr):
    """jacobian_ef + E_ek E_fk slope."""
    out = ()
    for p in tl.static_range(len(MODEL.pairs)):
        if MODEL.products[p][K] != 0.0:
            out = out + (jacobian[p] + slope * real(MODEL.products[p][K]),)
        else:
            out = out + (jacobian[p],)
    return out


@triton.jit
def newton_step(jacobian, r, MODEL: tl.constexpr):
    """x of J x = r by elimination, as in `element_projection.solve_small`: J is scaled to a
    diagonal of one, and directions of vanishing pivot (an absent element) are left at zero."""
    SIZE: tl.constexpr = len(MODEL.elements)
    scale, rows = (), ()
    for e in tl.static_range(SIZE):
        diagonal = jacobian[MODEL.place[e][e]].to(tl.float32)
        scale = scale + (tl.rsqrt(diagonal + 1e-36).to(tl.float64),)
    for e in tl.static_range(SIZE):
        row = ()
        for f in tl.static_range(SIZE):
            row = row + (jacobian[MODEL.place[e][f]] * scale[e] * scale[f],)
        rows = rows + (row + (r[e] * scale[e],),)
    for i in tl.static_range(SIZE):
        good = rows[i][i] > 1e-15
        inverse = tl.where(good, 1.0 / tl.where(good, rows[i][i], 1.0), 0.0)
        rows = eliminated(rows, inverse, i, SIZE)
    step = ()
    for e in tl.static_range(SIZE):
        step = step + (rows[e][SIZE] * scale[e],)
    return step


@triton.jit
def eliminated(rows, inverse, PIVOT: tl.constexpr, SIZE: tl.constexpr):
    """Rows of an augmented matrix after eliminating the unknown PIVOT from all rows but its own."""
    out = ()
    for j in tl.static_range(SIZE):
        row, factor = (), rows[j][PIVOT] * inverse
        for c in tl.static_range(SIZE + 1):
            if j == PIVOT:
                row = row + (rows[j][c] * inverse,)
            else:
                row = row + (rows[j][c] - factor * rows[PIVOT][c],)
        out = out + (row,)
    return out


@triton.jit
def not_converged(r, b):
    """Whether the residual of any state is too large for the last, linear step; a scalar."""
    far = b[0] < 0.0  # false everywhere
    for e in tl.static_range(len(r)):
        far = far | (tl.abs(r[e]) > 1e-6 * tl.abs(b[e]) + 1e-12)
    return tl.max(far.to(tl.int32), axis=0)


@triton.jit
def projected(y, Y, MODEL: tl.constexpr):
    """y projected onto the element masses of Y, or Y where that fails, and where it succeeds (B,).

    Newton's method as in `ElementProjection`, until all states of the program have converged; then
    one float64 step without exponentials, which reduces a residual of 1e-6 of an element's mass to
    some 1e-12.
    """
    b = element_masses(Y, MODEL)
    multipliers = ()
    for _ in tl.static_range(len(MODEL.elements)):
        multipliers = multipliers + (b[0] * 0.0,)
    r, jacobian = residual(y, b, multipliers, True, MODEL)
    done = 0
    while (not_converged(r, b) > 0) & (done < MODEL.iterations):
        multipliers = summed(multipliers, newton_step(jacobian, r, MODEL))
        r, jacobian = residual(y, b, multipliers, False, MODEL)
        done += 1
    step, Y_next = newton_step(jacobian, r, MODEL), ()
    for k in tl.static_range(len(MODEL.inert)):
        if MODEL.inert[k]:
            Y_next = Y_next + (Y[k],)
        else:
            end = corrected(y[k], multipliers, k, MODEL)
            end += end * (y[k] + real(WEIGHT)) * weighted_elements(step, k, MODEL)
            Y_next = Y_next + (tl.where(end < 0.0, 0.0, end),)
    after = element_masses(Y_next, MODEL)
    conserves = b[0] == b[0]
    for e in tl.static_range(len(MODEL.elements)):
        conserves = conserves & (tl.abs(after[e] - b[e]) < 1e-9)
    out = ()
    for k in tl.static_range(len(MODEL.inert)):
        out = out + (tl.where(conserves, Y_next[k], Y[k]),)
    return out, conserves


@triton.jit
def summed(a, b):
    """The sum of two tuples of vectors."""
    out = ()
    for i in tl.static_range(len(a)):
        out = out + (a[i] + b[i],)
    return out
