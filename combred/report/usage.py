"""How a network is used, and its limitations.

Takes a `Folder`; gives the last section of a report, with the lines of code that call the exported
model.
"""

import math

from combred.report.blocks import (
    NBSP,
    Block,
    Code,
    Note,
    Section,
    Table,
    Text,
    atmospheres,
    percent,
    significant,
)
from combred.report.folder import Folder
from combred.report.ignitions import cases_in_words

PYTHON = """\
import json, torch

extra = {"card.json": ""}
model = torch.jit.load("surrogate.pt", _extra_files=extra).eval()
card = json.loads(extra["card.json"])       # species and their order, units, range

state = torch.tensor([[T, p, *Y]], dtype=torch.float64)   # [K, Pa, -], Y as in card["species"]
dt = torch.tensor(card["dt"][1:], dtype=torch.float64)    # [s], one for each state
with torch.no_grad():
    later, error = model.next_state_and_error(state, dt)  # [T, p, Y] after dt, same p and enthalpy
    trusted = error <= 1            # bool, as model.trust(state, dt): where False, a solver
    rate = model.source(state, dt)  # mean dY/dt over dt [1/s]
"""


def use_section(folder: Folder) -> Section:
    """What was validated, how the network is loaded and called, and its training range."""
    inputs, measured = folder.inputs, folder.measured(folder.last)
    shown = {"flame": "flames", "stirred": "stirred reactors"}
    others = " and ".join(name for key, name in shown.items() if key in measured)
    blocks: list[Block] = [
        Text(
            "**Validated:** adiabatic ignitions in 0D at constant pressure, of "
            f"{inputs['fuel']} in {inputs['oxidizer']}, at "
            f"{cases_in_words(folder)}, up to the burnt gas, in steps of {inputs['dt']:g}"
            f"{NBSP}s" + (f", and the {others} above." if others else ".")
        ),
        Text(
            "**Not validated:** "
            + ("" if "flame" in measured else "flames and transport, ")
            + "other pressures, mixtures and time steps, and the coupling to a flow. The results "
            "are those of one training with one seed; another seed gives other errors. A state "
            "inside the ranges below may still have a wrong prediction."
        ),
    ]
    if not folder.card:
        blocks.append(Note("Nothing was exported: there is no surrogate.json."))
        return Section("Use and limits", blocks)
    said = "In C++, with LibTorch: `coupling/torch.cpp` is a program that calls `surrogate.pt`."
    if (folder.path / "surrogate.cpp").is_file():
        said = (
            "In C++: `surrogate.cpp` is the surrogate in one file, and `libsurrogate.so` the same "
            "as a library, which needs the C library alone (`combred.h` has an example). Both hold "
            "the stiff solver of the mechanism, too, which advances the states whose error ratio "
            'exceeds 1. OpenFOAM takes the library as it is: `library "constant/libsurrogate.so";` '
            "in `combredCoeffs` (`coupling/README.md`)."
        )
    blocks.append(Text(said))
    said = (
        "In Python: `surrogate.pt` holds the weights, the transforms, the thermodynamics and the "
        "closure (conservation of elements and enthalpy, Y between 0 and 1). "
        "`next_state_and_error` gives the next states and an error estimate of each. "
        + error_estimate(folder.card)
    )
    blocks += [Text(said), Code(PYTHON), range_table(folder.card)]
    return Section("Use and limits", blocks)


def error_estimate(card: dict) -> str:
    """The time steps that the exported model takes, and the meaning of its error estimate."""
    low, high = card["dt"]
    if not card["network"]["kinetics"]:
        return (
            f"It takes dt = {low:g}{NBSP}s alone. The estimate is the size of the correction that "
            "conserves elements and enthalpy, over its tolerance, and infinite outside the "
            "training range. An estimate of at most 1 is trusted (`trust`); else take a solver."
        )
    return (
        f"It takes any dt from {low:.0e} to {high:.0e}{NBSP}s, the range of the training. The "
        "error ratio is the estimated error of the network's step, divided by the tolerance, "
        f"{percent(card['tolerance'])} of the change of the state. It is infinite for another dt "
        "and for a state that is not valid. A ratio of at most 1 is trusted (`trust`); elsewhere, "
        "take a solver."
    )


def range_table(card: dict) -> Table:
    """The range of each variable over the training states."""
    ranges = card["range"]
    rows = [["dt [s]", *(f"{value:.1e}" for value in card["dt"])]]
    rows.append(["T [K]", *(f"{value:.0f}" for value in ranges["T"])])
    rows.append(["p [atm]", *map(atmospheres, ranges["p"])])
    rows += [[f"Y({name}) [-]", *map(_fraction, pair)] for name, pair in ranges["Y"].items()]
    caption = (
        "Range of the training states. Outside this range the prediction is an extrapolation. Mass "
        "fractions below the floor of the transform are replaced by the floor."
    )
    return Table(["", "smallest", "largest"], rows, "surrogate.json", caption)


def _fraction(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return significant(value, 3) if value >= 1e-4 or value == 0 else f"{value:.1e}"
