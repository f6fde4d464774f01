"""The closure inside one Triton program: the state dt later from what the network says.

Called by the kernel of `combred.kernels.inference`; the same as `Surrogate.next_state_and_closure` does in eager
torch. Here a variable of many states is one vector (B,), a thread has one state, and the mechanism
is part of the program: its numbers are constants, zeros are left out, sums need no other thread.

What the network says is applied in float32 to a state that stays float64, as an increment: Y + Y e
with e = (1 + u)^(1 / lam) - 1, u = lam dF / Y^lam, which is exact to float32 of the *change*, not
of Y. Sums over species, the small systems and T are float64; the exponentials of the projection are
float32, and a last step, which has none, takes what they leave.
"""

import triton
import triton.language as tl

from combred.kernels.inference.fused_thermo import enthalpy, enthalpy_sums, polynomial, temperature
from combred.kernels.inference.fused_transform import (
    expm1,
    raw_fraction,
    real,
    replaced,
    signed_power,
)

WEIGHT = tl.constexpr(1e-8)  # w = Y + WEIGHT, as in `ElementProjection`


@triton.jit(noinline=True)
def apply_closure(
    before, z, told, scale, MODEL: tl.constexpr, LIMITS: tl.constexpr, N: tl.constexpr
):
    """The columns of states dt later from those `before`, the network's answers z, and the change
    that was `told` to it, of T and the species that react, if any was; with LIMITS (SHARE, FLOOR_Y,
    FLOOR_T) also what was moved, as `Surrogate.next_state_and_closure` tells it.

    noinline: some of Triton's passes take time as the square of a function's length for every load
    and store in it, of which there are few here.
    """
    Y, _ = normalized(before, N)
    raw, change = (), predicted_change(z, told, scale, MODEL, N)
    for k in tl.static_range(2, N):
        raw = raw + (raw_fraction(Y[k - 2], change[k], MODEL),)
    Y_next, conserves = projected(raw, Y, MODEL)
    T = before[0]
    guess = T + change[0].to(tl.float64)
    h = polynomial(enthalpy(enthalpy_sums(Y, MODEL), T, MODEL), T)
    T_next = temperature(h, Y_next, guess, MODEL)
    after = (T_next, before[1]) + Y_next
    if LIMITS is not None:
        share = moved_share(Y_next, raw, Y, T_next, guess, T, LIMITS)
        after = after + (tl.where(conserves, share, float("inf")),)
    return after


@triton.jit
def predicted_change(z, told, scale, MODEL: tl.constexpr, N: tl.constexpr):
    """The change of [T, p, F(Y)] that the network says, float32, with what it was `told`."""
    change = ()
    for k in tl.static_range(N):
        change = change + (signed_power(z[k], MODEL.inverse_power) * tl.load(scale + k),)
    for i in tl.static_range(len(told)):
        with_told = change[MODEL.rates.columns[i]] + told[i]
        change = replaced(change, with_told, MODEL.rates.columns[i])
    return change


@triton.jit
def normalized(x, N: tl.constexpr):
    """Y of the columns of states, at least zero and of sum 1, and the sum before; NaN stays."""
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
def moved_share(Y_next, raw, Y, T_next, guess, T, LIMITS: tl.constexpr):
    """What the closure moved of the network's answer, in units of what it may move (B,): the larger
    of Y and T, as in `Surrogate.next_state_and_closure`. LIMITS: SHARE, FLOOR_Y, FLOOR_T."""
    moved_Y, changed_Y = T * 0.0, T * 0.0
    for k in tl.static_range(len(Y)):
        moved_Y = tl.maximum(moved_Y, tl.abs(Y_next[k] - raw[k]))
        changed_Y = tl.maximum(changed_Y, tl.abs(Y_next[k] - Y[k]))
    may_Y = real(LIMITS[0]) * changed_Y + real(LIMITS[1])
    may_T = real(LIMITS[0]) * tl.abs(T_next - T) + real(LIMITS[2])
    return tl.maximum(moved_Y / may_Y, tl.abs(T_next - guess) / may_T)


@triton.jit
def along(multipliers, K: tl.constexpr, MODEL: tl.constexpr):
    """(E^T lam) of one species, float64."""
    s = multipliers[0] * 0.0
    for e in tl.static_range(len(MODEL.elements)):
        if MODEL.elements[e][K] != 0.0:
            s += multipliers[e] * real(MODEL.elements[e][K])
    return s


@triton.jit
def moved(y, multipliers, K: tl.constexpr, MODEL: tl.constexpr):
    """y exp(clip(w (E^T lam), -3, 3)), w = y + 1e-8, of one species (`ElementProjection`)."""
    r = ((y + real(WEIGHT)) * along(multipliers, K, MODEL)).to(tl.float32)
    r = tl.minimum(tl.maximum(r, -3.0), 3.0)
    return y + y * expm1(r).to(tl.float64)


@triton.jit
def masses(Y, MODEL: tl.constexpr):
    """E Y: the mass fractions of the elements, inert species apart; one float64 vector each."""
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
    """b - E Y' for Y' as `moved`, and the Jacobian of E Y' by the multipliers, its upper triangle;
    one float64 vector each. FIRST: the multipliers are zero."""
    r, jacobian = b, ()
    for _ in tl.static_range(len(MODEL.pairs)):
        jacobian = jacobian + (b[0] * 0.0,)
    for k in tl.static_range(len(MODEL.inert)):
        if not MODEL.inert[k]:
            end = y[k]
            if not FIRST:
                end = moved(y[k], multipliers, k, MODEL)
            r = more(r, -end, k, MODEL)
            jacobian = steeper(jacobian, end * (y[k] + real(WEIGHT)), k, MODEL)
    return r, jacobian


@triton.jit
def more(totals, amount, K: tl.constexpr, MODEL: tl.constexpr):
    """totals_e + E_ek amount."""
    out = ()
    for e in tl.static_range(len(MODEL.elements)):
        if MODEL.elements[e][K] != 0.0:
            out = out + (totals[e] + amount * real(MODEL.elements[e][K]),)
        else:
            out = out + (totals[e],)
    return out


@triton.jit
def steeper(jacobian, slope, K: tl.constexpr, MODEL: tl.constexpr):
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
    """x of J x = r by elimination, as `conservation.solve_small`: scaled to a diagonal of one,
    directions of vanishing pivot (an element that is absent) left at zero."""
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
    """Rows of an augmented matrix with the unknown PIVOT in its own row alone."""
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
def unsettled(r, b):
    """Whether a residual of any state is more than the last, linear step mends, a scalar."""
    far = b[0] < 0.0  # none
    for e in tl.static_range(len(r)):
        far = far | (tl.abs(r[e]) > 1e-6 * tl.abs(b[e]) + 1e-12)
    return tl.max(far.to(tl.int32), axis=0)


@triton.jit
def projected(y, Y, MODEL: tl.constexpr):
    """y with the element masses of Y, or Y where that fails, and where it went well (B,).

    Newton's method as in `ElementProjection`, stopped when all states of the program have settled;
    then one step without exponentials, in float64: from a residual of 1e-6 of an element's mass it
    leaves some 1e-12.
    """
    b = masses(Y, MODEL)
    multipliers = ()
    for _ in tl.static_range(len(MODEL.elements)):
        multipliers = multipliers + (b[0] * 0.0,)
    r, jacobian = residual(y, b, multipliers, True, MODEL)
    done = 0
    while (unsettled(r, b) > 0) & (done < MODEL.iterations):
        multipliers = summed(multipliers, newton_step(jacobian, r, MODEL))
        r, jacobian = residual(y, b, multipliers, False, MODEL)
        done += 1
    step, closed = newton_step(jacobian, r, MODEL), ()
    for k in tl.static_range(len(MODEL.inert)):
        if MODEL.inert[k]:
            closed = closed + (Y[k],)
        else:
            end = moved(y[k], multipliers, k, MODEL)
            end += end * (y[k] + real(WEIGHT)) * along(step, k, MODEL)
            closed = closed + (tl.where(end < 0.0, 0.0, end),)
    after = masses(closed, MODEL)
    conserves = b[0] == b[0]
    for e in tl.static_range(len(MODEL.elements)):
        conserves = conserves & (tl.abs(after[e] - b[e]) < 1e-9)
    out = ()
    for k in tl.static_range(len(MODEL.inert)):
        out = out + (tl.where(conserves, closed[k], Y[k]),)
    return out, conserves


@triton.jit
def summed(a, b):
    """a + b, of two tuples."""
    out = ()
    for i in tl.static_range(len(a)):
        out = out + (a[i] + b[i],)
    return out
