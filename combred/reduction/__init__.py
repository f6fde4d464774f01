"""Making trained networks smaller. A method answers `Merge`; `apply_merge` performs it."""

from combred.reduction.automatic import AutomaticSettings, reduce_automatically
from combred.reduction.calibration import gaussian_inputs
from combred.reduction.complexity.pruning import Complexity, Epoch, Pruned, train_sparsely
from combred.reduction.job import Cut, Reduced
from combred.reduction.layers import HiddenLayer, Survey, find_layers
from combred.reduction.least_squares import refit
from combred.reduction.merge import Merge, apply_merge
from combred.reduction.methods.brain_surgeon import brain_surgeon
from combred.reduction.methods.channel_similarity import channel_similarity
from combred.reduction.methods.condensation import condense
from combred.reduction.methods.folding import folding
from combred.reduction.methods.interpolative import interpolative
from combred.reduction.methods.neuron_merging import magnitude, neuron_merging, ware
from combred.reduction.methods.table import METHODS
from combred.reduction.operations import ChannelSelection
from combred.reduction.reduce import reduce
from combred.reduction.schedule import Stage, reduce_stage, stage_table
from combred.reduction.search.attempts import Attempt, AttemptFolder, Shrunk
from combred.reduction.search.shrink import ShrinkSettings, shrink_until
from combred.reduction.size import Unchanged, Unreachable
from combred.reduction.units import Units, describe_units

__all__ = [
    "METHODS",
    "Attempt",
    "AttemptFolder",
    "AutomaticSettings",
    "ChannelSelection",
    "Complexity",
    "Cut",
    "Epoch",
    "HiddenLayer",
    "Merge",
    "Pruned",
    "Reduced",
    "ShrinkSettings",
    "Shrunk",
    "Stage",
    "Survey",
    "Units",
    "Unchanged",
    "Unreachable",
    "apply_merge",
    "brain_surgeon",
    "channel_similarity",
    "condense",
    "find_layers",
    "folding",
    "gaussian_inputs",
    "interpolative",
    "describe_units",
    "magnitude",
    "neuron_merging",
    "reduce",
    "reduce_automatically",
    "reduce_stage",
    "refit",
    "shrink_until",
    "stage_table",
    "train_sparsely",
    "ware",
]
