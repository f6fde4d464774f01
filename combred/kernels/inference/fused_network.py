"""The network inside one Triton program: its layers two at a time, activations on chip.

Called by the kernel of `combred.kernels.inference`. Hidden widths are padded to multiples of 32 and
cut into pieces, (start, width) with widths of powers of two, as Triton's tensors must be; a tuple
of pieces (B, width) is a layer. Layers come in pairs: of the first of a pair only some columns
exist at a time, and what follows from them is added to the second. So of 23-400-400-400-23 no more
than 400 columns are held at once, not 800.
"""

import triton
import triton.language as tl

from combred.kernels.loading import interpreted

INTERPRETED = tl.constexpr(
    interpreted()
)  # the interpreter keeps bf16 as bits, and multiplies those


@triton.jit
def operands(x, PRECISION: tl.constexpr):
    """The pieces of a layer as operands of matrix products: a tuple of parts, of pieces each.

    Rounded to nearest, to 10 bits of mantissa for tf32 and to 7 for bf16. The units themselves
    would cut tf32 off: every activation, none of them negative, would lose 2^-12 of itself on
    average, and with drm19-39k delays grew by 0.8 % instead of 0.15 %. bf16x3: a bf16, and what
    that leaves as another.
    """
    large, small = (), ()
    for i in tl.static_range(len(x)):
        if PRECISION == "tf32":
            large = large + (rounded(x[i], 13),)
        elif PRECISION == "bf16":
            large = large + (bf16(x[i]),)
        elif PRECISION == "bf16x3":
            top = bf16(x[i])
            large = large + (top,)
            small = small + (bf16(x[i] - top.to(tl.float32)),)
        else:
            large = large + (x[i],)
    return large, small


@triton.jit
def rounded(x, DROPPED: tl.constexpr):
    """float32 to the nearest with the last bits DROPPED, halves away from zero; NaN stays."""
    bits = x.to(tl.int32, bitcast=True) + (1 << (DROPPED - 1))
    return (bits & -(1 << DROPPED)).to(tl.float32, bitcast=True)


@triton.jit
def bf16(x):
    """float32 to the nearest bf16; the interpreter would cut off."""
    if INTERPRETED:
        x = rounded(x, 16)
    return x.to(tl.bfloat16)


@triton.jit
def relu(x):
    """x or zero; NaN stays NaN: a wrong state must not become one that looks right."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def product(acc, large, small, weights, rest, at, PRECISION: tl.constexpr):
    """acc (B, n) + x w, of one piece of `operands` and the weights that lie `at` (k, n).

    bf16x3 leaves out the product of the two small parts, some 2^-16 of the whole.
    """
    w = tl.load(weights + at)
    if PRECISION == "bf16":
        return bf16_product(acc, large, w)
    elif PRECISION == "bf16x3":
        acc = bf16_product(acc, small, w)
        acc = bf16_product(acc, large, tl.load(rest + at))
        return bf16_product(acc, large, w)
    else:
        return tl.dot(large, w, acc=acc, input_precision=PRECISION)


@triton.jit
def bf16_product(acc, x, w):
    """acc + x w of operands in bf16."""
    if INTERPRETED:
        x, w = x.to(tl.float32), w.to(tl.float32)
    return tl.dot(x, w, acc=acc)


@triton.jit
def lying(LAYER: tl.constexpr, start, K: tl.constexpr, first, N: tl.constexpr):
    """(K, N) places of the weights from inputs `start` and on to units `first` and on. Each unit's
    weights lie together, which is how the matrix units want 32-bit operands."""
    return (
        LAYER.weights
        + (first + tl.arange(0, N))[None, :] * LAYER.width_in
        + (start + tl.arange(0, K))[:, None]
    )


@triton.jit
def biases(bias, LAYER: tl.constexpr, first, N: tl.constexpr, B: tl.constexpr):
    """(B, N): the biases of units `first` and on, the same in every row."""
    return tl.broadcast_to(tl.load(bias + LAYER.bias + first + tl.arange(0, N))[None, :], (B, N))


@triton.jit
def units(x, weights, rest, bias, first, N: tl.constexpr, LAYER: tl.constexpr, B: tl.constexpr):
    """(B, N): units `first` and on of a layer, before their ReLU. x: `operands` of the layer
    before."""
    acc = biases(bias, LAYER, first, N, B)
    for i in tl.static_range(len(LAYER.pieces)):
        large, small = x[0][i], x[0][i]
        if LAYER.precision == "bf16x3":
            small = x[1][i]
        at = lying(LAYER, LAYER.pieces[i][0], LAYER.pieces[i][1], first, N)
        acc = product(acc, large, small, weights, rest, at, LAYER.precision)
    return acc


@triton.jit
def single(x, weights, rest, bias, LAYER: tl.constexpr, OUT: tl.constexpr, B: tl.constexpr):
    """The pieces OUT of a layer, before their ReLU. x: the layer before."""
    y, parts = (), operands(x, LAYER.precision)
    for j in tl.static_range(len(OUT)):
        y = y + (units(parts, weights, rest, bias, OUT[j][0], OUT[j][1], LAYER, B),)
    return y


@triton.jit
def pair(
    x, weights, rest, bias, FIRST: tl.constexpr, SECOND: tl.constexpr, CHUNK: tl.constexpr,
    OUT: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The pieces OUT of the SECOND of two layers, before their ReLU: CHUNK units of the FIRST at a
    time. x: the layer before both."""
    y, parts = (), operands(x, FIRST.precision)
    for j in tl.static_range(len(OUT)):
        y = y + (biases(bias, SECOND, OUT[j][0], OUT[j][1], B),)
    for c in tl.range(0, SECOND.width_in, CHUNK):
        some = relu(units(parts, weights, rest, bias, c, CHUNK, FIRST, B))
        y = continued(y, some, c, weights, rest, SECOND, CHUNK, OUT)
    return y


@triton.jit
def continued(
    y, some, c, weights, rest, LAYER: tl.constexpr, CHUNK: tl.constexpr, OUT: tl.constexpr
):
    """y + what `some` (B, CHUNK), the inputs `c` and on of a layer, add to its pieces."""
    large, small = operands((some,), LAYER.precision)
    rest_of_some = large[0]
    if LAYER.precision == "bf16x3":
        rest_of_some = small[0]
    out = ()
    for j in tl.static_range(len(OUT)):
        at = lying(LAYER, c, CHUNK, OUT[j][0], OUT[j][1])
        out = out + (product(y[j], large[0], rest_of_some, weights, rest, at, LAYER.precision),)
    return out


@triton.jit
def network(x, weights, rest, bias, PLAN: tl.constexpr, B: tl.constexpr):
    """(B, C): the network's answer to its input x, pieces (B, width). PLAN: see `packing.plan`."""
    y = x
    for i in tl.static_range(len(PLAN)):
        if i > 0:
            y = activated(y)
        if PLAN[i].second is None:
            y = single(y, weights, rest, bias, PLAN[i].first, PLAN[i].out, B)
        else:
            y = pair(
                y, weights, rest, bias, PLAN[i].first, PLAN[i].second, PLAN[i].chunk,
                PLAN[i].out, B,
            )  # fmt: skip
    return y[0]


@triton.jit
def activated(x):
    """The ReLU of every piece."""
    y = ()
    for i in tl.static_range(len(x)):
        y = y + (relu(x[i]),)
    return y
