"""Neuron merging and pruning: Kim et al. (NeurIPS 2020), tables 1, 2 and 3.

    python -m examples.vision.neuron_merging [--data FOLDER] [--table 1 2 3]

Trains LeNet-300-100, VGG-16, ResNet-56 and WRN-40-4 as in section 4, removes neurons by three
criteria, with and without merging, without retraining. Prints accuracies, parameters and WARE
(weighted average reconstruction error) beside those of the paper. FOLDER holds FashionMNIST,
CIFAR-10 and CIFAR-100. Without it: digits, fewer epochs, VGG-16 and WRN a quarter as wide.

Choices that the paper leaves open: its VGG-16 for CIFAR-100 prunes "the last three" convolutions,
which would be 32.4 % of the parameters; the 44.1 % and 8.4 M of its table 2 are those of the last
four, which are pruned here. The final response of WARE is taken before the ReLU of the hidden layer
of VGG-16, after which most responses are zero, and after the pooling of the residual networks.
"""

import functools
import time
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor, nn

import combred.reduction
from combred.reduction.network.size import count_parameters
from examples.vision.images import Images, load_images
from examples.vision.networks import VGG16, LeNet, ResNet, WideResNet
from examples.vision.tables import arguments, finish, percent
from examples.vision.training import FitSettings, accuracy, outputs, trained

CRITERIA = ("l1", "l2", "l2-gm")
TABLES = {"1": "LeNet-300-100", "2": "VGG-16", "3": "WARE of VGG-16, ResNet-56 and WRN-40-4"}
LENET = FitSettings(60, milestones=(15, 30, 45), weight_decay=1e-4)
CONVOLUTIONAL = FitSettings(200, milestones=(100, 150), augment=True)
# Digits have fewer steps: a larger decay shrinks the weights nearly as much in total.
DIGITS = {
    "lenet": FitSettings(40, weight_decay=3.5e-3),
    "vgg16": FitSettings(30, batch=64, weight_decay=0.02),
    "resnet56": FitSettings(20, lr=0.05, batch=64, weight_decay=0.02),
    "wrn40": FitSettings(12, batch=64, weight_decay=0.02),
}
# Published accuracies in %, (prune, merge) by criterion, by pruned share: table 1, baseline 89.80.
TABLE_1 = {
    0.5: ((88.40, 88.69), (87.86, 88.38), (88.08, 88.57)),
    0.6: ((85.17, 86.92), (83.03, 88.07), (85.82, 88.10)),
    0.7: ((71.26, 82.75), (71.21, 83.27), (78.38, 86.39)),
    0.8: ((66.76, 80.02), (63.90, 77.11), (64.19, 77.49)),
}
# Table 2: convolutions halved, lambda, baseline, parameters removed, accuracies as in table 1.
TABLE_2 = {
    "cifar10": ((1, 8, 9, 10, 11, 12, 13), 0.85, 93.70, 63.7,
                ((88.70, 93.16), (89.14, 93.16), (87.85, 93.10))),
    "cifar100": ((1, 10, 11, 12, 13), 0.7, 73.30, 44.1,
                 ((67.70, 71.63), (67.79, 71.86), (67.38, 71.95))),
}  # fmt: skip
# Table 3: WARE on CIFAR-10, by network and pruned share (0.5 of VGG-16: the layers of table 2).
TABLE_3 = {
    "vgg16": {0.5: ((4.285, 1.465), (4.394, 1.555), (4.515, 1.599))},
    "resnet56": {
        0.5: ((12.095, 4.986), (12.566, 4.352), (11.691, 5.679)),
        0.4: ((8.759, 3.911), (9.094, 3.416), (10.099, 4.264)),
        0.3: ((6.251, 3.646), (5.224, 3.556), (6.888, 3.568)),
        0.2: ((3.748, 2.508), (3.745, 2.382), (3.685, 2.448)),
    },
    "wrn40": {
        0.5: ((3.502, 2.364), (3.446, 2.406), (3.515, 2.498)),
        0.4: ((2.849, 1.649), (2.921, 1.821), (2.868, 1.714)),
        0.3: ((2.099, 1.213), (2.129, 1.315), (2.168, 1.271)),
        0.2: ((1.266, 0.796), (1.103, 0.754), (1.161, 0.746)),
    },
}
LAMBDA = {"vgg16": 0.85, "resnet56": 0.85, "wrn40": 0.8}
FINAL_RESPONSE = {"vgg16": "head.norm", "resnet56": "pool", "wrn40": "pool"}
T_LENET, T_CONVOLUTIONAL = 0.45, 0.1  # least cosine at which a pruned neuron is merged
Pair = tuple[nn.Module, nn.Module]


def reduced(
    network: nn.Module, images: Images, removed: float, layers: list[str] | None = None, **options
) -> Iterator[tuple[str, Pair]]:
    """By criterion, `network` without the share `removed` of the units of each layer: pruned, and
    merged. options: `t` and `weight` (lambda) of `combred.reduction.neuron_merging`."""
    for criterion in CRITERIA:
        method = functools.partial(combred.reduction.neuron_merging, criterion=criterion, **options)
        pruned, merged = (
            combred.reduction.reduce(
                network, images.example, method=method, layers=layers, ratio=1 - removed,
                compensation=compensation,
            ).network
            for compensation in ("none", "own")
        )  # fmt: skip
        yield criterion, (pruned, merged)


def rows(
    found: Iterator[tuple[str, Pair]], images: Images, paper: tuple, what: str = "", **first
) -> list[dict]:
    """A row of a table for each criterion: accuracies, and the paper's accuracies or `what`."""
    return [
        {
            **first,
            "criterion": criterion,
            "prune": percent(accuracy(pair[0], images)),
            "merge": percent(accuracy(pair[1], images)),
            "parameters": count_parameters(pair[1]),
            f"paper: {what}prune": theirs[0],
            f"paper: {what}merge": theirs[1],
        }
        for (criterion, pair), theirs in zip(found, paper, strict=True)
    ]


def table_1(folder: Path | None) -> list[dict]:
    """Accuracy of LeNet-300-100, by pruned share and criterion."""
    images = load_images("fashion-mnist", folder, digits=28)
    build = functools.partial(LeNet, images.example.numel(), images.classes)
    network = trained("lenet", build, images, LENET if folder else DIGITS["lenet"])
    first = {"data": images.name, "baseline": percent(accuracy(network, images))}
    table = []
    for removed, paper in TABLE_1.items():
        found = reduced(network, images, removed, t=T_LENET)
        table += rows(found, images, paper, **first, pruned=removed)
    return table


def vgg16(dataset: str, folder: Path | None) -> tuple[nn.Module, Images]:
    """A trained VGG-16 with a hidden layer of 512 units, a quarter as wide on digits; its
    images."""
    images = load_images(dataset, folder)
    width = 1.0 if folder else 0.25
    build = functools.partial(VGG16, images.channels, images.classes, width, hidden=512)
    return trained("vgg16", build, images, CONVOLUTIONAL if folder else DIGITS["vgg16"]), images


def halved(dataset: str) -> list[str]:
    """Names of the convolutions of VGG-16 that table 2 halves."""
    return [f"features.conv{i}" for i in TABLE_2[dataset][0]]


def table_2(folder: Path | None) -> list[dict]:
    """Accuracy and parameters of VGG-16 with the first and the last convolutions halved."""
    table = []
    for dataset in TABLE_2 if folder else ["cifar10"]:
        _, weight, baseline, removed, paper = TABLE_2[dataset]
        network, images = vgg16(dataset, folder)
        first = {"data": images.name, "baseline": percent(accuracy(network, images))}
        found = reduced(network, images, 0.5, halved(dataset), t=T_CONVOLUTIONAL, weight=weight)
        for row in rows(found, images, paper, **first):
            share = percent(1 - row["parameters"] / count_parameters(network))
            theirs = {"paper: baseline": baseline, "paper: removed": removed}
            table.append(row | {"removed": share} | theirs)
    return table


def networks_of_table_3(folder: Path | None) -> Iterator[tuple[str, nn.Module, Images]]:
    """VGG-16, ResNet-56 and WRN-40-4, trained (on digits WRN-40-1)."""
    yield "vgg16", *vgg16("cifar10", folder)
    images = load_images("cifar10", folder)
    shape = images.channels, images.classes
    for name, build in (
        ("resnet56", functools.partial(ResNet, 56, *shape)),
        ("wrn40", functools.partial(WideResNet, 40, 4 if folder else 1, *shape)),
    ):
        yield name, trained(name, build, images, CONVOLUTIONAL if folder else DIGITS[name]), images


def weighted_reconstruction_error(original: Tensor, reduced: Tensor) -> float:
    """WARE (their equation 9, with weights of one) of responses y (M, N) of M inputs and N units:

        sum_m sum_i |y'_im - y_im| / |y_im| / (M N)

    Responses y_im = 0, which have no relative error, are left out of sum and count.
    """
    counted = original != 0
    error = (reduced - original)[counted].abs() / original[counted].abs()
    return float(error.double().sum() / counted.sum().clamp(min=1))


def table_3(folder: Path | None) -> list[dict]:
    """WARE, and the accuracy of the paper's figure 3. Residual networks lose channels of the first
    convolutions of their blocks, which no other layer shares."""
    table = []
    for name, network, images in networks_of_table_3(folder):
        response = functools.partial(outputs, images=images.test, layer=FINAL_RESPONSE[name])
        original = response(network)
        layers = [n for n, _ in network.named_modules() if n.endswith(".conv1")]
        if name == "vgg16":
            layers = halved("cifar10")
        first = {"network": name, "baseline": percent(accuracy(network, images))}
        for removed, paper in TABLE_3[name].items():
            options = {"t": T_CONVOLUTIONAL, "weight": LAMBDA[name]}
            found = list(reduced(network, images, removed, layers, **options))
            new = rows(iter(found), images, paper, "WARE, ", **first, pruned=removed)
            for row, (_, pair) in zip(new, found, strict=True):
                for kind, small in zip(("prune", "merge"), pair, strict=True):
                    ware = weighted_reconstruction_error(original, response(small))
                    row[f"WARE, {kind}"] = round(ware, 3)
            table += new
    return table


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    tables = {"1": table_1, "2": table_2, "3": table_3}
    found = {f"table {name}: {TABLES[name]}": tables[name](chosen.data) for name in chosen.table}
    finish("neuron-merging", chosen, started, found)


if __name__ == "__main__":
    main()
