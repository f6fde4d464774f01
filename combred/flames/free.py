"""A freely propagating premixed flame: from a first guess, or from a flame that is near it.

Takes a `Gas`; gives `Profiles`, which are steady on their grid. The first grid is coarse, with the
gas at equilibrium behind a ramp; pseudo-time steps and Newton's method make it a flame, and the
grid is refined until it meets the criteria and is wide enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.states import Rows
from combred.chemistry.thermo import Thermo
from combred.flames.grid import Criteria, refined, widened
from combred.flames.problems import (
    EQUILIBRIUM,
    LEAST_SPEED,
    FlameError,
    Gas,
    NoFlame,
    _phase,
    describe,
)
from combred.native.flame_library import FlameProblem, Method

ATM = 101325.0
# m, of the first domain at 1 atm, and the power of p with which it falls.
WIDTH, THINNER = 0.03, 0.75
# m/s, of the first guess.
SPEED = 0.4
# Places of the first grid over its width; of T and Y that are those of unburnt and burnt gas.
FIRST_GRID = np.array(
    [0, 0.2, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.44, 0.46, 0.48, 0.5, 0.6, 0.8, 1.0]
)
RAMP = 0.3, 0.5
# Of the rise of T: where the flame is held.
FIXED_SHARE = 0.4
# The first stages, whose flames need not be exact.
STAGES = (Criteria(10.0, 0.8, 0.8), Criteria(5.0, 0.3, 0.4))
ROUGH = 30.0  # tolerance of these
FLAT = 0.02  # slope of T at the ends over the mean slope, as in Cantera
MOST_WIDENINGS, MOST_GRIDS, MOST_POINTS = 12, 60, 2000
# The first guesses, one after another: width and speed over the usual ones.
GUESSES = ((1.0, 1.0), (0.25, 5.0), (4.0, 0.1))
# K, by which gas is preheated whose flame leads to that of the gas itself; and the smallest step.
HOTTER, SMALLEST_STEP = (300.0, 600.0), 5.0


@dataclass(frozen=True, eq=False)
class Profiles:
    """A steady flame of a gas: grid (n,) [m]; x (n, 1 + n_species), T [K] and Y; mass flux M
    [kg/(m2 s)]; the fixed point; counts of the work; norm of the last step over the tolerance."""

    gas: Gas
    grid: np.ndarray
    x: Rows
    M: float
    fixed_point: int
    norm: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        """Of the flame [m/s]."""
        return self.M / self.gas.density

    @property
    def problem(self) -> FlameProblem:
        """The problem that they solve."""
        gas, fixed_T = self.gas, float(self.x[self.fixed_point, 0])
        return FlameProblem(
            gas.T, gas.p, gas.Y, self.grid, self.fixed_point, fixed_T, gas.factors, gas.transport
        )

    def held(self) -> "Profiles":
        """The same, held where T has risen by `FIXED_SHARE`."""
        T = self.x[:, 0]
        warm = T > T[0] + FIXED_SHARE * (T.max() - T[0])
        return replace(self, fixed_point=min(max(int(np.argmax(warm)), 1), len(T) - 2))


def free_flame(gas: Gas, criteria: Criteria, initial: Profiles | None = None) -> Profiles:
    """The flame of a gas: from one that is near it, then from first guesses, then from flames of
    hotter gas. Raises NoFlame where the last speeds were too small for a flame, FlameError where
    none is steady."""
    tried: list[str] = []
    for words, start in _starts(gas, criteria, initial):
        try:
            return require_flame(start())
        except FlameError as error:
            tried.append(f"{words}: {error}")
    failure = NoFlame if any("goes out" in text for text in tried) else FlameError
    verb = "does not burn" if failure is NoFlame else "has no steady flame that was found"
    words = describe(gas.mechanism, gas.T, gas.p, gas.Y)
    raise failure(f"{words} {verb}. Tried {'; '.join(tried)}")


def _starts(gas: Gas, criteria: Criteria, initial: Profiles | None) -> Iterator[tuple]:
    """What is tried, in words and as a function."""
    if initial is not None:
        yield "from the flame near it", lambda: continued(gas, initial, criteria)
    for width, speed in GUESSES:
        words = f"from equilibrium, {width:g} times the usual width"
        yield words, lambda width=width, speed=speed: from_guess(gas, criteria, width, speed)
    for rise in HOTTER:
        yield (
            f"from gas that is {rise:g} K hotter",
            lambda rise=rise: from_hotter(gas, criteria, rise),
        )


def from_guess(gas: Gas, criteria: Criteria, width: float, speed: float) -> Profiles:
    """The flame from the gas at equilibrium behind a ramp. Raises FlameError."""
    scale = np.array([WIDTH * width * (ATM / gas.p) ** THINNER])
    burnt = np.interp(FIRST_GRID, RAMP, (0.0, 1.0))[:, None]
    x = (1.0 - burnt) * np.append(gas.T, gas.Y) + burnt * np.append(gas.burnt_T, gas.burnt_Y)
    start = Profiles(gas, FIRST_GRID * scale, x, gas.density * SPEED * speed, 0)
    method = Method(first_dt=1e-6, newton_first=False, tolerance=ROUGH)
    for stage in STAGES:
        start = _refined(start, stage, method)
        method = replace(method, newton_first=True)
    return _refined(start, criteria, Method())


def continued(gas: Gas, initial: Profiles, criteria: Criteria) -> Profiles:
    """The flame from that of another gas, whose profiles are moved to the ends of the new one.
    Raises FlameError."""
    x, old = initial.x.copy(), initial.gas
    progress = np.clip((x[:, :1] - old.T) / (old.burnt_T - old.T), 0.0, 1.0)
    x += (1.0 - progress) * (np.append(gas.T, gas.Y) - np.append(old.T, old.Y))
    x += progress * (np.append(gas.burnt_T, gas.burnt_Y) - np.append(old.burnt_T, old.burnt_Y))
    x[:, 1:] = np.maximum(x[:, 1:], 0.0)
    x[:, 1:] /= x[:, 1:].sum(1, keepdims=True)
    x[:, 0] = np.maximum(x[:, 0], gas.T)
    grid = initial.grid * (old.p / gas.p) ** THINNER
    M = initial.M * (gas.p / old.p) ** (1.0 - THINNER)
    return _refined(Profiles(gas, grid, x, M, 0), criteria, Method())


def from_hotter(gas: Gas, criteria: Criteria, rise: float) -> Profiles:
    """The flame by way of the flames of hotter gas, in steps of T. Raises FlameError."""
    initial = from_guess(_heated(gas, gas.T + rise), STAGES[-1], 1.0, 1.0)
    step = rise / 3.0
    while initial.gas.T > gas.T:
        T = max(initial.gas.T - step, gas.T)
        last = T == gas.T
        try:
            initial = continued(
                gas if last else _heated(gas, T), initial, criteria if last else STAGES[-1]
            )
            step *= 1.5
        except FlameError:
            step /= 3.0
            if step < SMALLEST_STEP:
                raise
    return initial


def _heated(gas: Gas, T: float) -> Gas:
    with EQUILIBRIUM:
        burnt = equilibrium(_phase(gas.mechanism), np.array([T]), np.array([gas.p]), gas.Y[None])
    return replace(gas, T=T, burnt_T=float(burnt[0][0]), burnt_Y=burnt[1][0])


def _refined(start: Profiles, criteria: Criteria, method: Method) -> Profiles:
    """The flame on a grid that meets the criteria, and whose ends are flat. Raises FlameError."""
    flame, widenings = start, 0
    for _ in range(MOST_GRIDS):
        flame = _steady(flame.held(), method)
        method = replace(method, newton_first=True)
        wider = widened(flame.grid, flame.x, FLAT) if widenings < MOST_WIDENINGS else None
        widenings += wider is not None
        grid = wider or refined(flame.grid, flame.x, criteria, flame.fixed_point)
        if grid is None:
            return flame
        if len(grid[0]) > MOST_POINTS:
            raise FlameError(f"its grid needs more than {MOST_POINTS} points")
        flame = replace(flame, grid=grid[0], x=grid[1])
    raise FlameError(f"{MOST_GRIDS} grids did not meet the criteria")


def _steady(flame: Profiles, method: Method) -> Profiles:
    """The flame on its grid. Raises FlameError."""
    solution = flame.gas.library.solve(flame.problem, flame.x, flame.M, method)
    counts = {name: flame.counts.get(name, 0) + n for name, n in solution.counts.items()}
    counts["grids"] = flame.counts.get("grids", 0) + 1
    if solution.steady:
        return replace(flame, x=solution.x, M=solution.M, norm=solution.norm, counts=counts)
    speed, n = solution.M / flame.gas.density, len(flame.grid)
    if speed < LEAST_SPEED:
        raise FlameError(f"on a grid of {n} points it goes out ({speed:.2g} m/s)")
    work = solution.counts
    steps = f"{work['jacobians']} Jacobians and {work['steps']} pseudo-time steps"
    raise FlameError(f"on a grid of {n} points it is not steady after {steps}")


# -- checks of a flame ----------------------------------------------------------------------------

# The largest change of elements from one end to the other, relative to the most abundant, and of
# the enthalpy, relative to the heat: convection upwind conserves neither but for the grid's error.
CONSERVED, CONSERVED_HEAT = 0.02, 0.05


def require_flame(flame: Profiles) -> Profiles:
    """The flame, if it is one. Raises FlameError where its speed is not positive, where it does not
    burn, and where elements or enthalpy differ between its ends."""
    gas, T = flame.gas, flame.x[:, 0]
    if not (np.isfinite(flame.x).all() and 0.0 < flame.M < np.inf and flame.norm < 1.0):
        raise FlameError("the solution is not finite")
    if T[-1] - gas.T < 0.5 * (gas.burnt_T - gas.T):
        raise FlameError(f"it goes out ({T[-1]:.0f} K behind it)")
    elements = gas.mechanism.elements
    lost = np.abs(elements @ flame.x[-1, 1:] - elements @ gas.Y)
    if lost.max() > CONSERVED * (elements @ gas.Y).max():
        raise FlameError(f"its elements are not conserved (by {lost.max():.2g} of its mass)")
    thermo, Y = Thermo(gas.mechanism), flame.x[[0, -1], 1:]
    h, cp = (quantity(T[[0, -1]], Y) for quantity in (thermo.enthalpy, thermo.heat_capacity))
    heat = abs(h[1] - h[0]) / (cp[1] * (T[-1] - T[0]))
    if heat > CONSERVED_HEAT:
        raise FlameError(f"its enthalpy is not conserved (by {heat:.2g} of its heat)")
    return flame
