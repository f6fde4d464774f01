"""Which species need no transport? Those that live so briefly that they stay in their cell.

    python -m benchmarks.transported [--mechanism FILE] [--fuel MOLES]

A flow code solves an equation of transport for every species; the chemistry of the cells takes a
tenth of a step. Here the species with the shortest way are kept in their cells, where the solver
advances them, and the others are transported; what moves less goes to the inert species, as in
OpenFOAM. The order is that of the largest rate of transport over the largest rate of creation, in
the flames and the layer below, the largest of all. Of each number of kept species: the changes of
premixed flame speeds, of the extinction strain rate of a counterflow flame, of the ignition time
of a layer between fuel and hot oxidizer at 10 atm, and of the largest T in the cells of all.
Fluxes are mixture-averaged, dt a five hundredth of a flame time, 1e-6 s in the layer. Writes
benchmarks/results/transported.json; prints a table, then one JSON line.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cantera as ct
import numpy as np

from benchmarks.extinction import extinguish
from combred.chemistry.fuel import air, nitrogen
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.files.records import read_json, strict, write_json
from combred.native.solver import Solver
from combred.processes.threads import one_thread
from combred.simulation.cells import react
from combred.simulation.counterflow import flame as counterflow
from combred.simulation.counterflow import grid as counterflow_grid
from combred.simulation.counterflow.cantera_flame import CounterflowCase
from combred.simulation.counterflow.flame import CounterflowMarch
from combred.simulation.counterflow.grid import CounterflowGrid
from combred.simulation.diffusion import Diffusion
from combred.simulation.ignition import IGNITED
from combred.simulation.premixed import flame
from combred.simulation.premixed import grid as moving_grid
from combred.simulation.premixed.flame import FlameMarch
from combred.simulation.premixed.grid import FlameCase, MovingGrid
from combred.validation.timing import machine

RESULTS = Path(__file__).parent / "results" / "transported.json"
ATM = ct.one_atm
FLAMES = (FlameCase(300.0, ATM, 1.0), FlameCase(300.0, ATM, 0.6), FlameCase(300.0, 10 * ATM, 1.0))
PREMIXED, STEPS_PER_TIME = FlameMarch(cells=120, longest=3.0), 500
COUNTERFLOW, STRAIN, STEPS_PER_STRAIN = CounterflowMarch(cells=60, longest=8.0), 300.0, 500
WITHIN = 0.005  # of the extinction strain rate
CELLS, WIDTH, DT, LAYER_P = 120, 2e-3, 1e-6, 10 * ATM  # of the layer; m, s, Pa
HOT, COLD, LONGEST = 1300.0, 400.0, 4000  # K; steps
COUNTS = (0, 3, 5, 6, 8, 10, 12, 15, 18, 21, 25, 30)  # of kept species


class Kept(Diffusion):
    """Diffusion and convection of all species but `kept`."""

    kept: tuple[int, ...] = ()
    inert: int = 0

    def derivatives(self, fluxes, Y, h):
        """As `Diffusion.derivatives`."""
        dY, dh = super().derivatives(fluxes, Y, h)
        dY[:, list(self.kept)] = 0.0
        dY[:, self.inert] -= dY.sum(axis=1)
        return dY, dh


@contextmanager
def keeping(mechanism: Mechanism, species: list[int]) -> Iterator[None]:
    """All grids keep these species in their cells."""
    Kept.kept, Kept.inert = tuple(species), mechanism.index(nitrogen(mechanism))
    rooms = (moving_grid, counterflow_grid)
    for room in rooms:
        room.Diffusion = Kept
    try:
        yield
    finally:
        for room in rooms:
            room.Diffusion = Diffusion


def layer(mechanism: Mechanism, fuel: str, kept: list[int]) -> tuple:
    """Cells between fuel and hot oxidizer: their `Diffusion`, T, Y and h."""
    gas, share = mechanism.solution(), 0.5 * (1 + np.tanh(np.linspace(-6.0, 6.0, CELLS)))
    T = COLD + (HOT - COLD) * share
    sides = []
    for composition in (fuel, air(mechanism)):
        gas.TPX = 300.0, LAYER_P, composition
        sides.append(gas.Y)
    Y = np.outer(1.0 - share, sides[0]) + np.outer(share, sides[1])
    Kept.kept, Kept.inert = tuple(kept), mechanism.index(nitrogen(mechanism))
    rho = Diffusion(mechanism, LAYER_P, 1.0).density(T, Y)
    cells = Kept(mechanism, LAYER_P, rho * WIDTH / CELLS)
    return cells, T, Y, cells.enthalpy(T, Y)


def ignite(mechanism: Mechanism, solver: Solver, fuel: str, kept: list[int]) -> dict:
    """The time [s] at which the layer has ignited, and its largest T and profile 20 steps later."""
    cells, T, Y, h = layer(mechanism, fuel, kept)
    time, end, first = np.nan, LONGEST, T.max()
    for step in range(LONGEST):
        before = T.max()
        T, Y, h = cells.step(T, Y, h, DT)
        guess, Y = react(solver, T, LAYER_P, Y, DT)
        T = cells.temperature(h, Y, guess)
        if np.isnan(time) and T.max() > first + IGNITED:
            time = DT * (step + (first + IGNITED - before) / (T.max() - before))
            end = step + 20
        if step == end:
            break
    return {"time": time, "T": float(T.max()), "profile": (T, Y)}


def ratio(mechanism: Mechanism, solver: Solver, p: float, cells: Diffusion, T, Y) -> np.ndarray:
    """Largest rate of transport over largest rate of creation of each species (n_species,)."""
    moved, _ = cells.derivatives(cells.fluxes(T, Y), Y, cells.enthalpy(T, Y))
    net, loss = solver.rates(T, np.full(len(T), p), Y.clip(min=0.0))
    created = np.abs(net + loss).max(axis=0)
    return np.abs(moved).max(axis=0) / np.maximum(created, 1e-30)


def measure(mechanism: Mechanism, solver: Solver, fuel: str) -> dict:
    """The order of the species, and the numbers of each of `COUNTS`."""
    oxidizer = air(mechanism)
    begins, dts, ratios = [], [], []
    for case in FLAMES:
        fresh = mechanism.mixture(fuel, oxidizer, case.phi)
        begin = flame.start(mechanism, case, fresh, PREMIXED.cells)
        grid = MovingGrid(mechanism, begin)
        dts.append(grid.thickness() / begin.speed / STEPS_PER_TIME)
        settled = flame.burn(mechanism, solver, dts[-1], begin, FlameMarch(cells=120))
        begins.append(settled.profile)
        of = settled.profile
        ratios.append(ratio(mechanism, solver, case.p, grid.diffusion, of.T, of.Y))
    strained = counterflow.start(mechanism, CounterflowCase(fuel, oxidizer), STRAIN, 60)
    grid = CounterflowGrid(mechanism, strained)
    ratios.append(ratio(mechanism, solver, ATM, grid.diffusion, strained.T, strained.Y))
    ignited = ignite(mechanism, solver, fuel, [])
    cells = layer(mechanism, fuel, [])[0]
    ratios.append(ratio(mechanism, solver, LAYER_P, cells, *ignited["profile"]))
    largest = np.max(ratios, axis=0)
    largest[mechanism.inert] = np.inf
    order = [int(k) for k in np.argsort(largest)]
    rows: list[dict] = []
    for count in [c for c in COUNTS if c < mechanism.n_species - 6]:
        kept = order[:count]
        row: dict = {"kept": count}
        with keeping(mechanism, kept):
            for case, begin, dt in zip(FLAMES, begins, dts, strict=True):
                found = flame.burn(mechanism, solver, dt, begin, PREMIXED)
                row[f"speed, {case}"] = found.speed
                row["T"] = max(row.get("T", 0.0), float(found.T.max()))
            found = extinguish(
                mechanism, solver, 1.0 / STRAIN / STEPS_PER_STRAIN, strained, COUNTERFLOW,
                within=WITHIN,
            )  # fmt: skip
            row["extinction"] = found.strain
        again = ignite(mechanism, solver, fuel, kept)
        row |= {"ignition": again["time"], "ignited T": again["T"]}
        rows.append(row)
        changes = {k: v / rows[0][k] - 1.0 for k, v in row.items() if k != "kept"}
        shown = "  ".join(f"{k} {100 * v:+.3f} %" for k, v in changes.items())
        print(f"{count:3d} {shown}", flush=True)
    return {
        "order": [[mechanism.species_names[k], float(largest[k])] for k in order],
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mechanism", default="drm19.yaml", metavar="FILE")
    parser.add_argument("--fuel", default="auto", metavar="MOLES")
    given = parser.parse_args()
    ct.suppress_thermo_warnings()
    mechanism = load_mechanism(given.mechanism)
    fuel = mechanism.resolve_fuel(given.fuel)
    with one_thread():
        found = measure(mechanism, Solver(mechanism), fuel)
    results = read_json(RESULTS) | {"machine": machine()}
    results[f"{mechanism.name}:{fuel}"] = found
    write_json(RESULTS, strict(results))
    print(json.dumps(strict(results)))


if __name__ == "__main__":
    main()
