"""States of a flow: mixtures of fresh gas, burnt gas, air and fuel at any pressure, each with its
own time step.

Takes a `Mechanism` and `SamplingSettings`; gives blocks of labelled rows for `sampling`. There are
four kinds of states:

- ignition: states of a 0D ignition, of a premixed gas or of a mixture of it with another stream,
  uniform over CVODE's own steps, which are dense where the gas reacts fast;
- mixture: two or three streams mixed in mass and enthalpy, many of them perturbed, as they are and
  after a random time of reaction;
- layer: a line of particles between two streams, which mix with their neighbours and react.
  Mixing and reaction balance there, as transport and reaction do in a flame;
- flame: cells of a small premixed flame (`combred.dataset.small_flames`), of mechanisms with
  transport data.

Every row has its own dt, log-uniform. Its label comes from the integration that the row belongs to,
which goes on without a restart: CVODE keeps its step size and order.
"""

import warnings
from collections.abc import Callable, Iterator

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset.small_flames import SmallFlames, has_transport

ROWS = 256  # of a block, the unit of work, of resuming, and of holding out
# Share of the rows of each kind; without transport data, the last is shared by the others.
SHARES = {"ignition": 0.3, "mixture": 0.4, "layer": 0.15, "flame": 0.15}
KINDS = tuple(SHARES)
# Probability of each kind of stream.
STREAMS = {"fresh": 0.2, "burnt": 0.25, "air": 0.15, "fuel": 0.1, "aged": 0.3}
FRESH_T, AIR_T = (280.0, 1000.0), (280.0, 1600.0)  # K, ranges of premixed gas and fuel, and of air
COLD, COLDEST = 0.5, 50.0  # share of streams near the colder end of their range; by so many K
T_RANGE = 270.0, 3400.0  # K; states outside are not kept
DILUTED, DILUTION = 0.3, 0.6  # share of ignitions of a mixture; largest mass share of its stream
DIRICHLET = 0.7  # concentration of the weights of a mixture: most are near one stream
PERTURBED, WIDTH = 0.6, (1e-3, 0.16)  # share of mixtures perturbed; range of the width, log-uniform
AGED = 0.3  # share of states that become a stream of later mixtures of the same block
STATES = 16  # of an ignition
FIRST_STEP = 5  # of CVODE, at which a state may lie: the steps before it start the integration
LONGEST, MOST_STEPS = 0.5, 700  # s and steps of CVODE, by which an ignition ends
RELAXATION = 1e-8, 1e-3  # s, range of the reaction time of a mixture, log-uniform
TIMES = 5  # states of a mixture's integration, the first at t = 0
PARTICLES, LAYER_STEPS = 8, 12  # of a mixing layer
KEPT = 0.45  # share of its states that become rows: those of one line resemble each other
BURNT = 0.8  # probability that a particle begins at equilibrium
MIXING = 1e-6, 1e-3  # s, range of its mixing time, log-uniform
RESIDENCE = 3.0, 300.0  # its residence time over its mixing time, log-uniform
STEP = 0.05, 0.5  # its step over its mixing time, log-uniform
CHOSEN = 2  # states of each step of a small flame
DRAWS = 400  # trajectories of a block at most; each has at most 5, 16 or 64 rows

Labelled = tuple[np.ndarray, np.ndarray, float]  # state [T, p, Y], its label [T, p, Y], dt [s]
Row = tuple[np.ndarray, np.ndarray, float, int]  # the same, and the index of its kind in `KINDS`


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
        self.shares = dict(SHARES)
        if has_transport(mechanism):
            self.small_flames = SmallFlames(mechanism)
        else:
            del self.shares["flame"]

    def block(self, index: int) -> list[Row]:
        """The rows of block number `index`, `ROWS` of them. Raises IntegrationError where so many
        trajectories fail that the block is not filled."""
        self.rng = np.random.default_rng([self.seed, 6, index])
        # A new reactor: the last bit of p depends on the state that Cantera had before, and the
        # steps of CVODE, from which states are drawn, depend on that bit.
        self.reactor = Reactor(self.mechanism, *self.tolerances)
        self.aged: list[np.ndarray] = []
        rows: list[Row] = []
        failure = ""
        kinds: dict[str, Callable[[], Iterator[Labelled]]] = {
            "ignition": self._ignition, "mixture": self._mixture, "layer": self._layer,
            "flame": self._flame,
        }  # fmt: skip
        counts = dict.fromkeys(self.shares, 0)
        for _ in range(DRAWS):
            kind = min(counts, key=lambda k: counts[k] / self.shares[k])
            try:
                for state, later, dt in kinds[kind]():
                    rows.append((state, later, dt, KINDS.index(kind)))
                    counts[kind] += 1
                    if self.rng.random() < AGED:
                        self.aged.append(state)
            # Of CVODE, of a stream, of diffusion.
            except (IntegrationError, ct.CanteraError, FloatingPointError) as error:
                failure = str(error).strip()
                self.reactor = Reactor(self.mechanism, *self.tolerances)
                counts[kind] += 1  # so that a kind that always fails gives way to others
            if len(rows) >= ROWS:
                return rows[:ROWS]
        raise IntegrationError(
            f"{DRAWS} trajectories gave {len(rows)} of {ROWS} rows; last failure: {failure or None}"
        )

    # -- streams ---------------------------------------------------------------------------------

    def _log_uniform(self, low: float, high: float) -> float:
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def _premixed(self, T: float, p: float) -> np.ndarray:
        """Mass fractions of fuel and oxidizer at a random equivalence ratio; the gas is set."""
        gas, s = self.reactor.gas, self.settings
        gas.TP = T, p
        gas.set_equivalence_ratio(self._log_uniform(*s.phi), s.fuel, s.oxidizer)
        return gas.Y

    def _stream(self, p: float) -> tuple[float, np.ndarray]:
        """Specific enthalpy [J/kg] and mass fractions (n_species,) of a random stream at p [Pa]."""
        gas, rng = self.reactor.gas, self.rng
        kind = rng.choice(list(STREAMS), p=list(STREAMS.values()))
        if kind == "aged" and self.aged:
            state = self.aged[rng.integers(len(self.aged))]
            gas.TPY = state[0], p, state[2:]
        elif kind == "air":
            gas.TPX = self._stream_T(AIR_T), p, self.settings.oxidizer
        elif kind == "fuel":
            gas.TPX = self._stream_T(FRESH_T), p, self.settings.fuel
        else:  # fresh, burnt, or aged while there is no aged state
            self._premixed(self._stream_T(FRESH_T), p)
            if kind == "burnt":
                self._equilibrate()
        return gas.h, gas.Y

    def _equilibrate(self) -> None:
        """The gas at equilibrium, with its enthalpy and pressure. Cantera warns of cold air, which
        it can do: below 300 K the polynomials are extrapolated."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="ChemEquil")
            self.reactor.gas.equilibrate("HP", rtol=1e-7)

    def _stream_T(self, limits: tuple[float, float]) -> float:
        """A temperature [K] between the limits: many streams of a flow are not preheated."""
        low, high = limits
        return self.rng.uniform(low, low + COLDEST if self.rng.random() < COLD else high)

    def _mixed(
        self, streams: list[tuple[float, np.ndarray]], weights: np.ndarray, p: float
    ) -> np.ndarray:
        """The state [T, p, Y] of streams mixed with the mass fractions `weights`; the gas is set.
        Raises ct.CanteraError where no temperature has the enthalpy of the mixture."""
        gas = self.reactor.gas
        gas.HPY = (
            sum(w * h for w, (h, _) in zip(weights, streams, strict=True)),
            p,
            sum(w * Y for w, (_, Y) in zip(weights, streams, strict=True)),
        )
        return self._now()

    def _now(self) -> np.ndarray:
        """The state [T, p, Y] of the gas; undershoots of Y, of the order of atol, set to zero."""
        gas = self.reactor.gas
        return np.concatenate([[gas.T, gas.P], np.maximum(gas.Y, 0.0)])

    # -- trajectories ----------------------------------------------------------------------------

    def _ignition(self) -> Iterator[Labelled]:
        """States of an ignition at times drawn uniformly from CVODE's own steps."""
        rng, p = self.rng, self._log_uniform(*self.settings.p)
        coldest, hottest = self.settings.T0
        Y = self._premixed(rng.uniform(coldest, hottest), p)
        if rng.random() < DILUTED:
            share, h = rng.uniform(0.0, DILUTION), self.reactor.gas.h
            state = self._mixed([(h, Y), self._stream(p)], np.array([1 - share, share]), p)
        else:
            state = self._now()
        self.reactor.start(state[0], state[1], state[2:])
        t = [0.0]
        while len(t) < MOST_STEPS and t[-1] < LONGEST:
            t.append(self.reactor.step()[0])
        chosen = np.sort(rng.integers(FIRST_STEP, len(t) - 1, STATES))
        times = np.array(t)[chosen] * (1.0 - 0.02 * rng.random(STATES))  # distinct
        yield from self._read_out(state, times)

    def _mixture(self) -> Iterator[Labelled]:
        """States at t = 0 and later of two or three streams mixed, most of them perturbed:
        Y^(1 + s u) and T (1 + 0.3 s u), with the width s and u uniform in [-1, 1]."""
        rng, p = self.rng, self._log_uniform(*self.settings.p)
        weights = rng.dirichlet(np.full(rng.integers(2, 4), DIRICHLET))
        state = self._mixed([self._stream(p) for _ in weights], weights, p)
        if rng.random() < PERTURBED:
            s = self._log_uniform(*WIDTH)
            T, Y = state[0], state[2:]
            raw = np.where(Y > 0, Y, 1.0) ** (1 + s * rng.uniform(-1, 1, Y.size)) * (Y > 0)
            noise = 1 + 0.3 * s * rng.uniform(-1, 1)
            state = np.concatenate([[T * noise, p], raw / raw.sum()])
        if T_RANGE[0] < state[0] < T_RANGE[1]:
            times = np.sort([self._log_uniform(*RELAXATION) for _ in range(TIMES)])
            times[0] = 0.0
            yield from self._read_out(state, times)

    def _read_out(self, state: np.ndarray, times: np.ndarray) -> Iterator[Labelled]:
        """The states at `times` (ascending) [s] of one integration from `state` [T, p, Y], and
        their labels. A time before that of the last label is left out: CVODE does not go back."""
        self.reactor.start(state[0], state[1], state[2:])
        reached = -1.0
        for t in times:
            if t <= reached:
                continue
            if t > 0.0:
                self.reactor.advance(t)
            begin = self._now()
            if not T_RANGE[0] < begin[0] < T_RANGE[1]:
                return
            dt = self._log_uniform(*self.settings.dt)
            reached = t + dt
            self.reactor.advance(reached)
            yield begin, self._now(), dt

    def _layer(self) -> Iterator[Labelled]:
        """Most states of a line of particles of equal mass between two streams. In every step, each
        approaches the mean of its neighbours, and reacts. Some are replaced by a stream,
        at the rate of the residence time."""
        rng, p = self.rng, self._log_uniform(*self.settings.p)
        mixing = self._log_uniform(*MIXING)
        residence = mixing * self._log_uniform(*RESIDENCE)
        inflow = [self._stream(p) for _ in range(2)]
        particles = self._line(inflow, p)
        for k in range(LAYER_STEPS):
            step, before = mixing * self._log_uniform(*STEP), list(particles)
            share = 1.0 - np.exp(-step / mixing)
            for i, (h, Y) in enumerate(before):
                h_left, Y_left = before[max(i - 1, 0)]
                h_right, Y_right = before[min(i + 1, PARTICLES - 1)]
                mean = (h_left + h_right) / 2, (Y_left + Y_right) / 2
                if rng.random() < step / residence:
                    h, Y = inflow[rng.integers(2)]
                state = self._mixed([(h, Y), mean], np.array([1 - share, share]), p)
                if not T_RANGE[0] < state[0] < T_RANGE[1]:
                    return
                h, dt = self.reactor.gas.h, self._log_uniform(*self.settings.dt)
                keep = k > 0 and rng.random() < KEPT
                self.reactor.start(state[0], state[1], state[2:])
                if keep and dt <= step:
                    self.reactor.advance(dt)
                    yield state, self._now(), dt
                self.reactor.advance(step)
                particles[i] = h, self.reactor.gas.Y
                if keep and dt > step:
                    self.reactor.advance(dt)
                    yield state, self._now(), dt

    def _flame(self) -> Iterator[Labelled]:
        """Some states of a small premixed flame, before the reaction, as in a flow solver."""
        p = self._log_uniform(*self.settings.p)
        self._premixed(self._stream_T(FRESH_T), p)
        fresh = self._now()
        self._equilibrate()
        for cells in self.small_flames.states(self.rng, fresh, self._now()):
            for i in self.rng.permutation(len(cells))[:CHOSEN]:
                state, dt = cells[i], self._log_uniform(*self.settings.dt)
                if T_RANGE[0] < state[0] < T_RANGE[1]:
                    self.reactor.start(state[0], p, state[2:])
                    self.reactor.advance(dt)
                    yield state, self._now(), dt

    def _line(
        self, inflow: list[tuple[float, np.ndarray]], p: float
    ) -> list[tuple[float, np.ndarray]]:
        """Specific enthalpy [J/kg] and mass fractions of the particles at the beginning: mixtures
        of both streams, from one to the other or in random order, some of them at equilibrium: all
        on one side of a random place, or each with the probability `BURNT`."""
        rng = self.rng
        weights = rng.dirichlet(np.full(2, DIRICHLET), PARTICLES)
        if rng.random() < 0.6:
            weights = weights[np.argsort(weights[:, 0])]
        burnt = rng.random(PARTICLES) < BURNT
        if rng.random() < 0.5:
            burnt = np.arange(PARTICLES) >= rng.integers(PARTICLES)
        particles = []
        for at_equilibrium, pair in zip(burnt, weights, strict=True):
            self._mixed(inflow, pair, p)
            if at_equilibrium:
                self._equilibrate()
            particles.append((self.reactor.gas.h, self.reactor.gas.Y))
        return particles
