"""Channel similarity: Zhang et al., table 1(a), VGG-16 and ResNet-110 on CIFAR.

    python -m examples.vision.channel_similarity [--data FOLDER] [--table cifar10 cifar100]

Trains, clusters the channels of every layer at a threshold t, keeps the channel of largest |gamma|
in each cluster, and retrains. Prints accuracy and FLOPs (`n_flops`, which reproduces the
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

import torch
from torch import Tensor, nn

import combred.reduction
from combred.reduction.network.size import count_parameters
from examples.vision.images import Images, load_images
from examples.vision.networks import VGG16, PreactivationResNet
from examples.vision.tables import arguments, finish, percent
from examples.vision.training import FitSettings, accuracy, trained

TABLES = {"cifar10": "Table 1(a), CIFAR-10", "cifar100": "Table 1(a), CIFAR-100"}
TRAINING = FitSettings(
    160, batch=64, milestones=(80, 120), weight_decay=1e-4, nesterov=True, augment=True
)
RETRAINING = {  # their section 4, implementation details
    "vgg16": replace(TRAINING, epochs=60, lr=0.01, milestones=(30, 50)),
    "resnet110": replace(TRAINING, epochs=60, lr=0.01, milestones=(25, 50)),
}
# Digits have fewer steps: a larger decay shrinks the weights nearly as much in total.
DIGITS_TRAINING = FitSettings(20, lr=0.05, batch=64, weight_decay=0.01)
DIGITS_RETRAINING = FitSettings(6, lr=0.01, batch=64, weight_decay=1e-4)
# t, then accuracy in % and MFLOP before and after: table 1(a), rows "Base" and "Ours".
TABLE_1A = {
    "cifar10": {
        "vgg16": (0.25, (93.39, 92.71), (627.36, 182.31)),
        "resnet110": (0.225, (94.65, 94.25), (341.23, 141.27)),
    },
    "cifar100": {
        "vgg16": (0.20, (72.10, 71.22), (627.45, 334.16)),
        "resnet110": (0.19, (75.62, 74.56), (341.28, 153.73)),
    },
}
COMPENSATION = {"removed": "none", "merged": "own"}


def n_flops(network: nn.Module, image: Tensor) -> int:
    """Operations of one forward pass of `image`, counted as by Zhang et al. (section 4).

    A multiply-add is two operations; batch normalisation counts two for each element, ReLU and
    pooling one for each that they compare or add. With these numbers, which the paper does not
    give, VGG-16 has 627,357,696 and ResNet-110 341,230,592 on CIFAR-10: the 627.36 M and 341.23 M
    of their table 1. Biases and the sums of residual blocks are not counted. The network is put
    into eval mode.
    """
    total = 0

    def count(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        nonlocal total
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            total += 2 * output.numel() * module.weight[0].numel()
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            total += 2 * output.numel()
        elif isinstance(module, nn.ReLU):
            total += output.numel()
        elif isinstance(module, (nn.MaxPool2d, nn.AdaptiveAvgPool2d)):
            total += inputs[0].numel()

    hooks = [module.register_forward_hook(count) for module in network.modules()]
    try:
        with torch.no_grad():
            network.eval()(image)
    finally:
        for hook in hooks:
            hook.remove()
    return total


def baseline(name: str, dataset: str, folder: Path | None) -> tuple[nn.Module, Images]:
    """A trained network of the table, and its images."""
    images = load_images(dataset, folder)
    shape = {"in_channels": images.channels, "classes": images.classes}
    if name == "vgg16":
        build = functools.partial(VGG16, width=1.0 if folder else 0.25, **shape)
    else:
        depth, width = (110, 1.0) if folder else (56, 0.5)
        build = functools.partial(PreactivationResNet, depth, width=width, **shape)
    return trained(name, build, images, TRAINING if folder else DIGITS_TRAINING), images


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
    t, right, mflop = TABLE_1A[dataset][name]
    settings = RETRAINING[name] if folder else DIGITS_RETRAINING
    flops = n_flops(network, images.example)
    rows = []
    for kind in COMPENSATION:
        small = pruned(network, images, t, kind)
        again = trained(f"{name}-{kind}", functools.partial(copy.deepcopy, small), images, settings)
        after = n_flops(small, images.example)
        rows.append({
            "network": name, "data": images.name, "t": t, "others": kind,
            "base": percent(accuracy(network, images)), "pruned": percent(accuracy(small, images)),
            "retrained": percent(accuracy(again, images)),
            "parameters": count_parameters(small), "MFLOP": round(flops / 1e6, 2),
            "MFLOP, pruned": round(after / 1e6, 2), "removed": percent(1 - after / flops),
            "paper: base": right[0], "paper: retrained": right[1], "paper: MFLOP": mflop[0],
            "paper: removed": percent(1 - mflop[1] / mflop[0]),
        })  # fmt: skip
    return rows


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    tables = {}
    for dataset in chosen.table if chosen.data else chosen.table[:1]:
        tables[f"Zhang et al., table 1(a), {dataset}"] = [
            row for name in TABLE_1A[dataset] for row in measure(name, dataset, chosen.data)
        ]
    finish("channel-similarity", chosen, started, tables)


if __name__ == "__main__":
    main()
