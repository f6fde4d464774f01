"""Tables of the flows in OpenFOAM (flows.md, openfoam.md)."""

from collections.abc import Iterable

from .markdown import code, digits, seconds, table
from .results import MISSING, read, source


def turbulent_ignition_table() -> str:
    """Differences from the reference at the end of the turbulent ignition, and the time of the
    chemistry, of turbulent_ignition.json."""
    results = read("turbulent_ignition.json")
    if not results:
        return MISSING
    body = [_way(way, row, ("CO", "OH", "H", "CH2O")) for way, row in results["ways"].items()]
    noise = results.get("noise", {})
    for name, of in {"1e-7": "solver 1e-7", "two ranks": "the reference on two ranks"}.items():
        if name in noise:
            row = {"times": {"": noise[name]}}
            body.append([f"noise: {of}", "-", *_differences(row, ("CO", "OH", "H", "CH2O"))])
    body.append(_seulex(results))
    told = source("turbulent_ignition.json", "turbulent_ignition")
    return table(FLOW_HEAD, body) + told


FLOW_HEAD = [
    "chemistry", "time a cell and step", "T, rms / largest", "front, mean / rms",
    "species, largest",
]  # fmt: skip


def _way(way: str, row: dict, species: Iterable[str]) -> list[str]:
    """A row of a flow's table: time, differences of T, front and species at the last time."""
    time = f"{digits(row['us'], 2)} us, {row['steps']:.2f} steps"
    if "times" not in row:
        return [f"{way} (reference)", time, "-", "-", "-"]
    share = f", {100 * (1 - row['solver']):.4g} % by the network" if row["solver"] < 1 else ""
    return [_named(way), time + share, *_differences(row, species)]


def _differences(row: dict, species: Iterable[str]) -> list[str]:
    """Of T, front and species at the last time."""
    end = list(row["times"].values())[-1]
    worst = max(species, key=lambda name: end[name]["field"])
    return [
        f"{digits(end['T_rms'], 1)} / {digits(end['T_max'], 2)} K",
        f"{digits(1e6 * end['front_mean'], 2):+} / {digits(1e6 * end['front_rms'], 2)} um",
        f"{digits(100 * end[worst]['field'], 2)} % ({worst})",
    ]


def _named(way: str) -> str:
    """A way in a table: "solver" is at its default tolerance, one at 1e-7 tells the noise."""
    names = {"solver": "solver, 0.001", "solver 1e-7": "solver 1e-7 (noise)"}
    return names.get(way, code(way))


def _seulex(flow: dict) -> list[str]:
    """The last row: OpenFOAM's own chemistry, and the flow without chemistry."""
    time = f"{flow['seulex_us']:.0f} us (flow: {flow['flow_us']:.1f} us)"
    return ["seulex, 1e-4", time, "-", "-", "-"]


def taylor_green_table() -> str:
    """The Taylor-Green vortices: times, and the largest differences of T, heat release, and of the
    sums and peaks of OH and HO2 at .25 and .5 ms, of taylor_green.json."""
    body = []
    for name, flow in read("taylor_green.json", "flows").items():
        n = flow["cells"]
        size, name = f"{n} x {n}{f' x {n}' * name.endswith('3d')}", name.partition("-")[0]
        for way, row in flow["ways"].items():
            first = f"{name}, {size}: " if way == "solver 1e-6" else ""
            if "times" not in row:
                body.append([f"{first}{way}", f"{digits(row['us'], 2)} us", "-", "-", "-"])
                continue
            at = list(row["times"].values())
            bulk = max(abs(one[key]) for one in at for key in ("hottest", "heat"))
            radicals = max(
                abs(one[k][of]) for one in at for k in ("OH", "HO2") for of in ("peak", "sum")
            )
            body.append([
                _named(way),
                f"{digits(row['us'], 2)} us",
                f"{digits(max(one['T_rms'] for one in at), 1)} K, "
                f"{digits(1e6 * max(one['front_rms'] for one in at), 1)} um",
                f"{digits(100 * bulk, 1)} %",
                f"{digits(100 * radicals, 1)} %",
            ])  # fmt: skip
        body.append([*_seulex(flow)[:2], "-", "-", "-"])
    head = ["chemistry", "time a cell and step", "T, front, rms", "T max, heat release",
            "OH, HO2: peaks, sums"]  # fmt: skip
    told = source("taylor_green.json", "taylor_green")
    return table(head, body) + told if body else MISSING


def foam_tutorials_table() -> str:
    """OpenFOAM's tutorials: times, and differences of the solver, of foam_tutorials.json."""
    body = []
    for name, row in read("foam_tutorials.json", "flames").items():
        off, noise = row["solver"], row.get("noise")
        beside = [f"{digits(noise['T_rms'], 1)} K", _worst(noise)] if noise else ["", ""]
        both = [f"{digits(off['T_rms'], 1)} K", _worst(off)]
        told = [f"{a}; noise {b}" if b else a for a, b in zip(both, beside, strict=True)]
        body.append([
            f"{name}: {row['steps']} steps, {row['hottest']:.0f} K",
            f"{digits(row['solver_us'], 2)} us (1e-6: {digits(row['reference_us'], 2)})",
            f"{row['seulex_us']:.0f} us" if "seulex_us" in row else "-",
            *told,
        ])  # fmt: skip
        if "looser" in row:
            off, us = row["looser"], digits(row["looser_us"], 2)
            body.append(["- at 0.01", f"{us} us", "-", f"{digits(off['T_rms'], 1)} K", _worst(off)])
    for name, row in read("foam_tutorials.json", "cells").items():
        delay = f"delay of {1e3 * row['delay']:.3g} ms: {digits(100 * row['delay_error'], 1)} %"
        body.append([f"{name}: {row['steps']} steps", "-", "-", "-", delay])
    head = ["tutorial", "solver (0.001)", "seulex (1e-4)", "T, rms", "species, largest"]
    told = source("foam_tutorials.json", "foam_tutorials")
    return table(head, body) + told if body else MISSING


def _worst(off: dict) -> str:
    """The species that differs most: "0.01 % (OH)"."""
    species = {name: value for name, value in off.items() if not name.startswith("T_")}
    worst = max(species, key=lambda name: species[name])
    return f"{digits(100 * species[worst], 1)} % ({worst})"


def long_steps_table() -> str:
    """Errors of H, O and OH in hot gas over long time steps, of foam_tutorials.json."""
    body = [
        [f"{tolerance}, {seconds(dt)}", *(f"{digits(100 * row[k], 2)} %" for k in ("H", "O", "OH"))]
        for tolerance, of in read("foam_tutorials.json", "long").items()
        for dt, row in of.items()
    ]
    return table(["tolerance, dt", "H", "O", "OH"], body) if body else MISSING


def flow_times_table() -> str:
    """The time of the chemistry a cell and step in every flow."""
    ignition, vortex = read("turbulent_ignition.json"), read("taylor_green.json", "flows")
    flows = {"turbulent ignition": ignition} if ignition else {}
    flows |= {f"Taylor-Green, {name}": flow for name, flow in vortex.items()}
    body = []
    for name, flow in flows.items():
        network = flow["ways"].get("drm19-38k")
        body.append([
            name,
            f"{digits(flow['ways']['solver']['us'], 2)} us",
            f"{digits(network['us'], 2)} us" if network else "-",
            f"{flow['seulex_us']:.0f} us",
            f"{digits(flow['flow_us'], 2)} us",
        ])  # fmt: skip
    for name, row in read("foam_tutorials.json", "flames").items():
        if "seulex_us" in row:
            times = (row[key] for key in ("solver_us", "seulex_us", "flow_us"))
            own, ode, rest = (f"{digits(one, 2)} us" for one in times)
            body.append([name, own, "-", ode, rest])
    head = ["flow", "solver (0.001)", "`drm19-38k`", "seulex (1e-4)", "flow alone"]
    return table(head, body) if body else MISSING


def flame_steps_table() -> str:
    """The speed of OpenFOAM's premixed flame against the time step, of openfoam-steps.json."""
    results = read("openfoam-steps.json")
    if not results:
        return MISSING
    one, *more = (results["speeds"][correctors] for correctors in ("1", "2", "3"))
    limit = list(one.values())[-1]

    def cells(speed: float | None) -> list[str]:
        return [f"{speed:.3f} m/s, {digits(100 * (speed / limit - 1), 2):+} %"] if speed else ["-"]

    body = [[seconds(dt), *cells(v), *(cells(x.get(dt))[0] for x in more)] for dt, v in one.items()]
    told = source("openfoam-steps.json", "openfoam_steps")
    return table(["time step", "one outer corrector", "two", "three"], body) + told


TABLES = {
    "turbulent-ignition": turbulent_ignition_table,
    "taylor-green": taylor_green_table,
    "foam-tutorials": foam_tutorials_table,
    "long-steps": long_steps_table,
    "flow-times": flow_times_table,
    "flame-steps": flame_steps_table,
}
