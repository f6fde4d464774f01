"""A network that corrects quasi-steady-state (QSS) steps as C++: its numbers, and the rates.

Takes a `QuasiSteadySurrogate` and the layout of its solver; gives parts of the files that
`library.generator` writes.
"""

import numpy as np

from combred.native.arrays import array, constant
from combred.native.solver.layout import Layout
from combred.native.solver.pressure_tables import LOG2_RC0
from combred.native.solver.progress import rates_of_progress
from combred.native.solver.terms import TYPE, UNUSED, functions
from combred.surrogates.library.numbers import of_tensor
from combred.surrogates.model.correction import CorrectionTransform
from combred.surrogates.model.forms import QuasiSteadySurrogate

FOLDER = "quasi_steady"  # of source/


def rates(layout: Layout) -> list[str]:
    """The functions `set_constants` and `progress_of`."""
    reactions = rates_of_progress(layout, near=False)
    return [
        "// Rate constants of a state, for concentrations over C0.\n"
        "struct Constants {\n  Floats forward[REACTIONS], reverse[REACTIONS];\n};\n",
        functions(
            "set_constants", {"g": "const Gas<R> &", "k": "Constants &"},
            [reaction.constants() for reaction in reactions],
            {"R": "class ", "D": "bool "}, first=(TYPE,),
        ),
        functions(
            "progress_of",
            {"g": "const Gas<float> &", "k": "const Constants &", "q": "Progress<float> &"},
            [reaction.of_constants() for reaction in reactions],
            first=(f"{UNUSED} typedef Floats V;", f"{UNUSED} typedef float R;"),
        ),
    ]  # fmt: skip


def _correcting(surrogate: QuasiSteadySurrogate) -> CorrectionTransform:
    """The transform of a surrogate that corrects QSS steps, as all have that come here."""
    assert isinstance(surrogate.transform, CorrectionTransform)
    return surrogate.transform


def orders(surrogate: QuasiSteadySurrogate, layout: Layout) -> tuple[list[int], list[int]]:
    """In the solver's order of the species: the inputs of the network, of which the first are the
    columns of a state, and its outputs, as indices of torch's. Raises ValueError where species
    react in reactions without a rate alone."""
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
    return [*columns, *(n + i for i in of_qss)], [*columns, n]


def numbers(surrogate: QuasiSteadySurrogate, inputs: list[int]) -> list[str]:
    """The constants of the QSS steps, of the correction and of its error estimate, as in torch."""
    transform, (low, high) = _correcting(surrogate), surrogate.dt_range
    qss, of_qss = transform.qss, [i - surrogate.n for i in inputs[surrogate.n :]]
    qss_std = of_tensor(transform.qss_std)[of_qss]
    floats = {
        "ABSENT": qss.ABSENT, "LOG2_RC0": LOG2_RC0, "LARGEST": transform.LARGEST,
        "LEAST_M": transform.LEAST, "BOUND": transform.BOUND,
        "FLOOR_OF_CHANGE": surrogate.FLOOR, "FLOOR_OF_Y": surrogate.FLOOR_Y,
        "FLOOR_OF_T": surrogate.FLOOR_T, "CLOSURE_WEIGHT": surrogate.CLOSURE_WEIGHT,
        "LEFT": qss.LEFT, "LEAST_Y_AHEAD": qss.LEAST_Y, "LARGEST_X": qss.LARGEST_X,
        "LEAST_X": qss.LEAST_X,
    }  # fmt: skip
    tables = {
        "SHARES": np.array(qss.shares),
        "ALPHA_ABOVE": np.array(qss.above),
        "ALPHA_BELOW": np.array(qss.below),
        "PER_SCALE": 1.0 / of_tensor(transform.scale)[inputs[: surrogate.n]],
        "QSS_OFFSET": of_tensor(transform.qss_mean)[of_qss] / qss_std,
        "PER_QSS_STD": 1.0 / qss_std,
    }
    return [
        constant("STEPS", len(qss.shares), "int"),
        constant("DT_LOW", low),
        constant("DT_HIGH", high),
        constant("DT_SHORTEST", low / surrogate.MARGIN),
        constant("DT_LONGEST", surrogate.MARGIN * high),
        *(constant(name, number, "float") for name, number in floats.items()),
        *(array(name, table, "float") for name, table in tables.items()),
    ]
