"""Tables of the solver in each mechanism (solver.md)."""

from combred.native.solver.generator import TOLERANCE

from .markdown import digits, percent, seconds, short, table, us
from .results import mechanisms, read, source

SOURCE = "solver.json", "solver"


def mechanisms_table() -> str:
    """What the solver costs and how right it is in each mechanism, of solver.json."""
    rows = []
    for name, of in mechanisms().items():
        delays = (row for row in of["check"]["delays"] if row["tolerance"] == TOLERANCE)
        rows.append((
            f"{name}: {of['species']}, {of['reactions']}",
            f"{of['compile_s']:.0f} s",
            f"{of['check']['seconds']:.0f} s",
            f"{of['step_us']['float']:.2f} / {of['step_us']['double']:.1f} us",
            percent(max(row["worst"] for row in delays), digits=3),
        ))  # fmt: skip
    heads = ["mechanism: species, reactions", "compiled in", "check", "step, floats / doubles"]
    return table([*heads, "delay, worst error"], rows) + source(*SOURCE)


def large_text() -> str:
    """What a mechanism of 1268 species costs, of large.json."""
    found = read("large.json")
    steps = {key: row for key, row in found.items() if key.endswith(" s")}
    own, cvode = (
        " and ".join(f"{digits(row[key] / 1e3, 2)} ms" for row in steps.values())
        for key in ("us", "us_CVODE")
    )
    return (
        f"`{found['mechanism']}`, which comes with Cantera, has {found['species']} species and "
        f"{found['reactions']} reactions. Its solver compiles in {found['compile_s'] / 60:.0f} "
        f"minutes and {found['compile_GB']:.1f} GB of memory, on one core. A state of an ignition "
        f"takes {own} in steps of {' and '.join(seconds(key[:-2]) for key in steps)}; CVODE at "
        f"1e-6 takes {cvode}. The delay of an ignition ({found['ignition']['case']}) has an error "
        f"of {short(abs(found['ignition']['delay_error']))}.\n\n{source('large.json', 'large')}"
    )


def batches_text() -> str:
    """Times of a state in batches, and by the code of each level, of solver.json."""
    found = read("solver.json")
    alone, few, many = (us(found["batch"][n]) for n in ("1", "16", "4096"))
    levels = ", ".join(f"{LEVELS[one]} {us(time)}" for one, time in found["level"].items()
                       if one in LEVELS)  # fmt: skip
    rows = [
        [text, *(us(one[key][who]) for one in found["continuing"].values() for who in WHO)]
        for text, key in GOING_ON.items()
    ]
    head = ["one reactor that goes on", *(f"{name}, {who}" for name in ("DRM19", "GRI-3.0")
            for who in ("combred", "Cantera's CVODE"))]  # fmt: skip
    return (
        f"A state of a flow takes {many} among 4096 in one call, {few} among 16 and {alone} alone "
        f"(DRM19, 1e-6 s, tolerance 0.001). By instruction set it takes: {levels}.\n\n"
        f"{table(head, rows)}\n\n"
        f"{source(*SOURCE)}"
    )


WHO = "combred", "cvode"
GOING_ON = {
    "a step of 1e-6 s, 20 from states of flows": "flows",
    "a step of 1e-6 s, through an ignition": "ignition",
    "the whole ignition in one call": "whole",
}
LEVELS = {"v2": "SSE", "v3": "AVX2", "v4": "AVX-512"}
# The columns, each with its solver, tolerance and time step.
SHOWN = {
    "combred, 1e-6 s": ("combred.solver", 1e-3, 1e-6),
    "combred, 1e-5 s": ("combred.solver", 1e-3, 1e-5),
    "CVODE": ("CVODE", 1e-6, 1e-6),
    "CVODE, exact Jacobian": ("CVODE, exact Jacobian", 1e-6, 1e-6),
    "seulex": ("seulex", 1e-4, 1e-6),
}


def solver_precision_table() -> str:
    """Time of a state and error of the solver and of others in each mechanism, of solver.json."""
    rows = []
    for name, of in mechanisms().items():
        cells = {
            (row["solver"], row["tolerance"], row["dt"]): (row["us"], row["rms"])
            for row in of["work_precision"]
        }
        found = (cells.get(column) for column in SHOWN.values())
        rows.append((name, *(one and f"{digits(one[0], 3)}, {short(one[1])}" for one in found)))
    return table(["mechanism", *SHOWN], rows) + source(*SOURCE)


TABLES = {
    "mechanisms": mechanisms_table,
    "large": large_text,
    "batches": batches_text,
    "solver-precision": solver_precision_table,
}
