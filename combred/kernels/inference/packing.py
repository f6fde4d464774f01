"""A surrogate as the fused kernel takes it: constants, padded weights, and how they are cut.

Takes a `Surrogate`; gives what `combred.kernels.inference` launches with. Nothing of Triton here.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from combred.kernels.inference.constants import Constants
from combred.kernels.inference.reactions import Rates, rates_of
from combred.surrogate.surrogate import Surrogate

WIDEST = 512  # hidden units; wider layers do not fit on chip, and cuBLAS is good at them
WIDEST_8 = 256  # on compute capability 8.x; wider ones get 32 registers, and spill everything
MOST_TOLD = 256  # padded inputs beside the state's own, which are held through all of a program
MOST_REACTIONS = 400  # written out one after another: with 325, compiling takes minutes
# Products of the hidden layers, and of the first and the last, whose errors nothing mends.
PRECISIONS = {
    "ieee": ("ieee", "ieee"),
    "tf32x3": ("tf32x3", "tf32x3"),
    "bf16x3": ("bf16x3", "bf16x3"),
    "tf32": ("tf32", "tf32x3"),
    "bf16": ("bf16", "bf16x3"),
}


@dataclass(frozen=True)
class Layer:
    """Where a padded layer lies: the pieces (start, width) of its inputs, its widths, the first of
    its weights and biases; the precision of its products."""

    pieces: tuple[tuple[int, int], ...]
    width_in: int
    width_out: int
    weights: int
    bias: int
    precision: str


@dataclass(frozen=True)
class Step:
    """Two layers, the first of them `chunk` units at a time, or one; and the pieces they give."""

    first: Layer
    second: Layer | None
    chunk: int
    out: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Blocking:
    """States of a program, of them at once in the network, warps, and the chunks of weights that
    are on their way at once."""

    states: int
    at_once: int
    warps: int
    stages: int


@dataclass(frozen=True, repr=False, eq=False)
class Model(Constants):
    """The numbers of transform, mechanism and closure that are constants of the program.

    `elements` (n_elements, n_species): zero for inert species; `products`: theirs, of the `pairs`
    (e, f), which have their `place` among them; `low`, `high` (n_species, 6): coefficients of the
    enthalpy [J/kg], below and above T_mid [K], of which `side` tells each species' number;
    `T_least`, `T_most` [K]; `power` of the target; `rates` that the network corrects, if it does.
    """

    lam: float
    inverse_lam: float
    floor: float
    power: float
    inverse_power: float
    inert: tuple[bool, ...]
    elements: tuple[tuple[float, ...], ...]
    pairs: tuple[tuple[int, int], ...]
    place: tuple[tuple[int, ...], ...]
    products: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]
    T_mid: tuple[float, ...]
    side: tuple[int, ...]
    T_least: float
    T_most: float
    double: bool
    rates: Rates | None
    iterations: int = 5  # and the last, linear: as many as in `ElementProjection`


def obstacle(surrogate: Surrogate) -> str | None:
    """Why the surrogate cannot be fused, for the device that it is on; None where it can."""
    device, qss = surrogate.max_mahalanobis.device, surrogate.transform.qss
    old = device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 8
    units, widest = max(surrogate.network.widths[1:-1], default=0), WIDEST_8 if old else WIDEST
    if units > widest:
        return f"a hidden layer of {units} units does not fit on chip, {widest} do"
    if told_columns(surrogate) > MOST_TOLD:
        told = surrogate.transform.n_inputs - surrogate.n
        return f"{told} inputs of reaction rates do not fit on chip, {MOST_TOLD} do"
    if qss is not None and qss.kinetics.n_reactions > MOST_REACTIONS:
        return f"{qss.kinetics.n_reactions} reactions are too many to write out one by one"
    return None


def told_columns(surrogate: Surrogate) -> int:
    """Padded inputs of the network beside the state's own: the quasi-steady prediction."""
    return -(-(surrogate.transform.n_inputs - surrogate.n) // 16) * 16


def require_precision(precision: str) -> None:
    """ValueError unless `precision` is one of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is one of {', '.join(PRECISIONS)}, not {precision!r}")


def pieces(width: int) -> tuple[tuple[int, int], ...]:
    """(start, width) of powers of two, the largest first, at most 256, of a multiple of 16."""
    found, start = [], 0
    while start < width:
        size = min(256, 1 << ((width - start).bit_length() - 1))
        found.append((start, size))
        start += size
    return tuple(found)


def layers_of(widths: list[int], columns: int, told_columns: int, precision: str) -> list[Layer]:
    """Where the padded layers of a network lie, one after another; `columns`: of padded states, to
    which the network answers, and beside which it sees the `told_columns`."""
    padded = [columns + told_columns, *(-(-width // 32) * 32 for width in widths[1:-1]), columns]
    hidden, outer = PRECISIONS[precision]
    layers, weights, bias = [], 0, 0
    for i, (m, n) in enumerate(zip(padded[:-1], padded[1:], strict=True)):
        kind = outer if i in (0, len(padded) - 2) else hidden
        beside = ((columns + at, k) for at, k in pieces(told_columns))
        found = pieces(m) if i else ((0, columns), *beside)
        layers.append(Layer(found, m, n, weights, bias, kind))
        weights, bias = weights + m * n, bias + n
    return layers


def plan(layers: list[Layer]) -> tuple[Step, ...]:
    """The layers in pairs, and the last alone where their number is odd."""
    steps = []
    for first, second in zip(layers[0::2], [*layers[1::2], None], strict=False):
        out = (second or first).width_out
        steps.append(Step(first, second, 32, pieces(out)))
    return tuple(steps)


def blocking(steps: tuple[Step, ...]) -> Blocking:
    """By the width that a program holds on chip: at most half of the registers for the units that
    are held, and no more than 227 KB of shared memory, an H200's.

    Measured are registers and spilled bytes, not times: with 118k weights, to have a thread for
    each state, as with the others, would spill ten times as much.
    """
    held = max(sum(width for _, width in step.out) for step in steps)
    if held <= 128:
        return Blocking(128, 128, 4, 3)
    if held <= 256:
        return Blocking(128, 128, 8, 2)
    return Blocking(256, 64, 8, 2 if held <= 416 else 1)


def pack(surrogate: Surrogate, layers: list[Layer]) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the layers, padded with zeros, one after another; what bf16 leaves of them; and
    the biases, float32. Weights are bf16 for the bf16 precisions; rounded, see `rounded`, for tf32.
    """
    network = surrogate.network
    device = network.layers[0].weight.device
    sizes = sum(layer.width_in * layer.width_out for layer in layers)
    weights = torch.zeros(sizes, device=device)
    bias = torch.zeros(sum(layer.width_out for layer in layers), device=device)
    for layer, linear in zip(layers, network.layers, strict=True):
        n, m = linear.weight.shape
        seen = (
            surrogate.n if layer is layers[0] else m
        )  # of the state; the quasi-steady prediction lies apart
        size = layer.width_in * layer.width_out
        tile = weights[layer.weights : layer.weights + size].view(layer.width_out, layer.width_in)
        own = linear.weight.detach()
        own = rounded(own, "tf32") if layer.precision == "tf32" else own
        tile[:n, :seen] = own[:, :seen]
        if m > seen:
            first = layer.pieces[1][0]
            tile[:n, first : first + m - seen] = own[:, seen:]
        bias[layer.bias : layer.bias + n] = linear.bias.detach()
    if layers[0].precision != "bf16x3":
        return weights, weights[:0], bias
    large = weights.to(torch.bfloat16)
    return large, (weights - large.float()).to(torch.bfloat16), bias


def rounded(x: Tensor, precision: str) -> Tensor:
    """x, float32, to the nearest number of 10 (tf32) or 7 (bf16) bits of mantissa, halves away from
    zero: what the kernel does to operands."""
    dropped = {"tf32": 13, "bf16": 16}[precision]
    bits = x.contiguous().view(torch.int32) + (1 << (dropped - 1))
    return (bits & -(1 << dropped)).view(torch.float32)


def standardization(surrogate: Surrogate, columns: int, told_columns: int) -> tuple[Tensor, ...]:
    """Mean (float64), 1 / std and the scale of the change (float32), padded to (columns,); mean and
    1 / std of the quasi-steady prediction (float32), padded to (told_columns,)."""
    t = surrogate.transform
    single, double = torch.float32, torch.float64
    rows = [(t.mean, double, columns), (1.0 / t.std, single, columns), (t.scale, single, columns)]
    if told_columns:
        told = (t.qss_mean, 1.0 / t.qss_std)
    else:
        told = (t.scale[:0], t.scale[:0])
    rows += [(values, single, told_columns) for values in told]
    padded = []
    for values, dtype, width in rows:
        row = torch.zeros(width, dtype=dtype, device=values.device)
        row[: len(values)] = values
        padded.append(row)
    return tuple(padded)


def model_of(surrogate: Surrogate) -> Model:
    """What the program takes of transform, thermodynamics and projection as constants."""
    transform, thermo, projection = surrogate.transform, surrogate.thermo, surrogate.projection
    boxcox, qss = transform.boxcox, transform.qss
    elements = torch.zeros(projection.n_elements, surrogate.n - 2, dtype=torch.float64)
    elements[:, projection.reactive.cpu()] = projection.elements.cpu()
    size = range(projection.n_elements)
    pairs = [(e, f) for e in size for f in size if e <= f]
    mids = sorted(set(thermo.T_mid.tolist()))
    divisors = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 1.0], dtype=torch.float64)
    return Model(
        lam=boxcox.lam,
        inverse_lam=_whole(1.0 / boxcox.lam),
        floor=boxcox.floor,
        power=transform.power,
        inverse_power=_whole(1.0 / transform.power),
        inert=tuple(surrogate.inert.tolist()),
        elements=_constants(elements),
        pairs=tuple(pairs),
        place=tuple(tuple(pairs.index((min(e, f), max(e, f))) for f in size) for e in size),
        products=_constants(torch.stack([elements[e] * elements[f] for e, f in pairs])),
        low=_constants(thermo.low.cpu() / divisors),
        high=_constants(thermo.high.cpu() / divisors),
        T_mid=tuple(mids),
        side=tuple(mids.index(T) for T in thermo.T_mid.tolist()),
        T_least=thermo.T_min / 2,
        T_most=thermo.T_max + 1000.0,
        double=transform.std[2:].min().item() < 1e-2,  # F itself is known to 1e-7
        rates=rates_of(qss, transform.LARGEST) if qss is not None else None,
    )


def _whole(x: float) -> float:
    """x, or the whole number that it is but for rounding."""
    return float(round(x)) if abs(x - round(x)) < 1e-9 else x


def _constants(rows: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())
