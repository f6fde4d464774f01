"""What does accuracy cost? Error against time of surrogates and CVODE, over their tolerances.

    python -m benchmarks.work_precision --states FILE [MODEL ...]

The states are those of benchmarks/flow_states.py, all kinds together, at dt = 1e-6 and 1e-5 s.
Every solver advances all of them on one core: surrogates as compiled C++ in one batch, CVODE one
after the other, from a cold start. The error is that of T, relative to the change of T plus 1 K:
its root mean square and its 99 % quantile over all states. Also the order of convergence: the slope
of the error over the length of equal steps, by regression, for each model as it is, and with random
and zero weights in its last layer. Run nothing else on the machine meanwhile. Writes
benchmarks/results/work_precision.json and docs/work-precision.png; prints tables, then one JSON
line.
"""

import argparse
import copy
import json
import time
from pathlib import Path

import cantera as ct
import numpy as np
import torch

import combred
from benchmarks.flow_states import read
from combred import native
from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.reactor import CVODE
from combred.records import write_json
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation.timing import machine

RESULTS = Path(__file__).parent / "results" / "work_precision.json"
FIGURE = Path(__file__).parents[1] / "docs" / "work-precision.png"
STEPS = (1e-6, 1e-5)  # s
TOLERANCES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
CVODE_RTOL = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)  # with atol = 1e-8 rtol
CVODE_STATES = 400
SUBSTEPS = (4, 8, 16, 32)  # equal steps in 1 us, by which the order is measured


def errors(T: np.ndarray, exact: np.ndarray, before: np.ndarray) -> dict:
    """Summary of the relative errors of T (n,) [K]."""
    e = np.abs(T - exact) / (np.abs(exact - before) + 1.0)
    return {"rms": float(np.sqrt((e**2).mean())), "q99": float(np.quantile(e, 0.99))}


def of_surrogate(surrogate: Surrogate, before: np.ndarray, exact: np.ndarray, dt: float) -> list:
    """Error, time a state [s] and evaluations a state at each of `TOLERANCES`."""
    compiled, rows = native.compile(surrogate), []
    for tolerance in TOLERANCES:
        compiled.integrate(before[:64], dt, tolerance)
        begun = time.perf_counter()
        later, error, evaluations = compiled.integrate(before, dt, tolerance)
        seconds = (time.perf_counter() - begun) / len(before)
        rows.append({
            "tolerance": tolerance, "seconds": seconds,
            "evaluations": float(evaluations.mean()),
            "refused": float((error > 1.0).mean()),
            **errors(later[:, 0], exact, before[:, 0]),
        })  # fmt: skip
    return rows


def of_cvode(before: np.ndarray, exact: np.ndarray, dt: float) -> list:
    """Error and time a state [s] of CVODE at each of `CVODE_RTOL`, on evenly spread states."""
    pick = np.linspace(0, len(before) - 1, CVODE_STATES).astype(int)
    before, exact = before[pick], exact[pick]
    rows = []
    for rtol in CVODE_RTOL:
        cvode = CVODE(load_mechanism("drm19.yaml"), rtol, 1e-8 * rtol)
        begun = time.perf_counter()
        T, _ = cvode.advance(before[:, 0], before[:, 1], before[:, 2:], dt)
        seconds = (time.perf_counter() - begun) / len(T)
        rows.append({"tolerance": rtol, "seconds": seconds, **errors(T, exact, before[:, 0])})
    return rows


def order(surrogate: Surrogate, before: np.ndarray, exact: np.ndarray) -> float:
    """The slope of ln(median error of T) over ln(step), for 1 us in 4, 8, 16 and 32 equal steps, of
    the states whose T changes by more than 1 K."""
    moving = np.abs(exact - before[:, 0]) > 1.0
    found = []
    for count in SUBSTEPS:
        state = torch.from_numpy(before[moving])
        steps = torch.full((len(state),), 1e-6 / count, dtype=torch.float64)
        with torch.no_grad():
            for _ in range(count):
                state, _ = surrogate.step(state, steps)
        found.append(np.median(np.abs(state[:, 0].numpy() - exact[moving])))
    return float(-np.polyfit(np.log(SUBSTEPS), np.log(found), 1)[0])


def with_last_layer(surrogate: Surrogate, scale: float) -> Surrogate:
    """The surrogate with random weights, times `scale`, in its network's last layer."""
    other = copy.deepcopy(surrogate)
    last, generator = other.network.layers[-1], torch.Generator().manual_seed(0)
    with torch.no_grad():
        last.weight.copy_(scale * torch.randn(last.weight.shape, generator=generator) * 0.1)
        last.bias.zero_()
    return other


def draw(found: dict, path: Path) -> None:
    """The figure: error over time a state, one panel for each dt."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axis, (dt, lines) in zip(figure.subplots(1, 2, sharey=True), found.items(), strict=True):
        for name, rows in lines.items():
            marker = "k.--" if name == "CVODE" else "o-"
            us = [1e6 * row["seconds"] for row in rows]
            axis.loglog(us, [row["rms"] for row in rows], marker, ms=4, label=name)
        axis.set_xlabel("time a state [us]")
        axis.set_title(f"dt = {float(dt):g} s")
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylabel("relative error of T, rms")
    figure.axes[0].legend()
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.work_precision",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--states", type=Path, required=True, metavar="FILE")
    parser.add_argument("models", nargs="*", help="names of shipped models; default: all general")
    given = parser.parse_intermixed_args()
    ct.suppress_thermo_warnings()
    models = given.models or [n for n, card in combred.models().items() if "tolerance" in card]
    kinds, lines, orders = read(given.states).values(), {}, {}
    before = np.concatenate([np.column_stack([k["T"], k["p"], k["Y"]]) for k in kinds])
    with one_thread():
        for dt in STEPS:
            at = [int(np.argmin(np.abs(k["dt"] - dt))) for k in kinds]
            exact = np.concatenate([k["T_next"][i] for k, i in zip(kinds, at, strict=True)])
            lines[f"{dt:g}"] = {"CVODE": of_cvode(before, exact, dt)}
            for model in models:
                surrogate = combred.load(model).requires_grad_(False)
                lines[f"{dt:g}"][model] = of_surrogate(surrogate, before, exact, dt)
                if dt == 1e-6:
                    orders[model] = {
                        "trained": order(surrogate, before, exact),
                        "random": order(with_last_layer(surrogate, 1.0), before, exact),
                        "zero": order(with_last_layer(surrogate, 0.0), before, exact),
                    }
            for name, rows in lines[f"{dt:g}"].items():
                for row in rows:
                    print(
                        f"{dt:g} s {name:14} tolerance {row['tolerance']:7.0e}  error "
                        f"{row['rms']:8.1e} (99 %: {row['q99']:8.1e})  {1e6 * row['seconds']:8.1f} "
                        f"us  evaluations {row.get('evaluations', 0):.2f}",
                        flush=True,
                    )
    print("order of convergence:", orders)
    result = {"machine": machine(), "cores": 1, "lines": lines, "orders": orders}
    write_json(RESULTS, result)
    draw(lines, FIGURE)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
