"""Complexity-aware training: Guenter & Sideris, tables 4, 5 and 6, ResNet-56 and -110 on CIFAR.

    python -m examples.vision.complexity [--data FOLDER] [--table 4 5 6]

Trains each network unchanged, and once per row with units and residual blocks removed during
training. Prints accuracy, number of layers kept, and the shares of FLOPs (fPR) and parameters (pPR)
removed, beside those of the paper. Settings are those of its table 1. FOLDER holds CIFAR-10 and
CIFAR-100. Without it: digits and ResNet-20 for table 5, theta rounded after 24 of 30 epochs.

Choices that the paper leaves open: the shortcuts are those without parameters (option A of He et
al.); removing a block removes two layers. nu = 5.4e-4 in tables 4 and 6 is used as printed, though
the published shares suggest 5.4e-2. In the last row of table 4 (layers only) no unit is masked.
"""

import functools
import hashlib
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from combred.files.records import read_json, write_json
from combred.reduction.complexity.pruning import Complexity, train_sparsely
from combred.reduction.network.size import count_flops, count_parameters
from examples.vision import training
from examples.vision.images import Images, load_images
from examples.vision.networks import ResNet
from examples.vision.tables import arguments, finish, percent
from examples.vision.training import FitSettings, accuracy, best_device, cosine, trained

TABLES = {
    "4": "ResNet-110 on CIFAR-100", "5": "ResNet-56 on CIFAR-10", "6": "ResNet-110 on CIFAR-10",
}  # fmt: skip
# The last row of table 4, log gamma_B = -250 and no other price: nu alpha / L = 250 / N (equations
# 10 and 13) for each of L = 54 blocks, with N = 50,000 images; nu leaves beta nothing to weigh.
LAYER_ONLY = (1e-6, 0.5, 250 / 50_000 * 54 / 1e-6, "blocks")
# Depth, data, and rows (nu, beta, alpha) -> accuracy in %, layers kept, fPR and pPR in %. The
# accuracies of the unchanged networks are 75.50, 94.26 and 94.70.
PUBLISHED = {
    "4": (110, "cifar100", {
        (5.4e-4, 0.5, 0.0): (75.20, 102, 28.08, 22.87),
        (1.6e-1, 0.5, 0.1): (74.57, 82, 48.49, 44.55),
        LAYER_ONLY: (74.32, 60, 46.26, 45.05),
    }),
    "5": (56, "cifar10", {
        (8.1e-2, 1.7, 0.0): (93.40, 46, 48, 30),
        (8.1e-2, 0.5, 0.0): (93.38, 46, 47, 50),
        (8.1e-2, 0.0, 0.0): (93.59, 50, 32, 51),
        (8.1e-2, 1.0, 0.8): (93.07, 40, 56, 55),
        (2.2e-1, 1.0, 0.0): (92.53, 34, 67, 60),
        (2.2e-1, 0.0, 0.0): (92.65, 42, 51, 67),
    }),
    "6": (110, "cifar10", {
        (5.4e-4, 0.5, 0.0): (94.55, 90, 41, 44),
        (2.2e-1, 1.0, 0.0): (93.44, 56, 77, 74),
        (2.2e-1, 0.0, 0.0): (93.57, 65, 64, 78),
    }),
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Table 1 of the paper: training of the weights, rate and start of theta, restarts (epochs).

    settle: the epoch after which theta is rounded; None: at the end, as in the paper.
    """

    training: FitSettings
    theta_rate: float
    restarts: tuple[int, ...] = ()
    settle: int | None = None
    theta_0: float = 0.75  # on CIFAR


RECIPES = {
    "cifar10": Recipe(FitSettings(182, weight_decay=6e-4, augment=True), 2e-3),
    "cifar100": Recipe(FitSettings(182, weight_decay=7.5e-4, augment=True), 5e-3, (105, 150)),
    # 21 steps per epoch instead of 391: a higher rate of theta
    "digits": Recipe(FitSettings(30, lr=0.1, batch=64, weight_decay=6e-4), 2e-2, settle=24),
}


def rate(how: Recipe, steps: int, step: int) -> float:
    """The learning rate at a step: a cosine to 0, which restarts at each of the restarts."""
    edges = [0, *how.restarts, how.training.epochs]
    epoch = step / steps
    low, high = next(pair for pair in itertools.pairwise(edges) if epoch < pair[1])
    return cosine(how.training.lr, epoch, low, high)


def endless(images: Images, settings: FitSettings, step: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches from a step on, to the end of the last epoch."""
    begun, skip = divmod(step, training.steps_per_epoch(images, settings))
    for epoch in range(begun, settings.epochs):
        batches = training.batches(images, settings, epoch)
        yield from itertools.islice(batches, skip if epoch == begun else 0, None)


def row(build: Callable[[], ResNet], images: Images, how: Recipe, price: tuple) -> dict:
    """Our results at a price (nu, beta, alpha), from a file if this training was done before.

    A fourth entry, "units" or "blocks", says that these alone are pruned.
    """
    nu, beta, alpha, prunes = (*price, "both")[:4]
    key = hashlib.sha256(repr((build, images.train.shape, how)).encode()).hexdigest()[:8]
    done = training.RUNS / f"sparse-{images.name}-{'-'.join(map(str, price))}-{key}.json"
    if done.exists():
        return read_json(done)
    done.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = done.with_suffix(".checkpoint")
    steps = training.steps_per_epoch(images, how.training)
    settings = Complexity(
        nu,
        beta,
        alpha,
        how.training.weight_decay,
        theta_0=how.theta_0,
        theta_rate=how.theta_rate,
        prunes=prunes,
        prune_every=steps,
        settle_after=None if how.settle is None else how.settle * steps,
    )
    torch.manual_seed(how.training.seed)
    network = build()
    whole = count_parameters(network), count_flops(network, images.example)
    found = train_sparsely(
        network.to(best_device()),
        images.example.to(best_device()),
        functools.partial(endless, images, how.training),
        F.cross_entropy,
        settings,
        optimizer=functools.partial(torch.optim.SGD, lr=how.training.lr, momentum=0.9),
        rate=functools.partial(rate, how, steps),
        checkpoint=checkpoint,
    )
    small = found.network.cpu().eval()
    numbers = {
        **{"nu": nu, "beta": beta, "alpha": alpha, "prunes": prunes},
        "accuracy": percent(accuracy(small, images)), "parameters": count_parameters(small),
        "blocks removed": len(found.removed),
        "fPR": percent(1 - count_flops(small, images.example) / whole[1]),
        "pPR": percent(1 - count_parameters(small) / whole[0]),
    }  # fmt: skip
    write_json(done, numbers)
    checkpoint.unlink(missing_ok=True)
    return numbers


def table(name: str, folder: Path | None) -> list[dict]:
    """One of the published tables: our rows and those of the paper."""
    depth, dataset, paper = PUBLISHED[name]
    images = load_images(dataset, folder, digits=12)
    depth = depth if folder else 20
    build = functools.partial(ResNet, depth, images.channels, images.classes)
    how = RECIPES[images.name]
    network = trained(f"resnet{depth}", build, images, how.training)
    first = {"data": images.name, "baseline": percent(accuracy(network, images))}
    rows = []
    for price, theirs in paper.items():
        ours = first | row(build, images, how, price)
        layers = {"layers": depth - 2 * ours.pop("blocks removed")}
        names = ("paper: accuracy", "paper: layers", "paper: fPR", "paper: pPR")
        rows.append(ours | layers | dict(zip(names, theirs, strict=True)))
    return rows


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    names = chosen.table if chosen.data else [name for name in chosen.table if name == "5"]
    if not names:
        raise SystemExit("on digits there is table 5 alone: give --data FOLDER with the images")
    found = {f"table {name}: {TABLES[name]}": table(name, chosen.data) for name in names}
    finish("complexity", chosen, started, found)


if __name__ == "__main__":
    main()
