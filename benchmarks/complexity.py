"""Complexity-aware training of the combustion network: which size has which error?

    python -m combred.pipeline profile=condensed stage=0
    python -m benchmarks.complexity profile=condensed [key=value ...]

Takes the settings of a pipeline run and its states. For several prices nu, a new network of the
run's widths is trained while units are removed at that price (Guenter & Sideris; operations and
parameters have the same price). For comparison, a network of the resulting widths is trained from
scratch for as many steps. Errors of the ignition delay are those of `benchmarks.reduction`. Writes
complexity.json into the run folder after every network, and resumes from it. Prints a table, then
one JSON line.
"""

import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from benchmarks.command_line import words
from benchmarks.reduction import Table, delay
from combred import config
from combred.files.records import read_json, strict, write_json
from combred.pipeline.command import prepare
from combred.reduction import Complexity, train_sparsely
from combred.surrogate.network import Network, initialize
from combred.training.batches import encode
from combred.training.schedules import learning_rate
from combred.validation import timing

NUS = (0.003, 0.01, 0.03, 0.1)
STEPS, BATCH, RATE = 9000, 1024, 1.5e-3


def batches(x: Tensor, z: Tensor, first: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches of the steps from `first` to STEPS; each depends on its step alone."""
    for step in range(first, STEPS):
        pick = torch.randint(len(x), (BATCH,), generator=torch.Generator().manual_seed(step))
        yield x[pick], z[pick]


def rate(step: int) -> float:
    """The learning rate at a step: the cosine of the pipeline."""
    settings = config.TrainingSettings(steps=STEPS, lr=RATE)
    return learning_rate(settings, step)


def fresh(widths: list[int], seed: int) -> Network:
    """An untrained network."""
    network = Network(widths)
    scales = [0.5] * len(network.layers)
    initialize(network, scales, torch.Generator().manual_seed(seed))
    return network


def from_scratch(
    widths: list[int], x: Tensor, z: Tensor, loss: Callable[[Tensor, Tensor], Tensor], seed: int
) -> Network:
    """A network of these widths, trained for STEPS steps on the same batches."""
    network = fresh(widths, seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    for step, (a, b) in enumerate(batches(x, z, 0)):
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        loss(network(a), b).backward()
        optimizer.step()
    return network


def main(arguments: list[str]) -> None:
    run = prepare(replace(config.resolve(arguments), stage=0))
    table = Table(run, errors_only=False)
    path = run.path("complexity.json")
    measured_on = table.measured_on | {"steps": STEPS, "batch": BATCH, "theta_rate": 3e-3}
    stored = read_json(path)
    rows = stored.get("rows", []) if stored.get("measured_on") == measured_on else []
    blocks = table.table.chunks(keep=~table.held_out)
    pairs = [encode(table.surrogate.transform, block) for block in blocks]
    x, z = (torch.cat(side) for side in zip(*pairs, strict=True))
    loss = table.surrogate.transform.loss
    for nu in NUS:
        if any(row["nu"] == nu for row in rows):
            continue
        settings = Complexity(
            nu,
            weight_decay=0.0,
            theta_rate=3e-3,
            settle_after=int(0.7 * STEPS),
            seed=run.settings.seed,
        )
        begun = time.perf_counter()
        found = train_sparsely(
            fresh(table.network.widths, run.settings.seed), x[:1],
            functools.partial(batches, x, z), loss, settings,
            optimizer=functools.partial(torch.optim.Adam, lr=RATE), rate=rate,
        )  # fmt: skip
        middle = time.perf_counter()
        same = from_scratch(found.network.widths, x, z, loss, run.settings.seed)
        rows.append({
            "nu": nu, "widths": found.network.widths, "weights": found.network.n_weights,
            "seconds": middle - begun, "scratch_seconds": time.perf_counter() - middle,
            "pruned": table.judge(found.network), "scratch": table.judge(same),
        })  # fmt: skip
        write_json(path, strict({"measured_on": measured_on, "rows": rows}))
    print(f"{timing.machine()}, {torch.get_num_threads()} threads; {STEPS} steps of {BATCH} states")
    for row in rows:
        widths = "-".join(map(str, row["widths"]))
        print(f"nu {row['nu']:<6} {widths:22} {row['weights']:8,} weights"
              f"  pruned {row['pruned']['validation']:.4f} {delay(row['pruned']):>18}"
              f" {row['seconds']:6.0f} s  scratch {row['scratch']['validation']:.4f}"
              f" {delay(row['scratch']):>18} {row['scratch_seconds']:6.0f} s")  # fmt: skip
    print(json.dumps(strict({"measured_on": measured_on, "rows": rows})))


if __name__ == "__main__":
    main(words(__doc__))
