"""The table of reduced mechanisms (skeletal.md)."""

from .markdown import number, percent, plain, table
from .results import read, source


def skeletal_table() -> str:
    """Sizes, held-out errors and times of skeletal.json."""
    rows = [(name, row) for name, row in read("skeletal.json").items() if "held_out" in row]

    def held_out(row: dict) -> str:
        return percent(*(row["held_out"].get(name) for name in JUDGES))

    columns = {
        "reduction": lambda name, row: plain(name),
        "species": lambda name, row: f"{row['species']} of {row['of'][0]}",
        "reactions": lambda name, row: f"{row['reactions']} of {row['of'][1]}",
        "delay / extinction / flame": lambda name, row: held_out(row),
        "minutes": lambda name, row: number(row["seconds"] / 60, 1),
    }
    return table(columns, rows) + source("skeletal.json", "skeletal")


def skeletal_path_table() -> str:
    """Species within limits of the error on the paths of skeletal.json."""
    rows = [(name, row) for name, row in read("skeletal.json").items() if "path" in row]
    limits = list(rows[0][1]["path"])
    columns = {"path": lambda name, row: plain(name)} | {
        percent(float(one), digits=0): lambda name, row, one=one: str(row["path"][one])
        for one in limits
    }
    return table(columns, rows) + source("skeletal.json", "skeletal")


def peers_table() -> str:
    """Skeletons of other methods, of skeleton_peers.json, beside that of combred."""
    own = read("skeletal.json")["GRI-3.0"]
    rows = {"**combred reduce**": own | {"judges": "delays, extinction, flames"}}
    rows |= read("skeleton_peers.json", "rows")
    columns = {
        "method": lambda name, row: name,
        "judges": lambda name, row: row["judges"],
        "species": lambda name, row: row["species"],
        "delay / extinction / flame": lambda name, row: percent(
            *(row["held_out"].get(judge) for judge in JUDGES)
        ),
        "minutes": lambda name, row: number(row["seconds"] / 60, 1),
    }
    told = source("skeleton_peers.json", "skeleton_peers")
    return table(columns, rows.items(), left=2) + told


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


JUDGES = "ignition delay", "extinction", "flame"
TABLES = {
    "skeletal": skeletal_table,
    "skeletal-path": skeletal_path_table,
    "skeletal-peers": peers_table,
    "skeletal-flow": skeletal_flow_table,
}
