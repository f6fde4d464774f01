"""The steps `export` and `report`: the file for a solver with its card; what there is to show."""

from dataclasses import asdict

from combred.pipeline.console import say
from combred.pipeline.run import Run
from combred.records import digest, read_json, write_json
from combred.surrogate.export import export_torchscript, make_card


def export(run: Run) -> None:
    """surrogate.pt, surrogate.json (its card) and export.json."""
    s = run.settings
    surrogate = run.surrogate(s.stage)
    validation = read_json(run.path("validation.json"))
    measured = validation.get("stages", {}).get(f"stage{s.stage}")
    judged = validation.get("networks", {}).get(f"stage{s.stage}")
    if measured is None or judged != digest(run.weights(s.stage)):
        raise FileNotFoundError(
            f"stage {s.stage} has not been validated: run `python -m combred.pipeline "
            f"stage={s.stage} only=validate`; a network is exported with its measured accuracy"
        )
    wanted = ("all_ignite", "delay_error", "worst_case", "burnt_T_error", "peak_errors")
    accuracy = {key: measured[key] for key in wanted} | {"measured_on": validation["inputs"]}
    table = run.states()
    made = {
        "states": table.rows,
        "made_with": table.provenance,
        "stage": s.stage,
        "profile": s.profile,
        "start": start_in_words(run),
    }
    card = make_card(surrogate, run.mechanism, accuracy, made)
    check = table.draw(table.held_out(s.training.held_out, s.seed), 512, s.seed)
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


def report(run: Run) -> None:
    """report.html, report.md and figures/."""
    from combred.report import write_report

    for stage in range(run.settings.stage + 1):
        run.surrogate(stage)  # of these settings, which the report tells
    write_json(run.path("settings.json"), asdict(run.settings))
    write_report(run.folder, run.mechanism)
