"""The turbulent ignition of Chen & Xu (2024), section 4, in OpenFOAM: does it burn as with an exact
chemistry, and what does the chemistry cost?

    python -m benchmarks.turbulent_ignition LIBRARY FOLDER [--cells N] [WAY ...]

Methane/air (DRM19), phi 1, 300 K, 1 atm, a periodic square of 1.5 cm (512 x 512 cells in the
paper), a kernel of 0.4 mm of gas at 3000 K, turbulence of 2 m/s and 2 mm; to 1 ms in steps of
1e-6 s. LIBRARY, WAY: as in benchmarks/openfoam.py; FOLDER: as for benchmarks.flows.

Differences from the solver at 1e-6 at the end; on 128 x 128 cells after .25 ms the time of seulex,
and two differences that are noise: of the solver at 1e-7, and of the reference on two ranks.
Writes benchmarks/results/turbulent_ignition.json and docs/turbulent-ignition.png; prints a table,
then one JSON line. 256 x 256 cells take some ten minutes of a core for each way.
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
    burn,
    compare,
    difference,
    home_of,
)
from benchmarks.openfoam import MECHANISM, folder_of
from benchmarks.provenance import stamp
from combred.files.records import strict, write_json
from combred.processes.machine import machine

RESULTS = Path(__file__).parent / "results" / "turbulent_ignition.json"
FIGURE = Path(__file__).parents[1] / "docs" / "turbulent-ignition.png"
WAYS = ("solver", "drm19-38k")
STEPS, WRITTEN = 1000, 250
COARSE = 128  # cells of a side, beside seulex
LENGTH = 0.015  # m, of a side of the square
MODES = 128  # of a side of the turbulence, the same on every mesh
U_RMS, SCALE, SEED = 2.0, 0.002, 3  # of the turbulence: m/s, most energetic length [m]
RADIUS, EDGE, T_KERNEL = 4e-4, 1e-4, 3000.0  # m, m, K
SHOWN = 3.0, 12.0  # mm, of the square in the figure


def turbulence(cells: int) -> np.ndarray:
    """Velocity (cells, cells, 3) [m/s], index [y, x], of random phases with the spectrum of Passot
    and Pouquet (1987), E(k) ~ k^4 exp(-2 (k / ke)^2), ke = 2 pi / `SCALE`. Central differences of
    a stream function leave no divergence of the fluxes between cells. The same eddies on every mesh
    of at least `MODES` cells."""
    m, h = np.fft.fftfreq(MODES, 1.0 / MODES), LENGTH / cells
    k = 2.0 * np.pi / LENGTH * np.hypot(*np.meshgrid(m, m))
    noise = np.fft.fft2(np.random.default_rng(SEED).standard_normal((MODES, MODES)))
    k[0, 0] = 1.0  # no mean velocity, for the noise's mean is cleared
    noise[0, 0] = 0.0
    amplitude = k**0.5 * np.exp(-((k * SCALE / (2.0 * np.pi)) ** 2))  # root of E(k) / k, over k
    modes, places = np.zeros((cells, cells), complex), m.astype(int) % cells
    half = np.pi * (1.0 / cells - 1.0 / MODES)  # from the first cell's centre to that of MODES
    shift = np.exp(1j * half * np.add.outer(m, m))
    modes[np.ix_(places, places)] = noise * amplitude * shift
    psi = np.fft.ifft2(modes).real
    u = (np.roll(psi, -1, 0) - np.roll(psi, 1, 0)) / (2.0 * h)
    v = -(np.roll(psi, -1, 1) - np.roll(psi, 1, 1)) / (2.0 * h)
    both = np.stack([u, v, np.zeros_like(u)], axis=-1)
    return both * U_RMS / np.sqrt((both[..., :2] ** 2).mean())


def kernel_states(gas: ct.Solution, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """T (cells^2,) [K] and Y (cells^2, n_species): burnt gas in the centre, mixed at constant
    pressure and enthalpy over its edge."""
    x = (np.arange(cells) + 0.5) * LENGTH / cells - LENGTH / 2
    share = 0.5 * (1.0 - np.tanh(2.0 * (np.hypot(x[:, None], x) - RADIUS) / EDGE)).ravel()
    gas.TP = 300.0, ct.one_atm
    gas.set_equivalence_ratio(1.0, "CH4", "O2:1, N2:3.76")
    fresh = np.array([gas.enthalpy_mass, *gas.Y])
    gas.TP = T_KERNEL, ct.one_atm
    gas.equilibrate("TP")
    burnt = np.array([gas.enthalpy_mass, *gas.Y])
    shares, rows = np.linspace(0.0, 1.0, 401), []
    for s in shares:
        h, *Y = (1.0 - s) * fresh + s * burnt
        gas.HPY = h, ct.one_atm, Y
        rows.append([gas.T, *gas.Y])
    T, *Y = (np.interp(share, shares, column) for column in np.transpose(rows))
    return T, np.stack(Y, axis=1)


def beginning(cells: int) -> Fields:
    """T, U and Y of the cells."""
    T, Y = kernel_states(combred.load_mechanism(MECHANISM).solution(), cells)
    return T, turbulence(cells).reshape(-1, 3), Y


def ignition(cells: int, steps: int = STEPS, written: int = WRITTEN) -> Flow:
    """The flow on cells x cells."""
    return Flow(f"{cells}", LENGTH, cells, steps, written, lambda: beginning(cells))


def noise(flow: Flow, home: Path, library: Path, names: list[str]) -> dict:
    """The differences of the solver at 1e-7, and of the reference on two ranks, from the reference
    at the end of a flow."""
    reference, found = folder_of(home, flow.name, REFERENCE), {}
    burn(flow, reference, library, REFERENCE, names)
    for name, way, ranks in (("1e-7", "solver 1e-7", 1), ("two ranks", REFERENCE, 2)):
        folder = folder_of(home, flow.name, "noise", name)
        burn(flow, folder, library, way, names, ranks)
        found[name] = difference(flow, folder, reference, flow.times[-1])
    return found


def draw(home: Path, flow: Flow, ways: list[str], path: Path) -> None:
    """T of the reference in time, above; below, of the last time, T of the others and what differs
    from the reference."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 6.2), layout="constrained")
    panels = figure.subplots(2, 4)
    side, end = [0.0, 1e3 * LENGTH, 0.0, 1e3 * LENGTH], flow.times[-1]

    def show(axes, values, title, **how):
        image = axes.imshow(values, origin="lower", extent=side, **how)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set(xlim=SHOWN, ylim=SHOWN, xticks=[4, 8, 12], yticks=[4, 8, 12])
        return image

    def T_of(way: str, time: str) -> np.ndarray:
        return flow.read(folder_of(home, flow.name, way), time, "T")

    of_T = {"vmin": 300.0, "vmax": 2300.0, "cmap": "inferno"}
    for axes, time in zip(panels[0], flow.times, strict=True):
        title = f"solver at 1e-6, {1e3 * float(time):g} ms"
        image = show(axes, T_of(REFERENCE, time), title, **of_T)
    figure.colorbar(image, ax=panels, label="T [K]", shrink=0.6)
    exact = T_of(REFERENCE, end)
    for pair, way in zip((panels[1, :2], panels[1, 2:]), ways, strict=False):
        T = T_of(way, end)
        name = "solver (0.001)" if way == "solver" else way
        show(pair[0], T, f"{name}, {1e3 * float(end):g} ms", **of_T)
        largest = abs(T - exact).max()
        unit = 10.0 ** np.floor(np.log10(largest))
        limit = unit * np.ceil(largest / unit)
        title = f"its difference, at most {limit:g} K"
        show(pair[1], T - exact, title, vmin=-limit, vmax=limit, cmap="RdBu_r")
    panels[1, 0].set(xlabel="x [mm]", ylabel="y [mm]")
    figure.savefig(path, dpi=110)


def main() -> None:
    given = arguments("turbulent_ignition", __doc__, WAYS, 256)
    flow = ignition(given.cells)
    made = stamp(__file__)
    home = home_of(given.folder, made)
    names = list(combred.load_mechanism(MECHANISM).species_names)
    found = compare(flow, home, given.library, given.ways, names)
    early = ignition(COARSE, WRITTEN)
    found["noise"] = noise(early, home, given.library, names)
    found |= beside_seulex(early, home, given.library)
    found = strict({"machine": machine()} | found | made)
    write_json(RESULTS, found)
    draw(home, flow, given.ways, FIGURE)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
