"""A surrogate as C++17: its network, which goes before the stiff solver of its mechanism.

Takes a `Surrogate` whose network corrects QSS steps; gives the files of one folder by name: those
of the solver (`combred.native.solver.generator`), those of source/network/, and three that are
written from the numbers of the torch modules, with the species in the solver's order.
"""

import numpy as np

from combred.native.arrays import array, constant
from combred.native.identity import HAS_NETWORK, OfTraining, write_identity
from combred.native.solver.generator import SOURCE, WRITTEN
from combred.native.solver.generator import generate as generate_solver
from combred.native.solver.layout import Layout, lay_out
from combred.native.solver.rate_constants import LOG2_RC0, Pressures
from combred.native.solver.reactions import progress_of_constants, write_constants
from combred.native.solver.terms import TYPE, UNUSED, functions
from combred.surrogate.card import require_card_of, training_range
from combred.surrogate.correction import CorrectionTransform
from combred.surrogate.forms import QuasiSteadySurrogate
from combred.surrogate.storage import content_digest
from combred.surrogate.surrogate import Surrogate

TILE = 12  # outputs of a layer that are computed together


def generate(surrogate: Surrogate, card: dict | None = None) -> dict[str, str]:
    """The C++ files of a surrogate: name -> text.

    card: the surrogate's (`combred.surrogate.card`), which the library then holds. Raises
    ValueError for a network of the state alone, and for the card of another surrogate.
    """
    if not isinstance(surrogate, QuasiSteadySurrogate):
        raise ValueError(
            "combred.native compiles networks that correct QSS steps, and this is a network "
            "of the state alone: take drm19-38k, or another of combred.models() that has "
            '["network"]["kinetics"] in its card, or train one with network.kinetics=true. '
            "combred.export writes any network as TorchScript."
        )
    if card is not None:
        require_card_of(surrogate, card)
    mechanism = surrogate.mechanism
    files, layout = generate_solver(mechanism), lay_out(mechanism)
    folder = SOURCE / "network"
    files |= {f"network/{file.name}": file.read_text() for file in sorted(folder.iterdir())}
    files["identity.hpp"] = HAS_NETWORK + _identity(surrogate, card)
    files["network/numbers.hpp"] = _written(
        surrogate, "solver/reactions.hpp", [_transform(surrogate, layout), _estimate(surrogate)]
    )
    files["network/rates.hpp"] = _written(surrogate, "solver/reactions.hpp", _rates(layout))
    files["network/weights.hpp"] = _written(
        surrogate, "network/layers.hpp", _layers(surrogate, layout)
    )
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
    head = WRITTEN.format(name=surrogate.mechanism.name)
    return f'{head}#include "{includes}"\n\n{body}\n}}  // namespace network\n'


def _rates(layout: Layout) -> list[str]:
    """The functions `set_constants` and `progress_of`."""
    heads = "template <class R, bool D>", "const Gas<R> &g, Constants &k"
    constants, progress = write_constants(layout, Pressures()), progress_of_constants(layout)
    return [
        "// Rate constants of a state, for concentrations over C0.\n"
        "struct Constants {\n  Floats forward[REACTIONS], reverse[REACTIONS];\n};\n",
        functions("set_constants", *heads, constants, first=TYPE),
        functions(
            "progress_of", "", "const Gas<float> &g, const Constants &k, Progress<float> &q",
            progress, first=f"{UNUSED} typedef Floats V;\n  {UNUSED} typedef float R;",
        ),
    ]  # fmt: skip


def _correcting(surrogate: Surrogate) -> CorrectionTransform:
    """The transform of a surrogate that corrects QSS steps, as all have that come here."""
    assert isinstance(surrogate.transform, CorrectionTransform)
    return surrogate.transform


def _orders(surrogate: Surrogate, layout: Layout) -> tuple[list[int], list[int], list[int]]:
    """In the solver's order of the species: the columns of a state, the other inputs of the
    network, and its outputs, as indices of torch's."""
    place = {int(k): i for i, k in enumerate(_correcting(surrogate).qss.reactive)}
    own = layout.species[: layout.n_reactive]
    if sorted(own) != sorted(place):
        raise ValueError(
            f"{layout.mechanism.name} has species that react in reactions without a rate alone; "
            "remove these reactions from the mechanism, and train the network again"
        )
    n, reactive = surrogate.n, [place[k] for k in own]
    changes, size = [0, *(1 + k for k in reactive)], len(reactive)
    columns = [0, 1, *(2 + k for k in layout.species)]
    after = 1 + 2 * size
    of_qss = [*changes, *(1 + size + k for k in reactive), *(after + k for k in changes)]
    of_qss += [after + 1 + size, after + 2 + size]
    return columns, of_qss, [*columns, n]


def _transform(surrogate: Surrogate, layout: Layout) -> str:
    transform = _correcting(surrogate)
    columns, of_qss, _ = _orders(surrogate, layout)
    (low, high), thermo = surrogate.dt_range, surrogate.closure.thermo
    lam, power, widths = transform.boxcox.lam, transform.power, surrogate.network.widths
    std, scale = _numpy(transform.std)[columns], _numpy(transform.scale)[columns]
    qss_std = _numpy(transform.qss_std)[of_qss]
    sizes = {
        "VARIABLES": surrogate.n, "INPUTS": widths[0], "OUTPUTS": widths[-1],
        "WIDEST": max(widths), "TILE": TILE, "STEPS": len(transform.qss.shares),
        "INVERSE_LAMBDA": _whole(1.0 / lam), "INVERSE_POWER": _whole(1.0 / power),
    }  # fmt: skip
    numbers = {
        "LAMBDA": lam, "FLOOR": transform.boxcox.floor, "ABSENT": transform.qss.ABSENT,
        "POWER": power, "LOG2_RC0": LOG2_RC0, "T_LEAST": thermo.T_min / 2,
        "T_MOST": thermo.T_max + 1000.0,
    }  # fmt: skip
    tables = {
        "SHARES": np.array(transform.qss.shares),
        "ALPHA_ABOVE": np.array(transform.qss.above),
        "ALPHA_BELOW": np.array(transform.qss.below),
        "OFFSET": _numpy(transform.mean)[columns] / std,
        "PER_STD": 1.0 / std,
        "SCALE": scale,
        "PER_SCALE": 1.0 / scale,
        "QSS_OFFSET": _numpy(transform.qss_mean)[of_qss] / qss_std,
        "PER_QSS_STD": 1.0 / qss_std,
    }
    return "".join(
        [
            *(constant(name, size, "int") for name, size in sizes.items()),
            *(constant(name, number, "float") for name, number in numbers.items()),
            constant("DT_LOW", low),
            constant("DT_HIGH", high),
            constant("DT_SHORTEST", low / QuasiSteadySurrogate.MARGIN),
            constant("DT_LONGEST", QuasiSteadySurrogate.MARGIN * high),
            *(array(name, table, "float") for name, table in tables.items()),
        ]
    )


def _estimate(surrogate: QuasiSteadySurrogate) -> str:
    """The constants of the correction, its error estimate and the closure, as in torch."""
    transform = _correcting(surrogate)
    numbers = {
        "LARGEST": transform.LARGEST, "LEAST_M": transform.LEAST, "BOUND": transform.BOUND,
        "FLOOR_OF_CHANGE": surrogate.FLOOR, "FLOOR_OF_Y": surrogate.FLOOR_Y,
        "FLOOR_OF_T": surrogate.FLOOR_T, "CLOSURE_WEIGHT": surrogate.CLOSURE_WEIGHT,
    }  # fmt: skip
    qss, projection = transform.qss, surrogate.closure.projection
    numbers |= {"LEFT": qss.LEFT, "LEAST_Y_AHEAD": qss.LEAST_Y, "LARGEST_X": qss.LARGEST_X}
    numbers |= {"LEAST_X": qss.LEAST_X}
    of_projection = {
        "WEIGHT_FLOOR": projection.WEIGHT_FLOOR, "LEAST_CHANGE": projection.LEAST,
        "LARGEST_EXPONENT": projection.LARGEST,
    }  # fmt: skip
    return "".join(
        [
            *(constant(name, number, "float") for name, number in numbers.items()),
            *(constant(name, number) for name, number in of_projection.items()),
            constant("NEWTON_STEPS", projection.STEPS, "int"),
        ]
    )


def _whole(exponent: float) -> int:
    """The exponent where it is a whole number, which takes no logarithm; else 0."""
    return round(exponent) if abs(exponent - round(exponent)) < 1e-12 else 0


def _layers(surrogate: Surrogate, layout: Layout) -> list[str]:
    """Weights, in tiles of outputs, and biases of every layer; the function that applies them."""
    columns, of_qss, outputs = _orders(surrogate, layout)
    inputs = [*columns, *(surrogate.n + i for i in of_qss)]
    widths, layers = surrogate.network.widths, list(surrogate.network.layers)
    text, calls, x = [], [], "w.inputs"
    for i, layer in enumerate(layers):
        last = i == len(layers) - 1
        weights, biases = _numpy(layer.weight), _numpy(layer.bias)
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


def _numpy(tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
