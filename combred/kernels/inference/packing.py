"""The arguments of the fused kernel: constants, padded weights and how layers are cut into pieces.

Takes a `Surrogate` whose network sees the state alone; gives the tables and constants with which
`fused_surrogate` launches its kernel. Does not import Triton.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from combred.kernels.inference.constants import Constants
from combred.surrogate.surrogate import Surrogate

MAX_WIDTH = 512  # hidden units; wider layers do not fit on chip, and cuBLAS is efficient for them
MAX_WIDTH_8 = 256  # on compute capability 8.x, where the compiler spills wider layers
# Why networks that correct reaction rates are refused.
NEEDS_STEP_SIZE_CONTROL = (
    "this network corrects reaction rates with step size control, which the fused kernel does not "
    "have; use the surrogate itself: surrogate(state, dt)"
)
# Products of the hidden layers, and of the first and last layer, whose errors are not damped.
PRECISIONS = {
    "ieee": ("ieee", "ieee"),
    "tf32x3": ("tf32x3", "tf32x3"),
    "bf16x3": ("bf16x3", "bf16x3"),
    "tf32": ("tf32", "tf32x3"),
    "bf16": ("bf16", "bf16x3"),
}


@dataclass(frozen=True)
class Layer:
    """A padded layer: the pieces (start, width) of its inputs, its padded widths, the offsets of
    its weights and biases in the packed tables, and the precision of its products."""

    pieces: tuple[tuple[int, int], ...]
    width_in: int
    width_out: int
    weights: int
    bias: int
    precision: str


@dataclass(frozen=True)
class Step:
    """Two layers that are computed together, `chunk` units of the first at a time, or one layer;
    `out`: the pieces (start, width) of the result."""

    first: Layer
    second: Layer | None
    chunk: int
    out: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Blocking:
    """Launch parameters: states of a program, states in the network at once, warps, and chunks of
    weights that are loaded ahead (`num_stages`)."""

    states: int
    at_once: int
    warps: int
    stages: int


@dataclass(frozen=True, repr=False, eq=False)
class Model(Constants):
    """The numbers of transform, mechanism and closure that are constants of the program.

    `lam` and `floor` of the Box-Cox transform; `power` of the target; `inert` (n_species,);
    `elements` (n_elements, n_species), zero for inert species; `pairs` (e, f) of elements, e <= f,
    `place[e][f]` the index of a pair, and `products` of their rows of `elements`, (n_pairs,
    n_species); `low`, `high` (n_species, 6): coefficients of the enthalpy [J/kg] below and above
    T_mid [K]; `side` (n_species,): the index of each species' T_mid; `T_least`, `T_most` [K]: the
    limits of Newton's method; `double`: see `fused_surrogate.features`.
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
    iterations: int = 5  # and a last, linear one: as many as in `ElementProjection`


def obstacle(surrogate: Surrogate) -> str | None:
    """The reason why the surrogate cannot be fused on its device, or None if it can."""
    if surrogate.corrects_rates:
        return NEEDS_STEP_SIZE_CONTROL
    device = surrogate.max_mahalanobis.device
    old = device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 8
    units = max(surrogate.network.widths[1:-1], default=0)
    widest = MAX_WIDTH_8 if old else MAX_WIDTH
    if units > widest:
        return f"a hidden layer of {units} units does not fit on chip, {widest} do"
    return None


def require_one_dt(surrogate: Surrogate) -> None:
    """Raise ValueError unless the network sees the state alone, and so has one time step."""
    if surrogate.corrects_rates:
        raise ValueError(NEEDS_STEP_SIZE_CONTROL)


def require_precision(precision: str) -> None:
    """Raise ValueError unless `precision` is a key of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is one of {', '.join(PRECISIONS)}, not {precision!r}")


def pieces(width: int) -> tuple[tuple[int, int], ...]:
    """A width, a multiple of 16, cut into pieces (start, width): powers of two, at most 256, the
    largest first."""
    found, start = [], 0
    while start < width:
        size = min(256, 1 << ((width - start).bit_length() - 1))
        found.append((start, size))
        start += size
    return tuple(found)


def layers_of(widths: list[int], columns: int, precision: str) -> list[Layer]:
    """The padded layers of a network, one after another. The network has `columns` padded inputs
    and outputs, one of each per column of a state."""
    padded = [columns, *(-(-width // 32) * 32 for width in widths[1:-1]), columns]
    hidden, outer = PRECISIONS[precision]
    layers, weights, bias = [], 0, 0
    for i, (m, n) in enumerate(zip(padded[:-1], padded[1:], strict=True)):
        kind = outer if i in (0, len(padded) - 2) else hidden
        found = pieces(m) if i else ((0, columns),)
        layers.append(Layer(found, m, n, weights, bias, kind))
        weights, bias = weights + m * n, bias + n
    return layers


def plan(layers: list[Layer]) -> tuple[Step, ...]:
    """The layers in pairs; the last one alone if their number is odd."""
    steps = []
    for first, second in zip(layers[0::2], [*layers[1::2], None], strict=False):
        out = (second or first).width_out
        steps.append(Step(first, second, 32, pieces(out)))
    return tuple(steps)


def blocking(steps: tuple[Step, ...]) -> Blocking:
    """Launch parameters, by the largest number of units that a program holds on chip.

    These take at most half of the registers, and a program at most 227 KB of shared memory, as an
    H200 has. The choice rests on registers and spilled bytes, not on times: with 118k weights, one
    thread per state, as in narrower networks, would spill ten times as much.
    """
    held = max(sum(width for _, width in step.out) for step in steps)
    if held <= 128:
        return Blocking(128, 128, 4, 3)
    if held <= 256:
        return Blocking(128, 128, 8, 2)
    return Blocking(256, 64, 8, 2 if held <= 416 else 1)


def pack(surrogate: Surrogate, layers: list[Layer]) -> tuple[Tensor, Tensor, Tensor]:
    """Packed tables: the padded weights of all layers, the part of them that bf16 drops, and the
    biases.

    Weights are bf16 with the bf16 precisions, rounded to tf32 (see `rounded`) with "tf32", and
    float32 otherwise. The second table is empty unless the precisions are bf16. Biases are float32.
    """
    network = surrogate.network
    device = network.layers[0].weight.device
    sizes = sum(layer.width_in * layer.width_out for layer in layers)
    weights = torch.zeros(sizes, device=device)
    bias = torch.zeros(sum(layer.width_out for layer in layers), device=device)
    for layer, linear in zip(layers, network.layers, strict=True):
        n, m = linear.weight.shape
        size = layer.width_in * layer.width_out
        tile = weights[layer.weights : layer.weights + size].view(layer.width_out, layer.width_in)
        own = linear.weight.detach()
        own = rounded(own, "tf32") if layer.precision == "tf32" else own
        tile[:n, :m] = own
        bias[layer.bias : layer.bias + n] = linear.bias.detach()
    if layers[0].precision != "bf16x3":
        return weights, weights[:0], bias
    large = weights.to(torch.bfloat16)
    return large, (weights - large.float()).to(torch.bfloat16), bias


def rounded(x: Tensor, precision: str) -> Tensor:
    """x, float32, rounded to the nearest number with 10 (tf32) or 7 (bf16) bits of mantissa, halves
    away from zero, as the kernel rounds the operands of matrix products."""
    dropped = {"tf32": 13, "bf16": 16}[precision]
    bits = x.contiguous().view(torch.int32) + (1 << (dropped - 1))
    return (bits & -(1 << dropped)).view(torch.float32)


def standardization(surrogate: Surrogate, columns: int) -> tuple[Tensor, ...]:
    """Mean (float64), 1 / std and the scale of the change (float32), padded to (columns,)."""
    t = surrogate.transform
    single, double = torch.float32, torch.float64
    padded = []
    for values, dtype in ((t.mean, double), (1.0 / t.std, single), (t.scale, single)):
        row = torch.zeros(columns, dtype=dtype, device=values.device)
        row[: len(values)] = values
        padded.append(row)
    return tuple(padded)


def model_of(surrogate: Surrogate) -> Model:
    """The constants of the program: transform, thermodynamics and projection."""
    transform, closure = surrogate.transform, surrogate.closure
    boxcox, thermo, projection = transform.boxcox, closure.thermo, closure.projection
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
        inert=tuple(closure.inert.tolist()),
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
        double=transform.std[2:].min().item() < 1e-2,  # float32 resolves F to 1e-7
    )


def _whole(x: float) -> float:
    """x, rounded to a whole number if it differs from it by no more than rounding."""
    return float(round(x)) if abs(x - round(x)) < 1e-9 else x


def _constants(rows: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())
