"""A compiled surrogate: a library with the C interface of source/combred.h, as an `Advance`.

Takes a `Surrogate`, or the path of a library that was compiled before; gives a `NativeSurrogate`,
which the simulations take in place of CVODE or of the torch surrogate.
"""

import ctypes
import json
import threading
from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import require_columns, require_real, states_of, steps_of
from combred.native.build import build
from combred.native.damage import require_whole
from combred.native.generate import generate
from combred.surrogate.surrogate import Surrogate

INTERFACE = 2  # COMBRED_INTERFACE of source/combred.h
_LOADED: dict[str, int] = {}  # CRC-32 of the libraries that this process has loaded, by path
DT_STATUS, OPTIONS_STATUS = 3, 4  # COMBRED_DT, COMBRED_OPTIONS


class Options(ctypes.Structure):
    """`combred_options` of source/combred.h."""

    _fields_ = [("tolerance", ctypes.c_double), ("max_steps", ctypes.c_int64)]


def compile(
    surrogate: Surrogate,
    folder: Path | None = None,
    mechanism: Mechanism | None = None,
    bf16: bool = False,
) -> "NativeSurrogate":
    """Write a surrogate as C++, compile and load it.

    surrogate: one that corrects QSS steps; folder: where sources and library are written
    (None: a cache, `combred.native.build.cache_folder`); mechanism: the surrogate's, so that the
    library can tell its hash; bf16: products of hidden layers with 8 bits, see `generate`. Raises
    ValueError for a network of the state alone, RuntimeError without a C++ compiler.
    """
    return NativeSurrogate(build(generate(surrogate, mechanism, bf16=bf16), folder))


class NativeSurrogate:
    """A surrogate as a compiled library. `advance` makes it an `Advance` (see
    `combred.chemistry.reactor`); threads may share it.

    library: its path; species (n_species): their names; n: 2 + n_species; dt_range: the smallest
    and the largest dt [s] of one step in training; ranges: (lowest, highest) of T [K], p [Pa], phi
    and each species' mass fraction in training, by name, NaN where they are not known; level: the
    level of x86-64 whose code runs, empty where the library was compiled for one CPU; digest
    (`combred.surrogate.storage`), card and mechanism_sha256: empty where the library was made
    without them.

    `level` = "v2", "v3" or "v4": the code of this level, of a library of `build_portable`, in place
    of the highest that this CPU runs; for comparisons.

    Raises FileNotFoundError if there is no such library, ValueError if it is damaged, is not a
    surrogate's, is of another version, has no code of this level, or has changed since this process
    loaded it.
    """

    TOLERANCE = Surrogate.TOLERANCE

    def __init__(self, library: Path, level: str = ""):
        self.library = Path(library)
        found, path = require_whole(self.library), str(self.library.resolve())
        if _LOADED.get(path, found) != found:
            raise ValueError(
                f"{self.library} has changed since this process loaded it, and a process loads a "
                "library once: write the new one to another path, or start Python again"
            )
        self._own = threading.local()
        try:
            self._calls = calls = ctypes.CDLL(path)
            _LOADED[path] = found
            interface = calls.combred_interface()
        except (OSError, AttributeError) as error:
            raise ValueError(
                f"{self.library} is not the library of a surrogate for this machine ({error}): "
                "make one with combred.native.export"
            ) from error
        if interface != INTERFACE:
            raise ValueError(
                f"{self.library} has version {interface} of the interface, and this combred needs "
                f"{INTERFACE}: compile the surrogate again with combred.native.compile"
            )
        self._declare(level)
        if self._check_tables() != 0:
            raise ValueError(
                f"{self.library} holds other numbers than combred wrote: its surrogate.cpp was "
                "damaged. Make it again with combred.native.export."
            )
        n_species = calls.combred_n_species()
        self.n: int = 2 + n_species
        self.species = [calls.combred_species_name(k).decode() for k in range(n_species)]
        self.mechanism_sha256: str = calls.combred_mechanism_sha256().decode()
        self.digest: str = calls.combred_digest().decode()
        self.card: dict = json.loads(calls.combred_card() or b"{}")
        self.level = f"x86-64-{level}" if level else calls.combred_level().decode()
        self.dt_range = self._range(calls.combred_dt_range)
        columns = {"T": 0, "p": 1} | {name: 2 + k for k, name in enumerate(self.species)}
        self.ranges = {name: self._range(calls.combred_range, i) for name, i in columns.items()}
        self.ranges["phi"] = self._range(calls.combred_phi_range)

    def _range(self, function, *column: int) -> tuple[float, float]:
        """What a function of the library tells of a range."""
        low, high = ctypes.c_double(), ctypes.c_double()
        columns = map(ctypes.c_size_t, column)
        function(*columns, ctypes.byref(low), ctypes.byref(high))
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
                f"{self.library} has no code of the level {level!r}: make it with "
                "combred.native.build_portable"
            ) from error
        self._advance.argtypes = [
            size, pointer, pointer, size, pointer, pointer, pointer, pointer, size
        ]  # fmt: skip
        self._rates = getattr(calls, f"{prefix}rates")
        self._rates.argtypes = [size, pointer, pointer, pointer, pointer, size]
        self._workspace_size = getattr(calls, f"{prefix}workspace_size")
        self._workspace_size.restype = size
        self._check_tables = getattr(calls, f"{prefix}check")

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K], p (n,) [Pa], Y (n, n_species) [-] -> T (n,) [K] and Y after dt [s], a float
        or (n,), within the default tolerance. Raises ValueError as `integrate`."""
        state = states_of(T, p, Y)
        self._advance_in_place(state, dt, self.TOLERANCE, 0)
        return state[:, 0], state[:, 2:]

    def integrate(
        self,
        state: np.ndarray,
        dt: float | np.ndarray,
        tolerance: float = TOLERANCE,
        max_steps: int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States dt later within a tolerance, as `Surrogate.integrate` gives them.

        state (n, 2 + n_species): [T, p, Y]; dt [s]: a float or (n,); max_steps: the largest number
        of steps of a state, 0 for no limit. Returns the states (n, 2 + n_species); the error
        ratio of each (n,), infinite also where max_steps was too few; and the number of steps of
        each (n,), int64. Raises ValueError for other shapes, for dt or a tolerance that is not
        positive and finite, and for a negative max_steps.
        """
        later = np.array(require_real("states", state), order="C")
        return later, *self._advance_in_place(later, dt, tolerance, max_steps)

    def _advance_in_place(
        self, later: np.ndarray, dt: float | np.ndarray, tolerance: float, max_steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """`integrate`, of contiguous states that are changed: error estimates and steps."""
        require_columns(later.shape, self.n)
        if not 0 <= max_steps < 2**63:  # ctypes would drop the upper bits
            raise ValueError(f"max_steps is from 0 to 2^63 - 1, not {max_steps}")
        steps = steps_of(dt, len(later))
        error, evaluations = np.empty(len(later)), np.empty(len(later), dtype=np.int64)
        options = Options(tolerance, max_steps)
        workspace = self._workspace()
        status = self._advance(
            len(later), later.ctypes.data, steps.ctypes.data, 1, ctypes.byref(options),
            error.ctypes.data, evaluations.ctypes.data, workspace.ctypes.data, workspace.nbytes,
        )  # fmt: skip
        self._check(status)
        return error, evaluations

    def rates(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Net production rate dY/dt and destruction rate [1/s], (n, n_species) each, of states
        [T, p, Y] (n, 2 + n_species); as `Kinetics` gives them. For tests."""
        state = np.ascontiguousarray(state, dtype=np.float64)
        net, destruction = np.empty((2, len(state), self.n - 2))
        workspace = self._workspace()
        status = self._rates(
            len(state), state.ctypes.data, net.ctypes.data, destruction.ctypes.data,
            workspace.ctypes.data, workspace.nbytes,
        )  # fmt: skip
        self._check(status)
        return net, destruction

    def _workspace(self) -> np.ndarray:
        """Memory for a call, one for each thread."""
        if not hasattr(self._own, "workspace"):
            size = self._workspace_size()
            self._own.workspace = np.empty(size, dtype=np.uint8)
        return self._own.workspace

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self._calls.combred_status_text(status).decode()
        if status in (DT_STATUS, OPTIONS_STATUS):
            raise ValueError(text)
        raise RuntimeError(f"{self.library}: {text}")
