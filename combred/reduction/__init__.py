"""Trained networks, made smaller: any network that torch.fx traces, alone or inside a model.

- `reduce`: one network by one method (`METHODS`), at a threshold, a ratio or a budget.
- `shrink_until` (search/): reduces and retrains until the errors reach limits.
- `reduce_automatically` (automatic/): the loop of Chen & Xu 2024, layer by layer.
- `train_sparsely` (complexity/): units and residual blocks are removed during training.

A method takes the `Units` of one hidden layer and returns a `Merge`, which `apply_merge` carries
out.
"""

from combred.reduction.automatic import AutomaticSettings, reduce_automatically
from combred.reduction.complexity.pruning import Complexity, train_sparsely
from combred.reduction.fit.units import Units, describe_units
from combred.reduction.methods import METHODS
from combred.reduction.methods.brain_surgeon import brain_surgeon
from combred.reduction.methods.channel_similarity import channel_similarity
from combred.reduction.methods.condensation import condense
from combred.reduction.methods.folding import folding
from combred.reduction.methods.interpolative import interpolative
from combred.reduction.methods.magnitude import magnitude
from combred.reduction.methods.neuron_merging import neuron_merging
from combred.reduction.network.layers import find_layers
from combred.reduction.network.merge import Merge, apply_merge
from combred.reduction.network.size import Unchanged, Unreachable
from combred.reduction.reduce import reduce
from combred.reduction.search.attempts import AttemptFolder
from combred.reduction.search.shrink import shrink_until

__all__ = [
    "METHODS",
    "AttemptFolder",
    "AutomaticSettings",
    "Complexity",
    "Merge",
    "Unchanged",
    "Units",
    "Unreachable",
    "apply_merge",
    "brain_surgeon",
    "channel_similarity",
    "condense",
    "describe_units",
    "find_layers",
    "folding",
    "interpolative",
    "magnitude",
    "neuron_merging",
    "reduce",
    "reduce_automatically",
    "shrink_until",
    "train_sparsely",
]
