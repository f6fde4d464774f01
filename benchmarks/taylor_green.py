"""The reacting Taylor-Green vortex in OpenFOAM: does it burn as with an exact chemistry?

    python -m benchmarks.taylor_green LIBRARY FOLDER [--flows NAME ...] [WAY ...]

Set-up of Abdelsamie, Lartigue, Frouzakis & Thevenin (2021), Comput. Fluids 223, 104935: a periodic
box of 2 pi mm, vortices of 4 m/s and 1 mm, and a strip of fuel between two layers of oxidizer, at
chemical equilibrium at the beginning; 256 x 256 cells. `hydrogen` has Boivin's mechanism
(benchmarks/data/boivin.yaml) and fuel at 300 K; `methane` has DRM19 and fuel at 500 K, as a case of
DeepFlame. To .5 ms (two turns of a vortex) in steps of 1e-6 s. LIBRARY, WAY: as for
benchmarks.openfoam; FOLDER: as for benchmarks.flows.

At .25 and .5 ms: differences from the solver at 1e-6 of T, front, hottest T, heat release, and of
OH and HO2, their peaks and sums. Writes benchmarks/results/taylor_green.json and
docs/taylor-green.png; prints a table, then one JSON line.
"""

import json
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.flows import (
    REFERENCE,
    Fields,
    Flow,
    arguments,
    beside_seulex,
    compare,
    home_of,
    measured,
)
from benchmarks.kept import kept, stamp
from benchmarks.openfoam import MECHANISM, folder_of
from combred.files.records import strict, write_json

RESULTS = Path(__file__).parent / "results" / "taylor_green.json"
FIGURE = Path(__file__).parents[1] / "docs" / "taylor-green.png"
BOIVIN = str(Path(__file__).parent / "data" / "boivin.yaml")
WAYS = ("solver", "solver 1e-7", "drm19-38k")  # the second: the noise
U0, L0 = 4.0, 1e-3  # m/s, m
SIDE, RADIUS = 2.0 * np.pi * L0, 0.25 * np.pi * L0  # of the box, of the strip [m]
OXIDIZER = {"O2": 0.233, "N2": 0.767}
FUELS = {"CH4": ({"CH4": 0.30, "N2": 0.70}, 500.0), "H2": ({"H2": 0.0556, "N2": 0.9444}, 300.0)}
STEPS, WRITTEN = 500, 250
CELLS = 256
NAMES = {"methane": (MECHANISM, "CH4"), "hydrogen": (BOIVIN, "H2")}


def centres() -> tuple[np.ndarray, np.ndarray]:
    """x and y [m] of the cells (CELLS^2,), x fastest."""
    at = (np.arange(CELLS) + 0.5) * SIDE / CELLS
    return np.tile(at, CELLS), np.repeat(at, CELLS)


def vortices() -> np.ndarray:
    """Velocity (CELLS^2, 3) [m/s]: u = U0 sin(x/L) cos(y/L), v = -U0 cos(x/L) sin(y/L)."""
    x, y = (one / L0 for one in centres())
    u, v = np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)
    return U0 * np.stack([u, v, np.zeros_like(u)], axis=1)


def equilibria(mechanism: str, fuel: str, count: int = 4001) -> tuple[np.ndarray, ...]:
    """Shares of oxidizer psi (count,), T (count,) [K] and Y (count, n_species) of fuel and oxidizer
    mixed at the same T and 1 atm, at equilibrium at constant enthalpy and pressure."""
    gas = combred.load_mechanism(mechanism).solution()
    mixture, T0 = FUELS[fuel]
    gas.TPY = T0, ct.one_atm, mixture
    rich = gas.Y
    gas.TPY = T0, ct.one_atm, OXIDIZER
    lean, psi, rows = gas.Y, np.linspace(0.0, 1.0, count), []
    for share in psi:
        gas.TPY = T0, ct.one_atm, (1.0 - share) * rich + share * lean
        gas.equilibrate("HP")
        rows.append([gas.T, *gas.Y])
    T, *Y = np.transpose(rows)
    return psi, T, np.stack(Y, axis=1)


def beginning(mechanism: str, fuel: str) -> Fields:
    """T, U and Y of the cells: psi = (1 + tanh(3 (|x - pi L| - R) / R)) / 2."""
    psi, T, Y = equilibria(mechanism, fuel)
    x, _ = centres()
    share = 0.5 * (1.0 + np.tanh(3.0 * (abs(x - SIDE / 2) - RADIUS) / RADIUS))
    Y = np.stack([np.interp(share, psi, column) for column in Y.T], axis=1)
    return np.interp(share, psi, T), vortices(), Y


def flow_of(name: str) -> Flow:
    """A flow by its name in NAMES."""
    mechanism, fuel = NAMES[name]
    return Flow(
        name, SIDE, CELLS, STEPS, WRITTEN, lambda: beginning(mechanism, fuel),
        mechanism, ("OH", "HO2"), judged=2,
    )  # fmt: skip


def draw(home: Path, chosen: dict[str, Flow], path: Path) -> None:
    """T of the reference in time, and at the end OH and the difference of the solver."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 2.8 * len(chosen)), layout="constrained")
    panels = figure.subplots(len(chosen), 4, squeeze=False)
    side = [0.0, 1e3 * SIDE, 0.0, 1e3 * SIDE]
    for row, (name, flow) in zip(panels, chosen.items(), strict=True):
        folder, end = folder_of(home, flow.name, REFERENCE), flow.times[-1]
        T = {time: flow.read(folder, time, "T") for time in flow.times}
        off = flow.read(folder_of(home, flow.name, "solver"), end, "T") - T[end]
        limit = float(f"{abs(off).max():.1g}")
        ms = {time: f"{1e3 * float(time):g} ms" for time in flow.times}
        images = [
            (T[time], f"{name}, T at {ms[time]} [K]", {"cmap": "inferno"}) for time in flow.times
        ]
        images.append((flow.read(folder, end, "OH"), f"OH, mass fraction, {ms[end]}", {}))
        sides = {"vmin": -limit, "vmax": limit, "cmap": "RdBu_r"}
        images.append((off, f"solver - reference [K], {ms[end]}", sides))
        for panel, (values, title, how) in zip(row, images, strict=True):
            image = panel.imshow(
                values, origin="lower", extent=side, interpolation="nearest", **how
            )
            panel.set_title(title, loc="left", fontsize=10)
            panel.set(xticks=[0, 2, 4, 6], yticks=[0, 2, 4, 6])
            figure.colorbar(image, ax=panel, shrink=0.8)
    panels[-1, 0].set(xlabel="x [mm]", ylabel="y [mm]")
    figure.savefig(path, dpi=76)


def main() -> None:
    given = arguments("taylor_green", __doc__, WAYS, flows=NAMES)
    chosen = {name: flow_of(name) for name in given.flows}
    made = stamp(__file__, *measured(chosen.values(), given.ways))
    found, home = kept(RESULTS, ("flows",)), home_of(given.folder, made)
    for name, flow in chosen.items():
        names = list(combred.load_mechanism(flow.mechanism).species_names)
        ways = [way for way in given.ways if name == "methane" or not way.startswith("drm19")]
        one = compare(flow, home, given.library, ways, names)
        found["flows"][name] = one | beside_seulex(flow, home, given.library) | made
    found["flows"] = {name: found["flows"][name] for name in NAMES if name in found["flows"]}
    write_json(RESULTS, strict(found))
    if set(NAMES) <= set(chosen):
        draw(home, chosen, FIGURE)
    print(json.dumps(strict(found)))


if __name__ == "__main__":
    main()
