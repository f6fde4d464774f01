"""Is the error of a flame's speed what the sensitivities of its cells say?

    python -m benchmarks.sensitivities [MODEL ...]

For each flame of `benchmarks.flames` whose reference is in benchmarks/cache, and each model: the
error of one step of 1e-6 s in each cell against CVODE, times the sensitivity of the speed
(`combred.simulation.speed_sensitivity`), summed over the cells; beside it the error of the marched
flame, from benchmarks/results/flames.json. A sum takes a second, a march minutes. One core. Writes
benchmarks/results/sensitivities.json; prints a table, then one JSON line.
"""

import json
import time
from pathlib import Path

import numpy as np
import torch

import combred
from benchmarks.command_line import words
from benchmarks.flames import MODEL_CASES, cached, case_of, mechanism, stored
from combred.chemistry.reactor import CVODE, IntegrationError
from combred.native import fastest
from combred.records import digest, strict, write_json
from combred.simulation.moving_grid import MovingGrid
from combred.simulation.speed_sensitivity import speed_sensitivity
from combred.surrogate.shipped import FOLDER
from combred.validation import timing
from combred.validation.storage import read_flames

RESULTS = Path(__file__).parent / "results" / "sensitivities.json"
DT = 1e-6  # s


def main(models: list[str]) -> None:
    torch.set_num_threads(1)
    names = models or [name for name in combred.models() if combred.load(name).corrects_rates]
    solvers, rows, marched = {n: fastest(combred.load(n)) for n in names}, [], stored()["models"]
    for case in map(case_of, MODEL_CASES):
        path = cached(case)
        if not path.exists():
            continue
        profile = read_flames(path, mechanism())[0]["cvode"][0].profile
        begun = time.monotonic()
        try:
            sensitivity = speed_sensitivity(mechanism(), profile)
        except IntegrationError as error:
            print(f"{case}: {error}", flush=True)
            continue
        grid = MovingGrid(mechanism(), profile)
        grid.diffuse(0.5 * DT)
        p = np.full(len(grid.T), case.p)
        exact = CVODE(mechanism(), 1e-9, 1e-16).advance(grid.T, p, grid.Y, DT)[1]
        row = {"case": str(case), "seconds": time.monotonic() - begun, "models": {}}
        for name, solver in solvers.items():
            error = solver.advance(grid.T, p, grid.Y, DT)[1] - exact
            file = digest(FOLDER / f"{name}.safetensors")
            there = marched.get(str(case), {})
            same = there.get(name, {}).get("file") == file
            found = there[name]["speed"] / there["CVODE"]["speed"] - 1.0 if same else None
            predicted = float((sensitivity * error).sum() / DT)
            row["models"][name] = {"file": file, "predicted": predicted, "marched": found}
        rows.append(row)
        shown = ", ".join(
            f"{name} {100 * r['predicted']:+.2f} %"
            + (f" (marched {100 * r['marched']:+.2f} %)" if r["marched"] is not None else "")
            for name, r in row["models"].items()
        )
        print(f"{row['case']}: {shown}", flush=True)
    results = strict({"dt": DT, "machine": timing.machine(), "rows": rows})
    write_json(RESULTS, results)
    print(json.dumps(results))


if __name__ == "__main__":
    main(words(__doc__))
