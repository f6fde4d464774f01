"""How large must a network be? The error of ignition delays against weights, by reduction method.

    python -m benchmarks.weights [quasi_steady] [state]

Runs of the pipeline, one for each form of a surrogate and each method, in runs/weights-FORM-METHOD:
the shipped drm19-336k, which corrects quasi-steady steps, or the paper's network, which sees the
state alone and is trained on a million rows, is cut stage after stage, and retrained. A run that is
there is not done again. Of every stage: mean and worst error of the delay against CVODE in the
ignitions of the run's validation, of the network alone and with the solver behind it, which takes
the steps whose error estimate is too large; the time of a state of the network alone, compiled
(quasi_steady) or in TorchScript (state), and of the solver at three tolerances and of CVODE (rtol
1e-6) on the same states, on one core, in turns; and the delays of these, from a cold start in each
step.

Writes benchmarks/results/weights.json and docs/error-weights.png; prints a table, then one JSON
line. Takes some hours on two cores.
"""

import json
import shutil
import sys
from pathlib import Path

import cantera as ct
import numpy as np
import torch

from benchmarks.command_line import words
from combred import config
from combred.chemistry.reactor import CVODE, Advance
from combred.files.records import read_json, strict, write_json
from combred.native import fastest
from combred.native.solver import Solver
from combred.pipeline.command import execute, prepare
from combred.pipeline.run import Run
from combred.pipeline.steps.networks import load_surrogates
from combred.pipeline.steps.sample import load_data
from combred.processes.threads import one_thread
from combred.simulation.ignition import Rollout
from combred.surrogate.surrogate import Surrogate
from combred.validation.ignition import cases as ignition_cases
from combred.validation.ignition import errors as ignition_errors
from combred.validation.storage import read_runs
from combred.validation.timing import machine, time_per_state

RESULTS = Path(__file__).parent / "results" / "weights.json"
FIGURE = Path(__file__).parents[1] / "docs" / "error-weights.png"
METHODS = {
    "quasi_steady": ("brain_surgeon", "condensation", "folding", "magnitude"),
    "state": ("brain_surgeon", "condensation", "folding"),
}
FORMS = {
    "quasi_steady": ["reduction.parameters=[0.43,0.115,0.033,0.014]", "stage=4"],
    "state": [
        "profile=paper", "start=scratch", "sampling.states=1000000", "sampling.ignitions=3000",
        "reduction.parameters=[0.022,0.0043,0.0008]", "stage=3", "retraining.steps=40000",
        "retraining.lr=6e-3",
    ],
}  # fmt: skip
# The states of a form are made once, and its network of stage 0 is trained once.
SHARED = (
    "states.h5", "sensitive.h5", "sample.json", "stage0.safetensors", "stage0.jsonl", "train.json",
)  # fmt: skip
BATCH, REPEATS, SOLVER, CFD = 4096, 7, (0.1, 0.01, 0.001), 1e-6


class WithSolver:
    """A network of the state alone in torch as an `Advance`, and the solver, which takes the steps
    that the network is not trusted with; both at the network's default tolerance."""

    def __init__(self, surrogate: Surrogate):
        self.surrogate, self.states, self.solved = surrogate, 0, 0
        self.solver = Solver(surrogate.mechanism, surrogate.TOLERANCE)

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K] and Y (n, n_species) of the states, dt [s] later."""
        states = torch.from_numpy(np.column_stack([T, p, Y]))
        with torch.no_grad():
            later, error = self.surrogate.next_state_and_error(
                states, torch.full((len(T),), dt, dtype=torch.float64)
            )
        x, doubted = later.numpy(), ~(error.numpy() <= 1.0)
        if doubted.any():
            found = self.solver.advance(T[doubted], p[doubted], Y[doubted], dt)
            x[doubted, 0], x[doubted, 2:] = found
        self.states += len(T)
        self.solved += int(doubted.sum())
        return x[:, 0], x[:, 2:]


def run_of(form: str, method: str) -> Run:
    """The finished run of a form and a method."""
    arguments = [*FORMS[form], f"reduction.method={method}", f"run=weights-{form}-{method}"]
    run, first = (
        prepare(config.resolve(arguments)),
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
    with one_thread():
        found = ignition_cases.follow(solver, run.settings.validation.dt, references)
    errors = ignition_errors.compare(run.mechanism, found, references)["delay_error"]
    return {"mean": errors["mean"], "worst": errors["worst"]}


def measure(runs: dict[str, Run]) -> dict:
    """For each method a row for each stage; and the solver at several tolerances, and CVODE. All
    times are taken in turns."""
    first = next(iter(runs.values()))
    table = load_data(first).table
    states = table.draw(table.usual, BATCH, first.settings.seed).state()
    others: dict[str, Advance] = {
        f"solver, {tolerance:g}": Solver(first.mechanism, tolerance) for tolerance in SOLVER
    }
    others[f"CVODE, {CFD:g}"] = CVODE(first.mechanism, CFD, 1e-6 * CFD)
    timed = {name: (one, 128 if "CVODE" in name else BATCH) for name, one in others.items()}
    surrogates = {method: load_surrogates(run) for method, run in runs.items()}
    for method, stages in surrogates.items():
        for i, surrogate in enumerate(stages):
            timed[f"{method} {i}"] = fastest(surrogate, alone=True), BATCH
    with one_thread():
        times = time_per_state(timed, states, first.settings.validation.dt, REPEATS)
    found: dict = {"methods": {}, "others": {}}
    for method, stages in surrogates.items():
        rows = found["methods"][method] = []
        for i, surrogate in enumerate(stages):
            name = f"{method} {i}"
            row = {"weights": surrogate.network.n_weights, "seconds": times[name]["median"],
                   "alone": delays(first, timed[name][0])}  # fmt: skip
            behind = fastest(surrogate) if surrogate.kinetics else WithSolver(surrogate)
            row["behind"] = delays(first, behind)
            if isinstance(behind, WithSolver):
                row["solved"] = behind.solved / behind.states
            rows.append(row)
            print(name, json.dumps(strict(row)), flush=True)
    for name, one in others.items():
        found["others"][name] = {"seconds": times[name]["median"], **delays(first, one)}
        print(name, json.dumps(strict(found["others"][name])), flush=True)
    return found


def draw(results: dict, path: Path) -> None:
    """The figure: mean error of the delay over weights, one panel for each form; the time of a
    state above. Stars: solver and CVODE, at the weights of a network that takes as long."""
    from matplotlib.figure import Figure

    forms = [form for form in FORMS if form in results]
    figure = Figure(figsize=(5.2 * len(forms), 4.6), layout="constrained")
    panels = figure.subplots(1, len(forms), sharey=True, squeeze=False)[0]
    for axes, form in zip(panels, forms, strict=True):
        curves, pairs = results[form]["methods"], []
        for name, rows in curves.items():
            weights = [row["weights"] for row in rows]
            pairs += [(row["weights"], row["seconds"]) for row in rows]
            mean = [_percent(row["alone"]["mean"]) for row in rows]
            (line,) = axes.loglog(weights, mean, "o-", ms=4, label=name.replace("_", " "))
            if "behind" in rows[0]:
                mean = [_percent(row["behind"]["mean"]) for row in rows]
                axes.loglog(weights, mean, "s:", ms=3, color=line.get_color())
        x, t = np.log(np.array(sorted(pairs)).T)
        for i, (name, one) in enumerate(results[form]["others"].items()):
            own = np.log(one["seconds"])
            order = np.argsort(t)
            shown = float(np.exp(np.interp(own, t[order], x[order])))
            beyond = "" if t.min() < own < t.max() else f": {_us(one['seconds'])}"
            marker = "k*" if "CVODE" in name else "r*"
            axes.loglog(shown, _percent(one["mean"]), marker, ms=10)
            right = np.log(shown) > x.mean()
            axes.annotate(f"{name.replace('1e-06', '1e-6')}{beyond}",
                          (shown, _percent(one["mean"])), fontsize=8,
                          xytext=(-7 if right else 7, 5 - 9 * i), textcoords="offset points",
                          ha="right" if right else "left")  # fmt: skip
            if name == f"solver, {SOLVER[-1]:g}":
                axes.axvline(shown, color="r", lw=0.8, ls="--")
        axes.set_xlabel("weights")
        axes.set_title(form.replace("_", " "), loc="left")
        axes.grid(alpha=0.3)
        above = axes.secondary_xaxis("top")
        ticks = np.exp(np.linspace(x[0], x[-1], 5))
        above.set_xticks(ticks, [_us(time) for time in np.exp(np.interp(np.log(ticks), x, t))])
        above.tick_params(labelsize=8)
        axes.legend(fontsize=8)
    panels[0].set_ylabel("error of the ignition delay, mean [%]")
    panels[0].set_ylim(bottom=panels[0].get_ylim()[0] / 2)  # room for the lowest labels
    figure.savefig(path, dpi=130)


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
        found = measure({method: run_of(form, method) for method in METHODS[form]})
        results[form] = found | {"machine": machine(), "cores": 1}
        write_json(RESULTS, strict(results))
    draw(results, FIGURE)
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
