"""The table of reduced mechanisms (skeletal.md)."""

from .markdown import number, percent, plain, table
from .results import read, source

JUDGES = "ignition delay", "extinction", "flame"
LIMITS = "0.01", "0.05", "0.1"  # of the search cases
FOUND = "delay / extinction / flame", "minutes"


def skeletal_table() -> str:
    """Sizes, species within limits of the error on the path, held-out errors and times of
    skeletal.json."""
    rows = [
        (
            plain(name),
            f"{row['species']} of {row['of'][0]}, {row['reactions']} of {row['of'][1]}",
            " / ".join(str(row["path"][limit]) for limit in LIMITS),
            *_found(row),
        )
        for name, row in read("skeletal.json").items()
        if "held_out" in row
    ]
    limits = " / ".join(f"{100 * float(limit):g}" for limit in LIMITS)
    heads = ["reduction", "species, reactions", f"species at {limits} %", *FOUND]
    return table(heads, rows) + source("skeletal.json", "skeletal")


def _found(row: dict) -> tuple[str, str]:
    """The held-out errors of a skeleton, and the time of its search."""
    errors = percent(*(row["held_out"].get(judge) for judge in JUDGES))
    return errors, number(row["seconds"] / 60, 1)


def peers_table() -> str:
    """Skeletons of other methods, of skeleton_peers.json, beside that of combred."""
    own = read("skeletal.json")["GRI-3.0"] | {"judges": "delays, extinction, flames"}
    found = {"**combred reduce**": own, **read("skeleton_peers.json", "rows")}
    rows = [(name, row["judges"], row["species"], *_found(row)) for name, row in found.items()]
    told = source("skeleton_peers.json", "skeleton_peers")
    return table(["method", "judges", "species", *FOUND], rows, left=2) + told


def skeletal_flow_table() -> str:
    """The counterflow flame in OpenFOAM with the detailed and the reduced mechanism, of
    skeletal_flow.json."""
    ways = read("skeletal_flow.json")["counterflow"]["ways"]

    def peaks(row: dict) -> str:
        return f"{row['long']['peaks']['T']:.1f} K, {percent(row['long']['peaks']['CO'], digits=3)}"

    rows: list[tuple] = [
        (
            f"{way}, {row['species']} species",
            f"{row['seconds']:.2f} s, {row['chemistry']:.2f} s",
            f"{row['long']['seconds']:.0f} s",
            peaks(row),
            f"{row['extinction']:.0f} 1/s",
        )
        for way, row in ways.items()
    ]
    old, new = ways["detailed"], ways["reduced"]
    known, found = (row["long"]["peaks"] for row in (old, new))
    change = f"{found['T'] - known['T']:+.1f} K, {100 * (found['CO'] / known['CO'] - 1):+.2f} %"
    faster = [old[key] / new[key] for key in ("seconds", "chemistry")]
    longer = old["long"]["seconds"] / new["long"]["seconds"]
    strain = f"{100 * (new['extinction'] / old['extinction'] - 1):+.2f} %"
    times = f"{faster[0]:.2f}, {faster[1]:.2f} times faster"
    rows.append(("**reduced**", times, f"{longer:.2f} times faster", change, strain))
    heads = ["mechanism", "run to 4 ms, its chemistry", "run to 0.1 s"]
    told = source("skeletal_flow.json", "skeletal_flow")
    return table([*heads, "largest T, CO at 0.1 s", "extinction"], rows) + told


TABLES = {
    "skeletal": skeletal_table,
    "skeletal-peers": peers_table,
    "skeletal-flow": skeletal_flow_table,
}
