"""A partially stirred reactor (PaSR): particles that mix in pairs, react, and are replaced.

Takes streams, a `StirredCase` and an `Advance`; gives a `StirredRun`, the means over the particles
in time. `combred.experiments.stirred.experiment` compares two runs.

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

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config.fields import require
from combred.experiments.stirred.particles import Particles, Stream
from combred.processes.threads import one_thread

FINISHED, NOT_FINITE = "finished", "not finite"


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

    def __str__(self) -> str:
        return f"{self.p / ct.one_atm:g} atm"


@dataclass(frozen=True)
class StirredRun:
    """A run: t (n,) [s]; T (n,) [K] and Y (n, n_species), means over the particles at t, the
    initial state first; particles_T (particles,) [K] and particles_Y (particles, n_species) of the
    last state. A run that became not finite is NaN from there on (`outcome`)."""

    case: StirredCase
    t: np.ndarray
    T: np.ndarray
    Y: np.ndarray
    particles_T: np.ndarray
    particles_Y: np.ndarray
    outcome: str


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
    T, Y = np.full(n, np.nan), np.full((n, mechanism.n_species), np.nan)
    T[0], Y[0] = particles.T.mean(), particles.Y.mean(0)
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
            T[i], Y[i] = particles.T.mean(), particles.Y.mean(0)
            on_progress(i, case.steps)
    t = case.dt * np.arange(n)
    return StirredRun(case, t, T, Y, particles.T, particles.Y, outcome)
