"""The first page, and the tables of README.md."""

import numpy as np

import combred
from combred.native.solver.generator import TOLERANCE

from .markdown import code, digits, percent, seconds, short, table
from .results import ATM, TYPICAL, by_model, mechanisms, read, speeds
from .solver import over_cvode, worst_delay

OURS = combred.Surrogate.TOLERANCE
SENTENCES = """\
Ignition delays of methane/air with `{model}` and the solver behind it are within {worst} of \
CVODE's ({mean} on average), in {cases} cases from {low:.1f} to {high:.0f} atm, with time steps of \
{first} to {last}. Of states of {kinds} kinds of flow, from counterflow flames to ignitions at 40 \
atm, the solver advances {solved}, and {bad} have an undetected error above 10 % of their change. \
At a tolerance of {tolerance:g} and a time step of 1e-6 s, a state takes {own} in T; the solver \
alone takes {alone}.
"""


def headline(model: str = TYPICAL) -> str:
    """One model with the solver behind it in some sentences."""
    ignitions = by_model("ignitions.json")[model]
    kinds = by_model("flow_states.json")[model]
    lines = read("work_precision.json", "lines")["1e-06"]
    errors = [abs(error) for of in ignitions.values() for error in of["delay_errors"]]
    p = [one / ATM for of in ignitions.values() for one in of["p"]]
    steps = sorted(ignitions, key=float)
    rows = [row for of in kinds.values() for row in of.values()]
    solved, bad = (percent(np.mean([r[key] for r in rows]), digits=1) for key in ("solved", "bad"))
    at_default = [_at(lines[name], OURS)[0] for name in (model, "combred.solver")]
    own, alone = (
        f"{1e6 * row['seconds']:.1f} us, with an error of {_rounded(row['rms'])}"
        for row in at_default
    )
    return SENTENCES.format(
        model=model, worst=percent(max(errors)), mean=percent(np.mean(errors)), cases=len(errors),
        low=min(p), high=max(p), first=seconds(steps[0]), last=seconds(steps[-1]),
        kinds=len(kinds), solved=solved, bad=bad, tolerance=OURS, own=own, alone=alone,
    )  # fmt: skip


def _rounded(error: float) -> str:
    """One digit of an error: 0.0042 is "4e-3"."""
    return f"{error:.0e}".replace("e-0", "e-")


def _at(rows: list[dict], *tolerances: float) -> list[dict]:
    return [row for row in rows if row["tolerance"] in tolerances]


def readme_glance() -> str:
    """The mechanisms of solver.json: error of delays, time of a state, and how many times faster
    the solver is than CVODE there and, where a flow was run with it, than seulex in OpenFOAM."""
    flames = read("foam_tutorials.json", "flames")
    beside = {"drm19": flames["counterflow"], "gri30": flames["counterflow, GRI-3.0"]}
    over = {name: f"; {digits(row['seulex_us'] / row['solver_us'], 2)}" for name, row in
            beside.items()}  # fmt: skip
    columns = {
        "mechanism": lambda name, of, check: f"{name}, {of['species']} species",
        "delay, worst error": lambda name, of, check: percent(worst_delay(check), digits=3),
        "time a state": lambda name, of, check: f"{1e6 * check['times'][0]['seconds']:.2g} us",
        "faster than CVODE; seulex": lambda name, of, check: (
            f"{over_cvode(check)}{over.get(name, '')}"
        ),
    }
    return table(columns, [(name, of, of["check"]) for name, of in mechanisms().items()])


# Tolerances of the solvers in the table of some lines; a surrogate has its default.
SHOWN_SOLVERS = {
    "combred.solver": (0.01, 1e-3, 1e-5), "CVODE": (1e-4, 1e-6),
    "CVODE, exact Jacobian": (1e-4, 1e-6), "Rosenbrock34": (0.01,), "seulex": (0.01,),
}  # fmt: skip


def solvers_table(model: str = TYPICAL) -> str:
    """Time and error of solvers and of one model at dt = 1e-6 s, of work_precision.json."""
    lines = read("work_precision.json", "lines")["1e-06"]

    def title(name: str, rows: list[dict]) -> str:
        if name == "combred.solver":
            return f"**{code(name)}**"
        if name != model:
            return name
        return f"{code(name)}, {percent(rows[0]['solved'], digits=0)} of the states by the solver"

    columns = {
        "solver": title,
        "relative tolerance": lambda name, rows: "; ".join(short(r["tolerance"]) for r in rows),
        "time a state": lambda name, rows: (
            "; ".join(f"{1e6 * r['seconds']:.{r['seconds'] < 1e-5:d}f}" for r in rows) + " us"
        ),
        "error of T": lambda name, rows: "; ".join(_rounded(r["rms"]) for r in rows),
    }
    shown = SHOWN_SOLVERS | {model: (OURS,)}
    return table(columns, [(name, _at(lines[name], *given)) for name, given in shown.items()])


def readme_models() -> str:
    """The models that correct QSS steps, with the solver behind them, and the solver alone: mean
    and worst errors of delays, of all dt, and of flame speeds; undetected errors; the time of a
    state and step along ignitions at 1e-6 s."""
    ignitions, flames = read("ignition_work.json", "dt"), speeds()
    flows = by_model("flow_states.json")
    undetected = {  # in flows and around the training
        name: max(
            row["bad"]
            for where in (flows, read("flow_states.json", "around"))
            for steps in where[name].values()
            for row in steps.values()
        )
        for name in flows
    }
    rows = []
    for name, tolerance in (dict.fromkeys(flows, OURS) | {"combred.solver": TOLERANCE}).items():
        found = {dt: row for dt, of in ignitions.items() for row in _at(of[name], tolerance)}
        mean = float(np.mean([row["mean"] for row in found.values()]))
        worst = max(row["worst"] for row in found.values())
        speed, title = list(flames.get(name, {}).values()), f"**the solver alone**, {tolerance:g}"
        if name in flows:
            title = f"`{name}`, {combred.models()[name]['network']['weights']:,} weights"
        rows.append((
            title,
            percent(mean, worst, digits=2 if name in flows else 3),
            percent(float(np.mean(speed)), max(speed)) if speed else None,
            percent(undetected.get(name), digits=1),
            f"{1e6 * found['1e-06']['seconds']:.1f} us",
        ))  # fmt: skip
    heads = ["mean / worst", "ignition delay", "flame speed", "undetected, worst", "time a state"]
    return table(heads, rows)


TABLES = {
    "solvers": solvers_table,
    "headline": headline,
    "glance": readme_glance,
    "readme-models": readme_models,
}
