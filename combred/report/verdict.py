"""The head of a report: the verdict in one sentence, warnings, and key figures.

Takes a `Folder`; gives words. The numbers are those of validation.json.
"""

from combred.report.blocks import (
    Note,
    kelvin,
    microseconds,
    percent,
    several,
    shape,
    significant,
)
from combred.report.folder import PAPER_MECHANISM, PAPER_WEIGHTS, Folder


def title(folder: Folder) -> str:
    """The title of the report."""
    kind = "reduced" if folder.last else "trained"
    fuel = " and ".join(fuel_names(folder))
    return f"A {kind} network for {fuel + ', ' if fuel else ''}{folder.mechanism.name}"


def fuel_names(folder: Folder) -> list[str]:
    """The species of the fuel that the mechanism has."""
    parts = str(folder.inputs.get("fuel", "")).split(",")
    names = [part.split(":")[0].strip() for part in parts]
    return [name for name in names if name in folder.mechanism.species_names]


def of_reference(folder: Folder, kind: str) -> str:
    """The reference of flames or stirred reactors, as a sentence with its difference from CVODE."""
    off = folder.validation.get("reference_difference", {}).get(kind)
    if off is None:  # of an earlier version
        return ""
    return (
        "The reference is combred's solver in double precision; over one more step it differs from "
        f"CVODE by {percent(off)} of the change at most."
    )


def sentence(folder: Folder) -> str:
    """The verdict: the size of the network and its errors against CVODE."""
    result = folder.measured(folder.last)
    cases, failed, error = len(result["cases"]), failures(result), result["delay_error"]
    if len(failed) == cases:
        return f"{_size(folder)}, and **with it none of the {cases} cases ignites**."
    if failed:
        ignited = [row for row in result["cases"] if row["ignited"]]
        worst = max(ignited, key=lambda row: row["delay_error"])
        return (
            f"{_size(folder)}, and **with it {len(failed)} of {cases} cases "
            f"{'does' if len(failed) == 1 else 'do'} not ignite**; the other ignition delays "
            f"differ from CVODE's by up to {percent(worst['delay_error'])} (at {worst['case']})."
        )
    return (
        f"{_size(folder)}, and its ignition delays over {cases} case{'s' if cases > 1 else ''} "
        f"differ from CVODE's by {percent(error['median'])} (median) and "
        f"{percent(error['worst'])} (worst, at {result['worst_case']}), its burnt temperatures by "
        f"up to {kelvin(result['burnt_T_error']['worst'])}."
    )


def _size(folder: Folder) -> str:
    """The first half of the verdict: the network and its size."""
    result, first = folder.measured(folder.last), folder.measured(folder.stages[0])
    paper = of_paper(folder, result)
    full = (
        f" ({paper} of the {PAPER_WEIGHTS:,} weights of the paper's full network)" if paper else ""
    )
    widths = shape(result["widths"])
    if not folder.last:
        return f"The trained network, {widths}, has {result['weights']:,} weights{full}"
    share = percent(result["weights"] / first["weights"])
    return f"The reduced network, {widths}, has {share} of the weights of the trained one{full}"


def further(folder: Folder) -> str:
    """The sentences after the verdict: errors before the reductions, inputs, time per state."""
    sentences = []
    first = folder.measured(folder.stages[0])
    if folder.last and not failures(first):
        error = first["delay_error"]
        sentences.append(
            f"Before the reductions the delay errors were {percent(error['median'])} (median) and "
            f"{percent(error['worst'])} (worst)."
        )
    inputs = folder.measured(folder.last)["widths"][0]
    if inputs > 2 + folder.mechanism.n_species:
        sentences.append(
            "The network corrects a quasi-steady-state step from the mechanism's reaction rates, "
            "which is also among its inputs. The times include the evaluations of the reaction "
            "rates."
        )
    own = folder.seconds(folder.last)
    if own is not None:
        ratios = [ratio(own, time, name) for name, time in folder.cvode_seconds.items()]
        if folder.solver_seconds is not None:
            ratios.append(ratio(own, folder.solver_seconds, "the solver alone"))
        sentences.append(
            f"The surrogate advances one state by dt in {microseconds(own)} on one core"
            + (f": {', and '.join(ratios)}." if ratios else ".")
        )
        if folder.solver_seconds is not None and folder.solver_seconds < own:
            sentences.append(
                "**A flow code should take the solver alone**: it is faster at the same tolerance."
            )
        solved = folder.solved(folder.last)
        if solved:
            sentences.append(f"It leaves {percent(solved)} of the states to the solver behind it.")
    return " ".join(sentences)


def ratio(own: float, other: float, name: str) -> str:
    """How many times faster or slower than CVODE."""
    less = own <= other
    times = significant(other / own if less else own / other, 2)
    return f"{times} times {'faster' if less else 'slower'} than {name} ({microseconds(other)})"


def alarms(folder: Folder) -> list[Note]:
    """Warnings that the reader needs before any number."""
    notes = []
    for stage in dict.fromkeys((folder.last, folder.stages[0])):
        result = folder.measured(stage)
        if failed := failures(result):
            notes.append(
                f"**With the network of stage {stage}, {len(failed)} of {len(result['cases'])} "
                f"cases do not ignite, which ignite with CVODE:** {'; '.join(failed)}. Their "
                "errors count as infinite in medians and worst values."
            )
    if folder.outdated:
        notes.append(
            f"**The weights of stage {several(folder.outdated)} in this folder are not those of "
            "the results in validation.json.** Run `python -m combred.pipeline only=validate` "
            "again."
        )
    exported = folder.export.get("stage", folder.last)
    if exported != folder.last:
        notes.append(
            f"**The exported file holds stage {exported}; this report is about stage "
            f"{folder.last}.** Run `python -m combred.pipeline stage={folder.last} only=export`."
        )
    smoke = "This run has the smoke profile: it tests the pipeline; its network is not for use."
    mild = [Note(smoke)] if folder.settings.get("profile") == "smoke" else []
    return [*(Note(note, alarm=True) for note in notes), *mild]


def key_figures(folder: Folder) -> list[tuple[str, str, str]]:
    """Key figures: (number, quantity, reference) each."""
    result, first = folder.measured(folder.last), folder.measured(folder.stages[0])
    error, cases, failed = result["delay_error"], len(result["cases"]), len(failures(result))
    share = [f"{percent(result['weights'] / first['weights'])} of stage 0"] if folder.last else []
    share += [f"{of_paper(folder, result)} of the paper's"] if of_paper(folder, result) else []
    ignited = f"{cases - failed} of {cases}"
    figures = [
        (f"{result['weights']:,}", "weights", ", ".join(share)),
        (f"**{ignited}**" if failed else ignited, "cases ignite", "all do with CVODE"),
        (percent(error["median"]), "delay error, median", "against CVODE"),
        (percent(error["worst"]), "delay error, worst", f"at {result['worst_case']}"),
        (kelvin(result["burnt_T_error"]["worst"]), "burnt T error, worst", "at the last step"),
    ]
    own = folder.seconds(folder.last)
    if own is not None:
        others = [microseconds(seconds) for seconds in folder.cvode_seconds.values()]
        compared = f"CVODE {' or '.join(others)}" if others else ""
        figures.append((microseconds(own), "per state, one core", compared))
    return figures


def failures(result: dict) -> list[str]:
    """The cases of a stage that do not ignite."""
    return [row["case"] for row in result["cases"] if not row["ignited"]]


def of_paper(folder: Folder, result: dict) -> str:
    """The share of the weights of the paper's full network; "" for other mechanisms."""
    if folder.mechanism.name != PAPER_MECHANISM:
        return ""
    return percent(result["weights"] / PAPER_WEIGHTS)
