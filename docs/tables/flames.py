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
    return {name: of for name, of in results.items() if isinstance(of, dict) and of}


def speed_table() -> str:
    """CPU times beside Cantera's, of flame_solver.json."""
    results = read(SOLVER)
    rows = []
    for name, of in _mechanisms(results).items():
        for kind, words in KINDS.items():
            own, cantera = of[kind]["ours_s"], of[kind]["cantera_s"]
            rows.append((
                f"{name}: {words}", f"{digits(1e3 * own, 3)} ms", f"{digits(1e3 * cantera, 3)} ms",
                f"{cantera / own:.0f}",
            ))  # fmt: skip
    heads = ["mechanism: flames", "combred", "Cantera 3.2", "ratio"]
    return table(heads, rows) + source(SOLVER, "flame_solver")


def accuracy_table() -> str:
    """Differences from Cantera, of flame_solver.json."""
    rows = [
        (
            name, f"{abs(of['near']['tight']):.1g}", f"{abs(of['near']['difference']):.1g}",
            f"{of['sensitivities']['ours_off']:.1g}", f"{of['sensitivities']['cantera_off']:.1g}",
        )
        for name, of in _mechanisms(read(SOLVER)).items()
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
            f"{fuel} ({of['mechanism'].rpartition('/')[2]})", f"{of['steady']} of {of['gases']}",
            len(of["no_flame"]), f"{digits(1e3 * of['median_s'], 2)} ms",
            f"{digits(of['slowest'], 2)} to {digits(of['fastest'], 2)} m/s",
        )
        for fuel, of in _mechanisms(read(ROBUST)).items()
    ]  # fmt: skip
    heads = ["fuel", "steady", "told: does not burn", "CPU time, median", "speeds"]
    return table(heads, rows) + source(ROBUST, "flames_robust")


TABLES = {
    "flame-times": speed_table,
    "flame-accuracy": accuracy_table,
    "flames-robust": robust_table,
}
