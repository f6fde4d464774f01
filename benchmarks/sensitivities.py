"""Are the errors of flames what the sensitivities of their cells say?

    python -m benchmarks.sensitivities [MODEL ...]

For each flame of `benchmarks.flames` and of `benchmarks.counterflow` whose reference is in
benchmarks/cache, and each model: the error of one step in each cell against CVODE, times the
sensitivity of the speed (`combred.simulation.speed_sensitivity`) or of a peak
(`combred.simulation.counterflow_sensitivity`), summed over the cells; beside it the error of the
marched flame, from benchmarks/results. A sum takes a second, a march minutes. One core. Writes
benchmarks/results/sensitivities.json; prints a table, then one JSON line.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import cantera as ct
import numpy as np
import torch

import combred
from benchmarks import counterflow
from benchmarks.command_line import general_models, words
from benchmarks.flames import MODEL_CASES, cached, case_of, mechanism, stored
from combred.chemistry.reactor import CVODE, IntegrationError
from combred.native import fastest
from combred.records import digest, read_json, strict, write_json
from combred.simulation.counterflow_flame import CounterflowCase
from combred.simulation.counterflow_grid import CounterflowGrid
from combred.simulation.counterflow_sensitivity import peak_sensitivities
from combred.simulation.ignition_errors import TRACKED
from combred.simulation.moving_grid import MovingGrid
from combred.simulation.speed_sensitivity import speed_sensitivity
from combred.surrogate.shipped import FOLDER
from combred.validation import timing
from combred.validation.storage import read_flames

RESULTS = Path(__file__).parent / "results" / "sensitivities.json"
DT = 1e-6  # s, of premixed flames

# Of a flame: its name, its cells after half a step of transport, dt [s], and the sensitivities
# (cells, n_species) of each quantity.
Flame = tuple[str, MovingGrid | CounterflowGrid, float, dict[str, np.ndarray]]


def premixed() -> Iterator[Flame]:
    for case in map(case_of, MODEL_CASES):
        if not cached(case).exists():
            continue
        profile = read_flames(cached(case), mechanism())[0]["reference"][0].profile
        try:
            sensitivity = speed_sensitivity(mechanism(), profile)
        except IntegrationError as error:
            print(f"{case}: {error}", flush=True)
            continue
        grid = MovingGrid(mechanism(), profile)
        grid.diffuse(0.5 * DT)
        yield str(case), grid, DT, {"speed": sensitivity}


def name_of(air_T: float, strain: float) -> str:
    return f"counterflow, air at {air_T:.0f} K, {strain:.0f} 1/s"


def counterflows() -> Iterator[Flame]:
    kept = counterflow.references(mechanism())
    species = [mechanism().index(name) for name in TRACKED]
    for i, (air_T, strain, dt) in enumerate(counterflow.FLAMES):
        case = CounterflowCase(oxidizer_T=air_T)
        begin = counterflow.start(mechanism(), case, strain, counterflow.CELLS)
        profile = replace(begin, T=kept[f"T{i}"], Y=kept[f"Y{i}"].clip(min=0.0))
        found = peak_sensitivities(mechanism(), profile, species)
        grid = CounterflowGrid(mechanism(), profile)
        grid.transport(0.5 * dt)
        yield name_of(air_T, strain), grid, dt, dict(zip(("T", *TRACKED), found, strict=True))


def marched_flames() -> dict[tuple[str, str], dict[str, float]]:
    """The relative errors of marched flames, of each flame and file of a model; those of species
    without their sign."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for case, rows in stored()["models"].items():
        for row in rows.values():
            if isinstance(row, dict) and "file" in row:
                found[case, row["file"]] = {"speed": row["speed"] / rows["CVODE"]["speed"] - 1.0}
    for model in read_json(counterflow.RESULTS).get("models", {}).values():
        for row in model["flames"] if "file" in model else []:
            T, exact = row["peak_T"], row["reference_peak_T"]
            errors = {"T": (T - exact) / (exact - row["air_T"]), **row["peak_errors"]}
            found[name_of(row["air_T"], row["strain"]), model["file"]] = errors
    return found


def main(models: list[str]) -> None:
    torch.set_num_threads(1)
    ct.suppress_thermo_warnings()
    names = models or general_models()
    solvers, rows, marched = {n: fastest(combred.load(n)) for n in names}, [], marched_flames()
    for name, grid, dt, sensitivities in chain(premixed(), counterflows()):
        p, Y = np.full(len(grid.T), grid.profile.case.p), grid.Y.clip(min=0.0)
        exact = CVODE(mechanism(), 1e-9, 1e-16).advance(grid.T, p, Y, dt)[1]
        row: dict = {"case": name, "dt": dt, "models": {}}
        for model, solver in solvers.items():
            error = (solver.advance(grid.T, p, Y, dt)[1] - exact) / dt
            predicted = {key: float((s * error).sum()) for key, s in sensitivities.items()}
            file = digest(FOLDER / f"{model}.safetensors")
            found = marched.get((name, file))
            row["models"][model] = {"file": file, "predicted": predicted, "marched": found}
            shown = ", ".join(
                f"{key} {100 * error:+.2f}" + (f" ({100 * found[key]:+.2f})" if found else "")
                for key, error in predicted.items()
            )
            print(f"{name}, {model}: predicted (marched), %: {shown}", flush=True)
        rows.append(row)
    results = strict({"machine": timing.machine(), "rows": rows})
    write_json(RESULTS, results)
    print(json.dumps(results))


if __name__ == "__main__":
    main(words(__doc__))
