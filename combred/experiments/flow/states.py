"""Blocks of states of a flow, each with its own time step, and their labels.

Takes a `Mechanism` and `SamplingSettings`; gives blocks of labelled rows. There are four kinds:

- ignition: states of a 0D ignition, of a premixed gas or of a mixture of it with another stream;
- mixture: two or three streams mixed in mass and enthalpy, many of them perturbed, as they are and
  after a random time of reaction;
- layer: a line of particles between two streams, which mix with their neighbours and react;
- flame: cells of a small premixed flame, of mechanisms with transport data.

Every row has its own dt, log-uniform. Its label is the state dt later, by the generated solver in
double precision. The trajectories themselves are less precise: any state may be a row.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import has_transport
from combred.config.data import SamplingSettings
from combred.experiments.flow.flames import Cells, flames
from combred.experiments.flow.ignitions import ignitions
from combred.experiments.flow.layers import layers
from combred.experiments.flow.mixtures import mixtures
from combred.experiments.flow.streams import T_RANGE, Streams, within_range
from combred.experiments.labelled import Block, label
from combred.native.solver.library import Solver

# Share of the rows of each kind; without transport data, the last is shared by the others.
SHARES = {"ignition": 0.3, "mixture": 0.42, "layer": 0.14, "flame": 0.14}
KINDS = tuple(SHARES)
# The order in which a block is filled, and the share of a kind's rows: earlier states are streams
# of later mixtures.
ORDER = (
    *(("mixture", 0.1), ("ignition", 1.0), ("flame", 1.0), ("layer", 1.0)),
    *(("mixture", 0.4), ("mixture", 0.7), ("mixture", 1.0)),
)
DRAWS = 8  # of trajectories of a kind, at most, until it has its rows


@dataclass(frozen=True)
class FlowBlock:
    """A task of the sampling: so many rows of states of a flow. index: position in the plan, stored
    as `source` of its rows."""

    index: int
    rows: int
    kind: ClassVar[str] = "flow"

    @property
    def name(self) -> str:
        """The block in words, for messages."""
        return f"flow block {self.index}"


class FlowStates:
    """Draws blocks of labelled rows; each depends on the seed, its index and its length alone.

    settings: `fuel`, `oxidizer` as compositions in moles; ranges `p` [Pa], `phi`, `T0` [K] of
    ignitions, and `dt` [s], all log-uniform but T0.
    """

    def __init__(self, mechanism: Mechanism, settings: SamplingSettings, solver: Solver, seed: int):
        self.streams, self.seed = Streams(mechanism, settings, solver), seed
        self.draw = {"ignition": ignitions, "mixture": mixtures, "layer": layers}
        if has_transport(mechanism):
            self.draw["flame"] = partial(flames, cells=Cells(mechanism))
        total = sum(SHARES[kind] for kind in self.draw)
        self.shares = {kind: SHARES[kind] / total for kind in self.draw}

    def block(self, task: FlowBlock) -> Block:
        """The rows of a block, in random order; T_next and Y_next are NaN where the solver fails,
        the sampler is an index into `KINDS`, and the source is zero. Raises IntegrationError where
        the block cannot be filled."""
        rows = task.rows
        self.streams.restart(self.seed, 6, task.index)
        rng, states = self.streams.rng, self.streams.aged
        dt, kinds = np.empty(0), np.empty(0, int)
        # What the other kinds leave open is left to mixtures and ignitions.
        order = [(kind, share) for kind, share in ORDER if kind in self.draw]
        pending = [(kind, self.shares[kind] * share * rows) for kind, share in order]
        for kind, count in [*pending, ("mixture", rows), ("ignition", rows)]:
            for _ in range(DRAWS):
                present = int((kinds == KINDS.index(kind)).sum())
                missing = min(round(count) - present, rows - len(states))
                if missing <= 0:
                    break
                new, new_dt = self.draw[kind](self.streams, missing)
                accepted = rng.permutation(np.flatnonzero(within_range(new)))[:missing]
                states, dt = (
                    np.concatenate([states, new[accepted]]),
                    np.append(dt, new_dt[accepted]),
                )
                kinds = np.append(kinds, np.full(len(accepted), KINDS.index(kind)))
                self.streams.aged = states
        if len(states) < rows:
            raise IntegrationError(
                f"the trajectories gave {len(states)} of {rows} rows from {T_RANGE[0]:g} to "
                f"{T_RANGE[1]:g} K"
            )
        mixed = rng.permutation(rows)
        states, dt = states[mixed], dt[mixed]
        block = label(self.streams.solver, states[:, 0], states[:, 1], states[:, 2:], dt)
        block.sampler[:] = kinds[mixed]
        return block
