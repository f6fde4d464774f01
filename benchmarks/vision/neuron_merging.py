"""Neuron merging and pruning: Kim et al. (NeurIPS 2020), tables 1, 2 and 3.

    python -m benchmarks.vision.neuron_merging [--data FOLDER] [--table 1 2 3]

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
from collections.abc import Iterable
from pathlib import Path

from torch import nn

import combred.reduction
from benchmarks.vision.fit import FitSettings, accuracy, outputs, trained
from benchmarks.vision.images import Images, load_digits, load_images
from benchmarks.vision.networks import VGG16, LeNet, ResNet, WideResNet, n_parameters
from benchmarks.vision.tables import arguments, finish, percent, show

CRITERIA = ("l1", "l2", "l2-gm")
TABLES = {"1": "LeNet-300-100", "2": "VGG-16", "3": "WARE of VGG-16, ResNet-56 and WRN-40-4"}
LENET = FitSettings(60, milestones=(15, 30, 45), weight_decay=1e-4)
CONVOLUTIONAL = FitSettings(200, milestones=(100, 150), augment=True)
# Digits have fewer steps: a larger decay shrinks the weights nearly as much in total.
DIGITS = {
    "lenet": FitSettings(40, schedule="cosine", weight_decay=3.5e-3),
    "vgg16": FitSettings(30, schedule="cosine", batch=64, weight_decay=0.02),
    "resnet56": FitSettings(20, lr=0.05, schedule="cosine", batch=64, weight_decay=0.02),
    "wrn40": FitSettings(12, schedule="cosine", batch=64, weight_decay=0.02),
}

# Published accuracies in percent, prune and merge, by pruning ratio: table 1, baseline 89.80.
TABLE_1 = {
    0.5: {"l1": (88.40, 88.69), "l2": (87.86, 88.38), "l2-gm": (88.08, 88.57)},
    0.6: {"l1": (85.17, 86.92), "l2": (83.03, 88.07), "l2-gm": (85.82, 88.10)},
    0.7: {"l1": (71.26, 82.75), "l2": (71.21, 83.27), "l2-gm": (78.38, 86.39)},
    0.8: {"l1": (66.76, 80.02), "l2": (63.90, 77.11), "l2-gm": (64.19, 77.49)},
}
# Table 2: convolutions halved, lambda, baseline, parameters removed, prune and merge.
TABLE_2 = {
    "cifar10": {
        "halved": (1, 8, 9, 10, 11, 12, 13), "lambda": 0.85, "baseline": 93.70, "removed": 63.7,
        "l1": (88.70, 93.16), "l2": (89.14, 93.16), "l2-gm": (87.85, 93.10),
    },
    "cifar100": {
        "halved": (1, 10, 11, 12, 13), "lambda": 0.7, "baseline": 73.30, "removed": 44.1,
        "l1": (67.70, 71.63), "l2": (67.79, 71.86), "l2-gm": (67.38, 71.95),
    },
}  # fmt: skip
# Table 3: WARE on CIFAR-10, prune and merge, by network and pruning ratio (None: as in table 2).
TABLE_3 = {
    "vgg16": {None: {"l1": (4.285, 1.465), "l2": (4.394, 1.555), "l2-gm": (4.515, 1.599)}},
    "resnet56": {
        0.5: {"l1": (12.095, 4.986), "l2": (12.566, 4.352), "l2-gm": (11.691, 5.679)},
        0.4: {"l1": (8.759, 3.911), "l2": (9.094, 3.416), "l2-gm": (10.099, 4.264)},
        0.3: {"l1": (6.251, 3.646), "l2": (5.224, 3.556), "l2-gm": (6.888, 3.568)},
        0.2: {"l1": (3.748, 2.508), "l2": (3.745, 2.382), "l2-gm": (3.685, 2.448)},
    },
    "wrn40": {
        0.5: {"l1": (3.502, 2.364), "l2": (3.446, 2.406), "l2-gm": (3.515, 2.498)},
        0.4: {"l1": (2.849, 1.649), "l2": (2.921, 1.821), "l2-gm": (2.868, 1.714)},
        0.3: {"l1": (2.099, 1.213), "l2": (2.129, 1.315), "l2-gm": (2.168, 1.271)},
        0.2: {"l1": (1.266, 0.796), "l2": (1.103, 0.754), "l2-gm": (1.161, 0.746)},
    },
}
LAMBDA = {"vgg16": 0.85, "resnet56": 0.85, "wrn40": 0.8}
FINAL_RESPONSE = {"vgg16": "head.norm", "resnet56": "pool", "wrn40": "pool"}
T_LENET, T_CONVOLUTIONAL = 0.45, 0.1  # least cosine at which a pruned neuron is merged


def reduced(
    network: nn.Module,
    images: Images,
    criterion: str,
    removed: float,
    t: float,
    weight: float = 0.85,
    layers: list[str] | None = None,
) -> tuple[nn.Module, nn.Module]:
    """`network` without the share `removed` of the units of each layer: pruned, and merged."""
    method = functools.partial(
        combred.reduction.neuron_merging, criterion=criterion, t=t, weight=weight
    )
    pruned, merged = (
        combred.reduction.reduce(
            network,
            images.example,
            method=method,
            layers=layers,
            ratio=1 - removed,
            compensation=compensation,
        ).network
        for compensation in ("none", "own")
    )
    return pruned, merged


def inner_convolutions(network: nn.Module) -> list[str]:
    """Names of the first convolutions of the residual blocks, whose channels no other layer
    shares."""
    return [name for name, _ in network.named_modules() if name.endswith(".conv1")]


# -- the tables ----------------------------------------------------------------------------------


def table_1(folder: Path | None) -> dict:
    """Accuracy of LeNet-300-100, by pruning ratio and criterion."""
    images = load_images("fashion-mnist", folder) if folder else load_digits(28)
    settings = LENET if folder else DIGITS["lenet"]
    build = functools.partial(LeNet, images.pixels, images.classes)
    network = trained("lenet", build, images, settings)
    baseline = accuracy(network, images.test, images.test_labels)
    rows, numbers = [], []
    for removed, paper in TABLE_1.items():
        for criterion in CRITERIA:
            pair = reduced(network, images, criterion, removed, T_LENET)
            ours = [accuracy(n, images.test, images.test_labels) for n in pair]
            numbers.append({"removed": removed, "criterion": criterion, "prune": ours[0],
                            "merge": ours[1], "parameters": n_parameters(pair[1]),
                            "paper": dict(zip(("prune", "merge"), paper[criterion], strict=True))
                            })  # fmt: skip
            rows.append([f"{100 * removed:.0f} %", criterion, *map(percent, ours),
                         percent(ours[1] - ours[0]), *(f"{p:.2f}" for p in paper[criterion]),
                         f"{paper[criterion][1] - paper[criterion][0]:.2f}"])  # fmt: skip
    show(
        f"Kim et al., table 1: LeNet-300-100, accuracy in %, baseline {percent(baseline)} on "
        f"{images.name} (paper: 89.80 on FashionMNIST)",
        ["pruned", "criterion", "prune", "merge", "gain", "paper: prune", "merge", "gain"],
        rows,
    )
    return {"data": images.name, "baseline": baseline, "parameters": n_parameters(network),
            "rows": numbers}  # fmt: skip


def vgg16(dataset: str, folder: Path | None) -> tuple[nn.Module, Images]:
    """A trained VGG-16 with a hidden layer of 512 units, a quarter as wide on digits; its
    images."""
    images = load_images(dataset, folder) if folder else load_digits(16)
    width = 1.0 if folder else 0.25
    build = functools.partial(VGG16, images.channels, images.classes, width, hidden=512)
    settings = CONVOLUTIONAL if folder else DIGITS["vgg16"]
    return trained("vgg16", build, images, settings), images


def table_2(folder: Path | None) -> dict:
    """Accuracy and parameters of VGG-16 with the first and the last convolutions halved."""
    rows, numbers = [], {}
    for dataset in TABLE_2 if folder else ["cifar10"]:
        paper = TABLE_2[dataset]
        network, images = vgg16(dataset, folder)
        baseline = accuracy(network, images.test, images.test_labels)
        layers = [f"features.conv{i}" for i in paper["halved"]]
        found = []
        for criterion in CRITERIA:
            pair = reduced(
                network, images, criterion, 0.5, T_CONVOLUTIONAL, paper["lambda"], layers
            )
            ours = [accuracy(n, images.test, images.test_labels) for n in pair]
            removed = 1 - n_parameters(pair[1]) / n_parameters(network)
            found.append({"criterion": criterion, "prune": ours[0], "merge": ours[1],
                          "parameters": n_parameters(pair[1]), "removed": removed,
                          "paper": dict(zip(("prune", "merge"), paper[criterion], strict=True))
                          })  # fmt: skip
            rows.append([images.name, criterion, percent(baseline), *map(percent, ours),
                         percent(removed, 1), dataset, paper["baseline"],
                         *(f"{p:.2f}" for p in paper[criterion]), paper["removed"]])  # fmt: skip
        numbers[images.name] = {
            "baseline": baseline, "parameters": n_parameters(network), "rows": found,
            "paper": {"data": dataset, "baseline": paper["baseline"], "removed": paper["removed"]},
        }  # fmt: skip
    show(
        "Kim et al., table 2: VGG-16, accuracy in %, without retraining",
        ["data", "criterion", "baseline", "prune", "merge", "removed", "paper", "baseline",
         "prune", "merge", "removed"],
        rows,
        "removed: share of the parameters in %",
    )  # fmt: skip
    return numbers


def networks_of_table_3(folder: Path | None) -> Iterable[tuple[str, nn.Module, Images]]:
    """VGG-16, ResNet-56 and WRN-40-4, trained (on digits WRN-40-1)."""
    yield "vgg16", *vgg16("cifar10", folder)
    images = load_images("cifar10", folder) if folder else load_digits(16)
    settings = dict.fromkeys(DIGITS, CONVOLUTIONAL) if folder else DIGITS
    build = functools.partial(ResNet, 56, images.channels, images.classes)
    yield "resnet56", trained("resnet56", build, images, settings["resnet56"]), images
    build = functools.partial(WideResNet, 40, 4 if folder else 1, images.channels, images.classes)
    yield "wrn40", trained("wrn40", build, images, settings["wrn40"]), images


def table_3(folder: Path | None) -> dict:
    """WARE, and the accuracy of the paper's figure 3."""
    rows, numbers = [], []
    for name, network, images in networks_of_table_3(folder):
        original = outputs(network, images.test, FINAL_RESPONSE[name])
        baseline = accuracy(network, images.test, images.test_labels)
        for removed, paper in TABLE_3[name].items():
            layers = inner_convolutions(network)
            if removed is None:
                layers = [f"features.conv{i}" for i in TABLE_2["cifar10"]["halved"]]
            for criterion in CRITERIA:
                pair = reduced(
                    network, images, criterion, removed or 0.5, T_CONVOLUTIONAL, LAMBDA[name],
                    layers,
                )  # fmt: skip
                ware = [
                    combred.reduction.weighted_reconstruction_error(
                        original, outputs(n, images.test, FINAL_RESPONSE[name])
                    )
                    for n in pair
                ]
                right = [accuracy(n, images.test, images.test_labels) for n in pair]
                numbers.append({"network": name, "removed": removed, "criterion": criterion,
                                "ware_prune": ware[0], "ware_merge": ware[1], "prune": right[0],
                                "merge": right[1], "baseline": baseline,
                                "paper": {"ware_prune": paper[criterion][0],
                                          "ware_merge": paper[criterion][1]}})  # fmt: skip
                rows.append([name, "table 2" if removed is None else f"{100 * removed:.0f} %",
                             criterion, *(f"{w:.3f}" for w in (*ware, ware[0] - ware[1])),
                             *(f"{w:.3f}" for w in paper[criterion]),
                             f"{paper[criterion][0] - paper[criterion][1]:.3f}",
                             percent(baseline), *map(percent, right)])  # fmt: skip
    show(
        f"Kim et al., table 3: WARE on {images.name} (paper: CIFAR-10); accuracy in % as in their "
        "figure 3",
        ["network", "pruned", "criterion", "WARE: prune", "merge", "less", "paper: prune", "merge",
         "less", "accuracy", "prune", "merge"],
        rows,
    )  # fmt: skip
    return {"data": images.name, "rows": numbers}


def main() -> None:
    chosen = arguments(__doc__, TABLES)
    started = time.monotonic()
    tables = {"1": table_1, "2": table_2, "3": table_3}
    numbers = {f"table_{name}": tables[name](chosen.data) for name in chosen.table}
    finish("neuron_merging", "published" if chosen.data else "digits", started, numbers)


if __name__ == "__main__":
    main()
