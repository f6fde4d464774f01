"""A partially stirred reactor (PaSR): particles that mix in pairs, react, and are replaced.

Takes streams, a `StirredCase` and an `Advance`; gives a `StirredRun`, the means over the particles
in time. `compare` gives the differences of two runs.

The reactor is that of Pope, Combust. Theory Model. 1 (1997) 41 (and, with other mixing, of Correa &
Braaten, Combust. Flame 94 (1993) 469): N particles of equal mass at constant pressure, in pairs. In
each step dt, N dt / (2 tau_res) pairs flow out and particles of the streams take their place;
N dt / (2 tau_pair) other pairs change partners, among each other and with the new particles; then
the particles p, q of each pair mix over dt and each particle reacts over dt,

    d phi_p / dt = -(phi_p - phi_q) / tau_mix      d phi_q / dt = -(phi_q - phi_p) / tau_mix

phi is Y and the specific enthalpy h. The random events depend on the seed alone, so that two
solvers see the same mixing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cantera as ct
import numpy as np
import torch

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.chemistry.thermo import Thermo
from combred.config.fields import require
from combred.simulation.reaction import react
from combred.threads import one_thread

NEWTON = 8  # iterations from the mean T of a mixture to its T, up to 500 K away
PILOT = 0.1  # share of the burnt gas of the inflowing mass, where none is given
FLOOR = 0.01  # of the largest value of the reference: smaller values are not compared relatively

FINISHED, NOT_FINITE = "finished", "not finite"


@dataclass(frozen=True)
class Stream:
    """An inflowing stream: T [K], Y (n_species,), share of the inflowing mass."""

    T: float
    Y: np.ndarray
    share: float


@dataclass(frozen=True)
class StirredCase:
    """A stirred reactor of an even number of particles at p [Pa].

    residence, mixing, pairing [s]: tau_res (infinity: no flow), tau_mix, tau_pair; dt [s]: step of
    mixing and reaction; steps: how many. Raises ValueError where the times do not fit together.
    """

    residence: float = 1e-2
    mixing: float = 1e-3
    pairing: float = 1e-3
    dt: float = 1e-5
    steps: int = 500
    particles: int = 50
    p: float = ct.one_atm
    seed: int = 0

    def __post_init__(self):
        require(
            self.particles >= 2 and self.particles % 2 == 0,
            f"particles={self.particles}: particles mix in pairs, give an even number",
        )
        times = {"residence": self.residence, "mixing": self.mixing, "pairing": self.pairing}
        require(
            self.dt > 0 and min(times.values()) > 0 and self.steps >= 1 and self.p > 0,
            f"dt={self.dt}, {times}, steps={self.steps} and p={self.p} must be positive",
        )
        require(
            1 / self.residence + 1 / self.pairing <= (1 + 1e-9) / self.dt,
            f"in a step of dt={self.dt} s more than all pairs would flow out or change partners "
            f"({times} s): give a smaller dt",
        )


@dataclass(frozen=True)
class StirredRun:
    """A run: t (n,) [s]; T (n,) [K], T_deviation (n,) [K] and Y (n, n_species), mean and standard
    deviation of T and mean Y over the particles at t, the initial state first; of the last state
    particles_T (particles,) [K] and particles_Y (particles, n_species). A run that became not
    finite is NaN from there on (`outcome`)."""

    case: StirredCase
    t: np.ndarray
    T: np.ndarray
    T_deviation: np.ndarray
    Y: np.ndarray
    particles_T: np.ndarray
    particles_Y: np.ndarray
    outcome: str


def piloted_streams(
    mechanism: Mechanism,
    fuel: str = "CH4:1",
    oxidizer: str = "O2:1, N2:3.76",
    T: float = 300.0,
    phi: float = 1.0,
    p: float = ct.one_atm,
    shares: tuple[float, float, float] | None = None,
) -> list[Stream]:
    """Fuel and oxidizer (compositions in moles) at T [K], and a pilot: the burnt gas of their
    mixture at `phi`. shares: of the inflowing mass, of fuel, oxidizer and pilot; by default a
    share `PILOT` of burnt gas, and fuel and oxidizer at the equivalence ratio `phi` too."""
    gas, streams = mechanism.solution(), []
    if shares is None:
        oxidizer_to_fuel = gas.stoich_air_fuel_ratio(fuel, oxidizer) / phi  # masses
        of_fuel = (1 - PILOT) / (1 + oxidizer_to_fuel)
        shares = (of_fuel, 1 - PILOT - of_fuel, PILOT)
    for composition, share in ((fuel, shares[0]), (oxidizer, shares[1])):
        gas.TPX = T, p, composition
        streams.append(Stream(T, gas.Y, share))
    gas.TPY = T, p, mechanism.mixture(fuel, oxidizer, phi)
    gas.equilibrate("HP")
    Y = gas.Y.clip(min=0.0)
    return [*streams, Stream(gas.T, Y / Y.sum(), shares[2])]


# -- random events ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Events:
    """The random events of one step: pairs (particles / 2, 2), the particles that mix with each
    other; replaced (m,): particles that are replaced; by (m,): the streams that replace them."""

    pairs: np.ndarray
    replaced: np.ndarray
    by: np.ndarray


def events(case: StirredCase, shares: list[float]) -> Iterator[Events]:
    """The events of each step, for streams with these shares of the inflow. They depend on the case
    and the shares alone."""
    rng = np.random.default_rng([case.seed, 8])
    probability = np.array(shares) / sum(shares)
    half = case.particles // 2
    pairs = rng.permutation(case.particles).reshape(half, 2)
    flow = pairing = 0.0  # pairs that are due
    for _ in range(case.steps):
        flow += half * case.dt / case.residence
        pairing += half * case.dt / case.pairing
        m = int(flow + 1e-9)
        n = min(int(pairing + 1e-9), half - m)
        flow, pairing = flow - m, min(pairing - n, float(half))
        chosen = rng.permutation(half)[: m + n]
        replaced = pairs[chosen[:m]].ravel()
        by = rng.choice(len(shares), len(replaced), p=probability)
        pairs[chosen] = rng.permutation(pairs[chosen].ravel()).reshape(-1, 2)
        yield Events(pairs.copy(), replaced, by)


# -- marching --------------------------------------------------------------------------------------


class Particles:
    """The particles: T (n,) [K], h (n,) [J/kg], Y (n, n_species); all begin as `streams`[i] for i
    in `first` (n,)."""

    def __init__(self, mechanism: Mechanism, streams: list[Stream], first: np.ndarray):
        self._thermo = Thermo(mechanism)
        T, Y = np.array([s.T for s in streams]), np.array([s.Y for s in streams])
        h = self._thermo.enthalpy(torch.from_numpy(T), torch.from_numpy(Y)).numpy()
        self._streams = T, h, Y
        self.T, self.h, self.Y = T[first], h[first], Y[first]

    def _update_T(self, guess: np.ndarray) -> None:
        h, Y, T = map(torch.from_numpy, (self.h, self.Y, guess))
        self.T = self._thermo.temperature(h, Y, T, NEWTON).numpy()

    def replace(self, which: np.ndarray, by: np.ndarray) -> None:
        """Replace the particles `which` (m,) by particles of the streams `by` (m,)."""
        T, h, Y = self._streams
        self.T[which], self.h[which], self.Y[which] = T[by], h[by], Y[by]

    def mix(self, pairs: np.ndarray, share: float) -> None:
        """Move the particles of each of `pairs` (m, 2) towards their mean: their difference is
        multiplied by 1 - share. h and Y are conserved."""
        guess = self.T.copy()
        for values in (guess, self.h, self.Y):
            one, other = values[pairs[:, 0]], values[pairs[:, 1]]
            exchange = 0.5 * share * (other - one)
            values[pairs[:, 0]], values[pairs[:, 1]] = one + exchange, other - exchange
        self._update_T(guess)

    def react(self, solver: Advance, p: float, dt: float) -> None:
        """Advance all particles by dt [s] with `solver` at p [Pa] and constant h; the solver's T is
        only the initial guess. Raises FloatingPointError where it returns values that are not
        finite."""
        guess, self.Y = react(solver, self.T, p, self.Y, dt)
        self._update_T(guess)


def stir(
    mechanism: Mechanism,
    solver: Advance,
    streams: list[Stream],
    case: StirredCase,
    first: np.ndarray | None = None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> StirredRun:
    """Run the reactor of `case` with `solver`.

    first (particles,): index of the stream whose state a particle has at t = 0; the default is the
    last stream, which for `piloted_streams` is the burnt pilot. on_progress(steps done, steps).
    """
    if first is None:
        first = np.full(case.particles, len(streams) - 1)
    require(
        len(first) == case.particles,
        f"first has {len(first)} entries for {case.particles} particles: give one for each",
    )
    particles = Particles(mechanism, streams, np.asarray(first))
    n = case.steps + 1
    T, deviation, Y = (
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full((n, mechanism.n_species), np.nan),
    )
    T[0], deviation[0], Y[0] = particles.T.mean(), particles.T.std(), particles.Y.mean(0)
    share, outcome = -np.expm1(-2 * case.dt / case.mixing), FINISHED
    with one_thread():  # a few hundred particles are too few for several threads
        for i, now in enumerate(events(case, [s.share for s in streams]), start=1):
            particles.replace(now.replaced, now.by)
            particles.mix(now.pairs, share)
            try:
                particles.react(solver, case.p, case.dt)
            except FloatingPointError:
                outcome = NOT_FINITE
                break
            T[i], deviation[i], Y[i] = particles.T.mean(), particles.T.std(), particles.Y.mean(0)
            on_progress(i, case.steps)
    t = case.dt * np.arange(n)
    return StirredRun(case, t, T, deviation, Y, particles.T, particles.Y, outcome)


# -- comparison ------------------------------------------------------------------------------------


def compare(
    mechanism: Mechanism, run: StirredRun, reference: StirredRun, species: tuple[str, ...] = ("CO",)
) -> dict[str, dict[str, float]]:
    """The differences of the mean T and of the mean mass fractions of `species` in time: for each
    ("T", "CO") the largest and the mean relative difference, and the time [s] of the largest.

    Relative to the value of `reference` at the same time, or to `FLOOR` of its largest value where
    that is more. A run that became not finite has infinite differences. Raises ValueError where the
    runs are not of the same case.
    """
    require(run.case == reference.case, f"{run.case} and {reference.case} cannot be compared")
    found = {}
    for name in ("T", *species):
        column = None if name == "T" else mechanism.index(name)
        value, true = (r.T if column is None else r.Y[:, column] for r in (run, reference))
        off = np.abs(value - true) / np.maximum(true, FLOOR * np.nanmax(true))
        off = np.where(np.isfinite(off), off, np.inf)
        found[name] = {
            "largest": float(off.max()),
            "mean": float(off.mean()),
            "at": float(reference.t[off.argmax()]),
        }
    return found
