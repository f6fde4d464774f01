"""The numbers of a surrogate's torch modules as C++: those of both forms, and the layers.

Takes a `Surrogate` and the order of the solver's columns; gives parts of the files that
`library.generator` writes.
"""

import numpy as np
from torch import Tensor

from combred.native.arrays import array, constant
from combred.surrogates.model.surrogate import Surrogate

TILE = 12  # outputs of a layer that are computed together


def of_tensor(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor, in float64."""
    return tensor.detach().cpu().double().numpy()


def common_numbers(surrogate: Surrogate, columns: list[int]) -> str:
    """The constants that both forms have; columns: of a state, in the solver's order."""
    transform, widths = surrogate.transform, surrogate.network.widths
    projection, thermo = surrogate.closure.projection, surrogate.closure.thermo
    lam, power = transform.boxcox.lam, transform.power
    std, scale = of_tensor(transform.std)[columns], of_tensor(transform.scale)[columns]
    sizes = {
        "VARIABLES": surrogate.n, "INPUTS": widths[0], "OUTPUTS": widths[-1],
        "WIDEST": max(widths), "TILE": TILE, "NEWTON_STEPS": projection.STEPS,
        "INVERSE_LAMBDA": _whole(1.0 / lam), "INVERSE_POWER": _whole(1.0 / power),
    }  # fmt: skip
    floats = {
        "LAMBDA": lam, "FLOOR": transform.boxcox.floor, "POWER": power,
        "T_LEAST": thermo.T_bounds[0], "T_MOST": thermo.T_bounds[1],
    }  # fmt: skip
    doubles = {
        "WEIGHT_FLOOR": projection.WEIGHT_FLOOR, "LEAST_CHANGE": projection.LEAST,
        "LARGEST_EXPONENT": projection.LARGEST,
    }  # fmt: skip
    tables = {
        "OFFSET": of_tensor(transform.mean)[columns] / std,
        "PER_STD": 1.0 / std,
        "SCALE": scale,
    }
    return "".join(
        [
            *(constant(name, size, "int") for name, size in sizes.items()),
            *(constant(name, number, "float") for name, number in floats.items()),
            *(constant(name, number) for name, number in doubles.items()),
            *(array(name, table, "float") for name, table in tables.items()),
        ]
    )


def _whole(exponent: float) -> int:
    """The exponent where it is a whole number, which takes no logarithm; else 0."""
    return round(exponent) if abs(exponent - round(exponent)) < 1e-12 else 0


def layers(surrogate: Surrogate, inputs: list[int], outputs: list[int]) -> list[str]:
    """Weights, in tiles of outputs, and biases of every layer; the function that applies them.
    inputs, outputs: as indices of torch's, in the order that C++ has them."""
    widths, modules = surrogate.network.widths, surrogate.network.linear
    text, calls, x = [], [], "w.inputs"
    for i, layer in enumerate(modules):
        last = i == len(modules) - 1
        weights, biases = of_tensor(layer.weight), of_tensor(layer.bias)
        if i == 0:
            weights = weights[:, inputs]
        if last:
            weights, biases = weights[outputs], biases[outputs]
        tiles = [weights[o : o + TILE].T.ravel() for o in range(0, len(weights), TILE)]
        text.append(array(f"WEIGHTS_{i}", np.concatenate(tiles), "float"))
        text.append(array(f"BIASES_{i}", biases, "float"))
        y = "w.outputs" if last else f"w.hidden[{i % 2}]"
        sizes = f"{widths[i]}, {widths[i + 1]}, {str(not last).lower()}"
        calls.append(f"  layer<{sizes}>(WEIGHTS_{i}, BIASES_{i}, {x}, {y});\n")
        x = y
    apply = f"INLINE void apply(Activations &w) {{\n{''.join(calls)}}}\n"
    return [*text, f"// Sets the outputs of the inputs.\n{apply}"]
