"""Making trained networks smaller. A method answers `Merge`; `apply_merge` performs it."""

from combred.reduction.condensation import condense
from combred.reduction.merge import Merge, apply_merge
from combred.reduction.schedule import Stage, reduce_layer, stage_table

__all__ = ["Merge", "Stage", "apply_merge", "condense", "reduce_layer", "stage_table"]
