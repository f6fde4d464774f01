"""The page of `combred.judge`: judge.html and its figures, drawn from judge.json."""

from pathlib import Path

from combred.experiments.accuracy import ALONE, BEHIND, LEFT, NAMES
from combred.report.blocks import Note, Section, Table
from combred.report.flows import flame_section
from combred.report.formats import (
    NBSP,
    atmospheres,
    kelvin,
    microseconds,
    number,
    percent,
    several,
    worst_delay,
)
from combred.report.histories import history, history_picture
from combred.report.ignitions import ignition_section
from combred.report.pages import Page, made_with, read_finished, write_page

RECORD = "judge.json"


def write_judged(folder: Path) -> Path:
    """Write judge.html and figures/ from judge.json; the path of the page. Raises ValueError where
    there are no numbers."""
    record = read_finished(folder / RECORD, "verdict", "comparison")
    name, errors, inputs = record["inputs"]["mechanism"], record["errors"], record["inputs"]
    results = {key: numbers(of["cases"]) for key, of in errors.items()}
    in_atm = several([float(atmospheres(p)) for p in inputs["p"]], "atm")
    said = f"Cases: T0 {several(inputs['T0'], 'K')}, phi {several(inputs['phi'])}, p {in_atm}."
    sections = [ignition_section(said, results, RECORD)]
    if "flame" in list(errors.values())[-1]:
        rows = {key: numbers(of["flame"]["cases"]) for key, of in errors.items()}
        said = (
            "The reference is combred's solver in double precision. The first figure of this page "
            "shows the flame with the largest error."
        )
        sections.append(flame_section(said, rows, None, (RECORD, RECORD)))
    pictures = [history(of.pop("case"), of) for of in record["curves"].values()]
    reference = "CVODE" if len(pictures) == 1 else "CVODE (ignition) or the solver in doubles"
    page = Page(
        title=f"A chemistry of {name} beside CVODE",
        name=name,
        alarms=alarms(record),
        verdict=sentence(record),
        further=further(record),
        head=[history_picture(pictures, reference, RECORD), comparison(record)],
        sections=[*sections, provenance(record)],
    )
    return write_page(folder / "judge.html", page)


def numbers(rows: list[dict]) -> list[dict]:
    """Rows of cases, in which JSON has null for a number that is not finite."""
    return [{key: float("nan") if value is None else value for key, value in row.items()}
            for row in rows]  # fmt: skip


def sentence(record: dict) -> str:
    """The verdict in a sentence."""
    name, said = list(record["verdict"].items())[-1]
    if said:
        return f"**Not accepted ({name}):** {said}."
    errors, times = record["errors"][name], record["times"]
    late = percent(errors["delay_error"]["worst"])
    alone = record["errors"].get(NAMES[ALONE])
    own = f"; {NAMES[ALONE]}: {worst_delay(alone)}" if alone else ""
    if record["solved"] is not None and times[name] >= times["solver"]:
        return (
            "**A flow code should take the generated solver, not this network**: a state takes "
            f"{microseconds(times['solver'])} by the solver and {microseconds(times[name])} by the "
            f"{name}, whose ignition delays differ from CVODE's by at most {late}{own}."
        )
    return (
        f"Accepted ({name}): the ignition delays differ from CVODE's by at most {late}, at "
        f"{errors['worst_case']}{own}."
    )


def further(record: dict) -> str:
    """What the solver behind a network does; the times."""
    times = record["times"]
    said = "; ".join(f"{name} {microseconds(time)}" for name, time in times.items())
    said = f"Time of a state on one core: {said}."
    if record["solved"] is None:
        return said
    return f"{percent(record['solved'])} of the states of the ignitions are {LEFT}. {said}"


def alarms(record: dict) -> list[Note]:
    """What is not accepted of the network alone."""
    return [
        Note(f"**{name}:** {said}.", alarm=True)
        for name, said in list(record["verdict"].items())[:-1]
        if said
    ]


def comparison(record: dict) -> Table:
    """Errors and times of all that was compared."""
    rows = []
    for name, time in record["times"].items():
        of = record["errors"].get(name)
        late = of["delay_error"] if of else {}
        rows.append([
            name,
            percent(late.get("median")),
            worst_delay(of) if of else "–",
            kelvin(of["burnt_T_error"]["worst"] if of else None),
            speed_error(of["flame"]) if of and "flame" in of else "–",
            microseconds(time),
            percent(record["solved"]) if name == NAMES[BEHIND] else "–",
        ])  # fmt: skip
    heads = ["", "delay, median", "delay, worst", "burnt T, worst", "flame speed, worst",
             "time a state", LEFT]  # fmt: skip
    caption = (
        f"Errors in steps of {number(record['inputs']['dt'])}{NBSP}s: of ignition delays and burnt "
        "temperatures against CVODE, of flame speeds against the solver in doubles. Times on one "
        "core, of states along the ignitions. Left to the solver: of these states up to twice the "
        f"delay. {record['machine']}."
    )
    return Table(heads, rows, RECORD, caption).known()


def speed_error(flame: dict) -> str:
    """The largest error of a flame speed, or the outcome of a flame that failed."""
    worst = flame["speed_error"]["worst"]
    return percent(worst) if worst is not None else f"**{flame['outcome']}**"


def provenance(record: dict) -> Section:
    """What the numbers were made with."""
    inputs, card = record["inputs"], record.get("card")
    rows = [
        ["mechanism", f"{inputs['mechanism']}, sha256 `{record['sha256'][:16]}`"],
        ["mixture", f"{inputs['fuel']} in {inputs['oxidizer']} (moles)"],
        ["accepted errors", ", ".join(f"{k} {percent(v)}" for k, v in record["limits"].items())],
    ]
    if card:
        low, high = card["range"]["T"]
        p = " to ".join(map(atmospheres, card["range"]["p"]))
        rows.append(["network", f"{card['network']['weights']:,} weights"])
        rows.append(["training range", f"T {low:.0f} to {high:.0f} K, p {p} atm"])
    return made_with(rows, RECORD)
