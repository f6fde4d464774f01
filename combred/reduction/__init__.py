"""Making trained networks smaller. A method answers `Merge`; `apply_merge` performs it."""

from combred.reduction.attempts import Attempt, AttemptFolder, Shrunk
from combred.reduction.automatic import AutomaticSettings, reduce_automatically
from combred.reduction.brain_surgeon import brain_surgeon
from combred.reduction.calibration import gaussian_inputs
from combred.reduction.channel_similarity import channel_similarity
from combred.reduction.complexity import Complexity, Epoch, Pruned, train_sparsely
from combred.reduction.condensation import condense
from combred.reduction.folding import folding
from combred.reduction.interpolative import interpolative
from combred.reduction.job import Cut, Reduced
from combred.reduction.layers import HiddenLayer, Survey, find_layers
from combred.reduction.least_squares import refit
from combred.reduction.merge import Merge, apply_merge
from combred.reduction.methods import METHODS
from combred.reduction.neuron_merging import magnitude, neuron_merging, ware
from combred.reduction.operations import ChannelSelection
from combred.reduction.reduce import reduce
from combred.reduction.schedule import Stage, reduce_layer, reduce_stage, stage_table
from combred.reduction.shrink import ShrinkSettings, shrink_until
from combred.reduction.size import Unreachable
from combred.reduction.units import Units, look

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
    "Unreachable",
    "apply_merge",
    "brain_surgeon",
    "channel_similarity",
    "condense",
    "find_layers",
    "folding",
    "gaussian_inputs",
    "interpolative",
    "look",
    "magnitude",
    "neuron_merging",
    "reduce",
    "reduce_automatically",
    "reduce_layer",
    "reduce_stage",
    "refit",
    "shrink_until",
    "stage_table",
    "train_sparsely",
    "ware",
]
