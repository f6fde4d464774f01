"""How large must a network be? Errors of ignition delays and flame speeds against weights, by
reduction method.

    python -m benchmarks.weights [quasi_steady] [state]

Runs of the pipeline, one for each form of a surrogate and each method, in runs/weights-FORM-METHOD:
the shipped drm19-336k, which corrects quasi-steady steps, or the paper's network, which sees the
state alone and is trained on a million rows, is cut stage after stage, and retrained. A run that is
there is not done again. Of every stage: mean and worst error of the delay against CVODE in the
ignitions of the run's validation, of the network alone and with the solver behind it, which takes
the steps whose error estimate is too large; the same of the speeds of three flames, against the
solver in doubles; and the time of a state of the network alone. Networks are compiled; those that
are too large are alone, in TorchScript, and have no flames. Times are taken in turns, on one core,
with those of the solver at three tolerances, of the quasi-steady step without a network and of
CVODE (rtol 1e-6) on the same states; the delays of solvers are from a cold start in each step.

Writes benchmarks/results/weights.json and docs/error-weights.png; prints a table, then one JSON
line. Takes some hours on two cores.
"""

import copy
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import cantera as ct
import numpy as np
from torch import nn

from benchmarks.command_line import MECHANISM, words
from benchmarks.kept import NETWORKS, stamp
from combred.chemistry.reactor import CVODE
from combred.chemistry.stepper import Advance
from combred.config.command import resolve
from combred.config.reduction import REDUCTIONS
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import Flame
from combred.experiments.premixed.grid import FlameCase
from combred.experiments.storage import read_runs
from combred.files.records import read_json, strict, write_json
from combred.native import fastest
from combred.native.solver import Solver
from combred.pipeline.assembly import load_data, load_surrogates
from combred.pipeline.command import execute, prepare
from combred.pipeline.run import Run
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.surrogates.library.generator import is_compiled
from combred.surrogates.model.network import Network
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.timing import time_per_state

RESULTS = Path(__file__).parent / "results" / "weights.json"
FIGURE = Path(__file__).parents[1] / "docs" / "error-weights.png"
METHODS = {
    "quasi_steady": REDUCTIONS,
    "state": tuple(m for m in REDUCTIONS if m not in ("neuron_merging", "channel_similarity")),
}
FORMS = {
    "quasi_steady": ["reduction.parameters=[0.43,0.115,0.033,0.014]", "stage=4"],
    "state": [
        "profile=paper", "start=scratch", "sampling.states=1000000", "sampling.ignitions=3000",
        "reduction.parameters=[0.022,0.0043,0.0008]", "stage=3", "retraining.steps=16000",
        "retraining.lr=6e-3",
    ],
}  # fmt: skip
# The states of a form are made once, and its network of stage 0 is trained once.
SHARED = (
    "states.h5", "sensitive.h5", "sample.json", "stage0.safetensors", "stage0.jsonl", "train.json",
)  # fmt: skip
BATCH, REPEATS, SOLVER, CFD = 4096, 7, (0.1, 0.01, 0.001), 1e-6
FLAMES = [FlameCase(300.0, ct.one_atm, phi) for phi in (0.8, 1.0, 1.2)]


def run_of(form: str, method: str) -> Run:
    """The finished run of a form and a method."""
    arguments = [*FORMS[form], f"reduction.method={method}", f"run=weights-{form}-{method}"]
    run, first = (
        prepare(resolve(arguments)),
        Path("runs") / f"weights-{form}-{METHODS[form][0]}",
    )
    for name in SHARED:
        if (first / name).exists() and not run.path(name).exists():
            shutil.copy(first / name, run.path(name))
    if not run.path("report.html").exists():
        execute(run)
    return run


def delays(run: Run, solver: Advance) -> dict:
    """Mean and worst error of the delay of an `Advance` in the ignitions of the run."""
    references = read_runs(run.path("validation.h5"), run.mechanism, Rollout)[0]["reference"]
    ignitions = Ignitions.of(run.mechanism, run.mixture, run.settings.validation)
    with one_thread():
        found = ignitions.follow(solver, references)
    errors = ignitions.compare(found, references)["delay_error"]
    return {"mean": errors["mean"], "worst": errors["worst"]}


def speeds(run: Run, solver: Advance, references: list[Flame]) -> dict:
    """Mean and worst error of the speed of an `Advance` in the flames `references`."""
    flames = PremixedFlames.of(run.mechanism, run.mixture, run.settings.validation)
    with one_thread():
        found = flames.follow(solver, references)
    errors = flames.compare(found, references)["speed_error"]
    return {"mean": errors["mean"], "worst": errors["worst"]}


def without_correction(surrogate: Surrogate) -> Surrogate:
    """The quasi-steady step alone: a surrogate whose network, as small as can be, answers zero."""
    alone, widths = copy.deepcopy(surrogate), surrogate.network.widths
    alone.network = Network([widths[0], 1, widths[-1]])
    for parameter in alone.network.parameters():
        nn.init.zeros_(parameter)
    return alone


def measure(runs: dict[str, Run]) -> dict:
    """For each method a row for each stage; and the solver at several tolerances, and CVODE. All
    times are taken in turns."""
    first = next(iter(runs.values()))
    every = PremixedFlames.of(first.mechanism, first.mixture, first.settings.validation)
    flames = replace(every, cases=FLAMES).reference(Processes(first.workers))
    table = load_data(first).table
    states = table.draw(table.usual, BATCH, first.settings.seed).state()
    others: dict[str, Advance] = {
        f"solver, {tolerance:g}": Solver(first.mechanism, tolerance) for tolerance in SOLVER
    }
    others[f"CVODE, {CFD:g}"] = CVODE(first.mechanism, CFD, 1e-6 * CFD)
    surrogates = {method: load_surrogates(run) for method, run in runs.items()}
    whole = next(iter(surrogates.values()))[0]  # of all methods
    if first.settings.network.kinetics:
        others["quasi-steady step"] = fastest(without_correction(whole), alone=True)
    timed = {name: (one, 128 if "CVODE" in name else BATCH) for name, one in others.items()}
    timed["whole"] = fastest(whole, alone=True), BATCH
    for method, stages in surrogates.items():
        for i, surrogate in enumerate(stages[1:], 1):
            timed[f"{method} {i}"] = fastest(surrogate, alone=True), BATCH
    with one_thread():
        times = time_per_state(timed, states, first.settings.validation.dt, REPEATS)
    found: dict = {"methods": {}, "others": {}}

    def row_of(name: str, surrogate: Surrogate) -> dict:
        row = {"weights": surrogate.network.n_weights, "seconds": times[name]["median"],
               "alone": delays(first, timed[name][0])}  # fmt: skip
        if is_compiled(surrogate):
            row["behind"] = delays(first, fastest(surrogate))
            row["flames"] = speeds(first, timed[name][0], flames)
        print(name, json.dumps(strict(row)), flush=True)
        return row

    parent = row_of("whole", whole)
    for method, stages in surrogates.items():
        rows = (row_of(f"{method} {i}", surrogate) for i, surrogate in enumerate(stages[1:], 1))
        found["methods"][method] = [parent, *rows]
    for name, one in others.items():
        found["others"][name] = {"seconds": times[name]["median"], **delays(first, one)}
        if "CVODE" not in name:
            found["others"][name]["flames"] = speeds(first, one, flames)
        print(name, json.dumps(strict(found["others"][name])), flush=True)
    return found


def draw(results: dict, path: Path) -> None:
    """The figure: mean errors of delays and of flame speeds over weights, a column for each form;
    the time of a state above. Stars: solvers, at the weights of a network that takes as long."""
    from matplotlib.figure import Figure

    forms = [form for form in FORMS if form in results]
    figure = Figure(figsize=(5.2 * len(forms), 7.4), layout="constrained")
    panels = figure.subplots(2, len(forms), sharey="row", sharex="col", squeeze=False)
    for (above, below), form in zip(panels.T, forms, strict=True):
        curves, pairs = results[form]["methods"], []
        for name, rows in curves.items():
            pairs += [(row["weights"], row["seconds"]) for row in rows]
            look = {"color": f"C{REDUCTIONS.index(name)}", "label": name.replace("_", " ")}
            _curve(above, rows, "alone", "o-", **look)
            _curve(above, rows, "behind", "s:", color=look["color"])
            _curve(below, rows, "flames", "o-", **look)
        _mark(above, below, results[form]["others"], pairs)
        below.set_xlabel("weights")
        above.set_title(form.replace("_", " "), loc="left")
        for axes in (above, below):
            axes.grid(alpha=0.3)
        above.legend(fontsize=8)
    panels[0, 0].set_ylabel("error of the ignition delay, mean [%]")
    panels[1, 0].set_ylabel("error of the flame speed, mean [%]")
    for axes in panels[:, 0]:
        axes.set_ylim(bottom=axes.get_ylim()[0] / 2)  # room for the lowest labels
    figure.savefig(path, dpi=110)


def _curve(axes, rows: list[dict], key: str, style: str, **look) -> None:
    """One curve of a method, of the rows that have it."""
    known = [row for row in rows if key in row]
    weights, mean = [row["weights"] for row in known], [_percent(row[key]["mean"]) for row in known]
    axes.loglog(weights, mean, style, ms=4 if style[0] == "o" else 3, **look)


def _mark(above, below, others: dict, pairs: list[tuple[int, float]]) -> None:
    """The solvers in the panels of a form, and the times; pairs: weights and seconds."""
    x, t = np.log(np.array(sorted(pairs)).T)
    order = np.argsort(t)
    for i, (name, one) in enumerate(others.items()):
        own = np.log(one["seconds"])
        shown = float(np.exp(np.interp(own, t[order], x[order])))
        beyond = "" if t.min() < own < t.max() else f": {_us(one['seconds'])}"
        ours, right = "solver," in name, np.log(shown) > x.mean()
        for axes, errors in ((above, one), (below, one.get("flames"))):
            if errors is None:
                continue
            axes.loglog(shown, _percent(errors["mean"]), "r*" if ours else "k*", ms=10)
            axes.annotate(
                f"{name.replace('1e-06', '1e-6')}{beyond}", (shown, _percent(errors["mean"])),
                xytext=(-7 if right else 7, 5 - 9 * i * ours), textcoords="offset points",
                ha="right" if right else "left", fontsize=8,
            )  # fmt: skip
            if name == f"solver, {SOLVER[-1]:g}":
                axes.axvline(shown, color="r", lw=0.8, ls="--")
    top = above.secondary_xaxis("top")
    ticks = np.exp(np.linspace(x[0], x[-1], 5))
    top.set_xticks(ticks, [_us(time) for time in np.exp(np.interp(np.log(ticks), x, t))])
    top.tick_params(labelsize=8)


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.{0 if seconds > 1e-5 else 2 if seconds < 1e-6 else 1}f} us"


def _percent(share: float | None) -> float:
    return np.nan if share is None or not np.isfinite(share) else 100.0 * share


def main() -> None:
    asked = words(__doc__) or list(FORMS)
    if not set(asked) <= set(FORMS):
        sys.exit(f"{' '.join(asked)}: give some of {', '.join(FORMS)}")
    ct.suppress_thermo_warnings()
    results = read_json(RESULTS)
    for form in asked:
        made = stamp(__file__, MECHANISM, NETWORKS)
        found = measure({method: run_of(form, method) for method in METHODS[form]})
        results[form] = found | {"machine": machine(), "cores": 1} | made
        write_json(RESULTS, strict(results))
    draw(results, FIGURE)
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
