"""How fast are `combred.flame` and `combred.flame_speed` beside Cantera's FreeFlame, and how alike?

    python -m benchmarks.flame_solver [MECHANISM ...]

In one process, on one core, CPU time: a flame near another on the same grid and with the same
tolerances (the inlet from phi = 0.9 to 1); a flame from nothing, with a grid of the same criteria;
21 speeds from phi = 0.6 to 1.6; and the sensitivities of a speed to all rate constants. Ours is the
best of three, Cantera runs once. Compared, too: speeds on the same grid, as solved and with tight
tolerances of both; and sensitivities with differences of two flames. Mixture-averaged transport,
air, 300 K, 1 atm. Writes benchmarks/results/flame_solver.json; prints one JSON line.
"""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import words
from benchmarks.provenance import stamp, stored
from combred.files.records import strict, write_json
from combred.flames.free import Profiles, _steady
from combred.flames.result import FreeFlame
from combred.flames.speeds import flame, flame_speed
from combred.native.flame_library import Method

RESULTS = Path(__file__).parent / "results" / "flame_solver.json"
FUELS = {"h2o2.yaml": "H2:1", "gri30.yaml": "CH4:1"}
T, P, AIR, WIDTH = 300.0, ct.one_atm, "O2:1, N2:3.76", 0.03
CRITERIA = {"ratio": 3.0, "slope": 0.06, "curve": 0.12}
PHI = np.linspace(0.6, 1.6, 21)
EXACT, TIGHT = Method(rtol=1e-9, atol=1e-15), (1e-8, 1e-13)
TIMES, CHANGE = 3, 0.01
Solved = tuple[float, object]


def timed(work: Callable[[], object], times: int = 1) -> Solved:
    """The least CPU time [s] of `times` calls, and the last result."""
    seconds = []
    for _ in range(times):
        start_time = time.process_time()
        result = work()
        seconds.append(time.process_time() - start_time)
    return min(seconds), result


def cantera_flame(gas: ct.Solution, Y: np.ndarray) -> ct.FreeFlame:
    """Cantera's flame from nothing."""
    gas.TPY = T, P, Y
    result = ct.FreeFlame(gas, width=WIDTH)
    result.set_refine_criteria(**CRITERIA)
    result.solve(0, auto=True)
    return result


def profiles_of(flame_of_ours: FreeFlame, cantera: ct.FreeFlame, Y: np.ndarray) -> Profiles:
    """The profiles of a flame of Cantera, as a start of a flame of an unburnt gas Y."""
    gas = replace(flame_of_ours.profiles.gas, Y=Y)
    fixed = int(np.argmin(np.abs(cantera.T - cantera.fixed_temperature)))
    x = np.column_stack([cantera.T, cantera.Y.T])
    M = cantera.velocity[0] * cantera.density[0]
    return Profiles(gas, cantera.grid, x, M, fixed)


def neighbour(flame_of_ours: FreeFlame, cantera: ct.FreeFlame, Y: np.ndarray) -> dict:
    """A flame from that of another mixture, on its grid; `cantera`: is solved."""
    start = profiles_of(flame_of_ours, cantera, Y)
    ours, result = timed(lambda: _steady(start, Method()), TIMES)
    cantera.inlet.Y = Y
    theirs, _ = timed(lambda: cantera.solve(0, refine_grid=False))
    # Cantera moves its fixed point; the problem of both is the same but for where the flame stands.
    cantera.flame.set_steady_tolerances(default=TIGHT)
    speed = cantera.velocity[0]
    cantera.solve(0, refine_grid=False)
    exact = _steady(profiles_of(flame_of_ours, cantera, Y), EXACT)
    return {
        "points": len(start.grid), "ours_s": ours, "cantera_s": theirs,
        "difference": result.speed / speed - 1.0, "tight": exact.speed / cantera.velocity[0] - 1.0,
    }  # fmt: skip


def differences(profiles: Profiles, i: int) -> float:
    """d ln S_L / d ln k_i by two flames."""
    M = []
    for factor in (1.0 + CHANGE, 1.0 - CHANGE):
        factors = np.ones(len(profiles.gas.factors))
        factors[i] = factor
        M.append(_steady(replace(profiles, gas=replace(profiles.gas, factors=factors)), EXACT).M)
    return float(np.log(M[0] / M[1]) / np.log((1.0 + CHANGE) / (1.0 - CHANGE)))


def sensitivities(flame_of_ours: FreeFlame) -> dict:
    """Sensitivities on our grid, of both, and the largest by differences."""
    exact = FreeFlame(_steady(flame_of_ours.profiles, EXACT))
    cantera = exact.to_cantera()
    cantera.flame.set_steady_tolerances(default=TIGHT)
    cantera.solve(0, refine_grid=False)
    ours, result = timed(exact.sensitivities, TIMES)
    theirs, expected = timed(cantera.get_flame_speed_reaction_sensitivities)
    largest = [int(i) for i in np.argsort(-np.abs(result))[:5]]
    by_differences = np.array([differences(exact.profiles, i) for i in largest])
    size = np.abs(result).max()
    return {
        "points": len(flame_of_ours.grid), "ours_s": ours, "cantera_s": theirs,
        "ours_off": float(np.abs(result[largest] - by_differences).max() / size),
        "cantera_off": float(np.abs(expected[largest] - by_differences).max() / size),
    }  # fmt: skip


def chain(gas: ct.Solution, mixtures: np.ndarray) -> list[float]:
    """Cantera's speeds, each flame from the one before."""
    result = cantera_flame(gas, mixtures[0])
    speeds = [result.velocity[0]]
    for Y in mixtures[1:]:
        result.inlet.Y = Y
        result.solve(0, refine_grid=True)
        speeds.append(result.velocity[0])
    return speeds


def measured(file: str) -> dict:
    """All of a mechanism."""
    mechanism, fuel = combred.load_mechanism(file), FUELS[file]
    gas = mechanism.solution()
    gas.transport_model = "mixture-averaged"
    lean, Y = mechanism.mixture(fuel, AIR, [0.9, 1.0])
    flame(mechanism, T, P, lean)  # compiled
    ours, flame_of_ours = timed(lambda: flame(mechanism, T, P, Y, **CRITERIA), TIMES)
    theirs, cantera = timed(lambda: cantera_flame(gas, Y))
    results: dict = {"species": mechanism.n_species, "nothing": {
        "points": len(flame_of_ours.grid), "cantera_points": len(cantera.grid), "ours_s": ours,
        "cantera_s": theirs, "cantera_jacobians_s": float(sum(cantera.jacobian_time_stats)),
        "difference": flame_of_ours.speed / cantera.velocity[0] - 1.0,
        "counts": flame_of_ours.profiles.counts,
    }}  # fmt: skip
    print(json.dumps(results), flush=True)
    results["near"] = neighbour(flame_of_ours, cantera_flame(gas, lean), Y)
    print(json.dumps(results["near"]), flush=True)
    results["sensitivities"] = sensitivities(flame_of_ours)
    print(json.dumps(results["sensitivities"]), flush=True)
    mixtures = mechanism.mixture(fuel, AIR, PHI)
    ours, speeds = timed(lambda: flame_speed(mechanism, T, P, mixtures, **CRITERIA), TIMES)
    theirs, expected = timed(lambda: chain(gas, mixtures))
    off = np.abs(speeds / np.array(expected) - 1.0)
    results["speeds"] = {
        "ours_s": ours, "cantera_s": theirs, "difference": float(off.max()),
        "phi": PHI.tolist(), "ours": speeds.tolist(), "cantera": [float(x) for x in expected],
    }  # fmt: skip
    return results


def main() -> None:
    chosen = words(__doc__) or list(FUELS)
    ct.suppress_thermo_warnings()
    results = stored(RESULTS, FUELS)
    for file in chosen:
        stamped = stamp(__file__)
        results[file] = measured(file) | stamped
        write_json(RESULTS, strict(results))
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
