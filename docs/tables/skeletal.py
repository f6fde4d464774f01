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


JUDGES = "ignition delay", "extinction", "flame"
TABLES = {
    "skeletal": skeletal_table,
    "skeletal-path": skeletal_path_table,
    "skeletal-peers": peers_table,
}
