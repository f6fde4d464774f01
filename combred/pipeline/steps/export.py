"""The step `export`: the files for a CFD code, and the card.

Takes `Data`, the surrogates of all stages and the numbers of their validation; writes surrogate.pt,
surrogate.json (its card), export.json and, for a network that corrects QSS steps,
surrogate.cpp, combred.h and libsurrogate.so.
"""

from dataclasses import asdict

from combred import native
from combred.pipeline.console import say
from combred.pipeline.run import Run
from combred.pipeline.steps.networks import stored_inputs
from combred.pipeline.steps.sample import Data
from combred.records import write_record
from combred.surrogate.card import describe_accuracy, describe_training, make_card
from combred.surrogate.export import export_torchscript
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
    say(
        run,
        f"export: {run.path('surrogate.pt')}, {numbers['bytes'] / 1e6:.2f} MB, agrees with "
        f"the eager model within {numbers['largest_difference']:.1e}",
    )
    say(run, f"export: {export_native(run, surrogate, card)}")


def export_native(run: Run, surrogate: Surrogate, card: dict) -> str:
    """Write the C++ file and its library, if the surrogate has them; what was written, in words."""
    source, library = run.path("surrogate.cpp"), run.path(native.LIBRARY)
    if not surrogate.corrects_rates:
        for path in (source, library, run.path("combred.h")):
            path.unlink(missing_ok=True)  # of a network that this run had before
        return (
            "no surrogate.cpp, since only networks that correct QSS steps "
            "(network.kinetics=1) have a form in C++"
        )
    title = f"stage {run.settings.stage} of the run {run.folder.name}"
    if library not in native.export(surrogate, run.folder, run.mechanism, card, title):
        return (
            f"{source}, not compiled, since there is no C++ compiler: compile it where there is "
            "one, with the command in its first lines"
        )
    size = library.stat().st_size / 1e6
    return f"{source} and {library}, {size:.2f} MB, which needs the C library alone"
