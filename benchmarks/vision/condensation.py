"""Automatic condensation of MobileNetV2 on CIFAR-10: Chen & Xu 2024, section 3.2.

    python -m benchmarks.vision.condensation [--data FOLDER]

Trains until the accuracy on the validation images meets the main criterion, then repeatedly
condenses and retrains the depthwise layers of blocks 2 to 17 one by one, and finally the 1280
channels before the classifier. Prints parameters and accuracy after each main reduction beside
those of the paper (table 3 of its later version; section 3.2.3). A killed run resumes from its
folder under runs/vision. FOLDER holds CIFAR-10. Without it: digits, a network a quarter as wide,
and criteria and limits for these.

A step of the paper is an epoch. Choices that the paper leaves open: its validation images seem to
be the test images; here the criteria use 5,000 held-out training images, and the test accuracy is
given for the first and the last network. SGD has momentum 0.9; weight decay 5e-4, crops and flips
are usual on CIFAR. The cosine restarts in every cycle and after every reduction or rollback.
"""

import itertools
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.vision import fit
from benchmarks.vision.automatic_figures import draw_trace
from benchmarks.vision.fit import FitSettings, accuracy, best_device
from benchmarks.vision.images import Images, load_digits, load_images
from benchmarks.vision.networks import MobileNetV2, initialize_condensing
from benchmarks.vision.tables import arguments, finish, percent, show
from combred.reduction.automatic import (
    AutomaticReduction,
    AutomaticSettings,
    Event,
    reduce_automatically,
)

BLOCKS = tuple(f"blocks.block{i}.expand" for i in range(2, 18))  # the paper's layers 2 to 17
# Parameters and accuracy in %: original, after main reductions 1 to 7, after the final one.
PAPER = (
    (2_236_682, 88.16), (1_143_421, 88.01), (910_370, 88.00), (827_032, 87.24), (776_011, 86.36),
    (735_527, 85.88), (704_004, 85.80), (669_228, 83.88), (258_212, 83.21),
)  # fmt: skip


@dataclass(frozen=True)
class Strategy:
    """The learning rates of the paper (section 3.2.2), by the age of a network: the epochs since it
    was reduced or rolled back.

    Up to `sgd_epochs`: SGD, along a cosine from the initial rate to 0 that restarts every `cycle`.
    Then Adam at `adam_rates`, alternating every `period` epochs.
    """

    sgd_epochs: int = 400
    cycle: int = 200
    adam_rates: tuple[float, float] = (1e-3, 1e-4)
    period: int = 1000

    def rate(self, age: int, initial: float) -> float:
        """The rate of the epoch that begins at `age`."""
        if age < self.sgd_epochs:
            return 0.5 * initial * (1 + math.cos(math.pi * (age % self.cycle) / self.cycle))
        return self.adam_rates[(age - self.sgd_epochs) // self.period % 2]


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
    strategy: Strategy
    automatic: AutomaticSettings
    trains_first: bool = False


CIFAR = Plan(
    1.0,
    5000,
    FitSettings(1, batch=128, augment=True),
    Strategy(),
    AutomaticSettings(layers=BLOCKS, target=670_000),  # the paper's last but one
)
DIGITS = Plan(
    0.25,
    200,
    FitSettings(30, lr=0.05, batch=64, weight_decay=0.01, schedule="cosine"),
    Strategy(),
    AutomaticSettings(
        main_max=0.97, main_min=0.95, layer_max=0.95, layer_min=0.92, criterion_period=60,
        rate_max=0.01, rate_min=0.003, rate_period=60, logit=1.2, step_limit=4, step_increment=1,
        last_steps=6, last_criterion=0.92, deviation_steps=3, final_steps=10, target=85_000,
        max_steps=90, attempts=4, layers=BLOCKS,
    ),
    trains_first=True,
)  # fmt: skip


class Retraining:
    """`train` of the loop: epochs at the rates of a strategy. The order of batches comes from
    torch's generator, which the loop stores; after a kill only the state of the optimiser is
    lost."""

    def __init__(self, images: Images, plan: Plan, age: int):
        self.images, self.plan, self.age = images, plan, age
        self.optimizer: torch.optim.Optimizer | None = None

    def __call__(self, network: nn.Module, epochs: int, rate: float) -> float:
        """Train the network in place; returns the mean loss."""
        losses = []
        for _ in range(epochs):
            now = self.plan.strategy.rate(self.age, rate)
            losses.append(self.train_epoch(network, now))
            self.age += 1
        return sum(losses) / len(losses)

    def train_epoch(self, network: nn.Module, rate: float) -> float:
        decay = self.plan.data.weight_decay
        if self.optimizer is None or self.age == self.plan.strategy.sgd_epochs:
            parameters = network.parameters()
            if self.age < self.plan.strategy.sgd_epochs:
                self.optimizer = torch.optim.SGD(parameters, rate, 0.9, weight_decay=decay)
            else:
                self.optimizer = torch.optim.Adam(parameters, rate, weight_decay=decay)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        network.train()
        order = int(torch.randint(2**31, ()))
        total, seen = torch.zeros((), device=best_device()), 0
        for x, y in fit.batches(self.images, self.plan.data, order, best_device()):
            loss = F.cross_entropy(network(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(y)
            seen += len(y)
        network.eval()
        return float(total) / seen

    def follow(self, event: Event) -> None:
        """Restart the strategy of a network that was reduced or rolled back."""
        if event.kind in ("cut", "rollback"):
            self.age, self.optimizer = 0, None


def start(images: Images, plan: Plan) -> nn.Module:
    """The network with the condensing initialisation, trained if the plan `trains_first`."""

    def build() -> nn.Module:
        network = MobileNetV2(images.channels, images.classes, plan.width)
        initialize_condensing(network)
        return network.eval()

    if plan.trains_first:
        return fit.trained("mobilenet", build, images, plan.data)
    torch.manual_seed(plan.data.seed)
    return build()


def age_of(folder: Path) -> int:
    """Epochs since the last cut or rollback of a killed run, from its trace; 0 without one."""
    path = folder / "trace.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    changed = [event["step"] for event in events if event["kind"] in ("cut", "rollback")]
    return events[-1]["step"] - (changed[-1] if changed else 0) if events else 0


def stages(trace: list[Event]) -> list[dict]:
    """Parameters and validation accuracy: the original, after each main reduction, and at the end.

    Accuracy: as in the paper, the best while the network of that size is trained until the next
    reduction; in an unfinished reduction, that of the last layer that met its criterion.
    """
    found = [{"name": "original"}]
    for event in trace:
        if event.kind == "main":
            found.append({"name": f"reduction {event.main}"})
        elif event.kind == "met" and event.phase == "final":
            found.append({"name": "final"})
        elif event.phase == "final":
            continue
        row = found[-1]
        row["parameters"] = event.parameters_after
        if event.kind in ("main", "met"):
            row |= {"accuracy": event.metric, "epoch": event.step}
        elif event.kind == "test" and event.phase == "train":
            row["accuracy"] = max(row.get("accuracy", 0.0), event.metric)
    return found


def main() -> None:
    chosen = arguments(__doc__, {"3": "MobileNetV2 on CIFAR-10"})
    started = time.monotonic()
    plan = CIFAR if chosen.data else DIGITS
    images = load_images("cifar10", chosen.data) if chosen.data else load_digits(16)
    seen = images.hold_out(plan.held_out)
    network = start(seen, plan).to(best_device())
    folder = fit.RUNS / f"mobilenet-{images.name}"
    train = Retraining(seen, plan, age_of(folder))

    def tell(event: Event) -> None:
        train.follow(event)
        if event.kind in ("main", "met", "rollback", "unchanged", "left", "end"):
            print(
                f"epoch {event.step:5} {event.kind:9} {event.layer or event.phase:24}"
                f"{event.parameters_after:10,}  {percent(event.metric)} %", flush=True
            )  # fmt: skip

    found = reduce_automatically(
        network,
        images.example.to(best_device()),
        train,
        lambda candidate: accuracy(candidate, seen.test, seen.test_labels),
        plan.automatic,
        folder=folder,
        on_event=tell,
    )
    report(found, images, plan, started)
    for path in draw_trace(folder / "trace.jsonl", folder, "accuracy [-]"):
        print(path)


def report(found: AutomaticReduction, images: Images, plan: Plan, started: float) -> None:
    """Print the table and write the numbers."""
    rows = stages(found.trace)
    tested = accuracy(found.network.cpu(), images.test, images.test_labels)
    ended = rows[-1]["name"] == "final"
    papers = [*PAPER[: len(rows) - 1], PAPER[-1]] if ended else PAPER[: len(rows)]
    show(
        f"Chen & Xu 2024, table 3: MobileNetV2 on {images.name} (paper: CIFAR-10), accuracy in %",
        ["", "parameters", "share", "accuracy", "paper: parameters", "share", "accuracy"],
        [
            [r["name"], f"{r['parameters']:,}", percent(r["parameters"] / rows[0]["parameters"]),
             percent(r["accuracy"]), f"{p[0]:,}", percent(p[0] / PAPER[0][0]), p[1]]
            for r, p in itertools.zip_longest(rows, papers, fillvalue=(math.nan, math.nan))
        ],
        f"ours: on validation images; the last network has {percent(tested)} % on the test images",
    )  # fmt: skip
    numbers = {
        "data_set": images.name,
        "stages": rows,
        "parameters": found.parameters,
        "accuracy": found.metric,
        "test_accuracy": tested,
        "epochs": found.trace[-1].step,
        "reason": found.reason,
        "settings": asdict(plan),
        "paper": [{"parameters": p, "accuracy": a} for p, a in PAPER],
    }
    finish("condensation", "digits" if images.name == "digits" else "published", started, numbers)


if __name__ == "__main__":
    main()
