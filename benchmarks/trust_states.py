"""States around the training of a network: some as in it, many beyond it.

Takes the `SamplingSettings` that a model was trained with; gives states [T, p, Y] by kind (`draw`).
The name of a kind begins with "as trained" or with the quantity that is beyond training.
"""

from dataclasses import replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.data import SamplingSettings
from combred.native.solver import Solver
from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.sampling.plan import Trajectory
from combred.surrogates.sampling.premixed.perturbation import perturb
from combred.surrogates.sampling.premixed.states import (
    PERTURBATION,
    RELAXED_PERTURBATION,
    PremixedStates,
)

ATM = 101325.0
LARGEST, SMALLEST = 20 * ATM, 0.1 * ATM  # pressures
TRAJECTORIES = 24  # ignitions of each kind; a sixth as many flames
FLAME_PHI, FLAME_T = (0.5, 1.7), (300.0, 800.0)  # of the flames that the models have seen
MAJOR = ("H2", "O2", "H2O", "CH4", "CO", "CO2", "N2", "AR")


class States:
    """Draws the states of each kind, each kind with its own random stream."""

    def __init__(self, mechanism: Mechanism, trained: SamplingSettings, count: int, seed: int):
        self.mechanism, self.trained = mechanism, trained
        self.count, self.seed, self.solver = count, seed, Solver(mechanism, 1e-6)
        self.sampler = self.premixed(trained)
        self.gas = mechanism.solution()
        self.rng = np.random.default_rng(seed)

    def premixed(self, settings: SamplingSettings) -> PremixedStates:
        """The premixed states of some settings."""
        return PremixedStates(self.mechanism, settings, self.solver, self.seed)

    def fresh(self, name: str) -> np.random.Generator:
        """The random generator of a kind."""
        self.rng = np.random.default_rng([self.seed, *name.encode()])
        return self.rng

    # -- trajectories ----------------------------------------------------------------------------

    def ignitions(self, count: int | None = None, **ranges) -> np.ndarray:
        """States of 0D ignitions. ranges: T0, phi, p, fuel, oxidizer that differ from training. A
        range is [low, high], or a list of ranges, of which one is drawn."""
        parts, count = [], count or self.count
        settings = replace(
            self.trained,
            **{k: v for k, v in ranges.items() if k in ("fuel", "oxidizer")},
        )
        sampler = self.premixed(settings)
        while sum(map(len, parts)) < count:
            T0 = self.rng.uniform(*self.one_of(ranges.get("T0", self.trained.T0)))
            phi = self.rng.uniform(*self.one_of(ranges.get("phi", self.trained.phi)))
            p = np.exp(self.rng.uniform(*np.log(self.one_of(ranges.get("p", self.trained.p)))))
            case = Trajectory(0, "ignition", T0, p, phi, 3 * -(-count // TRAJECTORIES))
            block = sampler.ignition(case, self.rng)
            parts.append(block.state()[np.isfinite(block.T_next)])
        return np.concatenate(parts)[:count]

    def flames(self) -> np.ndarray:
        """States of 1D flames in the range of training."""
        s, parts = self.trained, []
        for T in np.linspace(*FLAME_T, TRAJECTORIES // 6):
            phi = self.rng.uniform(*FLAME_PHI)
            p = np.exp(self.rng.uniform(*np.log(s.p)))
            case = Trajectory(0, "flame", T, p, phi, 3 * -(-self.count * 6 // TRAJECTORIES))
            block = self.sampler.flame(case, self.rng)
            parts.append(block.state()[np.isfinite(block.T_next)])
        return np.concatenate(parts)[: self.count]

    def perturbed(self, base: np.ndarray, width: tuple[float, float]) -> np.ndarray:
        """States perturbed as in training, with other widths."""
        projection = ElementProjection(self.mechanism)
        around = base[:, 0], base[:, 1], base[:, 2:]
        return np.column_stack(perturb(projection, self.rng, around, self.count, width))

    def without_elements(self, base: np.ndarray, width: tuple[float, float]) -> np.ndarray:
        """States perturbed in Y alone, which keep the sum of Y but not the elements."""
        state = base[self.rng.integers(0, len(base), self.count)].copy()
        Y, inert = state[:, 2:], self.mechanism.inert
        s = np.exp(self.rng.uniform(*np.log(width), len(Y)))[:, None]
        moved = np.where(Y > 0, Y, 1.0) ** (1 + s * self.rng.uniform(-1, 1, Y.shape)) * (Y > 0)
        share = Y[:, ~inert].sum(1) / moved[:, ~inert].sum(1)
        state[:, 2:] = np.where(inert, Y, moved * share[:, None])
        return state

    def relaxed(self, base: np.ndarray) -> np.ndarray:
        """States along the relaxation from wide perturbations, as in training."""
        wide = self.perturbed(base, RELAXED_PERTURBATION)[: -(-self.count // 3)]
        block = self.sampler.relax(
            self.rng, wide[:, 0], wide[:, 1], wide[:, 2:], count=3 * len(wide)
        )
        return block.state()[np.isfinite(block.T_next)][: self.count]

    # -- mixtures and manipulations --------------------------------------------------------------

    def one_of(self, ranges: list) -> list[float]:
        """The range, or one drawn from several ranges."""
        several = isinstance(ranges[0], (list, tuple))
        return ranges[self.rng.integers(len(ranges))] if several else ranges

    def mixed(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Adiabatic mixtures of pairs of states at the same pressure, with random proportions."""
        out = one.copy()
        for i, share in enumerate(self.rng.uniform(0, 1, len(one))):
            h = 0.0
            for weight, (T, p, *Y) in ((1 - share, one[i]), (share, other[i])):
                self.gas.TPY = T, p, Y
                h += weight * self.gas.enthalpy_mass
            Y = (1 - share) * one[i, 2:] + share * other[i, 2:]
            self.gas.HPY = h, one[i, 1], Y
            out[i, 0], out[i, 2:] = self.gas.T, Y / Y.sum()
        return out

    def gases(self, phi: np.ndarray, p: np.ndarray, burnt: bool) -> np.ndarray:
        """Unburnt mixtures at the flame temperatures of training, or their burnt gas."""
        out = np.empty((len(phi), 2 + self.mechanism.n_species))
        for i in range(len(phi)):
            T = self.rng.uniform(*FLAME_T)
            Y = self.mechanism.mixture(self.trained.fuel, self.trained.oxidizer, phi[i])
            self.gas.TPY = T, p[i], Y
            if burnt:
                self.gas.equilibrate("HP")
            out[i] = [self.gas.T, p[i], *self.gas.Y.clip(0.0)]
        return out

    def pressures(self) -> np.ndarray:
        """`count` pressures [Pa] from the range of training."""
        return np.exp(self.rng.uniform(*np.log(self.trained.p), self.count))

    def phis(self) -> np.ndarray:
        """`count` equivalence ratios from the range of training."""
        return self.rng.uniform(*self.trained.phi, self.count)

    def pure(self, composition: str, p: np.ndarray) -> np.ndarray:
        """A gas of this composition at 300 to 700 K, one state for each pressure."""
        out = []
        for pressure in p:
            self.gas.TPX = self.rng.uniform(300, 700), pressure, composition
            out.append([self.gas.T, pressure, *self.gas.Y])
        return np.array(out)

    def shuffled(self, states: np.ndarray) -> np.ndarray:
        """The states in random order, with the pressures of the original order."""
        other = states[self.rng.permutation(len(states))].copy()
        other[:, 1] = states[:, 1]
        return other


def moved_T(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The states 100 to 600 K colder or hotter, with the same composition."""
    out = states.copy()
    by = rng.uniform(100, 600, len(out)) * rng.choice([-1, 1], len(out))
    out[:, 0] = np.clip(out[:, 0] + by, 300.0, 3300.0)
    return out


def cooled(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The states at 300 to 1000 K with the same composition: radicals in cold gas."""
    out = states.copy()
    out[:, 0] = rng.uniform(300, 1000, len(out))
    return out


def without_radicals(states: np.ndarray, mechanism: Mechanism) -> np.ndarray:
    """The states with major species alone."""
    out = states.copy()
    major = np.array([name in MAJOR for name in mechanism.species_names])
    out[:, 2:][:, ~major] = 0.0
    out[:, 2:] /= out[:, 2:].sum(1, keepdims=True)
    return out


def beyond(low: float, high: float, factors: tuple[float, float], ends: tuple[float, float]):
    """The ranges below `low` and above `high` by a factor between those of `factors`, limited to
    `ends`."""
    near, far = factors
    ranges = [
        [max(low / far, ends[0]), low / near],
        [high * near, min(high * far, ends[1])],
    ]
    return [r for r in ranges if r[0] < r[1]]


def draw(
    mechanism: Mechanism, trained: SamplingSettings, count: int = 600, seed: int = 0
) -> dict[str, np.ndarray]:
    """`count` states of each kind, (count, 2 + n_species) [K, Pa, -]."""
    s, found = States(mechanism, trained, count, seed), {}

    def add(name: str, make) -> None:
        s.fresh(name)
        found[name] = make()

    phi, p, T0, ends = trained.phi, trained.p, trained.T0, (SMALLEST, LARGEST)
    add("as trained: ignitions", s.ignitions)
    add("as trained: flames", s.flames)
    both = np.concatenate([found["as trained: ignitions"], found["as trained: flames"]])
    add("as trained: perturbed", lambda: s.perturbed(both, PERTURBATION))
    add("as trained: relaxed", lambda: s.relaxed(both))
    for factors in ((1.15, 1.5), (1.5, 3.0), (3.0, 20.0)):
        ranges = beyond(*p, factors, ends)
        name = "pressure: {:g} to {:g} times beyond".format(*factors)
        add(name, lambda ranges=ranges: s.ignitions(p=ranges))
    add("phi: beyond, to 0.1 and 5", lambda: s.ignitions(phi=beyond(*phi, (1.25, 10), (0.1, 5.0))))
    add("T0: 100 to 900 K hotter", lambda: s.ignitions(T0=[T0[1] + 100, T0[1] + 900]))
    add("T0: 50 to 200 K colder", lambda: s.ignitions(T0=[T0[0] - 200, T0[0] - 50]))
    for fuel in ("CH4:0.8, H2:0.2", "CH4:0.4, H2:0.6", "CO:1, H2:1", "C2H6:1"):
        add(f"fuel: {fuel}", lambda fuel=fuel: s.ignitions(fuel=fuel))
    for oxidizer in ("O2:1, N2:3.76, CO2:0.3, H2O:0.6", "O2:1, N2:2", "O2:1, AR:3.76"):
        add(f"oxidizer: {oxidizer}", lambda o=oxidizer: s.ignitions(oxidizer=o))
    add("perturbed: width 0.16 to 0.3", lambda: s.perturbed(both, [0.16, 0.3]))
    add("perturbed: width 0.3 to 0.6", lambda: s.perturbed(both, [0.3, 0.6]))
    add("perturbed: elements not kept", lambda: s.without_elements(both, PERTURBATION))
    some = both[np.random.default_rng(seed).permutation(len(both))[:count]]
    add("changed: T 100 to 600 K off", lambda: moved_T(some, s.rng))
    add("changed: cold, with radicals", lambda: cooled(some, s.rng))
    add("changed: no radicals", lambda: without_radicals(some, mechanism))

    def premixed(other_phi: bool) -> np.ndarray:
        phi, p = s.phis(), s.pressures()
        burnt = s.gases(s.phis() if other_phi else phi, p, True)
        return s.mixed(s.gases(phi, p, False), burnt)

    add("mixed: unburnt and burnt, one phi", lambda: premixed(False))
    add("mixed: unburnt and burnt, two phi", lambda: premixed(True))
    add("mixed: two states of ignitions", lambda: mixed_pairs(s, "as trained: ignitions", found))
    add("mixed: two states of flames", lambda: mixed_pairs(s, "as trained: flames", found))

    def with_burnt(composition: str) -> np.ndarray:
        p = s.pressures()
        return s.mixed(s.pure(composition, p), s.gases(s.phis(), p, True))

    add("mixed: fuel and burnt", lambda: with_burnt(trained.fuel))
    add("mixed: air and burnt", lambda: with_burnt(trained.oxidizer))
    return found


def mixed_pairs(s: States, kind: str, found: dict[str, np.ndarray]) -> np.ndarray:
    """Mixtures of two states of a kind."""
    return s.mixed(found[kind], s.shuffled(found[kind]))
