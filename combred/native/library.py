"""A compiled library on arrays of states.

Takes the path of a library; gives a `Library`.
"""

import ctypes
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from combred.chemistry.states import Real, Rows, require_columns, require_tolerance, steps_of
from combred.native.interface import (
    DT_STATUS,
    NOT_ADVANCED,
    OPTIONS_STATUS,
    SIZE,
    Options,
    Report,
    of_level,
    open_library,
)

log = logging.getLogger(__name__)
# A call of many rows is made in blocks, between which Python answers Ctrl-C. A block takes these
# seconds, and has at most MOST_ROWS or one more, as later rows may be harder. Small blocks would be
# slower: lanes wait at the end of each. The first has FIRST_ROWS, or as many as a like call before
# tells.
SECONDS, FIRST_ROWS, MOST_ROWS = 0.5, 32, 8192


def load_built(build: Callable[[], Path]) -> "Library":
    """The library whose path `build` gives; one that cannot be loaded is built again."""
    path = build()
    try:
        return Library(path)
    except ValueError as error:
        log.warning("%s. It is compiled again.", error)
        path.unlink(missing_ok=True)
        return Library(build())


def block_of(left: int, size: int) -> int:
    """The rows of the next block, about `size` of the `left` ones, so that no block has one row
    unless the call has: one state has other code (source/solver/alone.hpp), and other bits."""
    size = max(size, 2)
    return left if left <= size + 1 else size


def _blocks(error: np.ndarray, pace: list[float]) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each block; the error of rows that are not done is NaN.
    pace: the seconds of a state in the last like call, if there was one; replaced."""
    first, n = 0, len(error)
    size = min(max(int(SECONDS / pace[0]), FIRST_ROWS), MOST_ROWS) if pace else FIRST_ROWS
    error.fill(np.nan)
    while first < n:
        begun, size = time.perf_counter(), block_of(n - first, size)
        yield first, size
        first += size
        seconds = time.perf_counter() - begun
        pace[:] = [seconds / size]
        size = min(max(int(size * min(8.0, SECONDS / seconds)), FIRST_ROWS // 2), MOST_ROWS)


class Library:
    """The functions of one library; threads may share it.

    path: its file; species (n_species): their names; n: 2 + n_species; level: the level of x86-64
    whose code runs, empty where the library was compiled for one CPU; digest (of a network), card
    and mechanism_sha256: empty where the library was made without them.

    `level` = "v2", "v3" or "v4": the code of this level, of a library of `build_portable`, in place
    of the highest that this CPU runs; for comparisons. Raises as
    `combred.native.interface.open_library`, and ValueError where it has no code of this level.
    """

    def __init__(self, path: Path, level: str = ""):
        self.path = Path(path)
        self._own = threading.local()
        self.calls = calls = open_library(self.path)
        # One level, however a call is cut into blocks and threads: the same bits (not by LibTorch),
        # since no block has one row (`block_of`).
        level = level or calls.combred_level().decode().removeprefix("x86-64-")
        (
            self._advance, self._advance_with, self._time_to, self._rates, self._jacobian,
            self._time_scale, self._workspace_size,
        ) = of_level(calls, self.path, level)  # fmt: skip
        n_species = calls.combred_n_species()
        self.n: int = 2 + n_species
        self.species = [calls.combred_species_name(k).decode() for k in range(n_species)]
        self.mechanism_sha256: str = calls.combred_mechanism_sha256().decode()
        self.digest: str = calls.combred_digest().decode()
        self.card: dict = json.loads(calls.combred_card() or b"{}")
        self.level = f"x86-64-{level}" if level else ""

    def range_of(self, function: str, *column: int) -> tuple[float, float]:
        """What one of combred_dt_range, _range (of a column) and _phi_range tells."""
        low, high = ctypes.c_double(), ctypes.c_double()
        columns = map(SIZE, column)
        getattr(self.calls, f"combred_{function}")(*columns, ctypes.byref(low), ctypes.byref(high))
        return low.value, high.value

    def multiply(self, factors: np.ndarray) -> None:
        """Set the factors (n_reactions,) of the rate constants for the calls of this thread, of a
        library that was generated with them."""
        self.calls.combred_multiply(ctypes.c_void_p(factors.ctypes.data))

    def integrate_in_place(  # noqa: PLR0913
        self,
        states: Rows,
        dt: Real,
        tolerance: float,
        max_steps: int = 0,
        reactor: int = 0,
        more: tuple[Rows, Rows] | Rows | None = None,
        wall: Rows | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance contiguous states (n, 2 + n_species), [T, p, Y], in place, by dt [s], a float or
        (n,): the error ratio of each (n,), and the number of steps tried (n,), int64.

        reactor: a `combred_reactor` of combred.h. more: sources, contiguous rows (n, 2 + n_species)
        as combred.h has them; or a pair, T (n,) [K] and room for times (n,) [s]: a state ends after
        the step in which it passes this T, and its time is when it does, or infinite. wall: with
        sources, contiguous rows (n, 2) as combred.h has them. Raises ValueError for other shapes,
        for a dt or a tolerance that is not positive and finite, for a negative max_steps, and for
        another reactor."""
        require_columns(states.shape, self.n)
        if states.dtype != np.float64 or not states.flags.c_contiguous:
            raise ValueError("states are contiguous rows of float64: give numpy.array(x, float)")
        if not 0 <= max_steps < 2**63:  # ctypes would drop the upper bits
            raise ValueError(f"max_steps is from 0 to 2^63 - 1, not {max_steps}")
        n = len(states)
        steps = steps_of(dt, n)
        error, tried = np.empty(n), np.empty(n, dtype=np.int64)
        options = Options(require_tolerance(tolerance), max_steps, reactor, None)
        arrays = more if isinstance(more, tuple) else () if more is None else (more,)
        if len(arrays) == 1:
            require_columns(arrays[0].shape, self.n)
        function = (self._advance, self._advance_with, self._time_to)[len(arrays)]
        workspace = self._workspace()
        if n > FIRST_ROWS:
            like = options.tolerance, reactor, float(np.log10(steps.max())) // 1.0
            pace = self._own.paces.setdefault(like, [])
        rows, dts = states.ctypes.data, steps.ctypes.data
        errors, counts = error.ctypes.data, tried.ctypes.data
        try:
            for first, size in ((0, n),) if n <= FIRST_ROWS else _blocks(error, pace):
                report = Report(errors + 8 * first, counts + 8 * first, 0)
                options.wall = None if wall is None else wall.ctypes.data + 16 * first
                status = function(
                    size, rows + 8 * self.n * first, dts + 8 * first, 1,
                    *(x.ctypes.data + x.strides[0] * first for x in arrays), ctypes.byref(options),
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

    def rates(self, states: np.ndarray) -> tuple[Rows, Rows]:
        """Net production rate dY/dt and destruction rate [1/s], (n, n_species) each, of states
        [T, p, Y] (n, 2 + n_species)."""
        states = self._rows(states)
        net, destruction = np.empty((2, len(states), self.n - 2))
        given = len(states), states.ctypes.data, net.ctypes.data, destruction.ctypes.data
        self._check(self._rates(*given, *self._workspace()))
        return net, destruction

    def jacobian(self, state: np.ndarray, reactor: int = 0) -> np.ndarray:
        """d(dT/dt, dY/dt) / d(T, Y) of one state (2 + n_species,) in a `combred_reactor` of
        combred.h, (1 + n_species, 1 + n_species)."""
        state = self._rows(state[None])
        found = np.empty((self.n - 1, self.n - 1))
        given = state.ctypes.data, reactor, found.ctypes.data
        self._check(self._jacobian(*given, *self._workspace()))
        return found

    def time_scale(self, states: np.ndarray) -> np.ndarray:
        """Chemical time scales (n,) [s] of states [T, p, Y] (n, 2 + n_species), those of OpenFOAM's
        PaSR: n_reactions C / sum_i q_i sum_k nu_ik, with C the concentration, q_i the forward rate
        of progress and nu_ik the moles of product k of reaction i. NaN of a state that is not
        valid."""
        states = self._rows(states)
        found = np.empty(len(states))
        given = len(states), states.ctypes.data, found.ctypes.data
        self._check(self._time_scale(*given, *self._workspace()))
        return found

    def _rows(self, states: np.ndarray) -> np.ndarray:
        """States as contiguous rows. Raises ValueError for another number of columns."""
        require_columns(states.shape, self.n)
        return np.ascontiguousarray(states, dtype=np.float64)

    def _workspace(self) -> tuple[int, int]:
        """Address and bytes of the memory for a call, one for each thread."""
        own = self._own
        if not hasattr(own, "place"):
            own.memory = np.empty(self._workspace_size(), dtype=np.uint8)
            own.paces = {}
            own.place = own.memory.ctypes.data, own.memory.nbytes
        return own.place

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self.calls.combred_status_text(status).decode()
        if status in (DT_STATUS, OPTIONS_STATUS):
            raise ValueError(text)
        raise RuntimeError(f"{self.path}: {text}")
