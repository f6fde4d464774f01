"""Channel similarity: Zhang et al., table 1(a), VGG-16 and ResNet-110 on CIFAR.

    python -m benchmarks.vision.channel_similarity [--data FOLDER] [--table cifar10 cifar100]

Trains, clusters the channels of every layer at a threshold t, keeps the channel of largest |gamma|
in each cluster, and retrains. Prints accuracy and FLOPs (`flops.n_flops`, which reproduces the
baselines of the table) beside those of the paper. FOLDER holds CIFAR-10 and CIFAR-100. Without it:
digits, VGG-16 a quarter as wide, a pre-activation ResNet of 56 layers half as wide, fewer epochs.

In residual blocks the channels that a block reads from the residual stream are clustered as well,
by a channel selection (appendix A). Choices that the paper leaves open: the training before the
pruning is that of Liu et al. (ICCV 2017), whose networks the paper uses, without its L1 term; the
clustering uses average linkage. The other channels of a cluster are removed, as in the paper
("removed"), or added to the one that is kept by equation (6) ("merged"); both are retrained.
"""

import copy
import functools
import time
from dataclasses import replace
from pathlib import Path

from torch import nn

import combred.reduction
from benchmarks.vision.fit import FitSettings, accuracy, trained
from benchmarks.vision.flops import n_flops
from benchmarks.vision.images import Images, load_digits, load_images
from benchmarks.vision.networks import VGG16, PreactivationResNet, n_parameters
from benchmarks.vision.tables import arguments, finish, percent, show

TABLES = {"cifar10": "Table 1(a), CIFAR-10", "cifar100": "Table 1(a), CIFAR-100"}
TRAINING = FitSettings(
    160, batch=64, milestones=(80, 120), weight_decay=1e-4, nesterov=True, augment=True
)
RETRAINING = {  # their section 4, implementation details
    "vgg16": replace(TRAINING, epochs=60, lr=0.01, milestones=(30, 50)),
    "resnet110": replace(TRAINING, epochs=60, lr=0.01, milestones=(25, 50)),
}
# Digits have fewer steps: a larger decay shrinks the weights nearly as much in total.
DIGITS_TRAINING = FitSettings(20, lr=0.05, schedule="cosine", batch=64, weight_decay=0.01)
DIGITS_RETRAINING = FitSettings(6, lr=0.01, schedule="cosine", batch=64, weight_decay=1e-4)
# t, accuracy in % and MFLOP before and after: table 1(a), rows "Base" and "Ours".
TABLE_1A = {
    "cifar10": {
        "vgg16": {"t": 0.25, "accuracy": (93.39, 92.71), "mflop": (627.36, 182.31)},
        "resnet110": {"t": 0.225, "accuracy": (94.65, 94.25), "mflop": (341.23, 141.27)},
    },
    "cifar100": {
        "vgg16": {"t": 0.20, "accuracy": (72.10, 71.22), "mflop": (627.45, 334.16)},
        "resnet110": {"t": 0.19, "accuracy": (75.62, 74.56), "mflop": (341.28, 153.73)},
    },
}
COMPENSATION = {"removed": "none", "merged": "own"}


def baseline(name: str, dataset: str, folder: Path | None) -> tuple[nn.Module, Images]:
    """A trained network of the table, and its images."""
    images = load_images(dataset, folder) if folder else load_digits(16)
    shape = {"in_channels": images.channels, "classes": images.classes}
    if name == "vgg16":
        build = functools.partial(VGG16, width=1.0 if folder else 0.25, **shape)
    else:
        depth, width = (110, 1.0) if folder else (56, 0.5)
        build = functools.partial(PreactivationResNet, depth, width=width, **shape)
    settings = TRAINING if folder else DIGITS_TRAINING
    title = name if folder or name == "vgg16" else "preactivation56"
    return trained(title, build, images, settings), images


def pruned(network: nn.Module, images: Images, t: float, kind: str) -> nn.Module:
    """The network with one channel per cluster at the threshold t; kind: "removed" or "merged"."""
    return combred.reduction.reduce(
        network,
        images.example,
        method="channel_similarity",
        threshold=t,
        compensation=COMPENSATION[kind],
    ).network


def measure(name: str, dataset: str, folder: Path | None) -> list[dict]:
    """Rows of the table for one network and data set, with channels removed and merged."""
    network, images = baseline(name, dataset, folder)
    paper = TABLE_1A[dataset][name]
    settings = RETRAINING[name] if folder else DIGITS_RETRAINING
    before = accuracy(network, images.test, images.test_labels)
    flops = n_flops(network, images.example)
    rows = []
    for kind in COMPENSATION:
        small = pruned(network, images, paper["t"], kind)
        again = trained(f"{name}-{kind}", functools.partial(copy.deepcopy, small), images, settings)
        after = n_flops(small, images.example)
        rows.append({
            "network": name, "data": images.name, "t": paper["t"], "others": kind,
            "accuracy": before, "flops": flops, "parameters": n_parameters(network),
            "accuracy_pruned": accuracy(small, images.test, images.test_labels),
            "accuracy_retrained": accuracy(again, images.test, images.test_labels),
            "flops_pruned": after, "parameters_pruned": n_parameters(small),
            "removed": 1 - after / flops,
            "paper": {"data": dataset, "accuracy": paper["accuracy"][0],
                      "accuracy_retrained": paper["accuracy"][1], "mflop": paper["mflop"][0],
                      "mflop_pruned": paper["mflop"][1],
                      "removed": 1 - paper["mflop"][1] / paper["mflop"][0]},
        })  # fmt: skip
    return rows


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    datasets = chosen.table if chosen.data else chosen.table[:1]
    rows = [
        row
        for dataset in datasets
        for name in TABLE_1A[dataset]
        for row in measure(name, dataset, chosen.data)
    ]
    show(
        "Zhang et al., table 1(a): accuracy in %, FLOPs in M, share of them removed in %",
        ["network", "data", "t", "others", "base", "pruned", "retrained", "MFLOP", "pruned",
         "removed", "paper", "base", "retrained", "MFLOP", "pruned", "removed"],
        [
            [r["network"], r["data"], r["t"], r["others"], percent(r["accuracy"]),
             percent(r["accuracy_pruned"]), percent(r["accuracy_retrained"]),
             f"{r['flops'] / 1e6:.2f}", f"{r['flops_pruned'] / 1e6:.2f}", percent(r["removed"]),
             r["paper"]["data"], r["paper"]["accuracy"], r["paper"]["accuracy_retrained"],
             r["paper"]["mflop"], r["paper"]["mflop_pruned"], percent(r["paper"]["removed"])]
            for r in rows
        ],
        "on digits resnet110 is the narrow pre-activation ResNet of 56 layers",
    )  # fmt: skip
    data = "published" if chosen.data else "digits"
    finish("channel_similarity", data, started, {"table_1a": rows})


if __name__ == "__main__":
    main()
