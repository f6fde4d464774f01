"""The head of a report: what a flow code should take, in words, with warnings; and the table of
CVODE, the solver and every stage.

Takes a `Folder`; gives words and blocks. The numbers are those of validation.json.
"""

import math

from combred.report.blocks import (
    NBSP,
    Note,
    Table,
    kelvin,
    microseconds,
    percent,
    several,
    shape,
)
from combred.report.folder import Folder


def title(folder: Folder) -> str:
    """The title of the report."""
    fuel = "".join(f"{name}, " for name in [" and ".join(folder.fuels)] if name)
    return f"Networks, solver and CVODE for {fuel}{folder.mechanism.name}"


# -- what to take ----------------------------------------------------------------------------------


def sentence(folder: Folder) -> str:
    """What a flow code should take, and why: the time per state, and the errors of delays."""
    name, result = f"the network of stage {folder.last}", folder.measured(folder.last)
    cases, failed = len(result["cases"]), len(failures(result))
    if failed:
        return (
            f"**A flow code should take the generated solver**: with {name}, {failed} of {cases} "
            f"cases {'does' if failed == 1 else 'do'} not ignite."
        )
    own, solver = folder.times[f"stage {folder.last}"], folder.times[solver_name(folder)]
    cvode = min(t for kind, t in folder.times.items() if kind.startswith("CVODE"))
    times = (
        f"the solver takes {microseconds(solver)} a state, the network {microseconds(own)}, CVODE "
        f"{microseconds(cvode)}"
    )
    if solver <= own:
        return (
            "**A flow code should take the generated solver, not a network**: on one core, "
            f"{times}."
        )
    error = percent(result["delay_error"]["worst"])
    exact = percent(folder.solver["delay_error"]["worst"])
    return (
        f"**A flow code should take {name} where an error of {error} of the ignition delay is "
        f"acceptable, else the solver ({exact})**: on one core, {times}."
    )


def further(folder: Folder) -> str:
    """The size of the network and its errors."""
    result, first = folder.measured(folder.last), folder.measured(folder.stages[0])
    size = f"has {result['weights']:,} weights"
    if folder.last:
        size = f"has {percent(result['weights'] / first['weights'])} of the weights of stage 0"
    said = [f"The network of stage {folder.last}, {shape(result['widths'])}, {size}."]
    error, failed = result["delay_error"], failures(result)
    if failed:
        ignited = [row["delay_error"] for row in result["cases"] if row["ignited"]]
        if ignited:
            said.append(f"The other delays differ from CVODE's by up to {percent(max(ignited))}.")
    else:
        said.append(
            f"With it the delays of {len(result['cases'])} ignitions differ from CVODE's by "
            f"{percent(error['median'])} (median) and {percent(error['worst'])} (worst, at "
            f"{result['worst_case']}), the burnt temperatures by at most "
            f"{kelvin(result['burnt_T_error']['worst'])}."
        )
    if result["widths"][0] > 2 + folder.mechanism.n_species:
        said.append(
            "The network corrects a quasi-steady-state step from the mechanism's reaction rates, "
            "whose evaluation is part of its time."
        )
    return " ".join(said)


def alarms(folder: Folder) -> list[Note]:
    """Warnings that the reader needs before any number."""
    notes = []
    for stage in folder.shown[::-1]:
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


def failures(result: dict) -> list[str]:
    """The cases of a stage that do not ignite."""
    return [row["case"] for row in result["cases"] if not row["ignited"]]


def solver_name(folder: Folder) -> str:
    """The name of the generated solver among the times, which tells its tolerance."""
    return next(name for name in folder.times if name.startswith("solver"))


# -- the table -------------------------------------------------------------------------------------


def comparison(folder: Folder) -> Table:
    """CVODE, the solver and every stage: weights, errors, time per state, share of the states that
    the solver behind a network advances. A column of which nothing is known is left out."""
    heads = ["", "weights", "delay error", "flame speed error", "time a state", "left to solver"]
    rows = [
        [name.replace(" rtol", ", rtol").replace(" atol", ", atol"), "–", "–", "–"]
        + [microseconds(seconds), "–"]
        for name, seconds in folder.times.items()
        if name.startswith("CVODE")
    ]
    timed = solver_name(folder)
    rows.append([timed, "–", *_results(folder, folder.solver, timed)])
    for stage in folder.stages:
        result, name = folder.measured(stage), f"stage {stage}"
        start = f", {folder.train['shipped']}" if not stage and "shipped" in folder.train else ""
        rows.append([name + start, f"{result['weights']:,}", *_results(folder, result, name)])
    known = [i for i in range(len(heads)) if any(row[i] != "–" for row in rows)]
    return Table(
        [heads[i] for i in known],
        [[row[i] for i in known] for row in rows],
        "validation.json",
        conditions(folder),
    )


def _results(folder: Folder, result: dict, name: str) -> list[str]:
    """Worst errors, the time of `name`, and the share of states left to the solver."""
    speed = result["flame"]["speed_error"]["worst"] if "flame" in result else None
    return [
        percent(result["delay_error"]["worst"]),
        "**no flame**" if speed == math.inf else percent(speed),
        microseconds(folder.times[name]),
        percent(folder.timing["solved"].get(name)),
    ]


def conditions(folder: Folder) -> str:
    """What the errors and times of the table are."""
    dt = f"{folder.inputs['dt']:g}{NBSP}s"
    said = f"Largest errors, in steps of {dt}: of delays against CVODE"
    flames = "flame" in folder.measured(folder.last)
    said += ", of flame speeds against the solver in doubles." if flames else "."
    compiled = folder.timing["solved"]
    how = "compiled" if compiled else "in TorchScript"
    if compiled and len(compiled) < len(folder.stages):
        how += ", those of more than a million weights alone in TorchScript"
    said += f" Times on one core; the networks are {how}."
    if compiled:
        said += " Left to the solver: states whose estimated error exceeds the tolerance."
    return said
