"""Windows: a state on an ignition, and where CVODE has it 1, 2, 4, ..., K steps of dt later.

Takes a `Mechanism` and settings; gives windows.h5, from which the loss of many steps is trained
(`combred.rollout_loss`). The ignitions have a random stream of their own: they are not those of
the states.

    T (n, m) [K]   p (n,) [Pa]   Y (n, m, n_species) [-]   trajectory (n,)
    offset (m,) [dt]: 0, 1, 2, 4, ..., K
"""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import cantera as ct
import h5py
import numpy as np
from scipy.stats import qmc

from combred.config import ChemistrySettings, SamplingSettings, WindowSettings
from combred.ignition import Case, history
from combred.mechanism import Mechanism, load_mechanism
from combred.metrics import IGNITED
from combred.reactor import IntegrationError, Reactor
from combred.states import StateFileError, require_space, state_attributes
from combred.workers import open_pool

FORMAT = 1
UNITS = {"T": "K", "p": "Pa", "Y": "1", "trajectory": "1", "offset": "dt"}


def offsets(steps: int) -> list[int]:
    """The steps at which a window of `steps` (a power of two) has states: 0, 1, 2, 4, ..., steps.
    Those of a shorter window are the first of a longer one."""
    return [0, *(1 << i for i in range(steps.bit_length()))]


@dataclass(frozen=True)
class Windows:
    """Windows in memory: `states` (n, m, 2 + n_species), [T, p, Y] at the m `offsets` of `steps`;
    `trajectories` (n,); `provenance`: what they were made with."""

    steps: int
    states: np.ndarray
    trajectories: np.ndarray
    provenance: dict


@dataclass(frozen=True)
class WindowSampler:
    """Everything a worker needs to turn a `Case` into windows of `steps` steps of `dt` [s]."""

    mechanism: Mechanism
    settings: WindowSettings
    sampling: SamplingSettings
    chemistry: ChemistrySettings
    dt: float
    steps: int

    def windows(self, case: Case, rng: np.random.Generator) -> np.ndarray:
        """The windows of a case, (settings.each, m, 2 + n_species); none where it does not ignite.

        With tau, the time of the steepest rise: half of them begin uniformly in time up to 1.05
        tau, a quarter log-uniformly from dt to `burnt_time` past ignition, a quarter uniformly in T
        on the rise. Raises IntegrationError.
        """
        s, n = self.settings, self.settings.each
        Y0 = self.mechanism.mixture(self.sampling.fuel, self.sampling.oxidizer, case.phi)
        reactor = Reactor(self.mechanism, self.chemistry.rtol, self.chemistry.atol)
        t, T = history(reactor, case, Y0, self.sampling.longest, s.burnt_time)
        if not T.max() > case.T0 + IGNITED:
            return np.empty((0, len(offsets(self.steps)), 2 + len(Y0)))
        tau = t[int(np.argmax(np.gradient(T, t)))]
        rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
        quarter = n // 4
        begin = [
            rng.uniform(0.0, 1.05 * tau, n - 2 * quarter),
            np.exp(rng.uniform(*np.log([self.dt, max(t[-1], 2 * self.dt)]), quarter)),
            np.interp(rng.uniform(rise_T[0], rise_T[-1], quarter), rise_T, t[rise_at]),
        ]
        times = np.concatenate(begin)[:, None] + self.dt * np.array(offsets(self.steps))
        return self._states(reactor, case, Y0, times)

    def _states(
        self, reactor: Reactor, case: Case, Y0: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """[T, p, Y] at times (n, m) [s] of one integration, (n, m, 2 + n_species)."""
        at, where = np.unique(times, return_inverse=True)
        states = np.empty((len(at), 2 + len(Y0)))
        reactor.start(case.T0, case.p, Y0)
        reactor.advance(1e-9)  # as in `history`
        for i, t in enumerate(at):
            T, Y = reactor.advance(max(t, 1e-9))
            Y = Y.clip(min=0.0)  # undershoots, of the order of atol
            states[i] = T, case.p, *(Y / Y.sum())
        return states[where.reshape(times.shape)]


def plan_cases(settings: WindowSettings, sampling: SamplingSettings, seed: int) -> list[Case]:
    """The ignitions of the windows: a scrambled Sobol sequence over T0, phi and ln p, in the ranges
    of the states, T0 from `coldest` on.

    Raises ValueError where that leaves no temperature.
    """
    low, high = max(sampling.T0[0], settings.coldest), sampling.T0[1]
    if low > high:
        raise ValueError(
            f"windows.coldest={settings.coldest:g} K lies above sampling.T0={sampling.T0}: give a "
            "windows.coldest inside that range"
        )
    ranges = np.array([[low, high], sampling.phi, np.log(sampling.p)])
    rng = np.random.default_rng([seed, 6])
    n = settings.trajectories
    points = qmc.Sobol(3, seed=rng).random(1 << max(n - 1, 1).bit_length())[:n]
    cases = ranges[:, 0] + points * (ranges[:, 1] - ranges[:, 0])
    return [Case(float(T), float(np.exp(log_p)), float(phi)) for T, phi, log_p in cases]


def window_provenance(
    settings: WindowSettings,
    sampling: SamplingSettings,
    chemistry: ChemistrySettings,
    dt: float,
    seed: int,
) -> dict:
    """Everything besides the mechanism and their length that windows depend on."""
    shared = {key: getattr(sampling, key) for key in ("fuel", "oxidizer", "longest")}
    ranges = {key: list(getattr(sampling, key)) for key in ("T0", "p", "phi")}
    how = {"dt": dt, "rtol": chemistry.rtol, "atol": chemistry.atol, "seed": seed}
    return {**how, "windows": {**asdict(settings), **shared, **ranges}}


# -- the stage -------------------------------------------------------------------------------------

_worker: tuple[WindowSampler, int]  # and the seed; one per process


def _start_worker(file: str, seed: int, *settings) -> None:
    global _worker
    ct.suppress_thermo_warnings()
    _worker = WindowSampler(load_mechanism(file), *settings), seed


def _work(index: int, case: Case) -> tuple[int, np.ndarray | None]:
    sampler, seed = _worker
    try:
        return index, sampler.windows(case, np.random.default_rng([seed, 7, index]))
    except IntegrationError:
        return index, None


def sample_windows(
    path: Path,
    sampler: WindowSampler,
    seed: int,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict:
    """Make windows.h5 at `path`, whole or not at all: what is interrupted starts anew (500
    ignitions of methane take a minute or two of one core).

    `on_progress` is told ignitions done and planned. Returns the numbers of the stage. Raises
    ValueError where no ignition gives a window.
    """
    w, begun = sampler, time.monotonic()
    cases = plan_cases(w.settings, w.sampling, seed)
    provenance = window_provenance(w.settings, w.sampling, w.chemistry, w.dt, seed)
    start = w.mechanism.file, seed, w.settings, w.sampling, w.chemistry, w.dt, w.steps
    found: list[np.ndarray | None] = [None] * len(cases)
    with open_pool(workers, _start_worker, *start) as pool:
        waiting = [pool.submit(_work, i, case) for i, case in enumerate(cases)]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                index, found[index] = future.result()
                on_progress(done, len(cases))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    good = [i for i, states in enumerate(found) if states is not None and len(states)]
    if not good:
        raise ValueError(
            "no ignition gave a window: choose hotter sampling.T0 or windows.coldest, or a longer "
            "sampling.longest"
        )
    trajectories = np.repeat(good, [len(found[i]) for i in good]).astype("i4")
    windows = Windows(w.steps, np.concatenate([found[i] for i in good]), trajectories, provenance)
    write_windows(path, windows, w.mechanism)
    return {
        "windows": len(trajectories),
        "steps": w.steps,
        "failed": sum(states is None for states in found),
        "unlit": sum(states is not None and not len(states) for states in found),
        "seconds": time.monotonic() - begun,
    }


def write_windows(path: Path, windows: Windows, mechanism: Mechanism) -> None:
    """Write windows, whole or not at all."""
    path, states = Path(path), windows.states
    require_space(path.parent, states.nbytes)
    attributes = state_attributes(mechanism, windows.provenance) | {"format": FORMAT}
    del attributes["samplers"]
    columns = {
        "T": states[:, :, 0],
        "p": states[:, 0, 1],
        "Y": states[:, :, 2:],
        "trajectory": windows.trajectories,
        "offset": np.array(offsets(windows.steps), "i4"),
    }
    new = path.with_suffix(".new")
    with h5py.File(new, "w") as file:
        for name, data in columns.items():
            file.create_dataset(
                name, data=data, compression="gzip", compression_opts=1, shuffle=True
            ).attrs["units"] = UNITS[name]
        file.attrs.update(attributes)
        file.attrs["steps"] = windows.steps
    os.replace(new, path)


def open_windows(path: Path, mechanism: Mechanism, dt: float) -> Windows:
    """Read windows.h5 and check that it is whole and made for this mechanism and step.

    Raises FileNotFoundError or StateFileError (a ValueError) with the mend.
    """
    path = Path(path)
    again = "Delete it and run `python -m combred.pipeline only=sample` with the same settings."
    if not path.is_file():
        raise FileNotFoundError(
            f"no windows at {path}: run `python -m combred.pipeline only=sample` with the same "
            "settings"
        )
    try:
        with h5py.File(path, "r") as file:
            attributes = dict(file.attrs)
            columns = {name: file[name][...] for name in UNITS}
            steps, made_by = int(attributes["steps"]), str(attributes["mechanism"])
    except (OSError, KeyError) as error:
        raise StateFileError(f"{path} is not a whole file of windows ({error}). {again}") from error
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds windows of {made_by}, but the mechanism asked for is {mechanism.name} "
            f"({mechanism.sha256[:12]}). " + mechanism.mend_mismatch(made_by)
        )
    if float(attributes["dt"]) != dt:
        raise StateFileError(
            f"{path} holds steps of dt = {float(attributes['dt'])} s, but dt = {dt} s is asked "
            f"for. Give dt={float(attributes['dt'])}, or another run=NAME."
        )
    T, Y = columns["T"][..., None], columns["Y"]
    p = np.broadcast_to(columns["p"][:, None, None], T.shape)
    states = np.concatenate([T, p, Y], axis=2)
    expected = len(columns["trajectory"]), len(offsets(steps)), 2 + mechanism.n_species
    if states.shape != expected or not np.isfinite(states).all():
        raise StateFileError(
            f"{path} should hold {expected} finite numbers, and holds {states.shape}. {again}"
        )
    plain = {name: attributes[name].item() for name in ("dt", "rtol", "atol", "seed")}
    provenance = {**plain, "windows": json.loads(attributes["windows"])}
    return Windows(steps, states, columns["trajectory"], provenance)
