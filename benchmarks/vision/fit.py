"""Training of image networks: SGD with momentum, resumable; and their accuracy.

Takes a network, `Images` and `FitSettings`; trains the network in place. The content and
augmentation of the batches depend on seed and epoch alone, so that a resumed training gives the
weights of an uninterrupted one.
"""

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from rich.progress import Progress
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmarks.vision.checkpoints import resume, signature, store
from benchmarks.vision.images import Images

RUNS = Path("runs/vision")  # trained networks; not under version control
CROP = 4  # pixels of zeros around an image before it is cropped at random (He et al. 2016, 4.2)
CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class FitSettings:
    """Settings of a training. The learning rate is multiplied by `decay` at each epoch of
    `milestones` (schedule "step"), or follows a cosine to 0 (schedule "cosine")."""

    epochs: int
    lr: float = 0.1
    batch: int = 128
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 5e-4
    schedule: str = "step"
    milestones: tuple[int, ...] = ()
    decay: float = 0.1
    augment: bool = False  # random crop of the image padded by CROP, random flip
    seed: int = 0

    def __post_init__(self):
        if self.epochs < 1 or self.batch < 2 or not self.lr > 0:
            raise ValueError(
                f"epochs={self.epochs} must be at least 1, batch={self.batch} at least 2 (batch "
                f"normalisation), lr={self.lr} positive"
            )
        if self.schedule not in ("step", "cosine"):
            raise ValueError(f"schedule={self.schedule!r} is neither 'step' nor 'cosine'")


def learning_rate(settings: FitSettings, epoch: float) -> float:
    """The learning rate at `epoch`, which may be fractional."""
    if settings.schedule == "cosine":
        return settings.lr * 0.5 * (1 + math.cos(math.pi * epoch / settings.epochs))
    return settings.lr * settings.decay ** sum(epoch >= m for m in settings.milestones)


def best_device() -> torch.device:
    """A CUDA device if there is one, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@torch.no_grad()
def outputs(network: nn.Module, images: Tensor, layer: str = "", batch: int = 500) -> Tensor:
    """Outputs of `layer` ("": of the network) for `images`, flattened to (n, ...).

    Computed in eval mode on the best device; device and mode of the network are restored.
    """
    home, device, was_training = next(network.parameters()).device, best_device(), network.training
    kept: list[Tensor] = []
    hook = network.get_submodule(layer).register_forward_hook(
        lambda module, inputs, output: kept.append(output.flatten(1).cpu())
    )
    network.to(device).eval()
    try:
        for x in images.split(batch):
            network(x.to(device))
    finally:
        hook.remove()
        network.to(home).train(was_training)
    return torch.cat(kept)


def accuracy(network: nn.Module, images: Tensor, labels: Tensor, batch: int = 500) -> float:
    """Share of `images` whose largest logit is that of their label, in [0, 1]."""
    return float((outputs(network, images, batch=batch).argmax(1) == labels).double().mean())


def augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random crop of each image padded by CROP zeros, mirrored with probability 1/2."""
    n, _, height, width = images.shape
    top, left = torch.randint(0, 2 * CROP + 1, (2, n), generator=generator)
    flip = torch.rand(n, generator=generator) < 0.5
    rows = top[:, None] + torch.arange(height)
    columns = left[:, None] + torch.arange(width)
    columns = torch.where(flip[:, None], columns.flip(1), columns)
    padded = F.pad(images, (CROP, CROP, CROP, CROP)).permute(0, 2, 3, 1)
    sample = torch.arange(n)[:, None, None]
    device = images.device
    index = (i.to(device) for i in (sample, rows[:, :, None], columns[:, None, :]))
    return padded[tuple(index)].permute(0, 3, 1, 2).contiguous()


def fit(
    network: nn.Module,
    images: Images,
    settings: FitSettings,
    checkpoint: Path | None = None,
    title: str = "training",
    on_epoch: Callable[[int, float], None] = lambda *_: None,
) -> list[float]:
    """Train `network` in place on the best device; returns the mean loss of each epoch.

    With a `checkpoint`, a killed training resumes at the last stored epoch; the caller removes the
    file. on_epoch: called with epoch and loss. Raises ValueError if the checkpoint belongs to
    another training, FloatingPointError if the loss is not finite.
    """
    device = best_device()
    network.to(device).train()
    optimizer = torch.optim.SGD(
        network.parameters(),
        settings.lr,
        settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=settings.nesterov,
    )
    losses = resume(checkpoint, network, optimizer, settings, images, device)
    saved = time.monotonic()
    with Progress(disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(title, total=settings.epochs, completed=len(losses))
        for epoch in range(len(losses), settings.epochs):
            losses.append(train_epoch(network, optimizer, images, settings, epoch, device))
            if not math.isfinite(losses[-1]):
                raise FloatingPointError(
                    f"training diverged in epoch {epoch + 1}: loss {losses[-1]}. Lower lr "
                    f"(now {settings.lr})."
                )
            last = epoch + 1 == settings.epochs
            if checkpoint and (last or time.monotonic() - saved >= CHECKPOINT_SECONDS):
                store(checkpoint, network, optimizer, settings, images, losses)
                saved = time.monotonic()
            note = f"{title}, loss {losses[-1]:.3f}"
            bar.update(task, completed=epoch + 1, description=note)
            on_epoch(epoch + 1, losses[-1])
    network.eval()
    return losses


def train_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: Images,
    settings: FitSettings,
    epoch: int,
    device: torch.device,
) -> float:
    """Train one pass over the training images in random order; returns the mean loss."""
    total, seen = torch.zeros((), device=device), 0
    steps = steps_per_epoch(images, settings)
    network.train()
    for step, (x, y) in enumerate(batches(images, settings, epoch, device)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, epoch + step / steps)
        loss = F.cross_entropy(network(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(y)
        seen += len(y)
    return float(total) / seen


def steps_per_epoch(images: Images, settings: FitSettings) -> int:
    """Batches in a pass, without a last batch of a single image, which has no variance."""
    whole, rest = divmod(len(images.train), settings.batch)
    return whole + (rest > 1)


def batches(
    images: Images, settings: FitSettings, epoch: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of images and labels of one pass, in an order that depends on seed and epoch
    alone."""
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    order = torch.randperm(len(images.train), generator=generator)
    for rows in order.split(settings.batch)[: steps_per_epoch(images, settings)]:
        x, y = images.train[rows].to(device), images.train_labels[rows].to(device)
        yield (augment(x, generator) if settings.augment else x), y


def trained(
    name: str,
    build: Callable[[], nn.Module],
    images: Images,
    settings: FitSettings,
    folder: Path = RUNS,
) -> nn.Module:
    """The network of `build`, trained, in eval mode on the CPU; loaded if it was trained before.

    The name of the file holds `name`, the data set and a hash of everything that the training
    depends on: network, initial weights, settings, data set.
    """
    torch.manual_seed(settings.seed)
    network = build()
    depends = hashlib.sha256((repr(network) + signature(network, settings, images)).encode())
    for value in network.state_dict().values():
        depends.update(value.numpy().tobytes())
    key = depends.hexdigest()[:8]
    path = folder / f"{name}-{images.name}-{key}.safetensors"
    if path.exists():
        network.load_state_dict(load_file(path))
        return network.eval()
    started = time.monotonic()
    checkpoint = path.with_suffix(".checkpoint")
    fit(network, images, settings, checkpoint, title=f"{name} on {images.name}")
    network.cpu().eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    save_file(network.state_dict(), new)
    new.replace(path)
    checkpoint.unlink(missing_ok=True)
    print(f"trained {name} on {images.name}: {settings.epochs} epochs, "
          f"{time.monotonic() - started:.0f} s, kept in {path}")  # fmt: skip
    return network
