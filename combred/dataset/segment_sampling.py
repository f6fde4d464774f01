"""Segments of ignitions and flames, integrated by CVODE in several processes.

Takes a `Mechanism`, settings and states of flames; gives segments.h5 (`combred.dataset.segments`). The
ignitions lie in the ranges of the states' but are not theirs: they have a random stream of their
own. A flame's states are those of the state file, as its diffusion leaves them to chemistry.
"""

import time
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import cantera as ct
import numpy as np
from scipy.stats import qmc

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config import ChemistrySettings, SamplingSettings, SegmentSettings
from combred.dataset.sampling import LONGEST
from combred.dataset.segments import Segments, offsets, write_segments
from combred.dataset.states import FLAME, StateTable
from combred.simulation.ignition import Case, history
from combred.simulation.metrics import IGNITED
from combred.workers import open_pool

AT_ONCE = 250  # flame states of a task
EACH = 120  # segments of an ignition
T0_MIN = 1250.0  # K, initial temperature of the ignitions, at least
BURNT_TIME = 4e-4  # s past ignition, up to which segments begin
FLAMES = 40_000  # segments that begin at unperturbed flame states, if there are as many


@dataclass(frozen=True)
class SegmentSampler:
    """All that the trajectory segments depend on; `dt` [s] is the time step."""

    mechanism: Mechanism
    settings: SegmentSettings
    sampling: SamplingSettings
    chemistry: ChemistrySettings
    dt: float
    seed: int

    @property
    def provenance(self) -> dict:
        """All of it but the mechanism."""
        chemistry = {"rtol": self.chemistry.rtol, "atol": self.chemistry.atol}
        segments = {**asdict(self.settings), "sampling": asdict(self.sampling)}
        return {"dt": self.dt, **chemistry, "seed": self.seed, "segments": segments}

    def segments(self, case: Case, rng: np.random.Generator) -> np.ndarray:
        """The segments of a case, (EACH, m, 2 + n_species); none where it does not ignite.

        With tau, the time of the steepest rise: half of them begin uniformly in time up to 1.05
        tau, a quarter log-uniformly from dt to `BURNT_TIME` past ignition, a quarter uniformly in T
        on the rise. Raises IntegrationError.
        """
        n = EACH
        Y0 = self.mechanism.mixture(self.sampling.fuel, self.sampling.oxidizer, case.phi)
        reactor = Reactor(self.mechanism, self.chemistry.rtol, self.chemistry.atol)
        t, T = history(reactor, case, Y0, LONGEST, BURNT_TIME)
        if not T.max() > case.T0 + IGNITED:
            return np.empty((0, len(offsets(self.settings.steps)), 2 + len(Y0)))
        tau = t[int(np.argmax(np.gradient(T, t)))]
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        quarter = n // 4
        begin = [
            rng.uniform(0.0, 1.05 * tau, n - 2 * quarter),
            np.exp(rng.uniform(*np.log([self.dt, max(t[-1], 2 * self.dt)]), quarter)),
            np.interp(rng.uniform(rise_T[0], rise_T[-1], quarter), rise_T, t[rise_at]),
        ]
        times = np.concatenate(begin)[:, None] + self.dt * np.array(offsets(self.settings.steps))
        return self._states(reactor, case, Y0, times)

    def after(self, states: np.ndarray) -> np.ndarray:
        """The segments that begin 1 ns after `states` (n, 2 + n_species), as `history` does:
        (n, m, 2 + n_species), NaN where CVODE fails."""
        reactor = Reactor(self.mechanism, self.chemistry.rtol, self.chemistry.atol)
        times = 1e-9 + self.dt * np.array(offsets(self.settings.steps))
        found = np.full((len(states), len(times), states.shape[1]), np.nan)
        for segment, (T, p, *Y) in zip(found, states, strict=True):
            try:
                segment[:] = self._states(reactor, Case(T, p, np.nan), np.array(Y), times)
            except IntegrationError:
                pass
        return found

    def _states(
        self, reactor: Reactor, case: Case, Y0: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """[T, p, Y] at times (...) [s] of one integration, (..., 2 + n_species)."""
        at, where = np.unique(times, return_inverse=True)
        states = np.empty((len(at), 2 + len(Y0)))
        reactor.start(case.T0, case.p, Y0)
        reactor.advance(1e-9)  # as in `history`
        for i, t in enumerate(at):
            T, Y = reactor.advance(max(t, 1e-9))
            Y = Y.clip(min=0.0)  # undershoots, of the order of atol
            states[i] = T, case.p, *(Y / Y.sum())
        return states[where.reshape(times.shape)]


@dataclass(frozen=True)
class FlameStates:
    """Where segments begin that are not of ignitions: `states` (n, 2 + n_species), and the `sources`
    (n,) of their flames."""

    states: np.ndarray
    sources: np.ndarray

    @classmethod
    def drawn(cls, table: StateTable, held_out: np.ndarray, seed: int) -> "FlameStates":
        """`count` unperturbed states (or all there are) of a state file's flames, but for the rows
        that are held out."""
        which = (table.samplers == FLAME) & ~held_out, FLAMES, seed
        return cls(table.draw(*which), table.sources[table.drawn(*which)])


def plan_cases(settings: SegmentSettings, sampling: SamplingSettings, seed: int) -> list[Case]:
    """The ignitions of the segments: a scrambled Sobol sequence over T0, phi and ln p, in the ranges
    of the states; T0 from `T0_MIN` on, if the range reaches that far."""
    low, high = sampling.T0
    low = max(low, T0_MIN) if high >= T0_MIN else low
    ranges = np.array([[low, high], sampling.phi, np.log(sampling.p)])
    rng = np.random.default_rng([seed, 6])
    n = settings.ignitions
    points = qmc.Sobol(3, seed=rng).random(1 << max(n - 1, 1).bit_length())[:n]
    cases = ranges[:, 0] + points * (ranges[:, 1] - ranges[:, 0])
    return [Case(float(T), float(np.exp(log_p)), float(phi)) for T, phi, log_p in cases]


# -- the stage -------------------------------------------------------------------------------------

_worker: SegmentSampler  # one per process


def _start_worker(file: str, *settings) -> None:
    global _worker
    ct.suppress_thermo_warnings()
    _worker = SegmentSampler(load_mechanism(file), *settings)


def _work(index: int, begin: Case | np.ndarray) -> tuple[int, np.ndarray | None]:
    if not isinstance(begin, Case):
        return index, _worker.after(begin)
    try:
        return index, _worker.segments(begin, np.random.default_rng([_worker.seed, 7, index]))
    except IntegrationError:
        return index, None


def sample_segments(
    path: Path,
    sampler: SegmentSampler,
    flames: FlameStates,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Make segments.h5 at `path`, whole or not at all: what is interrupted starts anew (500
    ignitions of methane and 40,000 states of flames take some two minutes of one core).

    `on_progress` is told tasks done and planned, which are ignitions and batches of flame states.
    Returns the numbers of the stage. Raises ValueError where no ignition gives a segment.
    """
    w, begun = sampler, time.monotonic()
    cases = plan_cases(w.settings, w.sampling, w.seed)
    batches = np.split(flames.states, range(AT_ONCE, len(flames.states), AT_ONCE))
    begins = [*cases, *(batch for batch in batches if len(batch))]
    how = w.settings, w.sampling, w.chemistry, w.dt, w.seed
    found: list[np.ndarray | None] = [None] * len(begins)
    with open_pool(workers, _start_worker, w.mechanism.file, *how) as pool:
        waiting = [pool.submit(_work, i, begin) for i, begin in enumerate(begins)]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                index, found[index] = future.result()
                on_progress(done, len(begins))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    of_flames, found = found[len(cases) :], found[: len(cases)]
    good = [i for i, states in enumerate(found) if states is not None and len(states)]
    if not good:
        raise ValueError(
            "no ignition gave a segment: choose hotter sampling.T0, or sampling.phi nearer to 1"
        )
    trajectories = np.repeat(good, [len(found[i]) for i in good])
    states = np.concatenate([*(found[i] for i in good), *of_flames])
    trajectories = np.concatenate([trajectories, len(cases) + flames.sources]).astype("i4")
    whole = np.isfinite(states).all(axis=(1, 2))
    segments = Segments(w.settings.steps, states[whole], trajectories[whole], w.provenance)
    write_segments(path, segments, w.mechanism)
    return {
        "segments": len(segments.states),
        "flames": int(whole[len(states) - len(flames.states) :].sum()),
        "steps": w.settings.steps,
        "failed": sum(states is None for states in found),
        "not_ignited": sum(states is not None and not len(states) for states in found),
        "seconds": time.monotonic() - begun,
    }
