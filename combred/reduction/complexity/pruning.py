"""`train_sparsely`: a network is trained and pruned at once, and can be interrupted.

The algorithm is in `sparse_training`; a checkpoint file holds its whole state.
"""

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from combred.files.trace import Trace, digest_of_tensors
from combred.reduction.complexity.settings import Complexity
from combred.reduction.complexity.sparse_training import Epoch, Training

SECONDS = 20.0  # between two checkpoints
ADAM = functools.partial(torch.optim.Adam, lr=1e-3)


@dataclass(frozen=True)
class Pruned:
    """The trained network without masks, and a trace, a row per `prune_every` steps.

    kept: indices, by layer, of the units of the given network that are left. removed: names of the
    removed blocks. untouched: layers and blocks that were not masked, and why.
    """

    network: nn.Module
    trace: list[Epoch]
    kept: dict[str, Tensor]
    removed: list[str]
    untouched: dict[str, str] = field(default_factory=dict)


def train_sparsely(  # noqa: PLR0913
    network: nn.Module,
    example_input: Tensor,
    batches: Callable[[int], Iterable[tuple[Tensor, Tensor]]],
    loss: Callable[[Tensor, Tensor], Tensor],
    settings: Complexity,
    *,
    optimizer: Callable[..., torch.optim.Optimizer] = ADAM,
    rate: Callable[[int], float] | None = None,
    checkpoint: Path | None = None,
) -> Pruned:
    """Train a copy of `network` and remove units and blocks from it; the given one is not modified.

    A network in evaluation mode is put into training mode for the training. In one that has modules
    in training mode all modules stay in their modes, so that a batch norm can be frozen by `eval`.
    The modules of the result have the modes of the given ones.

    example_input (n, ...): an input it runs on, on the device of the training. batches(step): the
    batches (x, y) from a step on, one per step, the same each time. loss(network(x), y): C, a mean
    over the rows.

    optimizer: makes the optimiser of the weights from their parameters. rate(step): its learning
    rate. checkpoint: a file, written every `SECONDS` (with the rows beside it, as .jsonl), from
    which the same call goes on bit for bit after an interruption; the caller removes it.

    Raises ValueError for a network that cannot be traced or has nothing to prune, without batches,
    and for a checkpoint of another training; FloatingPointError where the loss is not finite.
    """
    run = Training(network, example_input, settings, optimizer)
    stored = Trace(checkpoint, _inputs(run) if checkpoint else {})
    if state := stored.load():
        _resume(run, state, stored.rows)

    saved = time.monotonic()
    try:
        for x, y in batches(run.step):
            if settings.settle_after is not None and run.step >= settings.settle_after:
                run.settle()
            run.learn(x, y, loss, rate)
            if run.step % settings.prune_every == 0:
                run.prune(run.masks.theta > settings.theta_tol)
                stored.add(asdict(run.record()))
            due = checkpoint and time.monotonic() - saved >= SECONDS
            if due and torch.isfinite(run.total):
                stored.save(_state(run))
                saved = time.monotonic()
        if run.step == 0:
            raise ValueError("batches gave nothing to train on: give (x, y), one pair per step")
        run.settle()
        if run.count or (run.trace and run.trace[-1].undecided):
            stored.add(asdict(run.record()))
    finally:
        run.masks.detach()
    if not run.in_training:
        run.network.eval()
    kept = {name: kept.cpu() for name, kept in run.kept.items()}
    return Pruned(run.network, run.trace, kept, run.removed, run.structure.untouched)


def _inputs(run: Training) -> dict:
    """What a stored state belongs to."""
    modes = [module.training for module in run.network.modules()]
    network = digest_of_tensors(run.network.state_dict(), f"{run.network!r} {modes}")
    inputs = {"optimizer": repr(run.optimizer), "network": network, "masks": run.structure.sizes}
    return asdict(run.settings) | inputs


def _state(run: Training) -> dict:
    """All that the training goes on from, but for its trace."""
    generators = [run.generator.get_state(), torch.get_rng_state()]
    if run.device.type == "cuda":
        generators.append(torch.cuda.get_rng_state(run.device))
    return {
        "left": run.kept
        | {block: torch.zeros(1, dtype=torch.long) for block in run.structure.blocks},
        "removed": run.removed,
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "theta": run.masks.theta.detach(),
        "theta_optimizer": run.theta_optimizer.state_dict(),
        "progress": (run.step, run.count, run.settled, run.total),
        "generators": generators,  # from torch's own, dropout draws
    }


def _resume(run: Training, stored: dict, rows: list[dict]) -> None:
    """Put a training that has just begun into a stored state, with the rows of its trace."""
    stays = torch.zeros_like(run.masks.theta, dtype=torch.bool)
    for name, left in stored["left"].items():
        run.masks.by_name(stays)[name][left] = True
    run.prune(stays)
    run.removed = stored["removed"]
    run.network.load_state_dict(stored["network"])
    run.optimizer.load_state_dict(stored["optimizer"])
    run.theta_optimizer.load_state_dict(stored["theta_optimizer"])
    run.masks.theta.data.copy_(stored["theta"])
    run.masks.round()
    run.trace = [Epoch(**row) for row in rows]
    run.step, run.count, run.settled, total = stored["progress"]
    run.total = total.to(run.device)
    private, shared, *device = stored["generators"]
    run.generator.set_state(private)
    torch.set_rng_state(shared)
    if device:
        torch.cuda.set_rng_state(device[0], run.device)
