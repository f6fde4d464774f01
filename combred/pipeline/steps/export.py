"""The step `export`: the files for a CFD code, and the card.

Takes `Data`, the surrogates of all stages and the numbers of their validation; writes surrogate.pt,
surrogate.json (its card), export.json and, if the network is not too large for C++, surrogate.cpp,
combred.h and libsurrogate.so.
"""

import math
from dataclasses import asdict

import numpy as np
import torch

from combred import native
from combred.files.records import write_record
from combred.native import NativeSurrogate
from combred.pipeline.console import console
from combred.pipeline.run import Run
from combred.pipeline.steps.networks import stored_inputs
from combred.pipeline.steps.sample import Data
from combred.surrogate.card import describe_accuracy, describe_training, make_card
from combred.surrogate.export import export_torchscript
from combred.surrogate.library.generator import MOST_WEIGHTS, is_compiled
from combred.surrogate.surrogate import Surrogate

CHECKED = 512  # held-out states on which the exported file has to agree with the surrogate


def export(run: Run, data: Data, surrogates: list[Surrogate], validation: dict) -> None:
    """Write the surrogate of the last stage for a CFD code."""
    s, surrogate = run.settings, surrogates[-1]
    measured = validation["stages"][f"stage{s.stage}"]
    start = stored_inputs(run, 0).get("shipped", "scratch")
    training = describe_training(asdict(s), run.mechanism, s.stage, data.table.rows, start)
    accuracy = describe_accuracy(measured, validation["inputs"])
    card = make_card(surrogate, run.mechanism, accuracy, training)
    check = data.table.draw(data.held_out, CHECKED, s.seed).state()
    numbers = export_torchscript(run.path("surrogate.pt"), surrogate, card, check)
    network = {"widths": surrogate.network.widths, "weights": surrogate.network.n_weights}
    network["all_ignite"] = measured["all_ignite"]
    write_record(run.path("export.json"), {"stage": s.stage, **network, **numbers})
    console.print(
        f"export: {run.path('surrogate.pt')}, {numbers['bytes'] / 1e6:.2f} MB, agrees with "
        f"the eager model within {numbers['largest_difference']:.1e}",
    )
    console.print(f"export: {export_native(run, surrogate, card, check)}")


def export_native(run: Run, surrogate: Surrogate, card: dict, states: np.ndarray) -> str:
    """Write the C++ file and its library, if the surrogate has them; what was written, in words.
    Raises RuntimeError as `require_agreement`, of the states (n, 2 + n_species)."""
    source, library = run.path("surrogate.cpp"), run.path(native.LIBRARY)
    if not is_compiled(surrogate):
        for path in (source, library, run.path("combred.h")):
            path.unlink(missing_ok=True)  # of a network that this run had before
        return f"no surrogate.cpp, since it is for networks of at most {MOST_WEIGHTS:,} weights"
    title = f"stage {run.settings.stage} of the run {run.folder.name}"
    if library not in native.export(surrogate, run.folder, card, title):
        return (
            f"{source}, not compiled, since there is no C++ compiler: compile it where there is "
            "one, with the command in its first lines"
        )
    require_agreement(NativeSurrogate(library), surrogate, states)
    size = library.stat().st_size / 1e6
    return f"{source} and {library}, {size:.2f} MB, which needs the C library alone"


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
