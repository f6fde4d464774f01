"""A library that combred has compiled, of a surrogate or of a solver: source/combred.h in Python.

Takes the path of a library; gives its functions, on arrays of states.
"""

import ctypes
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from combred.chemistry.states import require_columns, require_tolerance, steps_of
from combred.native.damage import defines, require_whole

log = logging.getLogger(__name__)
INTERFACE = 6  # COMBRED_INTERFACE of source/combred.h
_LOADED: dict[str, int] = {}  # CRC-32 of the libraries that this process has loaded, by path
# A call of many rows is made in blocks, between which Python answers Ctrl-C. A block takes these
# seconds, and has at most MOST_ROWS, as later rows may be harder. Small blocks would be slower:
# lanes wait at the end of each.
SECONDS, FIRST_ROWS, MOST_ROWS = 0.5, 32, 8192
# COMBRED_DT, COMBRED_OPTIONS, COMBRED_NOT_ADVANCED
DT_STATUS, OPTIONS_STATUS, NOT_ADVANCED = 3, 4, 6


def load_built(build: Callable[[], Path]) -> "Library":
    """The library whose path `build` gives; one that cannot be loaded is built again."""
    path = build()
    try:
        return Library(path)
    except ValueError as error:
        log.warning("%s. It is compiled again.", error)
        path.unlink(missing_ok=True)
        return Library(build())


def _blocks(error: np.ndarray) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each block; the error of rows that are not done is NaN."""
    first, size, n = 0, FIRST_ROWS, len(error)
    error.fill(np.nan)
    while first + size < n:
        begun = time.perf_counter()
        yield first, size
        first += size
        factor = min(8.0, SECONDS / (time.perf_counter() - begun))
        size = min(max(int(size * factor), FIRST_ROWS // 2), MOST_ROWS)
    yield first, n - first


class Options(ctypes.Structure):
    """`combred_options` of source/combred.h."""

    _fields_ = [
        ("tolerance", ctypes.c_double),
        ("max_steps", ctypes.c_int64),
        ("reactor", ctypes.c_int64),
    ]


class Report(ctypes.Structure):
    """`combred_report` of source/combred.h."""

    _fields_ = [
        ("error", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("not_advanced", ctypes.c_size_t),
    ]


class Library:
    """The functions of one library; threads may share it.

    path: its file; species (n_species): their names; n: 2 + n_species; level: the level of x86-64
    whose code runs, empty where the library was compiled for one CPU; digest
    (`combred.surrogate.storage`), card and mechanism_sha256: empty where the library was made
    without them.

    `level` = "v2", "v3" or "v4": the code of this level, of a library of `build_portable`, in place
    of the highest that this CPU runs; for comparisons.

    Raises FileNotFoundError if there is no such library, ValueError if it is damaged, is not
    combred's, is of another version, has no code of this level, or has changed since this process
    loaded it.
    """

    def __init__(self, path: Path, level: str = ""):
        self.path = Path(path)
        found, whole = require_whole(self.path), str(self.path.resolve())
        if _LOADED.get(whole, found) != found:
            raise ValueError(
                f"{self.path} has changed since this process loaded it, and a process loads a "
                "library once: write the new one to another path, or start Python again"
            )
        self._own = threading.local()
        try:
            if not defines(self.path, "combred_interface"):
                raise OSError("it has no function combred_interface")
            self._calls = calls = ctypes.CDLL(whole)
            _LOADED[whole] = found
            interface = calls.combred_interface()
        except (OSError, AttributeError) as error:
            raise ValueError(
                f"{self.path} is not a library of combred for this machine ({error}): "
                "make one with combred.native.export"
            ) from error
        if interface != INTERFACE:
            raise ValueError(
                f"{self.path} has version {interface} of the interface, and this combred needs "
                f"{INTERFACE}: compile it again with combred.native.compile or combred.solver"
            )
        self._declare(level)
        n_species = calls.combred_n_species()
        self.n: int = 2 + n_species
        self.species = [calls.combred_species_name(k).decode() for k in range(n_species)]
        self.mechanism_sha256: str = calls.combred_mechanism_sha256().decode()
        self.digest: str = calls.combred_digest().decode()
        self.card: dict = json.loads(calls.combred_card() or b"{}")
        self.level = f"x86-64-{level}" if level else calls.combred_level().decode()

    def range_of(self, function: str, *column: int) -> tuple[float, float]:
        """What one of combred_dt_range, _range (of a column) and _phi_range tells."""
        low, high = ctypes.c_double(), ctypes.c_double()
        columns = map(ctypes.c_size_t, column)
        getattr(self._calls, f"combred_{function}")(*columns, ctypes.byref(low), ctypes.byref(high))
        return low.value, high.value

    def _declare(self, level: str) -> None:
        """Types of arguments and results; the functions that compute are those of the level."""
        calls, pointer, size = self._calls, ctypes.c_void_p, ctypes.c_size_t
        for name in ("status_text", "species_name", "mechanism_sha256", "digest", "card", "level"):
            getattr(calls, f"combred_{name}").restype = ctypes.c_char_p
        calls.combred_species_name.argtypes = [size]
        calls.combred_n_species.restype = size
        prefix = f"combred_{level}_" if level else "combred_"
        try:
            self._advance = getattr(calls, f"{prefix}advance")
        except AttributeError as error:
            raise ValueError(
                f"{self.path} has no code of the level {level!r}: make it with "
                "combred.native.build_portable"
            ) from error
        self._advance.argtypes = [
            size, pointer, pointer, size, pointer, pointer, pointer, size
        ]  # fmt: skip
        self._time_scale = getattr(calls, f"{prefix}time_scale")
        self._time_scale.argtypes = [size, pointer, pointer, pointer, size]
        self._rates = getattr(calls, f"{prefix}rates")
        self._rates.argtypes = [size, pointer, pointer, pointer, pointer, size]
        self._workspace_size = getattr(calls, f"{prefix}workspace_size")
        self._workspace_size.restype = size
        self._jacobian = getattr(calls, f"{prefix}jacobian")
        self._jacobian.argtypes = [pointer, ctypes.c_int, pointer, pointer, size]

    def integrate_in_place(
        self,
        states: np.ndarray,
        dt: float | np.ndarray,
        tolerance: float,
        max_steps: int = 0,
        volume: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance contiguous states (n, 2 + n_species), [T, p, Y], in place, by dt [s], a float or
        (n,): the error ratio of each (n,), and the number of steps tried (n,), int64. Raises
        ValueError for other shapes, for a dt or a tolerance that is not positive and finite, and
        for a negative max_steps."""
        require_columns(states.shape, self.n)
        if states.dtype != np.float64 or not states.flags.c_contiguous:
            raise ValueError("states are contiguous rows of float64: give numpy.array(x, float)")
        if not 0 <= max_steps < 2**63:  # ctypes would drop the upper bits
            raise ValueError(f"max_steps is from 0 to 2^63 - 1, not {max_steps}")
        n = len(states)
        steps = steps_of(dt, n)
        error, tried = np.empty(n), np.empty(n, dtype=np.int64)
        options = Options(require_tolerance(tolerance), max_steps, int(volume))
        workspace = self._workspace()
        rows, dts = states.ctypes.data, steps.ctypes.data
        errors, counts = error.ctypes.data, tried.ctypes.data
        try:
            for first, size in ((0, n),) if n <= FIRST_ROWS else _blocks(error):
                report = Report(errors + 8 * first, counts + 8 * first, 0)
                status = self._advance(
                    size, rows + 8 * self.n * first, dts + 8 * first, 1, ctypes.byref(options),
                    ctypes.byref(report), *workspace,
                )  # fmt: skip
                if status != NOT_ADVANCED:
                    self._check(status)
        except BaseException as interrupt:  # KeyboardInterrupt, or what a handler raises
            if n > FIRST_ROWS:
                done = n - np.count_nonzero(np.isnan(error))
                interrupt.add_note(f"integrate_in_place has advanced {done} of {n} states")
            raise
        return error, tried

    def rates(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Net production rate dY/dt and destruction rate [1/s], (n, n_species) each, of states
        [T, p, Y] (n, 2 + n_species)."""
        states = np.ascontiguousarray(states, dtype=np.float64)
        require_columns(states.shape, self.n)
        net, destruction = np.empty((2, len(states), self.n - 2))
        self._check(self._rates(
            len(states), states.ctypes.data, net.ctypes.data, destruction.ctypes.data,
            *self._workspace(),
        ))  # fmt: skip
        return net, destruction

    def jacobian(self, state: np.ndarray, volume: bool = False) -> np.ndarray:
        """d(dT/dt, dY/dt) / d(T, Y) of one state (2 + n_species,) at constant pressure or volume,
        (1 + n_species, 1 + n_species)."""
        state = np.ascontiguousarray(state, dtype=np.float64)
        require_columns((1, len(state)), self.n)
        found = np.empty((self.n - 1, self.n - 1))
        given = state.ctypes.data, int(volume), found.ctypes.data
        self._check(self._jacobian(*given, *self._workspace()))
        return found

    def time_scale(self, states: np.ndarray) -> np.ndarray:
        """Chemical time scales (n,) [s] of states [T, p, Y] (n, 2 + n_species), those of OpenFOAM's
        PaSR: n_reactions C / sum_i q_i sum_k nu_ik, with C the concentration, q_i the forward rate
        of progress and nu_ik the moles of product k of reaction i. NaN of a state that is not
        valid."""
        states = np.ascontiguousarray(states, dtype=np.float64)
        require_columns(states.shape, self.n)
        found = np.empty(len(states))
        given = len(states), states.ctypes.data, found.ctypes.data
        self._check(self._time_scale(*given, *self._workspace()))
        return found

    def _workspace(self) -> tuple[int, int]:
        """Address and bytes of the memory for a call, one for each thread."""
        own = self._own
        if not hasattr(own, "place"):
            own.memory = np.empty(self._workspace_size(), dtype=np.uint8)
            own.place = own.memory.ctypes.data, own.memory.nbytes
        return own.place

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self._calls.combred_status_text(status).decode()
        if status in (DT_STATUS, OPTIONS_STATUS):
            raise ValueError(text)
        raise RuntimeError(f"{self.path}: {text}")
