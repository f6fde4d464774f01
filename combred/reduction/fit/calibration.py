"""Calibration: activations of a hidden layer on given inputs, and errors measured on others.

Takes the original network, the one whose earlier layers are already reduced, and calibration
inputs, batch by batch; gives `Moments` of the activations, and relative errors.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.tracing import evaluation

Calibration = Tensor | Iterable[Tensor]
ROWS = 4096  # vectors (n, d) that are run at once
IMAGES = 128  # inputs of more axes that are run at once
ROWS_A_UNIT = 10  # fitted rows for each kept unit, below which least squares overfits


@dataclass(frozen=True)
class Moments:
    """Moments of the activations A (n, m) of the original network and B (n, m) of the reduced one.

    n: number of rows; where several readers read them, of one reader. mean_A, mean_B (m,): means
    over the rows of all readers. BB, BA, AA (m, m): means of B^T B, B^T A, A^T A of the deviations
    from these means. float64. Where no earlier layer has been reduced, A is B and the three are one
    tensor.
    """

    n: int
    mean_A: Tensor
    mean_B: Tensor
    BB: Tensor
    BA: Tensor
    AA: Tensor

    def about(self, intercept: bool) -> tuple[Tensor, Tensor, Tensor]:
        """BB, BA, AA: about the means with an intercept, about zero without one."""
        if intercept:
            return self.BB, self.BA, self.AA
        a, b = self.mean_A, self.mean_B
        BB = self.BB + torch.outer(b, b)
        if self.BA is self.BB:
            return BB, BB, BB
        return BB, self.BA + torch.outer(b, a), self.AA + torch.outer(a, a)


def moments(pairs: Iterable[tuple[Tensor, Tensor]]) -> Moments:
    """`Moments` of pairs (A, B) of activations, (n, m) each, one pair per batch.

    Deviations are summed from the means of the first pair, so that a small variance about a large
    mean keeps its digits. Raises ValueError where there are no rows.
    """
    n, sums, equal = 0, list[Tensor](), True
    for original, reduced in pairs:
        equal = equal and original is reduced
        A = original.detach().double()
        B = A if equal else reduced.detach().double()
        if not sums:
            a, b = A.sum(0) / max(len(A), 1), B.sum(0) / max(len(B), 1)
        A, B = A - a, A - a if equal else B - b
        terms = [A.sum(0), A.T @ A] if equal else [A.sum(0), A.T @ A, B.sum(0), B.T @ B, B.T @ A]
        sums = [s + q for s, q in zip(sums, terms, strict=True)] if sums else terms
        n += len(A)
    if not n:
        raise ValueError("least squares needs calibration inputs, and none were given")
    means = [s / n for s in sums]
    da, AA = means[:2]
    AA = AA - torch.outer(da, da)
    if equal:
        return Moments(n, a + da, a + da, AA, AA, AA)
    db, BB, BA = means[2:]
    BB, BA = BB - torch.outer(db, db), BA - torch.outer(db, da)
    return Moments(n, a + da, b + db, BB, BA, AA)


def layer_moments(
    original: nn.Module, reduced: nn.Module | None, layer: HiddenLayer, calibration: Calibration
) -> Moments:
    """`Moments` of the activations that the readers of `layer` read, over calibration inputs.

    reduced: the network whose earlier layers are reduced already, or None if none is. Every
    position of a map is a row, for every reader; n counts those of the reader with most positions.
    """
    independent = 0

    def pairs() -> Iterator[tuple[Tensor, Tensor]]:
        nonlocal independent
        for x in batches(calibration):
            A = read_units(original, layer, x)[0]
            independent += max(len(rows) for rows in A)
            B = A if reduced is None else read_units(reduced, layer, x)[0]
            yield from zip(A, B, strict=True)

    statistics = moments(pairs())
    return replace(statistics, n=independent)


@torch.no_grad()
def producer_moments(network: nn.Module, layer: HiddenLayer, calibration: Calibration) -> Moments:
    """`Moments` of the units of a layer before its activation, over calibration inputs: of the
    batch norm behind the producer, else of the producer. Every position of a map is a row."""
    sums: list[Tensor] = []

    def keep(module: nn.Module, args: tuple, output: Tensor) -> None:
        value = output if layer.last_axis or output.dim() == 2 else output.movedim(1, -1)
        sums.append(value.reshape(-1, layer.units).clone())  # the activation may be in place

    hook = network.get_submodule(layer.norm or layer.name).register_forward_hook(keep)
    try:
        with evaluation(network):
            return moments((A, A) for x in batches(calibration) for A in [_run(network, x, sums)])
    finally:
        hook.remove()


def _run(network: nn.Module, x: Tensor, captured: list[Tensor]) -> Tensor:
    """What a hook adds to `found` while the network runs."""
    network(x)
    return captured.pop()


def missing_calibration(method: str) -> str:
    """The error message of a method that needs calibration inputs and has none."""
    return (
        f"{method} needs activations: give calibration=inputs, {ROWS_A_UNIT} for each unit that "
        "stays"
    )


def batches(calibration: Calibration) -> Iterable[Tensor]:
    """Calibration inputs in batches: those given, or a tensor split to fit in memory."""
    if not isinstance(calibration, Tensor):
        return calibration
    return calibration.split(ROWS if calibration.dim() <= 2 else IMAGES)


@torch.no_grad()
def read_units(network: nn.Module, layer: HiddenLayer, x: Tensor) -> tuple[list[Tensor], Tensor]:
    """Activations (rows, units) that each reader of a layer reads for inputs x (n, ...), a row per
    input and position; and pre-activations (n, q) of the readers, side by side."""
    inputs, outputs, hooks = {}, {}, []
    for name, positions in layer.readers:
        # Both are copied: an operation in place may follow.
        def keep(module, args, named, output, name=name, positions=positions):
            value = (args[0] if args else named["input"]).detach().clone()
            if not isinstance(module, nn.Linear):
                value = value.flatten(2).transpose(1, 2)
            elif positions > 1:
                value = value.unflatten(1, (-1, positions)).transpose(1, 2)
            inputs[name] = value.reshape(-1, value.shape[-1])
            outputs[name] = output.detach().clone()

        module = network.get_submodule(name)
        hooks.append(module.register_forward_hook(keep, with_kwargs=True))
    try:
        with evaluation(network):
            network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return [*inputs.values()], torch.cat([y.flatten(1) for y in outputs.values()], 1)


@torch.no_grad()
def relative_error(
    original: nn.Module, reduced: nn.Module, layer: HiddenLayer | None, calibration: Calibration
) -> float:
    """|reduced - original| / |original| (Frobenius) over calibration inputs.

    Of the pre-activations of the layers that read `layer`, or of the output where it is None.
    """
    difference = size = 0.0
    rows = 0
    for x in batches(calibration):
        rows += len(x)
        if layer is None:
            with evaluation(original), evaluation(reduced):
                expected, output = original(x), reduced(x)
        else:
            expected, output = (read_units(network, layer, x)[1] for network in (original, reduced))
        difference += float((output.double() - expected.double()).square().sum())
        size += float(expected.double().square().sum())
    if not rows:
        raise ValueError(
            "no calibration inputs are left to measure the error on: give batches that hold the "
            "same inputs each time they are run through"
        )
    return (difference / max(size, 1e-300)) ** 0.5
