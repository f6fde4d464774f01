"""The turbulent ignition of Chen & Xu (2024), section 4, in OpenFOAM: does it burn as with an exact
chemistry, and what does the chemistry cost?

    python -m benchmarks.turbulent_ignition LIBRARY FOLDER [--cells N] [WAY ...]

The case is the kernel of benchmarks.openfoam_flows: methane/air (DRM19), phi 1, 300 K, 1 atm, a
periodic square of 1.5 cm (512 x 512 cells in the paper), a kernel of 0.4 mm of gas at 3000 K,
turbulence of 2 m/s and 2 mm; to 1 ms in steps of 1e-6 s, `upwind`. The reference is the solver at a
tolerance of 1e-6: only the chemistry differs. LIBRARY, WAY: as for benchmarks.openfoam. FOLDER
keeps the cases: a run that was stopped goes on from the last field that it wrote, and one that is
finished is not done again.

At .25, .5, .75 and 1 ms: differences of T, the shift of the front (the difference of T over its
gradient, where T is from 900 to 1700 K), area above 1500 K, and species as shares of their peaks.
Writes benchmarks/results/turbulent_ignition.json and docs/turbulent-ignition.png; prints a table,
then one JSON line. 256 x 256 cells take some ten minutes of a core for each way.
"""

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from benchmarks.openfoam import folder_of, internal, ready, told
from benchmarks.openfoam_flows import (
    DT,
    LENGTH,
    REFERENCE,
    SPECIES,
    make_kernel,
    prepare,
)
from combred.files.records import strict, write_json
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "turbulent_ignition.json"
FIGURE = Path(__file__).parents[1] / "docs" / "turbulent-ignition.png"
WAYS = ("solver", "drm19-38k")
STEPS, WRITTEN = 1000, 250
TIMES = tuple(f"{i * WRITTEN * DT:g}" for i in range(1, STEPS // WRITTEN + 1))  # s
FRONT, HOT = (900.0, 1700.0), 1500.0  # K
SHOWN = 3.0, 12.0  # mm, of the square in the figure
PRESSURE = ("tolerance 1e-9; relTol 0;", "tolerance 1e-8; relTol 0;")


def burn(folder: Path, library: Path, way: str, cells: int) -> str:
    """What OpenFOAM says of a run, which is continued or begun; nothing is run if it is done."""
    log = folder / "log.reactingFoam"
    if not log.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make_kernel(folder, cells)
        control = f"endTime {STEPS * DT:g}; writeInterval {WRITTEN}; startFrom latestTime;"
        prepare(folder, library, way, control)
        solution = folder / "system/fvSolution"
        solution.write_text(solution.read_text().replace(*PRESSURE))
    if not (folder / TIMES[-1] / "T").exists():
        with log.open("a") as said:
            done = subprocess.run(["reactingFoam"], cwd=folder, stdout=said, stderr=said)
        if done.returncode:
            raise RuntimeError(f"reactingFoam failed: see {log}")
    return log.read_text()


def difference(folder: Path, reference: Path, time: str, cells: int) -> dict:
    """Differences from the reference at a time."""
    T, exact = (internal(one, time, "T", cells**2) for one in (folder, reference))
    slope = np.hypot(*np.gradient(exact.reshape(cells, cells), LENGTH / cells)).ravel()
    front = (exact > FRONT[0]) & (exact < FRONT[1])
    shift = (T - exact)[front] / slope[front]
    area = LENGTH**2 * float((exact > HOT).mean())
    found = {
        "T_max": float(abs(T - exact).max()),
        "T_rms": float(np.sqrt(((T - exact) ** 2).mean())),
        "front_mean": float(shift.mean()),
        "front_rms": float(np.sqrt((shift**2).mean())),
        "hottest": float(exact.max()),
        "area": area,
        "area_error": float((T > HOT).sum() / (exact > HOT).sum() - 1.0),
    }
    for name in SPECIES:
        Y, known = (internal(one, time, name, cells**2) for one in (folder, reference))
        found[name] = float(abs(Y - known).max() / known.max())
    return found


def draw(folders: dict[str, Path], cells: int, path: Path) -> None:
    """T of the reference in time, above; below, of the last time, T of the others and what differs
    from the reference."""
    from matplotlib.figure import Figure

    others = [way for way in folders if way != REFERENCE][:2]
    figure = Figure(figsize=(12.5, 6.2), layout="constrained")
    panels = figure.subplots(2, 4)
    side = [0.0, 1e3 * LENGTH, 0.0, 1e3 * LENGTH]

    def show(axes, values, title, **how):
        image = axes.imshow(values.reshape(cells, cells), origin="lower", extent=side, **how)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set(xlim=SHOWN, ylim=SHOWN, xticks=[4, 8, 12], yticks=[4, 8, 12])
        return image

    of_T = {"vmin": 300.0, "vmax": 2300.0, "cmap": "inferno"}
    for axes, time in zip(panels[0], TIMES, strict=True):
        T = internal(folders[REFERENCE], time, "T", cells**2)
        image = show(axes, T, f"solver at 1e-6, {1e3 * float(time):g} ms", **of_T)
    figure.colorbar(image, ax=panels, label="T [K]", shrink=0.6)
    exact = T
    for i, way in enumerate(others):
        T = internal(folders[way], TIMES[-1], "T", cells**2)
        name = "solver (0.001)" if way == "solver" else way
        show(panels[1, 2 * i], T, f"{name}, {1e3 * float(TIMES[-1]):g} ms", **of_T)
        limit = float(f"{abs(T - exact).max():.1g}")
        title = f"its difference, within {limit:g} K"
        show(panels[1, 2 * i + 1], T - exact, title, vmin=-limit, vmax=limit, cmap="RdBu_r")
    panels[1, 0].set(xlabel="x [mm]", ylabel="y [mm]")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.turbulent_ignition", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("library", type=Path, help="libcombredChemistry.so")
    parser.add_argument("folder", type=Path, help="of the cases")
    parser.add_argument("ways", nargs="*", help=f"default: {', '.join(WAYS)}")
    parser.add_argument("--cells", type=int, default=256, help="of a side; default: 256")
    given = parser.parse_args()
    library = ready(given.library)
    ways, n = [REFERENCE, *(given.ways or WAYS)], given.cells
    home = given.folder.resolve()
    folders = {way: folder_of(home, f"{n}", way) for way in ways}
    found: dict = {"machine": timing.machine(), "cells": n, "dt": DT, "ways": {}}
    for way, folder in folders.items():
        said = burn(folder, library, way, n)
        spent = [float(one) for one in re.findall(r"ExecutionTime = ([\d.]+) s", said)]
        one = found["ways"][way] = {"seconds": spent[-1], **(told(said) or {})}
        if way != REFERENCE:
            reference = folders[REFERENCE]
            one["times"] = {time: difference(folder, reference, time, n) for time in TIMES}
        print(f"{way:14} {json.dumps(one)}", flush=True)
    draw(folders, n, FIGURE)
    write_json(RESULTS, strict(found))
    print(json.dumps(strict(found)))


if __name__ == "__main__":
    main()
