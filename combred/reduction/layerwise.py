"""Layer after layer: the work of `combred.reduce` once its arguments are checked.

Front to back, for each layer: the method chooses a `Merge`, least squares refits it,
`merge.apply_merge_in_place` carries it out.
"""

import copy
import math
import time
import warnings
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from combred.reduction.fit.calibration import (
    ROWS_A_UNIT,
    Calibration,
    layer_moments,
    missing_calibration,
    relative_error,
)
from combred.reduction.fit.compensation import refit
from combred.reduction.fit.units import describe_units
from combred.reduction.methods import Method
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge, apply_merge, apply_merge_in_place
from combred.reduction.network.size import count_flops, count_parameters


@dataclass(frozen=True)
class LayerReduction:
    """The record of one layer.

    units_before, units_after: of this layer. groups: kept units that stand for others too;
    largest_group: units of the largest; dropped: units that no kept unit stands for (pruned, or
    constant). parameters and flops (two per multiply-add, for one input row): of the whole network.
    rows: to which the kept units are fitted, inputs times positions; None where nothing is fitted.
    error: relative (Frobenius) error of the pre-activations of the layers that read this one,
    against the network that was given, over the calibration inputs that are held out of every fit;
    None without calibration. seconds: wall time.
    """

    layer: str
    method: str
    compensation: str
    units_before: int
    units_after: int
    groups: int
    largest_group: int
    dropped: int
    parameters_before: int
    parameters_after: int
    flops_before: int
    flops_after: int
    rows: int | None
    error: float | None
    seconds: float


@dataclass(frozen=True)
class Reduced:
    """The smaller network, a record of each layer, why other layers were left alone, and the
    relative (Frobenius) error of the output over the held-out calibration inputs, None without
    calibration."""

    network: nn.Module
    trace: list[LayerReduction]
    untouched: dict[str, str] = field(default_factory=dict)
    output_error: float | None = None


@dataclass(frozen=True)
class LayerwiseReducer:
    """A network that is to be reduced (it is never modified), and what holds for all its layers.

    calibration: the inputs that are fitted. held_out: those on which errors are measured. Both are
    None without calibration.
    """

    network: nn.Module
    example_input: Tensor
    calibration: Calibration | None
    held_out: Calibration | None
    method: Method
    compensation: str

    def reduce(self, layers: list[HiddenLayer], sizes: list[dict]) -> Reduced:
        """Reduce `layers` one after another, front to back, each to its size.

        sizes: {"keep": units} or {"threshold": value} of each layer.
        """
        reduced, trace = copy.deepcopy(self.network), []
        size = self.count(reduced)
        for layer, how_far in zip(layers, sizes, strict=True):
            started, before = time.perf_counter(), size
            changed = any(entry.units_after < entry.units_before for entry in trace)
            merge, choice, rows = self.merge(reduced if changed else None, layer, how_far)
            if merge.changes:
                apply_merge_in_place(reduced, layer, merge)
            members = (choice.mixing != 0).sum(dim=1)
            size = self.count(reduced) if merge.changes else before
            error = self.error(reduced, layer)
            trace.append(
                LayerReduction(
                    layer=layer.name,
                    method=self.method.name,
                    compensation=self.compensation,
                    units_before=layer.units,
                    units_after=len(merge.kept),
                    groups=int((members > 1).sum()),
                    largest_group=int(members.max()),
                    dropped=int((~choice.mixing.any(dim=0)).sum()),
                    parameters_before=before[0],
                    parameters_after=size[0],
                    flops_before=before[1],
                    flops_after=size[1],
                    rows=rows,
                    error=error,
                    seconds=time.perf_counter() - started,
                )
            )
        return Reduced(reduced, trace, {}, self.error(reduced))

    def error(self, reduced: nn.Module, layer: HiddenLayer | None = None) -> float | None:
        """`relative_error`, None without calibration."""
        if self.held_out is None:
            return None
        return relative_error(self.network, reduced, layer, self.held_out)

    def count(self, network: nn.Module) -> tuple[int, int]:
        """Parameters, and flops for one input row."""
        return count_parameters(network), count_flops(network, self.example_input)

    def error_of_one(self, layer: HiddenLayer, keep: int) -> float:
        """Relative error of the output where one layer alone keeps `keep` units."""
        merge, _, _ = self.merge(None, layer, {"keep": keep})
        error = self.error(apply_merge(self.network, layer, merge))
        if error is None:
            raise ValueError(missing_calibration("an error"))
        return error

    def merge(
        self, reduced: nn.Module | None, layer: HiddenLayer, how_far: dict
    ) -> tuple[Merge, Merge, int | None]:
        """The merge of one layer, compensated, the one that the method chose, and the number of
        rows to which units are fitted, None where none are.

        reduced: the network whose earlier layers are reduced, None if none is.
        """
        current = self.network if reduced is None else reduced
        if how_far.get("keep") == layer.units:
            identity = Merge.prune(torch.arange(layer.units), layer.units)
            return identity, identity, None
        data = None
        if self.calibration is not None:
            data = layer_moments(self.network, reduced, layer, self.calibration)
        ranked = self.network if self.method.ranks_given else current
        units = describe_units(ranked, layer, data, self.calibration)
        choice = self.method.choose(units, **how_far)
        fits = self.method.needs_calibration or self.compensation == "least_squares"
        rows = data.n if data is not None and fits and choice.changes else None
        if not choice.changes or self.compensation == "own":
            return choice, choice, rows
        if self.compensation == "none":
            return Merge.prune(choice.kept, layer.units), choice, rows
        if data is None or self.calibration is None:
            raise ValueError(missing_calibration(self.method.name))
        if choice.carriers:  # the kept units have moved, and their activations with them
            moved = apply_merge(current, layer, choice)
            data = layer_moments(self.network, moved, layer, self.calibration)
        return refit(choice, data, intercept=layer.takes_offset), choice, rows


def warn_of_few_rows(reduced: Reduced) -> None:
    """Warn where units are fitted to fewer than `ROWS_A_UNIT` rows for each that stays."""
    lacking = {
        row: ROWS_A_UNIT * row.units_after / row.rows
        for row in reduced.trace
        if row.rows is not None
    }
    row = max(lacking, key=lacking.__getitem__, default=None)
    if row is not None and lacking[row] > 1:
        warnings.warn(
            f"the {row.units_after} units that stay in layer {row.layer} are fitted to {row.rows} "
            f"rows of calibration, and least squares needs {ROWS_A_UNIT} rows a unit: give "
            f"{math.ceil(lacking[row])} times as many inputs. The errors in the trace are of "
            "inputs that were not fitted",
            stacklevel=3,
        )
