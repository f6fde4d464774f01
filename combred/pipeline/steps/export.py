"""The step `export`: the file for a CFD code, and its card.

Takes `Data`, the surrogates of all stages and the numbers of their validation; writes surrogate.pt,
surrogate.json (its card) and export.json.
"""

from combred.config import command_of
from combred.pipeline.console import say
from combred.pipeline.run import Run
from combred.pipeline.steps.sample import Data
from combred.records import read_json, write_json
from combred.surrogate.export import export_torchscript, make_card
from combred.surrogate.surrogate import Surrogate

CHECKED = 512  # held-out states on which the exported file has to agree with the surrogate


def export(run: Run, data: Data, surrogates: list[Surrogate], validation: dict) -> None:
    """Write the surrogate of the last stage for a CFD code."""
    s, surrogate = run.settings, surrogates[-1]
    measured = validation["stages"][f"stage{s.stage}"]
    wanted = ("all_ignite", "delay_error", "worst_case", "burnt_T_error", "peak_errors")
    accuracy = {key: measured[key] for key in wanted} | {"measured_on": validation["inputs"]}
    made = {
        "states": data.table.rows,
        "made_with": data.table.provenance,
        "command": command_of(s),
        "stage": s.stage,
        "profile": s.profile,
        "start": start_in_words(run),
    }
    card = make_card(surrogate, run.mechanism, accuracy, made)
    check = data.table.draw(data.held_out, CHECKED, s.seed)
    numbers = export_torchscript(run.path("surrogate.pt"), surrogate, card, check)
    network = {"widths": surrogate.network.widths, "weights": surrogate.network.n_weights}
    network["all_ignite"] = measured["all_ignite"]
    write_json(run.path("export.json"), {"stage": s.stage, **network, **numbers})
    say(
        run,
        f"export: {run.path('surrogate.pt')}, {numbers['bytes'] / 1e6:.2f} MB, agrees with "
        f"the eager model within {numbers['largest_difference']:.1e}",
    )


def start_in_words(run: Run) -> str:
    """How the network of stage 0 came to be, for the card."""
    name = read_json(run.path("train.json")).get("shipped")
    if not name:
        return "stage 0 was trained on these states"
    return f"stage 0 is {name}, which comes with combred; its card tells how that was trained"
