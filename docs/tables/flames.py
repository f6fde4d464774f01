"""Tables of flames (flames.md)."""

from .markdown import digits, table
from .results import read, source

SOLVER, ROBUST = "flame_solver.json", "flames_robust.json"
KINDS = {
    "near": "near another flame, the same grid",
    "nothing": "from nothing, with its grid",
    "speeds": "21 speeds, phi 0.6 to 1.6",
    "sensitivities": "all sensitivities",
}


def _mechanisms(results: dict) -> dict[str, dict]:
    """The parts that were measured."""
    return {name: part for name, part in results.items() if isinstance(part, dict) and part}


def speed_table() -> str:
    """CPU times beside Cantera's, of flame_solver.json."""
    results = read(SOLVER)
    rows = []
    for name, part in _mechanisms(results).items():
        for kind, words in KINDS.items():
            ours, cantera = part[kind]["ours_s"], part[kind]["cantera_s"]
            rows.append((
                f"{name}: {words}", f"{digits(1e3 * ours, 3)} ms", f"{digits(1e3 * cantera, 3)} ms",
                f"{cantera / ours:.0f}",
            ))  # fmt: skip
    heads = ["mechanism: flames", "combred", "Cantera 3.2", "ratio"]
    return table(heads, rows) + _without_jacobians(results) + source(SOLVER, "flame_solver")


def _without_jacobians(results: dict) -> str:
    """The ratio that would remain if Cantera's Jacobians took no time."""
    ratios = {
        name: (part["nothing"]["cantera_s"] - part["nothing"]["cantera_jacobians_s"])
        / part["nothing"]["ours_s"]
        for name, part in _mechanisms(results).items()
    }
    words = " and ".join(f"{ratio:.0f} ({name})" for name, ratio in ratios.items())
    return (
        "Cantera's main branch after 3.2 has a semi-analytic Jacobian by default. If Cantera's "
        f"Jacobians took no time at all, ratios of {words} would remain for a flame from nothing."
        "\n\n"
    )


def accuracy_table() -> str:
    """Differences from Cantera, of flame_solver.json."""
    rows = [
        (
            name,
            *(f"{abs(part['near'][key]):.1g}" for key in ("tight", "difference")),
            *(f"{part['sensitivities'][key]:.1g}" for key in ("ours_off", "cantera_off")),
        )
        for name, part in _mechanisms(read(SOLVER)).items()
    ]  # fmt: skip
    heads = [
        "mechanism", "speed, tight tolerances", "speed, usual ones", "sensitivities, combred",
        "sensitivities, Cantera",
    ]  # fmt: skip
    return table(heads, rows)


def robust_table() -> str:
    """How many flames converge from nothing, of flames_robust.json."""
    rows = [
        (
            f"{fuel} ({part['mechanism'].rpartition('/')[2]})",
            f"{part['steady']} of {part['gases']}",
            len(part["no_flame"]), f"{digits(1e3 * part['median_s'], 2)} ms",
            f"{digits(part['slowest'], 2)} to {digits(part['fastest'], 2)} m/s",
        )
        for fuel, part in _mechanisms(read(ROBUST)).items()
    ]  # fmt: skip
    heads = ["fuel", "steady", "told: does not burn", "CPU time, median", "speeds"]
    return table(heads, rows) + source(ROBUST, "flames_robust")


TABLES = {
    "flame-times": speed_table,
    "flame-accuracy": accuracy_table,
    "flames-robust": robust_table,
}
