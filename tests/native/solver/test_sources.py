"""Sources beside the reactions: against Radau with Cantera's rates, analytic limits, what is kept.

The truth integrates T and Y with the right-hand side written out below, in every kind of reactor.
"""

import pickle

import cantera as ct
import numpy as np
import pytest
from cantera_truth import random_rows
from scipy.integrate import solve_ivp

from combred import Sources
from combred.cantera import Reactor
from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.thermo import Thermo

# The solver's volume, enthalpy and isothermal, in the order of combred_reactor of combred.h.
ADIABATIC = {
    "pressure": (False, False, False),
    "volume": (True, False, False),
    "enthalpy": (True, True, False),
}
ISOTHERMAL = {"T, pressure": (False, False, True), "T, volume": (True, False, True)}
KEPT = ADIABATIC | ISOTHERMAL
REACTORS = pytest.mark.parametrize("kept", ADIABATIC.values(), ids=ADIABATIC)
TERMS = ("dY_dt", "heating", "rate", "drift")
N = 4


def conditions(mechanism, volume: bool, terms: tuple[str, ...], isothermal: bool = False):
    """T, p, Y of fresh and burnt gas in turn, dt, and sources that change them much over it."""
    rng = np.random.default_rng(len(terms))
    T, p = rng.uniform(1000.0, 1300.0, N), 10.0 ** rng.uniform(4.5, 5.5, N)
    Y = mechanism.mixture("H2:1", "O2:1, N2:3.76", rng.uniform(0.5, 2.0, N))
    hot, burnt = equilibrium(mechanism.solution(), T, p, Y)
    T[::2], Y[::2] = hot[::2], burnt[::2]
    dt = 10.0 ** rng.uniform(-6.0, -5.0, N)
    fresh = mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)
    argon = np.array([name == "AR" for name in mechanism.species_names], float)
    rho = p / (ct.gas_constant * T * (Y / mechanism.molecular_weights).sum(1))
    drift = rng.uniform(-0.3, 0.5, N) * (rho if volume else p) / dt
    given = {
        "dY_dt": (0.3 * (fresh - Y) + 0.02 * argon) / dt[:, None],  # argon comes besides
        "heating": rng.uniform(-1.0, 1.0, N) * 5e5 / dt,
        "rate": rng.uniform(0.1, 2.0, N) / dt,
        "drift": drift,
    }
    found = {name: given[name] for name in terms}
    if terms and isothermal:
        found["dT_dt"] = found.pop("heating") / 2e3
    elif terms:
        found |= {"heat_transfer": 10.0 ** np.array([3.0, 6.0, 9.0, 12.0]), "T_wall": 1700.0}
    if "drift" in found:
        found["drho_dt" if volume else "dp_dt"] = found.pop("drift")
    if "rate" in found:
        found |= {"T0": 300.0, "Y0": fresh}
    return T, p, Y, dt, Sources(**found)


class Truth:
    """The right-hand side of one state, d(T, Y)/dt, with Cantera's rates and energies."""

    def __init__(self, mechanism, kept, T, p, Y, of: Sources, i: int):
        self.gas, self.W = mechanism.solution(), mechanism.molecular_weights
        self.volume, self.enthalpy, self.isothermal = kept
        self.S = np.broadcast_to(of.dY_dt, (N, len(Y)))[i]
        drift = of.drho_dt if self.volume else of.dp_dt
        numbers = of.heating, of.rate, drift, of.dT_dt, of.heat_transfer, of.T_wall
        self.Q, self.rate, self.dx, self.dT, self.U, self.T_wall = (
            np.broadcast_to(x, N)[i] for x in numbers
        )
        self.Y0 = Y if of.Y0 is None else of.Y0
        self.set(0.0, of.T0 or T, self.Y0, p)
        self.energy0 = self.energies()[0] @ self.Y0
        self.set(0.0, T, Y, p)
        self.x = self.gas.density if self.volume else p

    def set(self, t: float, T: float, Y, p: float = 0.0) -> None:
        self.gas.set_unnormalized_mass_fractions(Y)
        if p or not self.volume:
            self.gas.TP = T, p or self.x + self.dx * t
        else:
            self.gas.TD = T, self.x + self.dx * t

    def energies(self):
        """Of each species per mass: u or h, cv or cp."""
        gas, R = self.gas, ct.gas_constant * (self.volume and not self.enthalpy)
        energies, capacities = gas.partial_molar_enthalpies - R * gas.T, gas.partial_molar_cp - R
        return energies / self.W, capacities / self.W

    def __call__(self, t: float, y):
        T, Y = y[0], y[1:]
        self.set(t, T, Y)
        energy, capacity = self.energies()
        rho, total = self.gas.density, self.S.sum()
        power = self.dx / rho * (self.gas.P / rho if self.volume else 1.0) * (not self.enthalpy)
        dY = self.gas.net_production_rates * self.W / rho + self.S - Y * total
        dY = dY + self.rate * (self.Y0 - Y)
        if self.isothermal:
            return np.append(self.dT, dY)
        e = energy @ Y
        power = power - self.U * (T - self.T_wall) / rho
        de = self.Q - e * total + self.rate * (self.energy0 - e) + power
        return np.append((de - energy @ dY) / (capacity @ Y), dY)

    def end(self, T: float, Y, dt: float):
        """T, p, Y at dt."""
        found = solve_ivp(
            self, (0.0, dt), np.append(T, Y), "Radau", rtol=1e-10, atol=1e-16, first_step=1e-6 * dt
        ).y[:, -1]  # fmt: skip
        self.set(dt, found[0], found[1:])
        return found[0], self.gas.P, found[1:]


@pytest.mark.parametrize("terms", [(), TERMS], ids=["none", "all"])
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_states_are_those_of_radau(solver_of, h2o2, kept, terms):
    """Floats and doubles; walls that the gas hardly feels, and whose T it has at once. Seen: a
    tenth of each bound, of the change of T + 1 K and of Y + 1e-5; 1e-6 is the jump of h of N2 and
    AR at 1000 K, which Radau passes over."""
    T, p, Y, dt, of = conditions(h2o2, kept[0], terms, kept[2])
    truth = [Truth(h2o2, kept, T[i], p[i], Y[i], of, i) for i in range(N)]
    end = [truth[i].end(T[i], Y[i], dt[i]) for i in range(N)]
    T1, p1, Y1 = (np.array(x) for x in zip(*end, strict=True))
    for tolerance, most in ((1e-2, 2e-2), (1e-3, 5e-3), (1e-5, 5e-5), (1e-8, 2e-6)):
        found = solver_of(h2o2, *kept).with_sources(of).integrate(T, p, Y, dt, tolerance)
        if kept[2]:
            assert np.allclose(found.T, T + of.dT_dt * dt, rtol=1e-15)
        off_Y = np.abs(found.Y - Y1).max(1) / (np.abs(Y1 - Y).max(1) + 1e-5)
        assert (np.abs(found.T - T1) / (np.abs(T1 - T) + 1.0)).max() <= most
        assert off_Y.max() <= most and np.abs(found.p / p1 - 1.0).max() <= most


@REACTORS
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-6])
def test_elements_mass_and_energy_are_those_of_the_sources(mechanism, solver_of, kept, tolerance):
    """y = exp(-s dt) y(0) + (1 - exp(-s dt)) S / s of elements, inert species and energy; of mass
    that comes, of a net sink, and where the sum of S is only rounding."""
    rng, W = np.random.default_rng(3), mechanism.molecular_weights
    fuel = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}[mechanism.name]
    thermo, n, dt = Thermo(mechanism), 90, 1e-6
    Y = np.repeat(mechanism.mixture(fuel, "O2:1, N2:3.76", [0.6, 1.0, 1.6]), 30, axis=0)
    T, p = rng.uniform(1000.0, 1800.0, n), np.full(n, 1e5)
    hot, burnt = equilibrium(mechanism.solution(), T, p, Y)
    T[::2], Y[::2] = hot[::2], burnt[::2]
    S = 0.2 * (Y[::-1] - Y)
    S[30:60] += rng.uniform(0.0, 2.0, (30, 1)) * Y[:1]
    S[60:] -= 0.1 * Y[60:]
    S, Q = S / dt, rng.uniform(-2e5, 2e5, n) / dt
    solver = solver_of(mechanism, *kept).with_sources(Sources(S, Q))
    found = solver.integrate(T, p, Y, dt, tolerance)
    s = S.sum(1)
    time = np.where(np.abs(s * dt) < 1e-9, dt, -np.expm1(-s * dt) / np.where(s == 0.0, 1.0, s))
    left = np.exp(-s * dt)
    due = left[:, None] * Y + time[:, None] * S
    assert np.abs(found.Y.sum(1) - 1.0).max() <= 2e-15 and found.Y.min() >= 0.0
    assert np.abs((found.Y - due) @ mechanism.elements.T).max() <= 4e-15
    assert np.abs((found.Y - due)[:, mechanism.inert]).max() <= 1e-15
    assert np.abs(found.Y - due).max() > 1e-2  # something burns
    before, after = (
        thermo.enthalpy(T, Y)
        - (kept == (True, False, False)) * ct.gas_constant * T * (Y / W).sum(1)
        for T, Y in ((T, Y), (found.T, found.Y))
    )
    size = np.abs(before) + 1e3 * T + np.abs(Q) * dt
    assert np.all(np.abs(after - left * before - time * Q) <= 1e-12 * size)


@pytest.mark.parametrize("tolerance, off", [(1e-3, 1e-4), (1e-6, 2e-7)])
def test_inert_gas(solver_of, h2o2, tolerance, off):
    """Nitrogen: an isentrope at constant pressure that rises and at a density that does, and
    exponential relaxation to argon. off: of T, relative."""
    names, gas = h2o2.species_names, h2o2.solution()
    N2, AR = (np.array([name == other for name in names], float) for other in ("N2", "AR"))
    start = np.array([300.0]), 1e5, N2[None], 1e-3
    gas.TPY = 300.0, 1e5, N2
    gas.SP, rho = (gas.s, 2.1e6), gas.density
    rising = solver_of(h2o2).with_sources(Sources(dp_dt=2e9))
    found = rising.integrate(*start, tolerance)
    assert found.p[0] == pytest.approx(2.1e6, rel=1e-15)
    assert found.T[0] == pytest.approx(gas.T, rel=off)
    drift = Sources(drho_dt=(gas.density - rho) / 1e-3)
    found = solver_of(h2o2, True).with_sources(drift).integrate(*start, tolerance)
    assert found.T[0] == pytest.approx(gas.T, rel=off)
    assert found.p[0] == pytest.approx(2.1e6, rel=off)
    mixed = Sources(rate=1500.0, T0=1500.0, Y0=AR)
    found = solver_of(h2o2).with_sources(mixed).integrate(*start, tolerance)
    share = np.exp(-1.5)
    assert np.allclose(found.Y[0], share * N2 + (1.0 - share) * AR, rtol=0.0, atol=1e-15)
    h = []
    for T, Y in ((300.0, N2), (1500.0, AR)):
        gas.TPY = T, 1e5, Y
        h.append(gas.h)
    gas.HPY = share * h[0] + (1.0 - share) * h[1], 1e5, found.Y[0]
    assert found.T[0] == pytest.approx(gas.T, rel=1e-8)  # the jumps of h at 1000 K


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_stirred_reactor_becomes_that_of_cantera(solver_of, h2o2, tolerance):
    """Steady burning at three residence times, in one long step."""
    fresh, tau = h2o2.mixture("H2:1", "O2:1, N2:3.76", 0.5), np.array([1e-4, 1e-3, 1e-2])
    T, Y = equilibrium(h2o2.solution(), np.array([300.0]), np.array([1e5]), fresh[None])
    of = Sources(rate=1.0 / tau, T0=300.0, Y0=fresh)
    burnt = np.repeat(T, 3), 1e5, np.repeat(Y, 3, axis=0)
    steady = solver_of(h2o2).with_sources(of).integrate(*burnt, 20.0 * tau, tolerance)
    for i in range(3):
        gas = h2o2.solution()
        gas.TPY = 300.0, 1e5, fresh
        inflow, outflow = ct.Reservoir(gas, clone=False), ct.Reservoir(gas, clone=False)
        gas.TPY = T[0], 1e5, Y[0]
        reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
        ct.MassFlowController(inflow, reactor, mdot=reactor.mass / tau[i])
        ct.MassFlowController(reactor, outflow, mdot=reactor.mass / tau[i])
        net = ct.ReactorNet([reactor])
        net.rtol, net.atol = 1e-10, 1e-16
        net.advance(20.0 * tau[i])
        assert steady.T[i] == pytest.approx(reactor.T, abs=100.0 * tolerance + 1e-4)


def test_zero_sources_and_neighbours(solver_of, h2o2):
    """Sources of zero give what none give, to rounding, and a state's answer does not depend on
    its neighbours, bit for bit."""
    T, p, Y = random_rows(h2o2, 60, 1)
    solver = solver_of(h2o2)
    for tolerance in (1e-3, 1e-6):
        known, zero = (
            solver.with_sources(of).attempt(T, p, Y, 1e-7, tolerance) for of in (None, Sources())
        )
        same = known.steps == zero.steps  # where rounding decides, a step may be rejected
        assert same.mean() > 0.9
        assert np.allclose(zero.Y[same], known.Y[same], rtol=1e-5, atol=1e-7)
        assert np.allclose(zero.T[same], known.T[same], rtol=1e-6)
        of = Sources(dp_dt=p / 1e-5, heating=np.linspace(-1e9, 1e9, 60))
        all_ = solver.with_sources(of).attempt(T, p, Y, 1e-7, tolerance)
        one = Sources(dp_dt=p[7] / 1e-5, heating=of.heating[7])
        own = solver.with_sources(one).attempt(T[7:8], p[7:8], Y[7:8], 1e-7, tolerance)
        assert np.array_equal(all_.Y[7], own.Y[0]) and all_.T[7] == own.T[0]


def test_sinks_of_what_is_not_there(solver_of, h2o2):
    """A little more of a species than there is: it ends at zero, elements are kept. Far more of an
    element, a pressure below zero, and sources that are not finite: the state stays as it was."""
    T, Y = np.full(5, 1200.0), np.tile(h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), (5, 1))
    p, S, drift, dt = np.full(5, 1e5), np.zeros_like(Y), np.zeros(5), 1e-6
    names = h2o2.species_names
    S[0, names.index("H2O2")], S[0, names.index("N2")] = -1e-7 / dt, 1e-7 / dt
    S[1, names.index("H2")], S[1, names.index("N2")] = -0.5 / dt, 0.5 / dt
    drift[2] = -2e5 / dt
    S[3, names.index("AR")], S[3, names.index("N2")] = -1e-3 / dt, 1e-3 / dt
    rows = Sources(S, dp_dt=drift).rows(solver_of(h2o2).library, 5, False)
    rows[4, 0] = np.nan
    for tolerance in (1e-3, 1e-6):
        states = np.column_stack([T, p, Y])
        error, _ = solver_of(h2o2).library.integrate_in_place(states, dt, tolerance, more=rows)
        assert np.isfinite(error[0]) and np.isinf(error[1:]).all()
        assert np.array_equal(states[1:], np.column_stack([T, p, Y])[1:])
        assert states[0, 2 + names.index("H2O2")] >= 0.0
        assert np.abs((states[0, 2:] - Y[0] - dt * S[0]) @ h2o2.elements.T).max() <= 1e-15


def test_nonsense_is_refused(solver_of, h2o2):
    state = np.array([1200.0]), 1e5, h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None], 1e-6
    for of, words in (
        (Sources(rate=1.0), "T0"),
        (Sources(rate=1.0, T0=300.0, Y0=np.ones(10)), "T0, Y0 .*sum of Y is not 1"),
        (Sources(rate=1.0, T0=27.0, Y0=np.eye(10)[0]), "T0, Y0 .*in °C"),
        (Sources(rate=-1.0, T0=300.0, Y0=np.eye(10)[0]), "rate from 0 up"),
        (Sources(dY_dt=np.zeros(3)), "dY_dt has the shape"),
        (Sources(heating=np.nan), "heating is not finite"),
        (Sources(drho_dt=1.0), "dp_dt"),
    ):
        with pytest.raises(ValueError, match=words):
            solver_of(h2o2).with_sources(of).advance(*state)
    with pytest.raises(ValueError, match="drho_dt"):
        solver_of(h2o2, True).with_sources(Sources(dp_dt=1.0)).advance(*state)
    with pytest.raises(ValueError, match="time_to"):
        solver_of(h2o2).with_sources(Sources()).time_to(*state[:3], 1600.0, 1.0)
    with pytest.raises(ValueError, match="with_sources"):
        Reactor(h2o2.solution(), solver_of(h2o2).with_sources(Sources()))


def test_another_reactor_is_refused(solver_of, h2o2):
    library, state = solver_of(h2o2).library, np.array([[1200.0, 1e5, *np.eye(10)[0]]])
    for reactor in (-1, 5):
        with pytest.raises(ValueError, match="reactor from 0 to 4"):
            library.integrate_in_place(state, 1e-6, 1e-3, reactor=reactor)
        with pytest.raises(ValueError, match="reactor from 0 to 4"):
            library.jacobian(state[0], reactor)
    with pytest.raises(ValueError, match="give enthalpy with volume=True"):
        solver_of(h2o2, False, True)
    assert "density and enthalpy" in repr(pickle.loads(pickle.dumps(solver_of(h2o2, True, True))))
