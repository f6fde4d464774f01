"""The work of `combred.reduce`: layer after layer, a merge is chosen and performed."""

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from combred.reduction.calibration import Calibration, layer_moments, relative_error
from combred.reduction.layers import HiddenLayer
from combred.reduction.least_squares import refit
from combred.reduction.merge import Merge, apply_merge, apply_merge_in_place
from combred.reduction.methods.table import Method
from combred.reduction.size import count_flops, count_parameters
from combred.reduction.units import describe_units


@dataclass(frozen=True)
class Cut:
    """One layer's reduction. parameters and flops (two per multiply-add, for one input row) are the
    whole network's; error: relative (Frobenius) error of the pre-activations of the layers that
    read this one, against the network that was given, over the calibration; None without."""

    layer: str
    method: str
    compensation: str
    units_before: int
    units_after: int
    groups: int  # kept units that stand for others too
    largest_group: int
    dropped: int  # units that no kept unit stands for: pruned, or constant
    parameters_before: int
    parameters_after: int
    flops_before: int
    flops_after: int
    error: float | None
    seconds: float


@dataclass(frozen=True)
class Reduced:
    """The smaller network, what was done to each layer, and why other layers were left alone.

    output_error: relative (Frobenius) error of the output over the calibration, None without.
    """

    network: nn.Module
    trace: list[Cut]
    untouched: dict[str, str] = field(default_factory=dict)
    output_error: float | None = None


@dataclass(frozen=True)
class Job:
    """A network to be reduced, and how: what stays the same from layer to layer."""

    network: nn.Module
    example_input: Tensor
    calibration: Calibration | None
    method: Method
    name: str
    compensation: str
    ridge: float

    def cut(self, layers: list[HiddenLayer], sizes: list[dict]) -> Reduced:
        """Reduce layers one after another, front to back, each to its size."""
        reduced, trace = copy.deepcopy(self.network), []
        for layer, size in zip(layers, sizes, strict=True):
            begun = time.perf_counter()
            before = count_parameters(reduced), count_flops(reduced, self.example_input)
            changed = any(cut.units_after < cut.units_before for cut in trace)
            merge, choice = self.merge(reduced if changed else None, layer, size)
            if merge.changes:
                apply_merge_in_place(reduced, layer, merge)
            members = (choice.mixing != 0).sum(dim=1)
            error = None if self.calibration is None else 0.0
            with narrower(layer):
                after = count_parameters(reduced), count_flops(reduced, self.example_input)
                if self.calibration is not None and (changed or merge.changes):
                    error = relative_error(self.network, reduced, layer, self.calibration)
            trace.append(
                Cut(
                    layer=layer.name,
                    method=self.name,
                    compensation=self.compensation,
                    units_before=layer.units,
                    units_after=len(merge.kept),
                    groups=int((members > 1).sum()),
                    largest_group=int(members.max()),
                    dropped=int((~choice.mixing.any(dim=0)).sum()),
                    parameters_before=before[0],
                    parameters_after=after[0],
                    flops_before=before[1],
                    flops_after=after[1],
                    error=error,
                    seconds=time.perf_counter() - begun,
                )
            )
        output = None
        if self.calibration is not None:
            output = relative_error(self.network, reduced, None, self.calibration)
        return Reduced(reduced, trace, {}, output)

    def error_of_one(self, layer: HiddenLayer, keep: int) -> float:
        """Relative error of the output where one layer alone keeps `keep` units."""
        merge, _ = self.merge(None, layer, {"keep": keep})
        reduced = apply_merge(self.network, layer, merge)
        with narrower(layer):
            return relative_error(self.network, reduced, None, self.calibration)

    def merge(
        self, reduced: nn.Module | None, layer: HiddenLayer, size: dict
    ) -> tuple[Merge, Merge]:
        """The merge of one layer, compensated, and the method's own.

        reduced: the network whose earlier layers are reduced, None if none is. size:
        {"keep": units} or {"threshold": value}.
        """
        current = self.network if reduced is None else reduced
        if size.get("keep") == layer.units:
            whole = Merge.prune(torch.arange(layer.units), layer.units)
            return whole, whole
        data = None
        if self.calibration is not None:
            data = layer_moments(self.network, reduced, layer, self.calibration)
        choice = self.method.choose(describe_units(current, layer, data), **size)
        if not choice.changes or self.compensation == "own":
            return choice, choice
        if self.compensation == "none":
            return Merge.prune(choice.kept, layer.units), choice
        if choice.carriers:
            moved = apply_merge(current, layer, choice)
            with narrower(layer):
                data = layer_moments(self.network, moved, layer, self.calibration)
        return refit(choice, data, self.ridge, layer.takes_offset), choice


@contextmanager
def narrower(layer: HiddenLayer) -> Iterator[None]:
    """ValueError where a network does not run once a layer has fewer units."""
    try:
        yield
    except RuntimeError as problem:
        raise ValueError(
            f"with fewer units in {layer.name} the network no longer runs ({problem}): its "
            "forward has the old width written into it"
        ) from problem
