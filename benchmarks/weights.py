"""How large must a network be? Errors of ignition delays and flame speeds against weights, by
reduction method.

    python -m benchmarks.weights

Runs of the pipeline, one for each method, in runs/weights-METHOD: the shipped drm19-336k, which
corrects quasi-steady steps, is cut stage after stage, and retrained. A run that is there is not
done again. Of every stage: mean and worst error of the delay against CVODE in the ignitions of the
run's validation, of the network alone and with the solver behind it, which takes the steps whose
error estimate is too large; the same of the speeds of three flames, against the solver in doubles;
and the time of a state of the network alone. Networks are compiled. Times are taken in turns, on
one core, with those of the solver at three tolerances, of the quasi-steady step without a network
and of CVODE (rtol 1e-6) on the same states; the delays of solvers are from a cold start in each
step.

Writes benchmarks/results/weights.json and docs/error-weights.png; prints a table, then one JSON
line.
"""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path

import cantera as ct
import numpy as np
from torch import nn

from benchmarks.command_line import words
from benchmarks.provenance import stamp
from combred.chemistry.reactor import CVODE
from combred.chemistry.stepper import Advance
from combred.config.command import resolve
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import Flame
from combred.experiments.premixed.grid import FlameCase
from combred.experiments.storage import read_runs
from combred.files.records import strict, write_json
from combred.native import fastest
from combred.native.solver import Solver
from combred.pipeline.assembly import load_data, load_surrogates
from combred.pipeline.command import execute, prepare
from combred.pipeline.run import Run
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.surrogates.model.network import Network
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.timing import time_per_state

RESULTS = Path(__file__).parent / "results" / "weights.json"
FIGURE = Path(__file__).parents[1] / "docs" / "error-weights.png"
METHODS = "condensation", "brain_surgeon"
SETTINGS = "reduction.parameters=[0.43,0.115,0.033,0.014]", "stage=4"
SHARED = "states.h5", "sensitive.h5", "sample.json"  # the states are made once
BATCH, REPEATS, SOLVER, CFD = 4096, 7, (0.1, 0.01, 0.001), 1e-6
FLAMES = [FlameCase(300.0, ct.one_atm, phi) for phi in (0.8, 1.0, 1.2)]


def run_of(method: str) -> Run:
    """The finished run of a method."""
    run = prepare(resolve([*SETTINGS, f"reduction.method={method}", f"run=weights-{method}"]))
    first = Path("runs") / f"weights-{METHODS[0]}"
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
        row = {
            "weights": surrogate.network.n_weights, "seconds": times[name]["median"],
            "alone": delays(first, timed[name][0]), "behind": delays(first, fastest(surrogate)),
            "flames": speeds(first, timed[name][0], flames),
        }  # fmt: skip
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
    """The figure: mean errors of delays and of flame speeds over weights; the time of a state
    above. Stars: solvers, at the weights of a network that takes as long."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    pairs = []
    for i, (name, rows) in enumerate(results["methods"].items()):
        pairs += [(row["weights"], row["seconds"]) for row in rows]
        look = {"color": f"C{i}", "label": name.replace("_", " ")}
        _curve(left, rows, "alone", "o-", **look)
        _curve(left, rows, "behind", "s:", color=look["color"])
        _curve(right, rows, "flames", "o-", **look)
    _mark(left, right, results["others"], pairs)
    left.set_ylabel("error of the ignition delay, mean [%]")
    right.set_ylabel("error of the flame speed, mean [%]")
    for axes in (left, right):
        axes.set_xlabel("weights")
        axes.set_ylim(bottom=axes.get_ylim()[0] / 2)  # room for the lowest labels
        axes.grid(alpha=0.3)
    left.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def _curve(axes, rows: list[dict], key: str, style: str, **look) -> None:
    """One curve of a method."""
    weights, mean = [row["weights"] for row in rows], [_percent(row[key]["mean"]) for row in rows]
    axes.loglog(weights, mean, style, ms=4 if style[0] == "o" else 3, **look)


def _mark(left, right, others: dict, pairs: list[tuple[int, float]]) -> None:
    """The solvers in both panels, and the times; pairs: weights and seconds."""
    x, t = np.log(np.array(sorted(pairs)).T)
    order = np.argsort(t)
    for i, (name, one) in enumerate(others.items()):
        own = np.log(one["seconds"])
        shown = float(np.exp(np.interp(own, t[order], x[order])))
        beyond = "" if t.min() < own < t.max() else f": {_us(one['seconds'])}"
        ours, beside = "solver," in name, np.log(shown) > x.mean()
        for axes, errors in ((left, one), (right, one.get("flames"))):
            if errors is None:
                continue
            axes.loglog(shown, _percent(errors["mean"]), "r*" if ours else "k*", ms=10)
            axes.annotate(
                f"{name.replace('1e-06', '1e-6')}{beyond}", (shown, _percent(errors["mean"])),
                xytext=(-7 if beside else 7, 5 - 9 * i * ours), textcoords="offset points",
                ha="right" if beside else "left", fontsize=8,
            )  # fmt: skip
            if name == f"solver, {SOLVER[-1]:g}":
                axes.axvline(shown, color="r", lw=0.8, ls="--")
    ticks = np.exp(np.linspace(x[0], x[-1], 5))
    for axes in (left, right):
        top = axes.secondary_xaxis("top")
        top.set_xticks(ticks, [_us(time) for time in np.exp(np.interp(np.log(ticks), x, t))])
        top.tick_params(labelsize=8)


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.{0 if seconds > 1e-5 else 2 if seconds < 1e-6 else 1}f} us"


def _percent(share: float | None) -> float:
    return np.nan if share is None or not np.isfinite(share) else 100.0 * share


def main() -> None:
    words(__doc__)
    ct.suppress_thermo_warnings()
    made = stamp(__file__)
    found = measure({method: run_of(method) for method in METHODS})
    results = {"machine": machine(), "cores": 1} | found | made
    write_json(RESULTS, strict(results))
    draw(results, FIGURE)
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
