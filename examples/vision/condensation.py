"""Automatic condensation of MobileNetV2 on CIFAR-10: Chen & Xu 2024, section 3.2.

    python -m examples.vision.condensation [--data FOLDER]

Trains until the accuracy on the validation images meets the main criterion, then repeatedly
condenses and retrains the depthwise layers of blocks 2 to 17 one by one, and finally the 1280
channels before the classifier. Prints parameters and accuracy after each main reduction beside
those of the paper (table 3 of its later version; section 3.2.3). A killed run resumes from its
folder under runs/vision. FOLDER holds CIFAR-10. Without it: digits, a network a quarter as wide,
and criteria and limits for these.

A step of the paper is an epoch. Choices that the paper leaves open: its validation images seem to
be the test images; here the criteria use 5,000 held-out training images, and the test accuracy is
given for the last network. SGD has momentum 0.9; weight decay 5e-4, crops and flips are usual on
CIFAR. The cosine restarts in every cycle and after every reduction or rollback.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from combred.reduction.automatic import (
    AutomaticReduction,
    AutomaticSettings,
    Event,
    reduce_automatically,
)
from examples.vision import training
from examples.vision.images import Images, load_images
from examples.vision.networks import MobileNetV2, initialize_condensing
from examples.vision.tables import arguments, finish, percent
from examples.vision.training import FitSettings, accuracy, best_device, cosine

BLOCKS = tuple(f"blocks.block{i}.expand" for i in range(2, 18))  # the paper's layers 2 to 17
# Parameters and accuracy in %: original, after main reductions 1 to 7, after the final one.
PAPER = (
    (2_236_682, 88.16), (1_143_421, 88.01), (910_370, 88.00), (827_032, 87.24), (776_011, 86.36),
    (735_527, 85.88), (704_004, 85.80), (669_228, 83.88), (258_212, 83.21),
)  # fmt: skip
SGD_EPOCHS, CYCLE, ADAM_RATES, PERIOD = 400, 200, (1e-3, 1e-4), 1000


def rate_at(age: int, initial: float) -> float:
    """The learning rate of the epoch that begins at `age`, the epochs since the network was
    reduced or rolled back (section 3.2.2).

    Up to SGD_EPOCHS: SGD, along a cosine from the initial rate to 0 that restarts every CYCLE.
    Then Adam at ADAM_RATES, alternating every PERIOD epochs.
    """
    if age < SGD_EPOCHS:
        return cosine(initial, age % CYCLE, 0, CYCLE)
    return ADAM_RATES[(age - SGD_EPOCHS) // PERIOD % 2]


@dataclass(frozen=True)
class Plan:
    """Network, training and reduction of a run.

    width: factor on the widths of the network; held_out: number of images for the criteria; data:
    batch, augmentation and weight decay. With `trains_first` the network is first trained by `data`
    alone, at a rate that would be too high after a cut (an epoch has 18 steps on digits, 352 on
    CIFAR-10).
    """

    width: float
    held_out: int
    data: FitSettings
    automatic: AutomaticSettings
    trains_first: bool = False


CIFAR = Plan(
    1.0,
    5000,
    FitSettings(1, batch=128, augment=True),
    AutomaticSettings(layers=BLOCKS, target=670_000),  # the paper's last but one
)
DIGITS = Plan(
    0.25,
    200,
    FitSettings(30, lr=0.05, batch=64, weight_decay=0.01),
    AutomaticSettings(
        main_max=0.97, main_min=0.95, layer_max=0.95, layer_min=0.92, criterion_period=60,
        rate_max=0.01, rate_min=0.003, rate_period=60, logit=1.2, step_limit=4, step_increment=1,
        last_steps=6, last_criterion=0.92, deviation_steps=3, final_steps=10, target=85_000,
        max_steps=90, attempts=4, layers=BLOCKS,
    ),
    trains_first=True,
)  # fmt: skip


class Retraining:
    """`train` of the loop: an epoch at the rate of `rate_at`. The order of batches comes from
    torch's generator, which the loop stores; after a kill only the state of the optimiser is
    lost."""

    def __init__(self, images: Images, settings: FitSettings):
        self.images, self.settings = images, settings
        self.epoch, self.changed = 0, 0  # of the last event; of the last cut or rollback
        self.optimizer: torch.optim.Optimizer | None = None

    def __call__(self, network: nn.Module, initial: float) -> float:
        """Train the network in place; returns the mean loss."""
        age = self.epoch - self.changed
        rate = rate_at(age, initial)
        if self.optimizer is None or age == SGD_EPOCHS:
            options = {"lr": rate, "weight_decay": self.settings.weight_decay}
            if age < SGD_EPOCHS:
                self.optimizer = torch.optim.SGD(network.parameters(), momentum=0.9, **options)
            else:
                self.optimizer = torch.optim.Adam(network.parameters(), **options)
        batches = training.batches(self.images, self.settings, int(torch.randint(2**31, ())))
        return training.train_epoch(network, self.optimizer, batches, lambda _: rate)

    def follow(self, event: Event) -> None:
        """Begin anew with a network that was reduced or rolled back; print what happened."""
        self.epoch = event.step
        if event.kind in ("cut", "rollback"):
            self.changed, self.optimizer = event.step, None
        if event.kind in ("main", "met", "rollback", "unchanged", "left", "end"):
            print(
                f"epoch {event.step:5} {event.kind:9} {event.layer or event.phase:24}"
                f"{event.parameters:10,}  {percent(event.metric)} %", flush=True
            )  # fmt: skip


def start(images: Images, plan: Plan) -> nn.Module:
    """The network with the condensing initialisation, trained if the plan `trains_first`."""

    def build() -> nn.Module:
        network = MobileNetV2(images.channels, images.classes, plan.width)
        initialize_condensing(network)
        return network.eval()

    if plan.trains_first:
        return training.trained("mobilenet", build, images, plan.data)
    torch.manual_seed(plan.data.seed)
    return build()


def reduced(images: Images, plan: Plan, folder: Path) -> AutomaticReduction:
    """The loop, with criteria on the last `held_out` training images; resumes in `folder`."""
    seen = images.hold_out(plan.held_out)
    network = start(seen, plan).to(best_device())
    train = Retraining(seen, plan.data)
    metric: Callable[[nn.Module], float] = lambda candidate: accuracy(candidate, seen)  # noqa: E731
    return reduce_automatically(
        network,
        images.example.to(best_device()),
        train,
        metric,
        plan.automatic,
        folder=folder,
        on_event=train.follow,
    )


def stages(trace: list[Event]) -> list[dict]:
    """Parameters and validation accuracy: the original, after each main reduction, and at the end.

    Accuracy: as in the paper, the best while the network of that size is trained until the next
    reduction; in an unfinished reduction, that of the last layer that met its criterion.
    """
    found: list[dict] = [{"stage": "original"}]
    for event in trace:
        if event.kind == "main":
            found.append({"stage": f"reduction {event.main}"})
        elif event.kind == "met" and event.phase == "final":
            found.append({"stage": "final"})
        elif event.phase == "final":
            continue
        row = found[-1]
        row["parameters"] = event.parameters
        if event.kind in ("main", "met"):
            row["accuracy"] = event.metric
        elif event.kind == "test" and event.phase == "train":
            row["accuracy"] = max(row.get("accuracy", 0.0), event.metric)
    return found


def main() -> None:
    chosen = arguments(__doc__, {"3": "MobileNetV2 on CIFAR-10"})
    started = time.monotonic()
    plan = CIFAR if chosen.data else DIGITS
    images = load_images("cifar10", chosen.data)
    found = reduced(images, plan, training.RUNS / f"mobilenet-{images.name}")
    rows = stages(found.trace)
    ended = rows[-1]["stage"] == "final"
    papers = [*PAPER[: len(rows) - 1], PAPER[-1]] if ended else PAPER[: len(rows)]
    for row, (parameters, right) in zip(rows, papers, strict=True):
        row["accuracy"] = percent(row["accuracy"])
        row |= {"paper: parameters": parameters, "paper: accuracy": right}
    last = {
        "data": images.name,
        "test accuracy": percent(accuracy(found.network.cpu(), images)),
        "epochs": found.trace[-1].step,
        "ended by": found.reason,
    }
    tables = {"table 3: MobileNetV2 on CIFAR-10": rows, "the last network": [last]}
    finish("condensation", chosen, started, tables)


if __name__ == "__main__":
    main()
