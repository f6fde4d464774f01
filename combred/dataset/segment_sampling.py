"""Trajectory segments of ignitions and flames, integrated by CVODE in several processes.

Takes a `Mechanism`, settings, and states of flames; gives segments.h5 (`combred.dataset.segments`).
The ignitions lie in the ranges of those of the state file, but are others: they have their own
random stream. The flame states are those of the state file.
"""

import time
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config import ChemistrySettings, SamplingSettings, SegmentSettings
from combred.dataset.sampling import LONGEST
from combred.dataset.segments import Segments, offsets, write_segments
from combred.dataset.states import FLAME, StateTable
from combred.simulation.ignition import Case, history
from combred.simulation.metrics import IGNITED
from combred.workers import open_pool

AT_ONCE = 250  # flame states per task
FLAMES = 40_000  # segments that begin at unperturbed flame states, if there are as many


@dataclass(frozen=True)
class SegmentSampler:
    """Integrates trajectory segments; has all settings that they depend on.

    settings: of the segments; sampling: of the state file: the ignitions have its mixture and
    ranges, and the segments its range of dt, log-uniform; chemistry: CVODE's tolerances; each:
    segments of an ignition; T0_min [K]: lowest initial temperature of the ignitions, if the range
    reaches that far; burnt_time [s]: time after ignition up to which segments begin; longest [s]:
    time after which an ignition is given up.
    """

    mechanism: Mechanism
    settings: SegmentSettings
    sampling: SamplingSettings
    chemistry: ChemistrySettings
    seed: int
    each: int = 120
    T0_min: float = 1250.0
    burnt_time: float = 4e-4
    longest: float = LONGEST

    @property
    def provenance(self) -> dict:
        """The settings that the segments depend on, but for the mechanism."""
        chemistry = {"rtol": self.chemistry.rtol, "atol": self.chemistry.atol}
        segments = {**asdict(self.settings), "sampling": asdict(self.sampling)}
        return {**chemistry, "seed": self.seed, "segments": segments}

    def steps(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The time steps of n segments (n,) [s]."""
        low, high = self.sampling.dt
        return low * (high / low) ** rng.random(n) if high > low else np.full(n, low)

    def segments(self, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The segments of an ignition, (each, m, 2 + n_species), and their time steps (each,) [s];
        none where the case does not ignite.

        With tau, the time of the steepest rise of T: half of them begin at times uniform up to 1.05
        tau, a quarter at times log-uniform from the least dt to `burnt_time` after ignition, a
        quarter at temperatures uniform between initial and highest T. Raises IntegrationError.
        """
        n = self.each
        Y0 = self.mechanism.mixture(self.sampling.fuel, self.sampling.oxidizer, case.phi)
        reactor = Reactor(self.mechanism, self.chemistry.rtol, self.chemistry.atol)
        t, T = history(reactor, case, Y0, self.longest, self.burnt_time)
        if not T.max() > case.T0 + IGNITED:
            return np.empty((0, len(offsets(self.settings.steps)), 2 + len(Y0))), np.empty(0)
        tau = t[int(np.argmax(np.gradient(T, t)))]
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        quarter = n // 4
        least = self.sampling.dt[0]
        low, high = np.log([least, max(t[-1], 2 * least)])
        begin = [
            rng.uniform(0.0, 1.05 * tau, n - 2 * quarter),
            np.exp(rng.uniform(low, high, quarter)),
            np.interp(rng.uniform(rise_T[0], rise_T[-1], quarter), rise_T, t[rise_at]),
        ]
        dt = self.steps(rng, n)
        times = np.concatenate(begin)[:, None] + np.outer(dt, offsets(self.settings.steps))
        return self._states(reactor, case, Y0, times), dt

    def after(self, states: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The segments (n, m, 2 + n_species) that begin 1 ns after the states [T, p, Y]
        (n, 2 + n_species), NaN where CVODE fails, and their time steps (n,) [s]; 1 ns is the first
        interval of `history`."""
        reactor = Reactor(self.mechanism, self.chemistry.rtol, self.chemistry.atol)
        dt = self.steps(rng, len(states))
        times = 1e-9 + np.outer(dt, offsets(self.settings.steps))
        found = np.full((len(states), times.shape[1], states.shape[1]), np.nan)
        for i, (T, p, *Y) in enumerate(states):
            try:
                found[i] = self._states(reactor, Case(T, p, np.nan), np.array(Y), times[i])
            except IntegrationError:
                pass
        return found, dt

    def _states(
        self, reactor: Reactor, case: Case, Y0: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """[T, p, Y], (..., 2 + n_species), at the times (...) [s] of one integration of a case;
        undershoots of Y are set to zero. Raises IntegrationError."""
        at, where = np.unique(times, return_inverse=True)
        states = np.empty((len(at), 2 + len(Y0)))
        reactor.start(case.T0, case.p, Y0)
        reactor.advance(1e-9)  # as in `history`
        for i, t in enumerate(at):
            T, Y = reactor.advance(max(t, 1e-9))
            Y = Y.clip(min=0.0)  # CVODE's undershoots are of the order of atol
            states[i] = T, case.p, *(Y / Y.sum())
        return states[where.reshape(times.shape)]


@dataclass(frozen=True)
class FlameStates:
    """Initial states of the trajectory segments taken from flames: states (n, 2 + n_species),
    [T, p, Y]; sources (n,): index of each flame in the state file."""

    states: np.ndarray
    sources: np.ndarray

    @classmethod
    def drawn(
        cls, table: StateTable, held_out: np.ndarray, seed: int, count: int = FLAMES
    ) -> "FlameStates":
        """`count` exact flame states (or all of them) of a state file, drawn at random from the
        rows that are not `held_out` (n,)."""
        which = (table.samplers == FLAME) & ~held_out, count, seed
        return cls(table.draw(*which).state(), table.sources[table.drawn(*which)])


def plan_cases(sampler: SegmentSampler) -> list[Case]:
    """The ignitions that segments are taken from: a scrambled Sobol sequence over T0, phi and ln p
    in the ranges of the state file; T0 from `T0_min` on, if the range reaches that far."""
    from scipy.stats import qmc  # not above: it takes a second, and worker processes do not need it

    sampling, (low, high) = sampler.sampling, sampler.sampling.T0
    low = max(low, sampler.T0_min) if high >= sampler.T0_min else low
    ranges = np.array([[low, high], sampling.phi, np.log(sampling.p)])
    rng = np.random.default_rng([sampler.seed, 6])
    n = sampler.settings.ignitions
    points = qmc.Sobol(3, seed=rng).random(1 << max(n - 1, 1).bit_length())[:n]
    cases = ranges[:, 0] + points * (ranges[:, 1] - ranges[:, 0])
    return [Case(float(T), float(np.exp(log_p)), float(phi)) for T, phi, log_p in cases]


# -- the stage -------------------------------------------------------------------------------------

_worker: SegmentSampler  # one per process
Found = tuple[np.ndarray, np.ndarray]  # segments and their time steps


def _start_worker(file: str, *settings) -> None:
    global _worker
    ct.suppress_thermo_warnings()
    _worker = SegmentSampler(load_mechanism(file), *settings)


def _work(index: int, begin: Case | np.ndarray) -> tuple[int, Found | None]:
    """The segments of task `index`, an ignition or a batch of flame states, and their time steps;
    None where an ignition cannot be integrated."""
    rng = np.random.default_rng([_worker.seed, 7, index])
    if not isinstance(begin, Case):
        return index, _worker.after(begin, rng)
    try:
        return index, _worker.segments(begin, rng)
    except IntegrationError:
        return index, None


def sample_segments(
    path: Path,
    sampler: SegmentSampler,
    flames: FlameStates,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Write segments.h5 to `path`, from the ignitions of `plan_cases` and from `flames`.

    on_progress(tasks done, tasks): a task is an ignition, or a batch of flame states. An
    interrupted run leaves no file and starts again (500 ignitions of methane and 40,000 flame
    states take some two minutes of one core). Returns the numbers of segments, of segments of
    flames, of steps, of ignitions that failed or did not ignite, and the seconds. Raises ValueError
    where no ignition gives a segment.
    """
    w, begun = sampler, time.monotonic()
    cases = plan_cases(w)
    batches = np.split(flames.states, range(AT_ONCE, len(flames.states), AT_ONCE))
    begins: list[Case | np.ndarray] = [*cases, *(batch for batch in batches if len(batch))]
    found = _integrate(w, begins, workers, on_progress)
    of_flames = [part for part in found[len(cases) :] if part is not None]  # all of them
    found = found[: len(cases)]
    good = {i: states for i, states in enumerate(found) if states is not None and len(states[0])}
    if not good:
        raise ValueError(
            f"none of the {len(cases)} ignitions gave a segment: CVODE failed, or they do not "
            f"ignite within {w.longest} s. Choose hotter sampling.T0"
        )
    trajectories = np.repeat(list(good), [len(states) for states, _ in good.values()])
    states = np.concatenate([states for states, _ in [*good.values(), *of_flames]])
    dt = np.concatenate([dt for _, dt in [*good.values(), *of_flames]])
    trajectories = np.concatenate([trajectories, len(cases) + flames.sources]).astype("i4")
    finite = np.isfinite(states).all(axis=(1, 2))
    segments = Segments(
        w.settings.steps, states[finite], dt[finite], trajectories[finite], w.provenance
    )
    write_segments(path, segments, w.mechanism)
    return {
        "segments": len(segments.states),
        "flames": int(finite[len(states) - len(flames.states) :].sum()),
        "steps": w.settings.steps,
        "failed": sum(states is None for states in found),
        "not_ignited": sum(states is not None and not len(states[0]) for states in found),
        "seconds": time.monotonic() - begun,
    }


def _integrate(
    sampler: SegmentSampler,
    begins: list[Case | np.ndarray],
    workers: int,
    on_progress: Callable[[int, int], None],
) -> list[Found | None]:
    """The segments of each task of `begins`, in order (`_work`), from `workers` processes."""
    w = sampler
    settings = [getattr(w, field.name) for field in fields(w) if field.name != "mechanism"]
    found: list[Found | None] = [None] * len(begins)
    with open_pool(workers, _start_worker, w.mechanism.file, *settings) as pool:
        waiting = [pool.submit(_work, i, begin) for i, begin in enumerate(begins)]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                index, found[index] = future.result()
                on_progress(done, len(begins))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found
