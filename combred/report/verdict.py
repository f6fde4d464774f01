"""The head of a report: what a flow code should take, in words, with warnings; and the table of
CVODE, the solver and every stage, which the console shows, too.

The numbers are those of validation.json.
"""

import math

from combred.experiments.accuracy import ALONE, BEHIND, LEFT, NAMES, named
from combred.experiments.stirred.reactor import FINISHED
from combred.report.blocks import Note, Table
from combred.report.folder import Folder, cases, stages
from combred.report.formats import NBSP, kelvin, microseconds, number, percent, shape

MOSTLY = 0.5  # a larger share of the states left to the solver says nothing of the network


def sentence(numbers: dict) -> str:
    """What a flow code should take, and why: the time per state, and the errors of delays; numbers:
    of validation.json."""
    last, stage = list(stages(numbers).items())[-1]
    alone, result = stage[ALONE], stage[BEHIND]
    if failed := failures(result):
        return (
            f"**A flow code should take the generated solver**: stage {last}, {NAMES[BEHIND]}: "
            f"{len(failed)} of {len(result['cases'])} cases "
            f"{'does' if len(failed) == 1 else 'do'} not ignite."
        )
    times = {key: time["median"] for key, time in numbers["timing"]["times"].items()}
    cvode, solver = (
        min(time for key, time in times.items() if key.startswith(name))
        for name in ("CVODE", "solver")
    )
    own = times[named(last, BEHIND)]
    said = (
        f"on one core, the solver takes {microseconds(solver)} a state, the {NAMES[BEHIND]} "
        f"{microseconds(own)}, CVODE {microseconds(cvode)}."
    )
    if solver <= own:
        return f"**A flow code should take the generated solver, not a network**: {said}"
    if (solved := numbers["timing"]["solved"].get(f"stage {last}") or 0.0) > MOSTLY:
        return (
            f"**A flow code should take the generated solver**: it advances {percent(solved)} of "
            f"the timed states behind the network of stage {last}, whose error estimate is too "
            "large."
        )
    errors = (percent(of["delay_error"]["worst"]) for of in (result, alone, numbers["solver"]))
    error, own_error, exact = errors
    return (
        f"**A flow code should take the network of stage {last} with the solver behind it where an "
        f"error of {error} of the ignition delay is acceptable, else the solver ({exact})**; the "
        f"{NAMES[ALONE]} has {own_error}. {said[0].upper()}{said[1:]}"
    )


def further(numbers: dict) -> str:
    """The size of the network, its errors and their cases; numbers: of validation.json."""
    results = stages(numbers)
    last, stage = list(results.items())[-1]
    share = percent(stage["weights"] / results[min(results)]["weights"])
    said = (
        f"The network of stage {last}, {shape(stage['widths'])}, has {stage['weights']:,} "
        f"weights{f', {share} of those of stage 0' if last else ''}. Ignition delays beside "
        f"CVODE's, and flame speeds beside those of the solver in doubles: "
    )
    errors = "; ".join(f"{NAMES[key]}: {errors_said(stage[key])}" for key in NAMES)
    left = percent(stage["left_to_solver"])
    return f"{said}{errors}; {left} of the states {LEFT}. The ignitions have {cases(numbers)}."


def errors_said(result: dict) -> str:
    """The errors of a chemistry in words: of the delays, burnt temperatures and flame speeds."""
    error, ignited = result["delay_error"], [row for row in result["cases"] if row["ignited"]]
    said = (
        f"delays off by {percent(error['median'])} (median) and {percent(error['worst'])} (worst "
        f"of {len(ignited)}, at {result['worst_case']}), burnt temperatures by at most "
        f"{kelvin(result['burnt_T_error']['worst'])}"
    )
    if failed := failures(result):
        said = f"**{len(failed)} of {len(result['cases'])} cases do not ignite**"
        if ignited:
            others = percent(max(row["delay_error"] for row in ignited))
            said += f", the delays of the others are off by up to {others}"
    if "flame" in result:
        flame = result["flame"]
        worst = flame["speed_error"]["worst"]
        speed = f"flame speeds by at most {percent(worst)}"
        said += f", {speed if math.isfinite(worst) else f'a flame {failed_flame(flame)}'}"
    return said


def alarms(folder: Folder) -> list[Note]:
    """Warnings that the reader needs before any number."""
    notes, last = [], folder.last
    for stage in dict.fromkeys((last, min(folder.stages))):
        for key, name in NAMES.items():
            result = folder.stages[stage][key]
            if failed := failures(result):
                said = (
                    f"**Stage {stage}, {name}: {len(failed)} of {len(result['cases'])} cases do "
                    f"not ignite, which ignite with CVODE:** {'; '.join(failed)}. Their errors "
                    "count as infinite in medians and worst values."
                )
                notes.append(Note(said, alarm=True))
    if (exported := folder.export.get("stage", last)) != last:
        said = (
            f"**The exported file holds stage {exported}; this report is about stage {last}.** "
            f"Run `python -m combred.pipeline stage={last} only=export`."
        )
        notes.append(Note(said, alarm=True))
    if rejected := folder.export.get("rejected"):
        said = (
            f"**This network is rejected for flow codes, {NAMES[BEHIND]}:** {rejected} "
            "(export.accept)."
        )
        notes.append(Note(said, alarm=True))
    elif alone := folder.export.get("exceeds", {}).get(ALONE):
        said = (
            f"**The file of the {NAMES[ALONE]} is named `rejected.pt`:** {alone} (export.accept). "
            "The library has the solver behind the network."
        )
        notes.append(Note(said, alarm=True))
    if folder.settings.get("profile") == "smoke":
        notes.append(Note("A run of the smoke profile tests the pipeline; do not use its network."))
    return notes


def failures(result: dict) -> list[str]:
    """The cases of a stage that do not ignite."""
    return [row["case"] for row in result["cases"] if not row["ignited"]]


def comparison(numbers: dict, shipped: str = "") -> Table:
    """CVODE, the solver and every stage, by its network alone and with the solver behind it:
    weights, largest errors, time per state, share of the states that are left to the solver. A
    column of which nothing is known is left out.

    numbers: of validation.json; shipped: the name of the network of stage 0, if it is one that
    comes with combred.
    """
    timing, rows = numbers["timing"], []
    results, weights, left = {}, {}, {}
    for stage, of in stages(numbers).items():
        for key in NAMES:
            name = named(stage, key)
            results[name], weights[name] = of[key], f"{of['weights']:,}"
        left[name] = of["left_to_solver"]
    for name, time in timing["times"].items():
        of = numbers["solver"] if name.startswith("solver") else results.get(name, {})
        speed = of["flame"]["speed_error"]["worst"] if "flame" in of else None
        rows.append([
            name.replace("stage 0", f"stage 0 ({shipped})") if shipped else name,
            weights.get(name, "–"),
            percent(of["delay_error"]["worst"]) if of else "–",
            percent(speed, "", failed_flame(of.get("flame", {}))),
            stirred_T(of.get("stirred", [])),
            microseconds(time["median"]),
            percent(left.get(name)),
        ])  # fmt: skip
    caption = (
        f"Largest errors, in steps of {number(numbers['inputs']['dt'])}{NBSP}s: of ignition delays "
        "against CVODE, of flame speeds and of the mean T of stirred reactors against the solver "
        "in doubles. Times on one core. Left to the solver: states of the ignitions, up to twice "
        "the delay, whose estimated error exceeds the tolerance."
    )
    heads = ["", "weights", "delay", "flame speed", "stirred T", "time a state", LEFT]
    return Table(heads, rows, "validation.json", caption).known()


def failed_flame(errors: dict) -> str:
    """What is said of the flame with the largest error where it failed: its outcome."""
    return f"**{errors.get('outcome') or 'no flame'}**"


def stirred_T(rows: list[dict]) -> str:
    """The largest error of the mean T of stirred reactors, or the outcome of one that failed."""
    failed = [row["outcome"] for row in rows if row["outcome"] != FINISHED]
    largest = max((row["errors"]["T"]["largest"] for row in rows), default=None)
    return f"**{failed[0]}**" if failed else percent(largest)
