"""The steps `export` and `report`: the file for a solver with its card; what there is to show."""

from dataclasses import asdict

from combred.pipeline.console import say
from combred.pipeline.run import Run
from combred.records import digest, read_json, write_json
from combred.surrogate.card import describe_accuracy, describe_training, make_card
from combred.surrogate.export import export_torchscript


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
    table, start = run.states(), read_json(run.path("train.json")).get("shipped", "scratch")
    training = describe_training(asdict(s), run.mechanism, s.stage, table.rows, start)
    accuracy = describe_accuracy(measured, validation["inputs"])
    card = make_card(surrogate, run.mechanism, accuracy, training)
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


def report(run: Run) -> None:
    """report.html, report.md and figures/."""
    from combred.report import write_report

    for stage in range(run.settings.stage + 1):
        run.surrogate(stage)  # of these settings, which the report tells
    write_json(run.path("settings.json"), asdict(run.settings))
    write_report(run.folder, run.mechanism)
