"""The step `export`: the files for a CFD code, and the card.

Takes the surrogate of the last stage, its card and `Data`; writes surrogate.pt, surrogate.json (the
card), export.json and, if the network is not too large for C++, surrogate.cpp,
combred.h and libsurrogate.so. Each file is judged by its own errors: surrogate.pt is the network
alone and becomes rejected.pt where these exceed the limits; the library has the solver behind the
network and is not written where the errors of both exceed them.
"""

import math
from pathlib import Path

import numpy as np
import torch
from rich.markup import escape

from combred import native
from combred.experiments.accuracy import ALONE, BEHIND, NAMES, exceeding
from combred.files.records import write_record
from combred.native import NativeSurrogate
from combred.pipeline.console import console
from combred.pipeline.steps.sample import Data
from combred.surrogates.files.export import export_torchscript
from combred.surrogates.library.generator import MOST_WEIGHTS, is_compiled
from combred.surrogates.model.surrogate import Surrogate

CHECKED = 512  # held-out states on which the exported file has to agree with the surrogate
ACCEPTED = "surrogate.pt", "surrogate.json"
REJECTED = "rejected.pt", "rejected.json"
LIBRARY_FILES = "surrogate.cpp", native.LIBRARY, "combred.h"


def export(folder: Path, surrogate: Surrogate, card: dict, data: Data) -> None:
    """Write a surrogate with its card for a CFD code; files of a network before go. Errors above
    the limits of the card give rejected.pt in place of surrogate.pt; those of the network with the
    solver behind it, that file alone."""
    exceeds = exceeding(card)
    rejected = exceeds.get(BEHIND, "")
    path = folder / (REJECTED if exceeds else ACCEPTED)[0]
    for name in (*(ACCEPTED if exceeds else REJECTED), *(LIBRARY_FILES if rejected else ())):
        (folder / name).unlink(missing_ok=True)
    check = data.table.draw(data.held_out, CHECKED, data.seed)
    numbers = export_torchscript(path, surrogate, card, check.state())
    network = {"widths": surrogate.network.widths, "weights": surrogate.network.n_weights}
    network |= {"all_ignite": card["accuracy"][BEHIND]["all_ignite"], "rejected": rejected}
    network |= {"exceeds": exceeds}
    stage = card["training"]["stage"]
    write_record(folder / "export.json", {"stage": stage, **network, **numbers})
    off = numbers["largest_difference"]
    same = f"within {off:.1e}" if off else "exactly"
    console.print(
        f"export: {path}, the {NAMES[ALONE]}, {numbers['bytes'] / 1e6:.2f} MB, agrees with the "
        f"eager model {same}"
    )
    if why := exceeds.get(ALONE):
        console.print(f"  [bold yellow]{NAMES[ALONE]}:[/] {escape(why)}: hence its name")
    if rejected:
        return
    title = f"stage {stage} of the run {folder.name}"
    console.print(f"export: {export_native(folder, surrogate, card, title, check.state())}")


def export_native(
    folder: Path, surrogate: Surrogate, card: dict, title: str, states: np.ndarray
) -> str:
    """Write the C++ file and its library, if the surrogate has them; what was written, in words.
    Raises RuntimeError as `require_agreement`, of the states (n, 2 + n_species)."""
    source, library = folder / "surrogate.cpp", folder / native.LIBRARY
    if not is_compiled(surrogate):
        for path in (source, library, folder / "combred.h"):
            path.unlink(missing_ok=True)  # of a network that this run had before
        return (
            f"no surrogate.cpp, since it is for networks of at most {MOST_WEIGHTS:,} weights; "
            f"`combred export {folder} FOLDER` makes a library that calls LibTorch"
        )
    if library not in native.export(surrogate, folder, card, title):
        return (
            f"{source}, not compiled, since there is no C++ compiler: compile it where there is "
            "one, with the command in its first lines"
        )
    require_agreement(NativeSurrogate(library), surrogate, states)
    size = library.stat().st_size / 1e6
    return (
        f"{source} and {library}, the {NAMES[BEHIND]}, {size:.2f} MB, which needs the C library "
        "alone"
    )


def require_agreement(compiled: NativeSurrogate, surrogate: Surrogate, states: np.ndarray) -> None:
    """RuntimeError if a library takes other steps of its network than torch in more than 1 % of the
    states (n, 2 + n_species): one takes the step, and the other's error ratio is clearly on the
    other side of 1; or the steps differ by more than the default tolerance, of the change plus 1 K
    and 1e-4 in Y. dt: the middle of the training's range."""
    dt = math.sqrt(math.prod(surrogate.dt_range))
    steps = torch.full((len(states),), dt, dtype=torch.float64)
    known, error = (x.numpy() for x in surrogate.next_state_and_error(torch.tensor(states), steps))
    found = compiled.attempt(states[:, 0], states[:, 1], states[:, 2:], dt)
    taken = found.steps == 0
    unlike = np.where(taken, error > 2.0, error < 0.5)
    off = np.abs(np.column_stack([found.T, found.Y]) - np.delete(known, 1, axis=1))
    change = np.abs(known - states)
    allowed_T = surrogate.TOLERANCE * (change[:, 0] + 1.0)
    allowed_Y = surrogate.TOLERANCE * (change[:, 2:].max(axis=1) + 1e-4)
    far = (off[:, 0] > allowed_T) | (off[:, 1:].max(axis=1) > allowed_Y)
    differ = int((unlike | (taken & (error <= 1.0) & far)).sum())
    if differ > 0.01 * len(states):
        raise RuntimeError(
            f"{compiled.library.path} differs from the surrogate in torch in {differ} of "
            f"{len(states)} states: do not use it, and report this with the run's settings.json"
        )
