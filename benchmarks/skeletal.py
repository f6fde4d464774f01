"""How small does `combred reduce` make a mechanism within an error, and how long does it take?

    python -m benchmarks.skeletal [NAME ...]

NAME: of the rows of `REDUCTIONS`; by default all. From an empty cache, on all cores: species,
reactions, the largest errors of the judged and of the held-out cases, the sizes within 1, 5 and
10 % on the path, and the wall-clock time from the file to the page. Writes
benchmarks/results/skeletal.json, row by row; prints one JSON line.
"""

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import cantera as ct

from benchmarks.command_line import words
from benchmarks.provenance import stamp, stored
from combred.files.records import strict, write_json
from combred.report.skeletal import write_reduction
from combred.skeletal.reducing import reduce_mechanism

RESULTS = Path(__file__).parent / "results" / "skeletal.json"
SIZES = 0.01, 0.05, 0.1  # errors, for each of which the path has a size


@dataclass(frozen=True)
class Reduction:
    """Arguments of `combred.reduce_mechanism`."""

    file: str
    fuel: str
    error: float = 0.01
    phase: str = ""
    species: int = 0
    refit: float = 0.0


ALZUETA = "example_data/ammonia-CO-H2-Alzueta-2023.yaml"
REDUCTIONS = {
    "GRI-3.0": Reduction("gri30.yaml", "CH4:1"),
    "GRI-3.0, refitted": Reduction("gri30.yaml", "CH4:1", species=24, refit=1.3),
    "NH3/H2, Alzueta": Reduction(ALZUETA, "NH3:0.7, H2:0.3", phase="baseline"),
    "NH3/H2, Alzueta, 5 %": Reduction(ALZUETA, "NH3:0.7, H2:0.3", 0.05, "baseline"),
    "n-dodecane, 5 %": Reduction("nDodecane_Reitz.yaml", "c12h26:1", error=0.05),
}


def measure(of: Reduction) -> dict:
    """The numbers of a row."""
    made, begun = (
        stamp(__file__),
        time.perf_counter(),
    )
    with tempfile.TemporaryDirectory() as scratch, patch.dict(os.environ, XDG_CACHE_HOME=scratch):
        folder = Path(scratch) / "reduced"
        record = reduce_mechanism(**asdict(of), folder=folder)
        write_reduction(folder)
    worst = {
        judge: max((abs(e) if e is not None else float("inf")) for e in cases.values())
        for judge, cases in record["held_out"].items()
    }
    sizes = {
        f"{error:g}": min(
            (row["species"] for row in record["path"] if max(row["errors"].values()) <= error),
            default=record["of"][0],
        )
        for error in SIZES
    }
    found = {key: record[key] for key in ("of", "reactions", "judged", "times")}
    found |= {"species": len(record["species"]), "held_out": worst, "path": sizes}
    return found | {"seconds": time.perf_counter() - begun, "asked": asdict(of), **made}


def main() -> None:
    names = words(__doc__) or list(REDUCTIONS)
    ct.suppress_thermo_warnings()
    results = stored(RESULTS, REDUCTIONS)
    for name in names:
        results[name] = measure(REDUCTIONS[name])
        write_json(RESULTS, strict(results))
        print(json.dumps(strict({name: results[name]})), flush=True)


if __name__ == "__main__":
    main()
