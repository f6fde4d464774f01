"""States of a flow: mixtures of fresh gas, burnt gas, air and fuel at any pressure, each with its
own time step.

Takes a `Mechanism` and `SamplingSettings`; gives blocks of labelled rows for `sampling`. Their
trajectories start from random streams (`combred.dataset.flow_streams`). There are four kinds of
states:

- ignition: states of a 0D ignition, of a premixed gas or of a mixture of it with another stream,
  uniform over CVODE's own steps, which are dense where the gas reacts fast;
- mixture: two or three streams mixed in mass and enthalpy, many of them perturbed, as they are and
  after a random time of reaction;
- layer: a line of particles between two streams, which mix with their neighbours and react
  (`combred.dataset.mixing_layers`);
- flame: cells of a small premixed flame (`combred.dataset.small_flames`), of mechanisms with
  transport data.

Every row has its own dt, log-uniform. In ignitions and mixtures, its label comes from the
integration that the row belongs to, which goes on without a restart: CVODE keeps its step size and
order. In layers and flames, where gas has just mixed, CVODE starts at the state.
"""

from collections.abc import Callable, Iterator

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.chemistry.transport import has_transport
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset.flow_streams import DIRICHLET, FRESH_T, T_RANGE, FlowStreams, Labelled
from combred.dataset.mixing_layers import layer_states
from combred.dataset.small_flames import SmallFlames

ROWS = 256  # of a block, the unit of work, of resuming, and of holding out
# Share of the rows of each kind; without transport data, the last is shared by the others.
SHARES = {"ignition": 0.3, "mixture": 0.42, "layer": 0.14, "flame": 0.14}
COSTLY = "layer", "flame"  # a block has one of them, with the rows of both
KINDS = tuple(SHARES)
HOT, HOTTER = 0.1, 700.0  # share of ignitions that are hotter than their range, and by so many K
DILUTED, DILUTION = 0.3, 0.6  # share of ignitions of a mixture; largest mass share of its stream
PERTURBED, WIDTH = 0.6, (1e-2, 0.6)  # share of mixtures perturbed; range of the width, log-uniform
# Share of mixtures without their minor species, and range of the mass fraction below which a
# species is one, log-uniform: a flow that starts from major species has no radicals.
WITHOUT_MINOR, MINOR = 0.04, (1e-4, 3e-2)
AGED = 0.3  # share of states that become a stream of later mixtures of the same block
STATES = 16  # of an ignition
FIRST_STEP = 5  # of CVODE, at which a state may lie: the steps before it start the integration
LONGEST, MOST_STEPS = 0.5, 700  # s and steps of CVODE, by which an ignition ends
RELAXATION = 1e-8, 1e-3  # s, range of the reaction time of a mixture, log-uniform
TIMES = 5  # states of a mixture's integration, the first at t = 0
CHOSEN = 6  # states of each step of a small flame
DRAWS = 400  # trajectories of a block at most; each has at most 5, 16, 72 or 79 rows

Row = tuple[np.ndarray, np.ndarray, float, int]  # a `Labelled`, and its kind's index in `KINDS`


class FlowStates:
    """Draws blocks of `ROWS` labelled rows; each depends on the seed and its index alone.

    settings: `fuel`, `oxidizer` as compositions in moles; ranges `p` [Pa], `phi`, `T0` [K] of
    ignitions, and `dt` [s], all log-uniform but T0.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        settings: SamplingSettings,
        chemistry: ChemistrySettings,
        seed: int,
    ):
        self.mechanism, self.settings, self.seed = mechanism, settings, seed
        self.tolerances = chemistry.rtol, chemistry.atol
        self.small_flames = SmallFlames(mechanism) if has_transport(mechanism) else None

    def block(self, index: int) -> list[Row]:
        """The rows of block number `index`, `ROWS` of them. Raises IntegrationError where so many
        trajectories fail that the block is not filled."""
        rng = np.random.default_rng([self.seed, 6, index])
        # A new reactor: the last bit of p depends on the state that Cantera had before, and the
        # steps of CVODE, from which states are drawn, depend on that bit.
        reactor = Reactor(self.mechanism, *self.tolerances)
        self.streams = FlowStreams(self.settings, reactor, rng)
        rows: list[Row] = []
        failure = ""
        kinds: dict[str, Callable[[], Iterator[Labelled]]] = {
            "ignition": self._ignition, "mixture": self._mixture, "layer": self._layer,
            "flame": self._flame,
        }  # fmt: skip
        shares = self._shares(index)
        counts = dict.fromkeys(shares, 0)
        for _ in range(DRAWS):
            kind = min(counts, key=lambda k: counts[k] / shares[k])
            try:
                for state, later, dt in kinds[kind]():
                    rows.append((state, later, dt, KINDS.index(kind)))
                    counts[kind] += 1
                    if rng.random() < AGED:
                        self.streams.aged.append(state)
            # Of CVODE, of a stream, of diffusion.
            except (IntegrationError, ct.CanteraError, FloatingPointError) as error:
                failure = str(error).strip()
                self.streams.reactor = Reactor(self.mechanism, *self.tolerances)
                counts[kind] += 1  # so that a kind that always fails gives way to others
            if len(rows) >= ROWS:
                return rows[:ROWS]
        raise IntegrationError(
            f"{DRAWS} trajectories gave {len(rows)} of {ROWS} rows; last failure: {failure or None}"
        )

    def _shares(self, index: int) -> dict[str, float]:
        """The share of each kind in block number `index`."""
        if self.small_flames is None:
            return {kind: share for kind, share in SHARES.items() if kind != "flame"}
        absent, present = COSTLY[index % 2], COSTLY[1 - index % 2]
        shares = {kind: share for kind, share in SHARES.items() if kind != absent}
        return shares | {present: SHARES[present] + SHARES[absent]}

    # -- trajectories ----------------------------------------------------------------------------

    def _ignition(self) -> Iterator[Labelled]:
        """The first state of an ignition, and states at times drawn uniformly from CVODE's own
        steps."""
        rng, p = self.streams.rng, self.streams.log_uniform(*self.settings.p)
        coldest, hottest = self.settings.T0
        if rng.random() < HOT:
            coldest, hottest = hottest, hottest + HOTTER
        Y = self.streams.premixed(rng.uniform(coldest, hottest), p)
        if rng.random() < DILUTED:
            share, h = rng.uniform(0.0, DILUTION), self.streams.reactor.gas.h
            state = self.streams.mixed(
                [(h, Y), self.streams.draw(p)], np.array([1 - share, share]), p
            )
        else:
            state = self.streams.now()
        self.streams.reactor.start(state[0], state[1], state[2:])
        t = [0.0]
        while len(t) < MOST_STEPS and t[-1] < LONGEST:
            t.append(self.streams.reactor.step()[0])
        chosen = np.sort(rng.integers(FIRST_STEP, len(t) - 1, STATES))
        times = np.array(t)[chosen] * (1.0 - 0.02 * rng.random(STATES))  # distinct
        times[0] = 0.0
        yield from self._read_out(state, times)

    def _mixture(self) -> Iterator[Labelled]:
        """States at t = 0 and later of two or three streams mixed, most of them perturbed:
        Y^(1 + s u) and T (1 + 0.3 s u), with the width s and u uniform in [-1, 1]. Some others
        have lost their minor species."""
        rng, p = self.streams.rng, self.streams.log_uniform(*self.settings.p)
        weights = rng.dirichlet(np.full(rng.integers(2, 4), DIRICHLET))
        state = self.streams.mixed([self.streams.draw(p) for _ in weights], weights, p)
        if rng.random() < PERTURBED:
            s = self.streams.log_uniform(*WIDTH)
            T, Y = state[0], state[2:]
            raw = np.where(Y > 0, Y, 1.0) ** (1 + s * rng.uniform(-1, 1, Y.size)) * (Y > 0)
            noise = 1 + 0.3 * s * rng.uniform(-1, 1)
            state = np.concatenate([[T * noise, p], raw / raw.sum()])
        elif rng.random() < WITHOUT_MINOR / (1.0 - PERTURBED):
            Y = state[2:]
            major = Y * (Y > self.streams.log_uniform(*MINOR))
            state = np.concatenate([state[:2], major / major.sum()])
        if T_RANGE[0] < state[0] < T_RANGE[1]:
            times = np.sort([self.streams.log_uniform(*RELAXATION) for _ in range(TIMES)])
            times[0] = 0.0
            yield from self._read_out(state, times)

    def _read_out(self, state: np.ndarray, times: np.ndarray) -> Iterator[Labelled]:
        """The states at `times` (ascending) [s] of one integration from `state` [T, p, Y], and
        their labels. A time before that of the last label is left out: CVODE does not go back."""
        self.streams.reactor.start(state[0], state[1], state[2:])
        reached = -1.0
        for t in times:
            if t <= reached:
                continue
            if t > 0.0:
                self.streams.reactor.advance(t)
            begin = self.streams.now()
            if not T_RANGE[0] < begin[0] < T_RANGE[1]:
                return
            dt = self.streams.log_uniform(*self.settings.dt)
            reached = t + dt
            self.streams.reactor.advance(reached)
            yield begin, self.streams.now(), dt

    def _layer(self) -> Iterator[Labelled]:
        """Most states of a mixing layer."""
        return layer_states(self.streams, self.settings)

    def _flame(self) -> Iterator[Labelled]:
        """Some states of a small premixed flame, before the reaction, as in a flow solver."""
        p = self.streams.log_uniform(*self.settings.p)
        self.streams.premixed(self.streams.temperature(FRESH_T), p)
        fresh = self.streams.now()
        self.streams.equilibrate()
        assert self.small_flames is not None  # the kind has no share without them
        for cells in self.small_flames.states(self.streams.rng, fresh, self.streams.now()):
            for i in self.streams.rng.permutation(len(cells))[:CHOSEN]:
                state, dt = cells[i], self.streams.log_uniform(*self.settings.dt)
                if T_RANGE[0] < state[0] < T_RANGE[1]:
                    self.streams.reactor.start(state[0], p, state[2:])
                    self.streams.reactor.advance(dt)
                    yield state, self.streams.now(), dt
