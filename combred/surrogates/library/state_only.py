"""A network of the state alone as C++: its numbers, and the range of its training.

Takes a `StateSurrogate` and the layout of its solver; gives parts of the files that
`library.generator` writes.
"""

import numpy as np

from combred.native.arrays import array, constant
from combred.native.solver.layout import Layout
from combred.surrogates.library.numbers import of_tensor
from combred.surrogates.model.forms import StateSurrogate

FOLDER = "state_only"  # of source/
ROUNDING = 1e-5  # of standardised variables in floats
DT_ROUNDING = 1e-6


def rates(layout: Layout) -> list[str]:
    """No functions: the network sees no rates."""
    return []


def orders(surrogate: StateSurrogate, layout: Layout) -> tuple[list[int], list[int]]:
    """In the solver's order of the species: inputs and outputs of the network, both the columns of
    a state, as indices of torch's."""
    columns = [0, 1, *(2 + k for k in layout.species)]
    return columns, columns


def numbers(surrogate: StateSurrogate, inputs: list[int]) -> list[str]:
    """The constants of the error estimate and of the training's range, as in torch. The squared
    Mahalanobis distance is a sum of squares, |ROOT x|^2, in which floats cancel nowhere."""
    t = surrogate.transform
    mean, std, low, high = (of_tensor(x)[inputs] for x in (t.mean, t.std, *surrogate.limits()))
    lowest, highest = (low - mean) / std - ROUNDING, (high - mean) / std + ROUNDING
    values, vectors = np.linalg.eigh(of_tensor(surrogate.inverse_covariance)[inputs][:, inputs])
    _, root = np.linalg.qr(np.sqrt(values.clip(min=0.0))[:, None] * vectors.T)
    farthest = min(float(of_tensor(surrogate.max_mahalanobis)) * (1.0 + ROUNDING), 1e30)
    floats = {
        "SHARE_OF_CHANGE": surrogate.SHARE, "FLOOR_OF_Y": surrogate.FLOOR_Y,
        "FLOOR_OF_T": surrogate.FLOOR_T, "USUAL_TOLERANCE": surrogate.TOLERANCE,
        "FARTHEST": farthest,
    }  # fmt: skip
    tables = {"LOWEST": lowest, "HIGHEST": highest, "ROOT": root[np.triu_indices(len(root))]}
    own = surrogate.dt_range[0]
    return [
        constant("DT_SHORTEST", own * (1.0 - DT_ROUNDING)),
        constant("DT_LONGEST", own * (1.0 + DT_ROUNDING)),
        constant("MEAN_P", mean[1]),
        constant("PER_STD_P", 1.0 / std[1]),
        *(constant(name, number, "float") for name, number in floats.items()),
        *(array(name, table, "float") for name, table in tables.items()),
    ]
