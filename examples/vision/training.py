"""Training of image networks: SGD with momentum, resumable; their accuracy; their operations.

Content and augmentation of the batches depend on seed and epoch alone, so that a resumed training
gives the weights of an uninterrupted one.
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
from rich.progress import track
from safetensors.torch import load_file, save
from torch import Tensor, nn

from combred.files.records import write_bytes
from combred.files.trace import Trace
from examples.vision.images import Images

RUNS = Path("runs/vision")  # trained networks; not under version control
CROP = 4  # pixels of zeros around an image before it is cropped at random (He et al. 2016, 4.2)
CHECKPOINT_SECONDS = 30.0
BATCH = 500  # images of which outputs are computed at once


@dataclass(frozen=True)
class FitSettings:
    """Settings of a training. The learning rate is multiplied by 0.1 at each epoch of
    `milestones`, or, without any, follows a cosine to 0."""

    epochs: int
    lr: float = 0.1
    batch: int = 128
    nesterov: bool = False
    weight_decay: float = 5e-4
    milestones: tuple[int, ...] = ()
    augment: bool = False  # random crop of the image padded by CROP, random flip
    seed: int = 0

    def __post_init__(self):
        if self.epochs < 1 or self.batch < 2 or not self.lr > 0:
            raise ValueError(
                f"epochs={self.epochs} must be at least 1, batch={self.batch} at least 2 (batch "
                f"normalisation), lr={self.lr} positive"
            )


def cosine(lr: float, epoch: float, begun: float, end: float) -> float:
    """A learning rate that falls from `lr` at the epoch `begun` to 0 at `end` along a cosine."""
    return lr * 0.5 * (1 + math.cos(math.pi * (epoch - begun) / (end - begun)))


def learning_rate(settings: FitSettings, epoch: float) -> float:
    """The learning rate at `epoch`, which may be fractional."""
    if settings.milestones:
        return settings.lr * 0.1 ** sum(epoch >= m for m in settings.milestones)
    return cosine(settings.lr, epoch, 0.0, settings.epochs)


def best_device() -> torch.device:
    """A CUDA device if there is one, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


# -- what a network does -------------------------------------------------------------------------


@torch.no_grad()
def outputs(network: nn.Module, images: Tensor, layer: str = "") -> Tensor:
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
        for x in images.split(BATCH):
            network(x.to(device))
    finally:
        hook.remove()
        network.to(home).train(was_training)
    return torch.cat(kept)


def accuracy(network: nn.Module, images: Images) -> float:
    """Share of the test images whose largest logit is that of their label, in [0, 1]."""
    return float((outputs(network, images.test).argmax(1) == images.test_labels).double().mean())


# -- batches -------------------------------------------------------------------------------------


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
    index = (i.to(images.device) for i in (sample, rows[:, :, None], columns[:, None, :]))
    return padded[tuple(index)].permute(0, 3, 1, 2).contiguous()


def steps_per_epoch(images: Images, settings: FitSettings) -> int:
    """Batches in a pass, without a last batch of a single image, which has no variance."""
    whole, rest = divmod(len(images.train), settings.batch)
    return whole + (rest > 1)


def batches(images: Images, settings: FitSettings, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of images and labels of one pass on the best device, in an order that depends on
    seed and epoch alone."""
    device = best_device()
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    order = torch.randperm(len(images.train), generator=generator)
    for rows in order.split(settings.batch)[: steps_per_epoch(images, settings)]:
        x, y = images.train[rows].to(device), images.train_labels[rows].to(device)
        yield (augment(x, generator) if settings.augment else x), y


# -- training ------------------------------------------------------------------------------------


def train_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    given: Iterator[tuple[Tensor, Tensor]],
    rate: Callable[[int], float],
) -> float:
    """Train one pass over the given batches, at the learning rate of each step; the mean loss."""
    total, seen = 0.0, 0
    network.train()
    for step, (x, y) in enumerate(given):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        loss = F.cross_entropy(network(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total, seen = total + loss.detach() * len(y), seen + len(y)
    network.eval()
    return float(total) / seen


def fit(
    network: nn.Module, images: Images, settings: FitSettings, checkpoint: Path | None = None
) -> list[float]:
    """Train `network` in place on the best device; returns the mean loss of each epoch.

    With a `checkpoint`, a killed training resumes at the last stored epoch; the caller removes the
    file. Raises ValueError if the checkpoint is damaged or belongs to another training,
    FloatingPointError if the loss is not finite.
    """
    network.to(best_device())
    optimizer = torch.optim.SGD(
        network.parameters(),
        settings.lr,
        momentum=0.9,
        weight_decay=settings.weight_decay,
        nesterov=settings.nesterov,
    )
    trace, losses = Trace(checkpoint, {"training": _signature(network, settings, images)}), []
    if stored := trace.load():
        network.load_state_dict(stored["network"])
        optimizer.load_state_dict(stored["optimizer"])
        losses = stored["losses"]
    steps, saved = steps_per_epoch(images, settings), time.monotonic()
    left = range(len(losses), settings.epochs)
    for epoch in track(left, f"training on {images.name}", disable=not sys.stderr.isatty()):
        losses.append(
            train_epoch(
                network,
                optimizer,
                batches(images, settings, epoch),
                lambda step, epoch=epoch: learning_rate(settings, epoch + step / steps),
            )
        )
        if not math.isfinite(losses[-1]):
            raise FloatingPointError(
                f"training diverged in epoch {epoch + 1}: loss {losses[-1]}. Lower lr "
                f"(now {settings.lr})."
            )
        if checkpoint and time.monotonic() - saved >= CHECKPOINT_SECONDS:
            state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
            trace.save(state | {"losses": losses})
            saved = time.monotonic()
    return losses


def trained(
    name: str, build: Callable[[], nn.Module], images: Images, settings: FitSettings
) -> nn.Module:
    """The network of `build`, trained, in eval mode on the CPU; loaded if it was trained before.

    The name of its file in `RUNS` holds a hash of all that the training depends on.
    """
    torch.manual_seed(settings.seed)
    network = build()
    depends = hashlib.sha256((repr(network) + _signature(network, settings, images)).encode())
    for value in network.state_dict().values():
        depends.update(value.numpy().tobytes())
    path = RUNS / f"{name}-{images.name}-{depends.hexdigest()[:8]}.safetensors"
    if path.exists():
        network.load_state_dict(load_file(path))
        return network.eval()
    checkpoint = path.with_suffix(".checkpoint")
    fit(network, images, settings, checkpoint)
    network.cpu().eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, save(network.state_dict()))
    checkpoint.unlink(missing_ok=True)
    return network


def _signature(network: nn.Module, settings: FitSettings, images: Images) -> str:
    """The identity of a training: shapes of the network, settings, data."""
    shapes = [(name, tuple(t.shape)) for name, t in network.state_dict().items()]
    return repr((shapes, settings, images.name, tuple(images.train.shape)))
