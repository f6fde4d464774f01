"""The network in Triton: layers in pairs, activations on chip.

Called by the kernel of `fused_surrogate`. Hidden widths are padded to multiples of 32 and cut into
pieces (start, width) whose widths are powers of two, as Triton's tensors require; a tuple of pieces
(B, width) holds the activations of a layer. Layers are computed in pairs: only a chunk of units of
the first layer exists at a time, and its contribution is added to the second. For 23-400-400-400-23
a program holds 400 columns at once, not 800.
"""

import triton
import triton.language as tl

from combred.kernels.loading import interpreted

# The interpreter stores bf16 as bits and would multiply these.
INTERPRETED = tl.constexpr(interpreted())


@triton.jit
def operands(x, PRECISION: tl.constexpr):
    """The pieces of a layer as operands of matrix products: a tuple of pieces, and for bf16x3 a
    second one with the parts that bf16 drops.

    Operands are rounded to nearest, to 10 bits of mantissa for tf32 and to 7 for bf16. The tensor
    cores themselves truncate tf32: every activation, none of them negative, would lose 2^-12 of
    itself on average, and with drm19-39k delays grew by 0.8 % instead of 0.15 %.
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
    """float32 rounded to the nearest number without the last DROPPED bits, halves away from zero;
    NaN is kept."""
    bits = x.to(tl.int32, bitcast=True) + (1 << (DROPPED - 1))
    return (bits & -(1 << DROPPED)).to(tl.float32, bitcast=True)


@triton.jit
def bf16(x):
    """float32 rounded to the nearest bf16; the interpreter would truncate."""
    if INTERPRETED:
        x = rounded(x, 16)
    return x.to(tl.bfloat16)


@triton.jit
def relu(x):
    """max(x, 0); NaN stays NaN, so that an invalid state cannot give a valid result."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def product(acc, large, small, weights, rest, at, PRECISION: tl.constexpr):
    """acc (B, n) + x w for one piece of `operands` and the weights at the offsets `at` (k, n).

    bf16x3 omits the product of the two small parts, some 2^-16 of the whole.
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
def weight_offsets(LAYER: tl.constexpr, start, K: tl.constexpr, first, N: tl.constexpr):
    """(K, N) offsets of the weights of K inputs from `start` on and N units from `first` on. The
    weights of a unit are contiguous, as tensor cores require of 32-bit operands."""
    return (
        LAYER.weights
        + (first + tl.arange(0, N))[None, :] * LAYER.width_in
        + (start + tl.arange(0, K))[:, None]
    )


@triton.jit
def biases(bias, LAYER: tl.constexpr, first, N: tl.constexpr, B: tl.constexpr):
    """(B, N): the biases of N units from `first` on, the same in every row."""
    return tl.broadcast_to(tl.load(bias + LAYER.bias + first + tl.arange(0, N))[None, :], (B, N))


@triton.jit
def units(x, weights, rest, bias, first, N: tl.constexpr, LAYER: tl.constexpr, B: tl.constexpr):
    """(B, N): N units of a layer from `first` on, before their ReLU. x: `operands` of the previous
    layer."""
    acc = biases(bias, LAYER, first, N, B)
    for i in tl.static_range(len(LAYER.pieces)):
        large, small = x[0][i], x[0][i]
        if LAYER.precision == "bf16x3":
            small = x[1][i]
        at = weight_offsets(LAYER, LAYER.pieces[i][0], LAYER.pieces[i][1], first, N)
        acc = product(acc, large, small, weights, rest, at, LAYER.precision)
    return acc


@triton.jit
def single(x, weights, rest, bias, LAYER: tl.constexpr, OUT: tl.constexpr, B: tl.constexpr):
    """The pieces OUT of a layer, before their ReLU. x: pieces of the previous layer."""
    y, parts = (), operands(x, LAYER.precision)
    for j in tl.static_range(len(OUT)):
        y = y + (units(parts, weights, rest, bias, OUT[j][0], OUT[j][1], LAYER, B),)
    return y


@triton.jit
def pair(
    x, weights, rest, bias, FIRST: tl.constexpr, SECOND: tl.constexpr, CHUNK: tl.constexpr,
    OUT: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The pieces OUT of the SECOND of two layers, before their ReLU, from CHUNK units of the FIRST
    at a time. x: pieces of the layer before both."""
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
        at = weight_offsets(LAYER, c, CHUNK, OUT[j][0], OUT[j][1])
        out = out + (product(y[j], large[0], rest_of_some, weights, rest, at, LAYER.precision),)
    return out


@triton.jit
def network(x, weights, rest, bias, PLAN: tl.constexpr, B: tl.constexpr):
    """(B, C) outputs of the network for its inputs x, pieces (B, width). PLAN: see
    `packing.plan`."""
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
