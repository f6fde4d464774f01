"""The report of a run: report.html (a single file), report.md and figures/.

Last in the flow. Takes a run folder and reads the files that the other steps wrote; it measures
nothing. The only numbers it adds are those of the condensation of the layers (`similarity`), which
are written to condensation.json and condensation.npz before they are drawn.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from combred.chemistry.mechanism import Mechanism
from combred.report import figures, ignitions, verdict
from combred.report.criteria import criteria_record, draw_criteria
from combred.report.flames import draw_flames
from combred.report.folder import Folder, read_folder
from combred.report.methods import draw_methods
from combred.report.pages import write_page
from combred.report.sections import make_sections
from combred.report.similarity import condensation_numbers
from combred.report.stirred import draw_stirred
from combred.report.style import save, style
from combred.report.traces import make_traces, overview, worst_of_each

SHOWN = 6  # species in a figure


def write_report(folder: Path, mechanism: Mechanism) -> None:
    """Write report.html, report.md and figures/ into a run folder that has been validated.

    Raises FileNotFoundError if validation.json is missing, ValueError if a file is damaged or
    belongs to another mechanism.
    """
    run = read_folder(folder, mechanism)
    condensed = condensation_numbers(run.path, run.networks, run.reductions)
    (run.path / "figures").mkdir(exist_ok=True)
    for old in (run.path / "figures").glob("*.png"):
        old.unlink()
    with style():
        drawn = draw(run, condensed)
        for name, figure in drawn.items():
            save(figure, run.path / "figures" / f"{name}.png")
    content = {
        "title": verdict.title(run),
        "run": run.path.resolve().name,
        "what": f"Run {run.path.resolve().name}, reported",
        "source": "validation.json",
        "sentence": verdict.sentence(run),
        "further": verdict.further(run),
        "alarms": verdict.alarms(run),
        "keys": verdict.key_figures(run),
        "sections": make_sections(run, condensed, set(drawn)),
    }
    for name in ("report.html", "report.md"):
        write_page(run.path / name, content)


def draw(run: Folder, condensed: dict) -> dict[str, Figure]:
    """All figures for which the folder has numbers, by name; condensed: `condensation_numbers`."""
    ends = {stage: run.measured(stage) for stage in (run.stages[0], run.last)}
    drawn = {"delays": ignitions.draw_delays(ends)}
    traces = make_traces(run)
    if traces:
        species = [(name, run.mechanism.index(name)) for name in shown_species(run)]
        worst = [t for t in traces if t.row["case"] == run.measured(run.last)["worst_case"]]
        drawn["temperatures"] = ignitions.draw_temperatures(overview(traces))
        drawn["species"] = ignitions.draw_species(worst_of_each(traces), species)
        drawn["worst"] = ignitions.draw_case(worst[0], species)
    flames = draw_flames(run, [(name, run.mechanism.index(name)) for name in shown_species(run)])
    if flames is not None:
        drawn["flames"] = flames
    stirred = draw_stirred(run)
    if stirred is not None:
        drawn["stirred"] = stirred
    if run.losses:
        drawn["losses"] = figures.draw_losses(run.losses, run.reductions)
    if condensed["reductions"]:
        with np.load(run.path / "condensation.npz") as matrices:
            drawn["similarity"] = figures.draw_similarity(condensed["reductions"], dict(matrices))
    if condensed["groups"]:
        drawn["groups"] = figures.draw_groups(condensed)
    if criteria_record(run):
        drawn["criteria"] = draw_criteria(criteria_record(run))
    if run.methods:
        drawn["methods"] = draw_methods(run.methods)
    if run.times:
        drawn["times"] = figures.draw_times(run.times)
    return drawn


def shown_species(run: Folder) -> list[str]:
    """The species shown in figures, at most `SHOWN`: those of the fuel, then those whose peaks
    are compared in ignitions."""
    compared = run.measured(run.last)["peak_errors"]
    return list(dict.fromkeys([*verdict.fuel_names(run), *compared]))[:SHOWN]
