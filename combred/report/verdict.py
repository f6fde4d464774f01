"""The head of a report: what a flow code should take, in words, with warnings; and the table of
CVODE, the solver and every stage, which the console shows, too.

The numbers are those of validation.json.
"""

from combred.report.blocks import Note, Table
from combred.report.folder import Folder, cases, stages
from combred.report.formats import NBSP, NO_FLAME, kelvin, microseconds, number, percent, shape

MOSTLY = 0.5  # a larger share of the states left to the solver says nothing of the network


def sentence(numbers: dict) -> str:
    """What a flow code should take, and why: the time per state, and the errors of delays; numbers:
    of validation.json."""
    last, result = list(stages(numbers).items())[-1]
    if failed := failures(result):
        return (
            f"**A flow code should take the generated solver**: with the network of stage {last}, "
            f"{len(failed)} of {len(result['cases'])} cases "
            f"{'does' if len(failed) == 1 else 'do'} not ignite."
        )
    times = {key: time["median"] for key, time in numbers["timing"]["times"].items()}
    cvode, solver = (
        min(time for key, time in times.items() if key.startswith(name))
        for name in ("CVODE", "solver")
    )
    own = times[f"stage {last}"]
    said = (
        f"on one core, the solver takes {microseconds(solver)} a state, the network "
        f"{microseconds(own)}, CVODE {microseconds(cvode)}."
    )
    if solver <= own:
        return f"**A flow code should take the generated solver, not a network**: {said}"
    if (solved := numbers["timing"]["solved"].get(f"stage {last}") or 0.0) > MOSTLY:
        return (
            f"**A flow code should take the generated solver**: it advances {percent(solved)} of "
            f"the states behind the network of stage {last}, whose error estimate is too large."
        )
    error, exact = (percent(of["delay_error"]["worst"]) for of in (result, numbers["solver"]))
    return (
        f"**A flow code should take the network of stage {last} where an error of {error} of the "
        f"ignition delay is acceptable, else the solver ({exact})**: {said}"
    )


def further(numbers: dict) -> str:
    """The size of the network, its errors and their cases; numbers: of validation.json."""
    results = stages(numbers)
    last, result = list(results.items())[-1]
    share = percent(result["weights"] / results[min(results)]["weights"])
    said = (
        f"The network of stage {last}, {shape(result['widths'])}, has {result['weights']:,} "
        f"weights{f', {share} of those of stage 0' if last else ''}."
    )
    error, ignited = result["delay_error"], [row for row in result["cases"] if row["ignited"]]
    of_flames, where = "", f"The ignitions have {cases(numbers)}."
    if "flame" in result:
        speed = percent(result["flame"]["speed_error"]["worst"], "", NO_FLAME)
        of_flames = f" Flame speeds differ from those of the solver in doubles by at most {speed}."
    if not failures(result):
        return (
            f"{said} With it the ignition delays differ from CVODE's by {percent(error['median'])} "
            f"(median) and {percent(error['worst'])} (worst of {len(ignited)}, at "
            f"{result['worst_case']}), the burnt temperatures by at most "
            f"{kelvin(result['burnt_T_error']['worst'])}.{of_flames} {where}"
        )
    if not ignited:
        return f"{said} {where}"
    others = percent(max(row["delay_error"] for row in ignited))
    return f"{said} The delays of the other cases differ from CVODE's by up to {others}. {where}"


def alarms(folder: Folder) -> list[Note]:
    """Warnings that the reader needs before any number."""
    notes, last = [], folder.last
    for stage in dict.fromkeys((last, min(folder.stages))):
        result = folder.stages[stage]
        if failed := failures(result):
            said = (
                f"**With the network of stage {stage}, {len(failed)} of {len(result['cases'])} "
                f"cases do not ignite, which ignite with CVODE:** {'; '.join(failed)}. Their "
                "errors count as infinite in medians and worst values."
            )
            notes.append(Note(said, alarm=True))
    if (exported := folder.export.get("stage", last)) != last:
        said = (
            f"**The exported file holds stage {exported}; this report is about stage {last}.** "
            f"Run `python -m combred.pipeline stage={last} only=export`."
        )
        notes.append(Note(said, alarm=True))
    if rejected := folder.export.get("rejected"):
        said = f"**This network is rejected for flow codes:** {rejected} (export.accept)."
        notes.append(Note(said, alarm=True))
    if folder.settings.get("profile") == "smoke":
        notes.append(Note("A run of the smoke profile tests the pipeline; do not use its network."))
    return notes


def failures(result: dict) -> list[str]:
    """The cases of a stage that do not ignite."""
    return [row["case"] for row in result["cases"] if not row["ignited"]]


def comparison(numbers: dict, shipped: str = "") -> Table:
    """CVODE, the solver and every stage: weights, largest errors, time per state, share of the
    states that the solver behind a network advances. A column of which nothing is known is left
    out.

    numbers: of validation.json; shipped: the name of the network of stage 0, if it is one that
    comes with combred.
    """
    timing, rows = numbers["timing"], []
    results = {f"stage {stage}": of for stage, of in stages(numbers).items()}
    for name, time in timing["times"].items():
        of = numbers["solver"] if name.startswith("solver") else results.get(name, {})
        stirred = [row["errors"]["T"]["largest"] for row in of.get("stirred", [])]
        rows.append([
            f"{name}, {shipped}" if shipped and name == "stage 0" else name,
            f"{of['weights']:,}" if "weights" in of else "–",
            percent(of["delay_error"]["worst"]) if of else "–",
            percent(of["flame"]["speed_error"]["worst"] if "flame" in of else None, "", NO_FLAME),
            percent(max(stirred, default=None), "", "**not finite**"),
            microseconds(time["median"]),
            percent(timing["solved"].get(name)),
        ])  # fmt: skip
    caption = (
        f"Largest errors, in steps of {number(numbers['inputs']['dt'])}{NBSP}s: of ignition delays "
        "against CVODE, of flame speeds and of the mean T of stirred reactors against the solver "
        "in doubles. Times on one core. Left to the solver: states whose estimated error exceeds "
        "the tolerance."
    )
    heads = ["", "weights", "delay", "flame speed", "stirred T", "time a state", "left to solver"]
    return Table(heads, rows, "validation.json", caption).known()
