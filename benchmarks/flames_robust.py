"""Do flames converge from nothing? Ten fuels, 60 unburnt gases each, without a flame near them.

    python -m benchmarks.flames_robust [FUEL ...]

Gases are drawn with a fixed seed: phi from 0.4 to 3 and p from 0.5 to 40 atm evenly in their
logarithms, T from 250 to 800 K, 15 to 100 % of O2 in N2. Each flame is solved by `combred.flame`
with its own criteria, on one core. A row tells how many are steady, how many gases do not burn,
how many flames are not found, and the CPU time of a flame. Writes
benchmarks/results/flames_robust.json; prints one JSON line.
"""

import json
import time
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import words
from benchmarks.provenance import stamp, stored
from combred.files.records import strict, write_json
from combred.flames.problems import FlameError, NoFlame
from combred.flames.speeds import flame
from combred.processes.machine import machine

RESULTS = Path(__file__).parent / "results" / "flames_robust.json"
AMMONIA = "example_data/ammonia-CO-H2-Alzueta-2023.yaml"
FUELS = {  # fuel in moles, and mechanism
    "hydrogen": ("H2:1", "h2o2.yaml"),
    "syngas": ("H2:1, CO:1", "gri30.yaml"),
    "methane": ("CH4:1", "drm19.yaml"),
    "ethane": ("C2H6:1", "gri30.yaml"),
    "ethylene": ("C2H4:1", "gri30.yaml"),
    "propane": ("C3H8:1", "gri30.yaml"),
    "methanol": ("CH3OH:1", "gri30.yaml"),
    "ammonia": ("NH3:1", AMMONIA),
    "ammonia and hydrogen": ("NH3:0.6, H2:0.4", AMMONIA),
    "acetylene": ("C2H2:1", "gri30.yaml"),
}
GASES, SEED = 60, 0
PHI, P, T, OXYGEN = (0.4, 3.0), (0.5, 40.0), (250.0, 800.0), (0.15, 1.0)  # -, atm, K, mole fraction


def drawn(mechanism: combred.Mechanism, fuel: str) -> list[tuple[float, float, float, np.ndarray]]:
    """phi, T [K], p [Pa] and Y of the unburnt gases."""
    rng, gases = np.random.default_rng(SEED), []
    names = {name.upper(): name for name in mechanism.species_names}
    for _ in range(GASES):
        phi, p = (np.exp(rng.uniform(*np.log(ends))) for ends in (PHI, P))
        T0, oxygen = rng.uniform(*T), rng.uniform(*OXYGEN)
        oxidizer = f"{names['O2']}:{oxygen}, {names['N2']}:{1.0 - oxygen}"
        Y = mechanism.mixture(fuel, oxidizer, float(phi))
        gases.append((float(phi), float(T0), float(p * ct.one_atm), Y))
    return gases


def main() -> None:
    chosen = words(__doc__) or list(FUELS)
    ct.suppress_thermo_warnings()
    results = {"machine": machine(), **stored(RESULTS, FUELS)}
    for name in chosen:
        fuel, file = FUELS[name]
        stamped, mechanism = stamp(__file__), combred.load_mechanism(file)
        seconds, speeds, unburnable, lost = [], [], [], []
        for phi, T0, p, Y in drawn(mechanism, fuel):
            start_time = time.process_time()
            gas = f"phi {phi:.2f}, {T0:.0f} K, {p / ct.one_atm:.1f} atm"
            try:
                speeds.append(flame(mechanism, T0, p, Y).speed)
                seconds.append(time.process_time() - start_time)
            except NoFlame as error:
                unburnable.append(f"{gas}: {error}")
            except FlameError as error:
                lost.append(f"{gas}: {error}")
        results[name] = {
            "mechanism": file, "gases": GASES, "steady": len(speeds), "no_flame": unburnable,
            "not_found": lost, "median_s": float(np.median(seconds[1:])),
            "largest_s": float(np.max(seconds[1:])), "slowest": float(np.min(speeds)),
            "fastest": float(np.max(speeds)), **stamped,
        }  # fmt: skip
        write_json(RESULTS, strict(results))
        row = {
            key: results[name][key]
            for key in ("steady", "median_s", "largest_s", "slowest", "fastest")
        }
        print(name, row, f"no flame {len(unburnable)}, not found {len(lost)}", flush=True)
        for text in [*unburnable, *lost]:
            print("   ", text, flush=True)
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
