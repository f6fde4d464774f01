"""A surrogate as C++17: its network, which goes before the stiff solver of its mechanism.

Takes a `Surrogate`; gives the files of one folder by name: those of the solver
(`combred.native.solver.generator`), those of source/network/ and of its form, source/quasi_steady/
or source/state_only/, and those that are written from the numbers of the torch modules, with the
species in the solver's order.
"""

import numpy as np

from combred.native import quasi_steady, state_only
from combred.native.arrays import array, comment, constant, of_tensor
from combred.native.identity import HAS_NETWORK, OfTraining, write_identity
from combred.native.solver.generator import SOURCE, WRITTEN
from combred.native.solver.generator import generate as generate_solver
from combred.native.solver.layout import lay_out
from combred.surrogate.card import require_card_of, training_range
from combred.surrogate.forms import QuasiSteadySurrogate
from combred.surrogate.storage import content_digest
from combred.surrogate.surrogate import Surrogate

TILE = 12  # outputs of a layer that are computed together
MOST_WEIGHTS = 1_000_000  # compilers take minutes for more


def is_compiled(surrogate: Surrogate) -> bool:
    """Whether a surrogate has a form in C++: at most `MOST_WEIGHTS`."""
    return surrogate.network.n_weights <= MOST_WEIGHTS


def generate(surrogate: Surrogate, card: dict | None = None) -> dict[str, str]:
    """The C++ files of a surrogate: name -> text.

    card: the surrogate's (`combred.surrogate.card`), which the library then holds. Raises
    ValueError for a network of more than `MOST_WEIGHTS`, and for the card of another surrogate.
    """
    if not is_compiled(surrogate):
        raise ValueError(
            f"combred.native compiles networks of at most {MOST_WEIGHTS:,} weights, and this one "
            f"has {surrogate.network.n_weights:,}: reduce it (combred.reduce), or take TorchScript "
            "(combred.export)"
        )
    if card is not None:
        require_card_of(surrogate, card)
    mechanism = surrogate.mechanism
    files, layout = generate_solver(mechanism), lay_out(mechanism)
    form = quasi_steady if isinstance(surrogate, QuasiSteadySurrogate) else state_only
    for folder in ("network", form.FOLDER):
        here = sorted((SOURCE / folder).iterdir())
        files |= {f"network/{file.name}": file.read_text() for file in here}
    inputs, outputs = form.orders(surrogate, layout)
    numbers = [_numbers(surrogate, inputs[: surrogate.n]), *form.numbers(surrogate, inputs)]
    files["identity.hpp"] = HAS_NETWORK + _identity(surrogate, card)
    files["network/numbers.hpp"] = _written(surrogate, "solver/reactions.hpp", numbers)
    if rates := form.rates(layout):
        files["network/rates.hpp"] = _written(surrogate, "solver/reactions.hpp", rates)
    layers = _layers(surrogate, inputs, outputs)
    files["network/weights.hpp"] = _written(surrogate, "network/layers.hpp", layers)
    return files


def _identity(surrogate: Surrogate, card: dict | None) -> str:
    """The text of `identity.hpp`; without a card the library tells no range of phi."""
    mechanism, of_training = surrogate.mechanism, training_range(surrogate)
    training = OfTraining(
        content_digest(surrogate, mechanism),
        surrogate.dt_range,
        (card or {}).get("training", {}).get("sampling", {}).get("phi"),
        [of_training["T"], of_training["p"], *of_training["Y"].values()],
    )
    return write_identity(mechanism, surrogate.TOLERANCE, card, training)


def _written(surrogate: Surrogate, includes: str, parts: list[str]) -> str:
    body = "\n".join(["namespace network {\n\nusing namespace solver;\n", *parts])
    head = WRITTEN.format(name=comment(surrogate.mechanism.name))
    return f'{head}#include "{includes}"\n\n{body}\n}}  // namespace network\n'


def _numbers(surrogate: Surrogate, columns: list[int]) -> str:
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


def _layers(surrogate: Surrogate, inputs: list[int], outputs: list[int]) -> list[str]:
    """Weights, in tiles of outputs, and biases of every layer; the function that applies them.
    inputs, outputs: as indices of torch's, in the order that C++ has them."""
    widths, layers = surrogate.network.widths, list(surrogate.network.layers)
    text, calls, x = [], [], "w.inputs"
    for i, layer in enumerate(layers):
        last = i == len(layers) - 1
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
