"""The library of a mechanism that solves steady flames, source/flame, by ctypes.

Takes a `Mechanism`; gives a `FlameLibrary`, compiled when it is first asked for and then kept in
the cache. `combred.flames` makes problems of flames of it.
"""

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Rows
from combred.chemistry.transport import transport_polynomials
from combred.native.builder import build_alone
from combred.native.damage import require_whole
from combred.native.solver.generator import SOURCE, generate

MAIN = "flame/library.cpp"
STEADY, GOES_ON, NOT_STEADY = 0, 1, 2  # Status of source/flame/library.cpp
STATUS = {
    3: "the problem is none: its grid does not rise, or a number is not positive",
    4: "the workspace is too small",
    5: "the Jacobian has no inverse",
}
TRANSPORT = {"mixture-averaged": 0, "unity-Lewis-number": 1}
# Between two calls, each of so many seconds, Python answers Ctrl-C.
SECONDS = 0.25
REAL, COUNT = ctypes.c_double, ctypes.c_int64


class _Problem(ctypes.Structure):
    """`combred_flame_problem` of source/flame/problem.hpp."""

    _fields_ = [
        *((name, COUNT) for name in ("points", "fixed_point", "transport")),
        *((name, REAL) for name in ("p", "inlet_T", "fixed_T")),
        *(
            (name, ctypes.c_void_p)
            for name in ("grid", "Y", "factors", "diffusion", "conductivity")
        ),
    ]


class _Options(ctypes.Structure):
    """`combred_flame_options` of source/flame/problem.hpp."""

    _fields_ = [
        *((name, REAL) for name in ("rtol", "atol", "tolerance", "first_dt", "seconds")),
        *((name, COUNT) for name in ("newton_first", "rounds")),
    ]


class _Report(ctypes.Structure):
    """`combred_flame_report` of source/flame/problem.hpp."""

    COUNTS = "jacobians", "residuals", "solutions", "products", "steps", "rounds"
    _fields_ = [*((name, COUNT) for name in COUNTS), ("norm", REAL), ("dt", REAL)]


@dataclass(frozen=True, eq=False)
class FlameProblem:
    """A free flame on a grid: unburnt T [K], p [Pa], Y (n_species,); grid (n,) [m]; the index of
    the point whose T is fixed_T [K]; factors (n_reactions,) of the rate constants; a key of
    `TRANSPORT`."""

    T: float
    p: float
    Y: np.ndarray
    grid: np.ndarray
    fixed_point: int
    fixed_T: float
    factors: np.ndarray
    transport: str = "mixture-averaged"


@dataclass(frozen=True)
class Method:
    """How a problem is solved. Steps of Newton's method end below `tolerance`, in a norm whose
    weights are rtol times the mean of an unknown, plus atol; first_dt [s]: of pseudo-time steps,
    which come first unless `newton_first`; rounds: how often both are tried."""

    rtol: float = 1e-4
    atol: float = 1e-9
    tolerance: float = 1.0
    first_dt: float = 1e-5
    newton_first: bool = True
    rounds: int = 40


@dataclass(frozen=True, eq=False)
class Steady:
    """The end of a solution: whether it is steady; T [K] and Y of the points, x (n, 1 + n_species);
    the mass flux M [kg/(m2 s)]; counts: how many Jacobians and so on it took; norm: of the last
    step over its tolerance."""

    steady: bool
    x: np.ndarray
    M: float
    counts: dict[str, int]
    norm: float


@dataclass(frozen=True, eq=False)
class Progress:
    """The reactions of the points of a flame: net rates of progress (n, n_reactions) [kmol/(m3 s)];
    density (n,) [kg/m3], heat capacity (n,) [J/(kg K)] and heat release (n,) [W/m3]."""

    rates: np.ndarray
    density: np.ndarray
    heat_capacity: np.ndarray
    heat_release: np.ndarray


def flame_files(mechanism: Mechanism) -> dict[str, str]:
    """The C++ files of the library: name -> text, the one that is compiled first. Raises ValueError
    as `combred.native.solver.generate`."""
    headers = sorted((SOURCE / "flame").iterdir())
    files = {MAIN: (SOURCE / MAIN).read_text()}
    files |= {f"flame/{path.name}": path.read_text() for path in headers}
    generated = generate(mechanism, multiplied=True)
    shared = {"environment.hpp", *(name for name in generated if name.startswith("solver/"))}
    return files | {name: text for name, text in generated.items() if name in shared}


@lru_cache(maxsize=8)
def flame_library(mechanism: Mechanism) -> "FlameLibrary":
    """The library of a mechanism. Raises ValueError without transport data, and as `flame_files`;
    RuntimeError without a C++ compiler."""
    pairs, conductivity = transport_polynomials(mechanism)
    return FlameLibrary(build_alone(flame_files(mechanism)), pairs, conductivity)


class FlameLibrary:
    """The functions of a compiled library; threads may share it.

    pairs (n_species, n_species, 5), conductivity (n_species, 5): `transport_polynomials`.
    """

    def __init__(self, path: Path, pairs: np.ndarray, conductivity: np.ndarray):
        require_whole(path)
        self.path, self.calls = path, ctypes.CDLL(str(path))
        self.calls.combred_flame_workspace.restype = ctypes.c_size_t
        for name in ("workspace", "species", "reactions", "order"):
            getattr(self.calls, f"combred_flame_{name}").argtypes = [COUNT] * (
                name in ("workspace", "order")
            )
        for name in ("species", "reactions", "order"):
            getattr(self.calls, f"combred_flame_{name}").restype = COUNT
        self.n_species = self.calls.combred_flame_species()
        self.n_reactions = self.calls.combred_flame_reactions()
        self.order = np.array([self.calls.combred_flame_order(k) for k in range(self.n_species)])
        upper = np.triu_indices(self.n_species, 1)
        self._columns = np.concatenate([[0], 1 + self.order])
        self._diffusion = np.ascontiguousarray(pairs[np.ix_(self.order, self.order)][upper])
        self._conductivity = np.ascontiguousarray(conductivity[self.order])

    def solve(self, problem: FlameProblem, x: Rows, M: float, method: Method) -> Steady:
        """The steady flame from profiles x (n, 1 + n_species), T [K] and Y, and a mass flux M
        [kg/(m2 s)]."""
        call = self._call(problem)
        values, flux, report = self._inward(x), REAL(M), _Report()
        options = _Options(
            method.rtol, method.atol, method.tolerance, method.first_dt, SECONDS,
            method.newton_first, method.rounds,
        )  # fmt: skip
        status = self.calls.combred_flame_begin(
            call.reference, ctypes.byref(options), _address(values), flux, *call.workspace
        )
        while status == GOES_ON:
            status = self.calls.combred_flame_run(
                call.workspace[0], _address(values), ctypes.byref(flux), ctypes.byref(report)
            )
        if status not in (STEADY, NOT_STEADY):
            raise ValueError(f"the flame cannot be solved: {STATUS[status]}")
        counts = {name: getattr(report, name) for name in _Report.COUNTS}
        return Steady(status == STEADY, self._outward(values), flux.value, counts, report.norm)

    def residual(self, problem: FlameProblem, x: Rows, M: float) -> np.ndarray:
        """The residual (n (1 + n_species) + 1,) [1/s] of profiles, with rows of T over 1000 K and
        those of species in `order`, that of the fixed T the last."""
        call, values = self._call(problem), np.empty(x.size + 1)
        self._run("residual", call, self._inward(x), REAL(M), _address(values))
        return values

    def solution(
        self, problem: FlameProblem, x: Rows, M: float, b: np.ndarray, transposed: bool = False,
        tolerance: float = 0.0,
    ) -> np.ndarray:  # fmt: skip
        """J^-1 b, or of the transpose, of profiles x, M; b as of `residual`, unknowns T / 1000 K, Y
        and M. tolerance: of GMRES with the whole Jacobian; 0: the blocks alone, without the
        derivatives of transport by composition."""
        call, values = self._call(problem), np.array(b, dtype=float)
        options = ctypes.c_int(transposed), REAL(tolerance)
        self._run("solve", call, self._inward(x), REAL(M), *options, _address(values))
        return values

    def product(
        self, problem: FlameProblem, x: Rows, M: float, v: np.ndarray, complete: bool = True
    ) -> np.ndarray:
        """J v of profiles x, M; v and the result as of `solution`."""
        call, v, values = self._call(problem), np.array(v, dtype=float), np.empty(len(v))
        vectors = _address(v), _address(values)
        self._run("multiply", call, self._inward(x), REAL(M), ctypes.c_int(complete), *vectors)
        return values

    def progress(self, problem: FlameProblem, x: Rows) -> "Progress":
        """The reactions of profiles x."""
        call, n = self._call(problem), len(x)
        values = np.empty((n, self.n_reactions)), np.empty(n), np.empty(n), np.empty(n)
        self._run("progress", call, self._inward(x), *map(_address, values))
        return Progress(*values)

    def _run(self, name: str, call: "_Call", x: Rows, *arguments: object) -> None:
        function = getattr(self.calls, f"combred_flame_{name}")
        status = function(call.reference, _address(x), *arguments, *call.workspace)
        if status != STEADY:
            raise ValueError(f"the flame has no {name}: {STATUS[status]}")

    def _call(self, problem: FlameProblem) -> "_Call":
        """A problem as C++ takes it."""
        size = self.calls.combred_flame_workspace(len(problem.grid))
        arrays = (
            np.ascontiguousarray(problem.grid, dtype=float),
            np.ascontiguousarray(problem.Y[self.order], dtype=float),
            np.ascontiguousarray(problem.factors, dtype=float),
            self._diffusion, self._conductivity,
        )  # fmt: skip
        if arrays[1].shape != (self.n_species,) or arrays[2].shape != (self.n_reactions,):
            raise ValueError("the flame is of another mechanism than its library")
        numbers = len(problem.grid), problem.fixed_point, TRANSPORT[problem.transport]
        values = problem.p, problem.T, problem.fixed_T
        structure = _Problem(*numbers, *values, *(array.ctypes.data for array in arrays))
        return _Call(structure, arrays, np.empty(size, dtype=np.uint8))

    def _inward(self, x: Rows) -> Rows:
        if x.ndim != 2 or x.shape[1] != 1 + self.n_species:
            raise ValueError(f"profiles have the shape {x.shape}: give (n, {1 + self.n_species})")
        return np.ascontiguousarray(x[:, self._columns], dtype=float)

    def _outward(self, values: Rows) -> Rows:
        x = np.empty_like(values)
        x[:, self._columns] = values
        return x


@dataclass(frozen=True, eq=False)
class _Call:
    """The arguments of a call, and what they point to."""

    structure: _Problem
    arrays: tuple[np.ndarray, ...]
    memory: np.ndarray

    @property
    def reference(self) -> object:
        return ctypes.byref(self.structure)

    @property
    def workspace(self) -> tuple[ctypes.c_void_p, ctypes.c_size_t]:
        return _address(self.memory), ctypes.c_size_t(self.memory.nbytes)


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
