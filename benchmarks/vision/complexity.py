"""Complexity-aware training: Guenter & Sideris, tables 4, 5 and 6, ResNet-56 and -110 on CIFAR.

    python -m benchmarks.vision.complexity [--data FOLDER] [--table 4 5 6]

Trains each network unchanged, and once per row with units and residual blocks removed during
training. Prints accuracy, number of layers kept, and the shares of FLOPs (fPR) and parameters (pPR)
removed, beside those of the paper. Settings are those of its table 1. FOLDER holds CIFAR-10 and
CIFAR-100. Without it: digits and ResNet-20 for table 5, theta rounded after 24 of 30 epochs.

Choices that the paper leaves open: the shortcuts are those without parameters (option A of He et
al.); removing a block removes two layers. nu = 5.4e-4 in tables 4 and 6 is used as printed, though
the published shares suggest 5.4e-2. Layer-only pruning (table 4, last row) is not repeated.
"""

import functools
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.vision import fit
from benchmarks.vision.fit import FitSettings, accuracy, best_device, trained
from benchmarks.vision.images import Images, load_digits, load_images
from benchmarks.vision.networks import ResNet, n_parameters
from benchmarks.vision.tables import arguments, finish, percent, show
from combred.files.records import read_json, write_json
from combred.reduction.complexity.pruning import Complexity, Pruned, train_sparsely
from combred.reduction.network.size import count_flops

TABLES = {
    "4": "ResNet-110 on CIFAR-100", "5": "ResNet-56 on CIFAR-10", "6": "ResNet-110 on CIFAR-10",
}  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A published table: depth of the network, data, baseline accuracy in %, and rows
    (nu, beta, alpha) -> accuracy in %, layers kept, fPR and pPR in %."""

    depth: int
    dataset: str
    baseline: float
    rows: dict[tuple[float, float, float], tuple[float, int, float, float]]


PUBLISHED = {
    "4": Published(110, "cifar100", 75.50, {
        (5.4e-4, 0.5, 0.0): (75.20, 102, 28.08, 22.87),
        (1.6e-1, 0.5, 0.1): (74.57, 82, 48.49, 44.55),
    }),
    "5": Published(56, "cifar10", 94.26, {
        (8.1e-2, 1.7, 0.0): (93.40, 46, 48, 30),
        (8.1e-2, 0.5, 0.0): (93.38, 46, 47, 50),
        (8.1e-2, 0.0, 0.0): (93.59, 50, 32, 51),
        (8.1e-2, 1.0, 0.8): (93.07, 40, 56, 55),
        (2.2e-1, 1.0, 0.0): (92.53, 34, 67, 60),
        (2.2e-1, 0.0, 0.0): (92.65, 42, 51, 67),
    }),
    "6": Published(110, "cifar10", 94.70, {
        (5.4e-4, 0.5, 0.0): (94.55, 90, 41, 44),
        (2.2e-1, 1.0, 0.0): (93.44, 56, 77, 74),
        (2.2e-1, 0.0, 0.0): (93.57, 65, 64, 78),
    }),
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Table 1 of the paper: training of the weights, lambda, rate of theta, and restarts (epochs).

    settle: the epoch after which theta is rounded; None: at the end, as in the paper.
    """

    training: FitSettings
    weight_decay: float
    theta_rate: float
    restarts: tuple[int, ...] = ()
    settle: int | None = None


def recipe(dataset: str) -> Recipe:
    """How a network is trained on a data set."""
    if dataset == "digits":  # 21 steps per epoch instead of 391: a higher rate of theta
        training = FitSettings(30, lr=0.1, batch=64, schedule="cosine", weight_decay=6e-4)
        return Recipe(training, 6e-4, 2e-2, settle=24)
    decay, rate, restarts = (
        (7.5e-4, 5e-3, (105, 150)) if dataset == "cifar100" else (6e-4, 2e-3, ())
    )
    training = FitSettings(182, schedule="cosine", weight_decay=decay, augment=True)
    return Recipe(training, decay, rate, restarts)


def rate(how: Recipe, steps: int, step: int) -> float:
    """The learning rate at a step: a cosine to 0, which restarts at each of the restarts."""
    edges = [0, *how.restarts, how.training.epochs]
    epoch = step / steps
    low, high = next(pair for pair in itertools.pairwise(edges) if epoch < pair[1])
    return how.training.lr * 0.5 * (1 + math.cos(math.pi * (epoch - low) / (high - low)))


def endless(images: Images, settings: FitSettings, step: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches from a step on, to the end of the last epoch."""
    begun, skip = divmod(step, fit.steps_per_epoch(images, settings))
    for epoch in range(begun, settings.epochs):
        batches = fit.batches(images, settings, epoch, best_device())
        yield from itertools.islice(batches, skip if epoch == begun else 0, None)


def pruned(
    network: nn.Module, images: Images, how: Recipe, price: tuple, checkpoint: Path
) -> Pruned:
    """The untrained `network`, trained at the price (nu, beta, alpha)."""
    nu, beta, alpha = price
    steps = fit.steps_per_epoch(images, how.training)
    settings = Complexity(
        nu,
        beta,
        alpha,
        how.weight_decay,
        theta_rate=how.theta_rate,
        prune_every=steps,
        settle_after=None if how.settle is None else how.settle * steps,
    )
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    return train_sparsely(
        network.to(best_device()),
        images.example.to(best_device()),
        functools.partial(endless, images, how.training),
        F.cross_entropy,
        settings,
        optimizer=functools.partial(torch.optim.SGD, lr=how.training.lr, momentum=0.9),
        rate=functools.partial(rate, how, steps),
        checkpoint=checkpoint,
    )


def row(build: Callable[[], ResNet], depth: int, images: Images, how: Recipe, price: tuple) -> dict:
    """Our results at a price, from a file if this training was done before."""
    key = hashlib.sha256(repr((how, depth, images.name, len(images.train))).encode()).hexdigest()
    name = f"sparse{depth}-{images.name}-{'-'.join(f'{v:g}' for v in price)}-{key[:8]}"
    done = fit.RUNS / f"{name}.json"
    if done.exists():
        return read_json(done)
    begun = time.monotonic()
    torch.manual_seed(how.training.seed)
    network = build()
    whole = n_parameters(network), count_flops(network, images.example)
    checkpoint = done.with_suffix(".checkpoint")
    found = pruned(network, images, how, price, checkpoint)
    small = found.network.cpu().eval()
    numbers = {
        "nu": price[0], "beta": price[1], "alpha": price[2],
        "accuracy": accuracy(small, images.test, images.test_labels),
        "layers": depth - 2 * len(found.removed), "parameters": n_parameters(small),
        "fPR": 1 - count_flops(small, images.example) / whole[1],
        "pPR": 1 - n_parameters(small) / whole[0],
        "units": found.trace[-1].units, "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip
    write_json(done, numbers)
    checkpoint.unlink(missing_ok=True)
    return numbers


def table(name: str, folder: Path | None) -> dict:
    """One of the published tables: our rows and those of the paper."""
    paper = PUBLISHED[name]
    images = load_images(paper.dataset, folder) if folder else load_digits(12)
    depth = paper.depth if folder else 20
    build = functools.partial(ResNet, depth, images.channels, images.classes)
    how = recipe(images.name)
    network = trained(f"resnet{depth}", build, images, how.training)
    baseline = accuracy(network, images.test, images.test_labels)
    rows = [
        row(build, depth, images, how, price)
        | {"paper": dict(zip(("accuracy", "layers", "fPR", "pPR"), theirs, strict=True))}
        for price, theirs in paper.rows.items()
    ]
    show(
        f"Guenter & Sideris, table {name}: ResNet-{depth} on {images.name}, baseline "
        f"{percent(baseline)} % (paper: {TABLES[name]}, {paper.baseline:.2f} %)",
        ["nu", "beta", "alpha", "accuracy", "layers", "fPR", "pPR", "seconds", "paper: accuracy",
         "layers", "fPR", "pPR"],
        [
            [f"{r['nu']:g}", r["beta"], r["alpha"], percent(r["accuracy"]), r["layers"],
             percent(r["fPR"], 1), percent(r["pPR"], 1), r["seconds"], *r["paper"].values()]
            for r in rows
        ],
        "fPR, pPR: shares of operations and parameters removed, in %",
    )  # fmt: skip
    return {"data": images.name, "depth": depth, "baseline": baseline,
            "parameters": n_parameters(network), "paper_baseline": paper.baseline,
            "rows": rows}  # fmt: skip


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    names = chosen.table if chosen.data else ["5"]
    numbers = {f"table_{name}": table(name, chosen.data) for name in names}
    finish("complexity", "published" if chosen.data else "digits", started, numbers)


if __name__ == "__main__":
    main()
