"""Do the shipped models stay at equilibrium over a million steps?

    python -m benchmarks.long [STEPS [MODEL ...]]

Advances shipped models (all, or those named) from unburnt mixtures (T0 1400 to 1800 K, phi 0.6, 1,
1.4, 1 and 20 atm) over STEPS steps of 1 us (1,000,000, which is one second), also after the gas is
burnt. Compares the states after 10,000, 50,000, 100,000, ... steps with chemical equilibrium at the
same enthalpy and pressure (Cantera). For comparison: the distance of CVODE from equilibrium after
50,000 steps (50 ms). Writes benchmarks/results/long.json after every model; a model whose file has
not changed is not run again. Prints a table, then one JSON line.
"""

import json
from pathlib import Path

import numpy as np

import combred
from benchmarks.command_line import words
from combred.chemistry.reactor import Reactor
from combred.config import ValidationSettings
from combred.files.records import digest, read_json, strict, write_json
from combred.native import fastest
from combred.pipeline.console import progress
from combred.processes.threads import one_thread
from combred.simulation import ignition
from combred.surrogate.shipped import FOLDER
from combred.validation.ignition import cases as ignition_cases

RESULTS = Path(__file__).parent / "results" / "long.json"
CASES = ignition_cases.cases(
    ValidationSettings(T0=[1400.0, 1500.0, 1600.0, 1700.0, 1800.0], p=[101325.0, 2026500.0])
)
FUEL, OXIDIZER, DT = "CH4:1", "O2:1, N2:3.76", 1e-6
MARKS = (10_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)


def equilibrium(mechanism: combred.Mechanism, Y0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species) of the cases at equilibrium, enthalpy and pressure
    constant."""
    gas, found = mechanism.solution(), []
    for case, Y in zip(CASES, Y0, strict=True):
        gas.TPY = case.T0, case.p, Y
        gas.equilibrate("HP")
        found.append((gas.T, gas.Y.copy()))
    return np.array([T for T, _ in found]), np.array([Y for _, Y in found])


def distance(T: np.ndarray, Y: np.ndarray, T_eq: np.ndarray, Y_eq: np.ndarray) -> dict:
    """Largest relative error of T, largest absolute error of a mass fraction, and the number of
    cases that have not ignited."""
    return {
        "finite": bool(np.isfinite(T).all() and np.isfinite(Y).all()),
        "not_ignited": int((T < 0.8 * T_eq).sum()),
        "T": float(np.abs(T / T_eq - 1.0).max()),
        "Y": float(np.abs(Y - Y_eq).max()),
    }


def by_cvode(mechanism: combred.Mechanism, Y0: np.ndarray, seconds: float) -> tuple:
    """T (n,) [K] and Y (n, n_species) after so many seconds by CVODE."""
    reactor, found = Reactor(mechanism, 1e-8, 1e-16), []
    for case, Y in zip(CASES, Y0, strict=True):
        reactor.start(case.T0, case.p, Y)
        T, Y_end = reactor.advance(seconds)
        found.append((T, np.array(Y_end)))
    return np.array([T for T, _ in found]), np.array([Y for _, Y in found])


def main(arguments: list[str]) -> None:
    steps = int(arguments[0]) if arguments else MARKS[-1]
    wanted = arguments[1:] or list(combred.models())
    mechanism = combred.load_mechanism("drm19.yaml")
    Y0 = ignition.mixtures(mechanism, CASES, FUEL, OXIDIZER)
    truth = equilibrium(mechanism, Y0)
    stored = read_json(RESULTS)
    rows = stored.get("rows", {}) if stored.get("steps") == steps else {}
    if "CVODE" not in rows:
        rows["CVODE"] = {"after": {"50000": distance(*by_cvode(mechanism, Y0, 0.05), *truth)}}
    for name in wanted:
        file = digest(FOLDER / f"{name}.safetensors")
        if rows.get(name, {}).get("file") == file:
            continue
        solver = fastest(combred.load(name))
        p = np.array([case.p for case in CASES])
        T, Y, row = np.array([case.T0 for case in CASES]), Y0.copy(), {}
        with progress(name) as bar, one_thread():
            for step in range(1, steps + 1):
                T, Y = solver.advance(T, p, Y, DT)
                if step in MARKS:
                    row[str(step)] = distance(T, Y, *truth)
                if step % 1000 == 0:
                    bar(step, steps)
        rows[name] = {"file": file, "after": row}
        write_json(RESULTS, strict({"steps": steps, "rows": rows}))
    print("largest errors of T and of a mass fraction against equilibrium, over 30 cases")
    for name, row in rows.items():
        for step, d in row["after"].items():
            print(f"{name:12} {int(step):9,} steps: T {100 * d['T']:8.4f} %  Y {d['Y']:.2e}"
                  f"  {d['not_ignited']} not ignited,"
                  f" {'finite' if d['finite'] else 'NOT FINITE'}")  # fmt: skip
    print(json.dumps(strict({"steps": steps, "rows": rows})))


if __name__ == "__main__":
    main(words(__doc__))
