"""Tables of the flows in OpenFOAM (flows.md, openfoam.md)."""

from .markdown import code, digits, seconds, table, us
from .results import read, source

SPECIES = "CO", "OH", "H", "CH2O"
NOISE = {"1e-7": "solver 1e-7", "two ranks": "the reference on two ranks"}


def turbulent_ignition_table() -> str:
    """Differences from the reference at the end of the turbulent ignition, and the time of the
    chemistry, of turbulent_ignition.json."""
    results, rows = read("turbulent_ignition.json"), []
    for way, row in results["ways"].items():
        time = f"{us(row['us'])}, {row['steps']:.2f} steps"
        if "times" not in row:
            rows.append((f"{way} (reference)", time, None, None, None))
            continue
        share = f", {100 * (1 - row['solver']):.4g} % by the network" if row["solver"] < 1 else ""
        rows.append((_named(way), time + share, *_at_end(list(row["times"].values())[-1])))
    for name, of in NOISE.items():
        if name in results.get("noise", {}):
            rows.append((f"noise: {of}", None, *_at_end(results["noise"][name])))
    rows.append((*_seulex(results), None, None, None))
    heads = ["chemistry", "time a cell and step", "T, rms / largest", "front, mean / rms"]
    told = source("turbulent_ignition.json", "turbulent_ignition")
    return table([*heads, "species, largest"], rows) + told


def _at_end(end: dict) -> tuple[str, str, str]:
    """Differences of T, front and species."""
    return (
        f"{digits(end['T_rms'], 1)} / {digits(end['T_max'], 2)} K",
        f"{digits(1e6 * end['front_mean'], 2):+} / {digits(1e6 * end['front_rms'], 2)} um",
        _worst({name: end[name]["field"] for name in SPECIES}, 2),
    )


def _worst(off: dict[str, float], count: int = 1) -> str:
    """The species that differs most: "0.01 % (OH)"."""
    worst = max((name for name in off if not name.startswith("T_")), key=off.__getitem__)
    return f"{digits(100 * off[worst], count)} % ({worst})"


def _named(way: str) -> str:
    """A way in a table: "solver" is at its default tolerance, one at 1e-7 tells the noise."""
    names = {"solver": "solver, 0.001", "solver 1e-7": "solver 1e-7 (noise)"}
    return names.get(way, code(way))


def _seulex(flow: dict) -> tuple[str, str]:
    """The last row: OpenFOAM's own chemistry, and the flow without chemistry."""
    return "seulex, 1e-4", f"{flow['seulex_us']:.0f} us (flow: {flow['flow_us']:.1f} us)"


def foam_tutorials_table() -> str:
    """OpenFOAM's tutorials: times, and differences of the solver, of foam_tutorials.json."""

    def differences(off: dict, noise: dict | None = None) -> list[str]:
        told = [f"{digits(off['T_rms'], 1)} K", _worst(off)]
        beside = [f"; noise {one}" for one in differences(noise)] if noise else ["", ""]
        return [one + more for one, more in zip(told, beside, strict=True)]

    rows: list[tuple] = []
    for name, row in read("foam_tutorials.json", "flames").items():
        title = f"{name}: {row['steps']} steps, {row['hottest']:.0f} K"
        rows.append((title, us(row["solver_us"]), *differences(row["solver"], row.get("noise"))))
        if "looser" in row:
            rows.append(("- at 0.01", us(row["looser_us"]), *differences(row["looser"])))
    for name, row in read("foam_tutorials.json", "cells").items():
        delay = f"delay of {1e3 * row['delay']:.3g} ms: {digits(100 * row['delay_error'], 1)} %"
        rows.append((f"{name}: {row['steps']} steps", None, None, delay))
    heads = ["tutorial", "solver, 0.001", "T, rms", "species, largest"]
    return table(heads, rows) + source("foam_tutorials.json", "foam_tutorials")


def long_steps_table() -> str:
    """Largest errors of H, O and OH in hot gas over the long time steps, of foam_tutorials.json."""
    species = "H", "O", "OH"
    rows = [
        (tolerance, *(f"{digits(100 * max(row[k] for row in of.values()), 2)} %" for k in species))
        for tolerance, of in read("foam_tutorials.json", "long").items()
    ]
    return table(["tolerance", *species], rows)


def foundation_table() -> str:
    """The Foundation's counterflow flame beside its seulex, of foundation.json."""

    def cell(row: dict | None) -> str:
        if row is None:
            return "ends in an error"
        return us(row["us"]) + (f", {digits(row['T'], 2)} K" if "T" in row else "")

    flames = {
        f"{code(name)}, {seconds(dt)}": {way: ways[way] for way in reversed(ways) if way != "flow"}
        for name, of in read("foundation.json", "mechanisms").items()
        for dt, ways in of["steps"].items()
    }
    chemistries = list(next(iter(flames.values())))
    rows = [(title, *(cell(of.get(way)) for way in chemistries)) for title, of in flames.items()]
    told = source("foundation.json", "foundation")
    return table(["mechanism, time step", *chemistries], rows) + told


def flow_times_table() -> str:
    """The time of the chemistry a cell and step in every flow."""
    flow = read("turbulent_ignition.json")
    times = [us(flow["ways"][way]["us"]) for way in ("solver", "drm19-38k")]
    rows = [("turbulent ignition", *times, us(flow["seulex_us"]), us(flow["flow_us"]))]
    for name, row in read("foam_tutorials.json", "flames").items():
        if "seulex_us" in row:
            own, ode, rest = (us(row[key]) for key in ("solver_us", "seulex_us", "flow_us"))
            rows.append((name, own, None, ode, rest))
    return table(["flow", "solver (0.001)", "`drm19-38k`", "seulex (1e-4)", "flow alone"], rows)


def flame_steps_table() -> str:
    """The speed of OpenFOAM's premixed flame against the time step, of openfoam-steps.json."""
    speeds = read("openfoam-steps.json", "speeds")
    limit = list(speeds["1"].values())[-1]

    def cell(speed: float | None) -> str | None:
        return speed and f"{speed:.3f} m/s, {digits(100 * (speed / limit - 1), 2):+} %"

    rows = [(seconds(dt), *(cell(speeds[n].get(dt)) for n in "123")) for dt in speeds["1"]]
    told = source("openfoam-steps.json", "openfoam_steps")
    return table(["time step", "one outer corrector", "two", "three"], rows) + told


TABLES = {
    "turbulent-ignition": turbulent_ignition_table,
    "foam-tutorials": foam_tutorials_table,
    "long-steps": long_steps_table,
    "flow-times": flow_times_table,
    "foundation": foundation_table,
    "flame-steps": flame_steps_table,
}
