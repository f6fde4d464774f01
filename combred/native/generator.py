"""A surrogate as C++17 without LibTorch: the text of all files.

Takes a `Surrogate` whose network corrects QSS steps; gives the files of one folder by name.
`surrogate.hpp`, `identity.hpp`, `reactions.hpp` and `tables.hpp` are written for it, from the
numbers of the torch modules; the other files are those of source/, the same for all surrogates.
`combred.native.builder` compiles them, `combred.native.single_file` joins them.
"""

from pathlib import Path

import numpy as np
import torch

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import GAS_CONSTANT
from combred.native.arrays import array, constant
from combred.native.identity import write_identity
from combred.native.reactions import LOG2_C0, LOG2_E, LOG2_T0, write_reactions
from combred.native.tables import write_tables
from combred.surrogate.card import require_card_of
from combred.surrogate.correction import CorrectionTransform
from combred.surrogate.surrogate import Surrogate

SOURCE = Path(__file__).parent / "source"
TILE = 12  # outputs that source/network.hpp computes together


def generate(
    surrogate: Surrogate,
    mechanism: Mechanism | None = None,
    card: dict | None = None,
    bf16: bool = False,
) -> dict[str, str]:
    """The C++ files of a surrogate: name -> text.

    mechanism: the surrogate's, so that the library can tell its hash and the surrogate's digest;
    card: the surrogate's (`combred.surrogate.card`), which the library then holds; bf16: hidden
    layers multiply numbers of 8 bits, faster where the processor can (AVX512_BF16, AMX). Raises
    ValueError for a network of the state alone, for a mechanism with other species, and for the
    card of another surrogate.
    """
    if not surrogate.corrects_rates:
        raise ValueError(
            "combred.native compiles networks that correct QSS steps, and this is a network "
            "of the state alone: take drm19-38k, or another of combred.models() that has "
            '["network"]["kinetics"] in its card, or train one with network.kinetics=1. '
            "combred.export writes any network as TorchScript."
        )
    if mechanism is not None and list(mechanism.species_names) != surrogate.species:
        raise ValueError(
            f"{mechanism.name} has the species {' '.join(mechanism.species_names)}, and this "
            f"surrogate has {' '.join(surrogate.species)}: give the mechanism that it was made for"
        )
    if card is not None:
        require_card_of(surrogate, card)
    files = {file.name: file.read_text() for file in sorted(SOURCE.iterdir()) if file.is_file()}
    kinetics = surrogate.transform.qss.kinetics
    files["reactions.hpp"] = write_reactions(kinetics, surrogate.species)
    files["identity.hpp"] = write_identity(surrogate, mechanism, card)
    files["surrogate.hpp"] = "\n".join(
        [
            "// The numbers of one surrogate. Written by combred.native: change nothing here.\n"
            '#pragma once\n#include "identity.hpp"\n#include "vector.hpp"\n',
            _thermo(surrogate),
            _transform(surrogate.transform),
            _step_control(surrogate),
            _closure(surrogate),
            _network(surrogate, bf16),
        ]
    )
    files["tables.hpp"] = write_tables(files["surrogate.hpp"])
    return files


def _thermo(surrogate: Surrogate) -> str:
    """Polynomials of h [J/kg] and of g / RT over ln 2, and what concentrations follow from."""
    thermo, kinetics = surrogate.closure.thermo, surrogate.transform.qss.kinetics
    weights, T_mid = _numpy(kinetics.weights)[:, 0], _numpy(thermo.T_mid)
    reference = float(kinetics.reference_pressure)
    low, high = (
        _gibbs(_numpy(nasa), reference) for nasa in (kinetics.nasa_low, kinetics.nasa_high)
    )
    net = _numpy(kinetics.ratio_of)
    cancels = high - np.linalg.pinv(net) @ net @ high  # its sum over each reaction is zero
    return "".join(
        [
            constant("GAS_CONSTANT", GAS_CONSTANT),  # J/(kmol K)
            constant("T_LEAST", thermo.T_min / 2),
            constant("T_MOST", thermo.T_max + 1000.0),
            constant("LOWEST_T_MID", T_mid.min()),
            constant("HIGHEST_T_MID", T_mid.max()),
            array("T_MID", T_mid),
            array("PER_WEIGHT", 1.0 / weights, "float"),
            constant("PER_C0", 2.0**-LOG2_C0, "float"),
            constant("T0", 2.0**LOG2_T0, "float"),
            array("NASA_LOW", _numpy(thermo.low)),
            array("NASA_HIGH", _numpy(thermo.high)),
            array("HEAT_LOW", _numpy(thermo.low), "float"),
            array("HEAT_HIGH", _numpy(thermo.high), "float"),
            array("GIBBS_LOW", low - cancels, "float"),
            array("GIBBS_HIGH", high - cancels, "float"),
        ]
    )


def _gibbs(nasa: np.ndarray, reference: float) -> np.ndarray:
    """g / (RT ln 2) - log2(p0 / RT C0) as coefficients of 1, T, T^2, T^3, T^4, log2(T / T0) and
    1 / T, (n_species, 7).

    nasa (n_species, 7): a of g / RT = a1 (1 - ln T) - a2 T / 2 - a3 T^2 / 6 - a4 T^3 / 12
    - a5 T^4 / 20 + a6 / T - a7; reference: p0 [Pa].
    """
    a1, a2, a3, a4, a5, a6, a7 = nasa.T
    powers = [a1 - a7, -a2 / 2, -a3 / 6, -a4 / 12, -a5 / 20, -a1 / LOG2_E, a6]
    found = np.stack(powers, axis=1) * LOG2_E
    found[:, 5] += 1.0
    found[:, 0] += found[:, 5] * LOG2_T0 - np.log2(reference / GAS_CONSTANT) + LOG2_C0
    return found


def _transform(transform: CorrectionTransform) -> str:
    low, high = transform.dt_range.tolist()
    lam, power = transform.boxcox.lam, transform.power
    return "".join(
        [
            constant("LAMBDA", lam, "float"),
            constant("FLOOR", transform.boxcox.floor, "float"),
            constant("ABSENT", transform.qss.ABSENT, "float"),
            constant("POWER", power, "float"),
            constant("INVERSE_LAMBDA", _whole(1.0 / lam), "int"),
            constant("INVERSE_POWER", _whole(1.0 / power), "int"),
            constant("DT_LOW", low),
            constant("DT_HIGH", high),
            constant("DT_LONGEST", Surrogate.MOST * high),
            constant("STEPS", len(transform.qss.shares), "int"),
            array("SHARES", np.array(transform.qss.shares), "float"),
            array("ALPHA_ABOVE", np.array(transform.qss.above), "float"),
            array("ALPHA_BELOW", np.array(transform.qss.below), "float"),
            array("OFFSET", _numpy(transform.mean / transform.std), "float"),
            array("PER_STD", 1.0 / _numpy(transform.std), "float"),
            array("SCALE", _numpy(transform.scale), "float"),
            array("PER_SCALE", 1.0 / _numpy(transform.scale), "float"),
            array("QSS_OFFSET", _numpy(transform.qss_mean / transform.qss_std), "float"),
            array("PER_QSS_STD", 1.0 / _numpy(transform.qss_std), "float"),
        ]
    )


def _step_control(surrogate: Surrogate) -> str:
    """The constants of the error estimate and of the step size control, as in torch."""
    transform = surrogate.transform
    return "".join(
        [
            constant("LARGEST", transform.LARGEST, "float"),
            constant("LEAST_M", transform.LEAST, "float"),
            constant("CORRECTOR_ERROR", transform.CORRECTOR_ERROR, "float"),
            constant("BOUND", transform.BOUND, "float"),
            constant("FLOOR_OF_CHANGE", surrogate.FLOOR, "float"),
            constant("FLOOR_OF_Y", surrogate.FLOOR_Y, "float"),
            constant("FLOOR_OF_T", surrogate.FLOOR_T, "float"),
            constant("CLOSURE_WEIGHT", surrogate.CLOSURE_WEIGHT, "float"),
            *(
                constant(name, getattr(surrogate, name))
                for name in (
                    *("TOLERANCE", "TARGET", "ENOUGH", "SLACK", "SMALLEST"),
                    *("SAFETY", "SHRINK", "GROW"),
                )
            ),
        ]
    )


def _whole(exponent: float) -> int:
    """The exponent where it is a whole number, which takes no logarithm; else 0."""
    return round(exponent) if abs(exponent - round(exponent)) < 1e-12 else 0


def _closure(surrogate: Surrogate) -> str:
    projection = surrogate.closure.projection
    reactive = _numpy(projection.reactive)
    return array("REACTIVE_SPECIES", reactive, "int") + array(
        "ELEMENT", _numpy(projection.elements).T
    )


def _network(surrogate: Surrogate, bf16: bool) -> str:
    """Weights, in tiles of outputs, and biases of every layer; the function that applies them."""
    widths, layers = surrogate.network.widths, list(surrogate.network.layers)
    text = [constant("INPUTS", widths[0], "int"), constant("OUTPUTS", widths[-1], "int")]
    text += [constant("WIDEST", max(widths), "int"), '#include "network.hpp"\n']
    text.append(f'static_assert(TILE == {TILE}, "the weights lie in other tiles");\n')
    calls, on_tiles, matrices, x, before = [], [], [], "w.inputs", "nullptr"
    for i, layer in enumerate(layers):
        last = i == len(layers) - 1
        rounded = bf16 and i > 0 and not last  # layers of inputs and outputs need all digits
        weights = _numpy(layer.weight)
        entries = _pairs(weights) if rounded else weights
        tiles = [entries[o : o + TILE].T.ravel() for o in range(0, len(entries), TILE)]
        kind = "uint32_t" if rounded else "float"
        text.append(array(f"WEIGHTS_{i}", np.concatenate(tiles), kind))
        text.append(array(f"BIASES_{i}", _numpy(layer.bias), "float"))
        y = "w.outputs" if last else f"w.hidden[{i % 2}]"
        sizes, relu, hidden = f"{widths[i]}, {widths[i + 1]}", str(not last), str(i > 0)
        products = 1 if rounded else 2 if _are_bf16(weights) else 3
        calls.append(f"  layer<{sizes}, {relu.lower()}>(WEIGHTS_{i}, BIASES_{i}, {x}, {y});\n")
        on_tiles.append(
            f"    layer_on_tiles<{hidden.lower()}, {products}>(MATRIX_{i}, {before}, {x}, {y}, "
            "w.pairs[0], w.pairs[1]);\n"
        )
        matrices.append(f"static Matrix<{sizes}> MATRIX_{i};\n")
        x, before = y, f"BIASES_{i}"
    on_tiles.append(
        f"    for (int i = 0; i < OUTPUTS; i++) w.outputs[i] = w.outputs[i] + {before}[i];\n"
    )
    sets = "".join(f"  MATRIX_{i}.set_all(WEIGHTS_{i}, TILE);\n" for i in range(len(layers)))
    return (
        f"{''.join(text)}#ifdef COMBRED_MATRIX\n{''.join(matrices)}"
        f"static void set_matrices() noexcept {{\n{sets}}}\n#endif\n"
        "// Sets the outputs of the inputs.\n"
        "INLINE void network(Activations &w) {\n"
        "#ifdef COMBRED_MATRIX\n  if (tiles_are_used()) {\n"
        f"{''.join(on_tiles)}    return;\n  }}\n#endif\n{''.join(calls)}}}\n"
    )


def _are_bf16(weights: np.ndarray) -> bool:
    """Whether all weights are bf16 numbers, as those of hidden layers after a training in bf16."""
    return bool((weights.astype(np.float32).view(np.uint32) & 0xFFFF == 0).all())


def _pairs(weights: np.ndarray) -> np.ndarray:
    """Weights (outputs, inputs) as bf16, two inputs in one 32-bit word, (outputs, pairs)."""
    padded = np.pad(weights, ((0, 0), (0, weights.shape[1] % 2)))
    bits = torch.tensor(padded, dtype=torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    return bits[:, 0::2].astype(np.uint32) | (bits[:, 1::2].astype(np.uint32) << 16)


def _numpy(tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
