"""What gets through: hostile settings, damaged files, hostile states, kills at random moments?

    python -m benchmarks.attacks [N [KIND ...]]

Attacks combred, with N (1) times as many attacks as the shortest way of some ten minutes, and
counts: refused in one clear line, harmless, wrong (another result without a word), tracebacks,
silences of over 10 s. tests/robustness makes a part of these attacks in every test run. Writes
benchmarks/results/attacks.json after every kind of attack, prints what got through, a table, and
then one JSON line. KIND, a part of a name in the table, as kills: these alone are made anew.
"""

import contextlib
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch._dynamo  # which every optimiser imports: a copy of this process has it

import combred
from benchmarks.command_line import words
from benchmarks.hostile import files, interruptions, processes, settings, states
from benchmarks.hostile.outcome import Counts
from benchmarks.hostile.short import quick
from combred.files.records import read_json, write_json

RESULTS = Path(__file__).parent / "results" / "attacks.json"
COLUMNS = ("tried", "refused", "harmless", "wrong", "tracebacks", "silent")
PROFILES = ("default", "smoke")
MODELS = ("drm19-11k", "drm19-full")
DT = 1e-6  # s
REAL = ("kills", "two processes", "three processes")  # begin so: with worker processes


def good_states(mechanism: combred.Mechanism) -> np.ndarray:
    """States of methane and air from 900 to 2200 K, before and after 1 ms of CVODE, (40, 23)."""
    T, p = np.linspace(900.0, 2200.0, 20), np.full(20, 101325.0)
    Y = np.tile(mechanism.mixture("CH4:1", "O2:1, N2:3.76", phi=1.0), (20, 1))
    later, Y_later = combred.CVODE(mechanism).advance(T, p, Y, 1e-3)
    after = np.column_stack([later, p, Y_later.clip(0.0)])
    after[:, 2:] /= after[:, 2:].sum(1, keepdims=True)
    return np.concatenate([np.column_stack([T, p, Y]), after])


def of_states(model: str, times: int) -> Counts:
    """Attacks at the doors of a shipped model."""
    surrogate = combred.load(model).requires_grad_(False)
    mechanism = combred.load_mechanism("drm19.yaml")
    library = combred.native.compile(surrogate) if surrogate.kinetics else None
    doors, good = states.doors(surrogate, library), good_states(mechanism)
    counts = states.attack(mechanism, doors, states.calls(good, DT, times, 4 * times))
    return counts + states.attack(mechanism, doors, states.memory(good, DT), agree=False)


def kinds(folder: Path, times: int) -> dict[str, Callable[[], Counts]]:
    """The kinds of attacks by name; a run that they damage and compare with is made in `folder`."""
    for name in ("one", "two", "three", "kills"):
        (folder / name).mkdir()
    alone = processes.begin(folder / "three", folder / "output.txt")
    processes.ended(alone, processes.LIMIT)
    made = folder / "three" / "runs" / files.NAME
    whole = files.results(made)
    with quick():
        run = files.make(folder / "one", files.SMALL)
        other = files.make(folder / "two", files.OTHER)

    def unfinished(step: str) -> Callable[[], Counts]:
        where = folder / step
        return lambda: interruptions.attack_unfinished(run, other, where, step, times, 8 * times)

    def kills(step: str) -> Callable[[], Counts]:
        where = folder / f"kills in {step}"
        return lambda: processes.attack_step(made, where, whole, step, 4 * times, times)[0]

    left = [step for step, stop in interruptions.STOPS.items() if stop.left]
    return {
        **{f"settings, {p}": (lambda p=p: settings.attack(folder, p)) for p in PROFILES},
        "files of a finished run": lambda: files.attack_all(
            run, other, times, 4 * times, 100 * times, 8 * times
        ),
        **{f"files of an interrupted {step}": unfinished(step) for step in left},
        **{f"states, {model}": lambda m=model: of_states(m, times) for model in MODELS},
        "kills": lambda: processes.attack_kills(folder / "kills", whole, 6 * times, times, 30.0),
        **{f"kills in the {step}": kills(step) for step in interruptions.STOPS},
        "two processes": lambda: processes.attack_together(folder / "pair", whole, 2),
        "three processes": lambda: processes.attack_together(folder / "trio", whole, 3),
    }


def print_table(rows: dict[str, dict]) -> None:
    """The counts by kind of attack."""
    print(f"{'':34}" + "".join(f"{name:>11}" for name in COLUMNS))
    for kind, row in rows.items():
        print(f"{kind:34}" + "".join(f"{row[name]:11,}" for name in COLUMNS))


def main() -> None:
    """Attack, count and write."""
    given = words(__doc__)
    times, chosen = int(given[0]) if given else 1, given[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows: dict[str, dict] = read_json(RESULTS).get("attacks", {}) if chosen else {}
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for kind, attack in kinds(Path(name), times).items():
            if chosen and not any(part in kind for part in chosen):
                continue
            begun = time.monotonic()
            with contextlib.nullcontext() if kind.startswith(REAL) else quick():
                counts = attack().numbers()
            for through in counts.pop("through"):
                print(f"{kind}: {through}", flush=True)
            rows[kind] = counts | {"seconds": time.monotonic() - begun}
            print(f"{kind}: {rows[kind]}", file=sys.stderr, flush=True)
            result = {"machine": machine, "version": combred.__version__, "times": times}
            write_json(RESULTS, result | {"attacks": rows})
    print_table(rows)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
