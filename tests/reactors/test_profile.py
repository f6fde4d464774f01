"""Reactors with a profile in time and along a duct: against Cantera's reactors and its rates."""

import cantera as ct
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import combred
from combred.reactors.wall import density

ATM, TIGHT = ct.one_atm, 1e-6


@pytest.fixture(scope="module")
def fresh(h2o2) -> np.ndarray:
    return h2o2.mixture("H2:1", "O2:1, N2:3.76", [0.5, 1.0])


def test_a_rapid_compression_is_that_of_cantera_s_moving_wall(solver_of, h2o2, fresh):
    """Compression by 7.5 in 20 ms, and ignition at its end or just after it; V is linear, as the
    wall's speed is constant."""
    t = np.concatenate([np.linspace(0.0, 0.02, 401), np.linspace(0.02, 0.03, 401)[1:]])
    V = np.maximum(1.0 - t * 0.8667 / 0.02, 1.0 - 0.8667)
    T, p, Y = np.array([540.0, 580.0]), ATM, fresh
    found = combred.reactor(solver_of(h2o2, True), T, p, Y, t, volume=V, tolerance=TIGHT)
    gas = h2o2.solution(transport=False)
    for i in range(2):
        gas.TPY = T[i], p, Y[i]
        around = ct.Reservoir(gas, clone=True)
        cylinder = ct.IdealGasReactor(gas, clone=False, volume=1.0)
        piston = ct.Wall(around, cylinder, A=1.0)
        piston.velocity = lambda s: 0.8667 / 0.02 if s < 0.02 else 0.0
        net = ct.ReactorNet([cylinder])
        net.rtol, net.atol, net.max_time_step = 1e-9, 1e-16, 1e-5
        states = []
        for s in t[1:]:
            net.advance(s)
            states.append((cylinder.T, gas.P, gas["OH"].Y[0]))
        own = np.column_stack([found.T[1:, i], found.p[1:, i], found.Y[1:, i, h2o2.index("OH")]])
        true = np.array(states)
        before = true[:, 0] < 1200.0
        assert before.sum() > 350 and (~before).sum() > 300
        assert np.allclose(own[before][:, :2], true[before][:, :2], rtol=5e-4)
        assert np.allclose(own[-1], true[-1], rtol=1e-5)
        ignited = [t[1:][x[:, 0] > 1500.0][0] for x in (own, true)]
        assert ignited[0] == pytest.approx(ignited[1], abs=3e-5)


def test_gas_that_loses_heat_and_ignites_within_a_step(solver_of, h2o2, fresh):
    """T after one step is that after many: undivided 9 K off; with a loss that assumes an ignition,
    which this loss prevents, 1600 K off; and after a wall that ignites the gas."""
    for T0, p, end, U, wall, n in (
        (1200.0, 2 * ATM, 4e-5, 1e5, 400.0, 1001),
        (930.0, 10 * ATM, 0.3, 5e3, 300.0, 401),
        (640.2, 9 * ATM, 0.06, 9.7e4, 1272.0, 401),
    ):
        T = [
            combred.reactor(
                solver_of(h2o2), np.array([T0]), p, fresh[1:], np.linspace(0.0, end, m),
                heat_transfer=U, T_wall=wall,
            ).T[-1]
            for m in (2, n)
        ]  # fmt: skip
        assert T[0] == pytest.approx(T[1], abs=4.0) and T[0] > 1900.0
    duct = np.array([803.3]), 9.0 * ATM, fresh[1:]
    T = [
        combred.plug_flow(
            solver_of(h2o2), *duct, np.linspace(0.0, 2.5, m), 2.0, heat_transfer=4e3, T_wall=856.0
        ).T[-1]
        for m in (3, 101)
    ]
    assert T[0] == pytest.approx(T[1], abs=4.0) and T[0] > 2600.0


def test_what_does_not_react_is_compressed_at_constant_entropy(solver_of, h2o2):
    """By a profile of pressure and by one of volume, to the same state."""
    gas = h2o2.solution(transport=False)
    gas.TPX = 400.0, ATM, "N2:0.8, AR:0.2"
    T, Y, t = np.array([gas.T]), gas.Y[None], np.linspace(0.0, 0.01, 101)
    p = ATM * np.exp(300.0 * t)
    by_p = combred.reactor(solver_of(h2o2), T, ATM, Y, t, pressure=p, tolerance=TIGHT)
    gas.SP = gas.s, p[-1]
    assert by_p.T[-1, 0] == pytest.approx(gas.T, rel=1e-4)
    V = (by_p.T / by_p.p[:, :1])[:, 0]
    by_V = combred.reactor(solver_of(h2o2, True), T, ATM, Y, t, volume=V, tolerance=TIGHT)
    assert by_V.T[-1, 0] == pytest.approx(gas.T, rel=1e-4)
    assert by_V.p[-1, 0] == pytest.approx(p[-1], rel=1e-4)


def test_hot_gas_cools_to_the_wall(solver_of, h2o2):
    """Nitrogen at constant pressure: dh/dt = -U (T - T_wall) / rho."""
    U, T0, wall = 500.0, 1000.0, 400.0
    gas = h2o2.solution(transport=False)
    gas.TPX = T0, ATM, "N2:1"

    def slope(_, T):
        gas.TP = T[0], ATM
        return [-U * (T[0] - wall) / (gas.density * gas.cp_mass)]

    true = solve_ivp(slope, (0.0, 1.0), [T0], "Radau", rtol=1e-9, atol=1e-9).y[0, -1]
    off = []
    for m in (81, 161):
        t = np.linspace(0.0, 1.0, m)
        found = combred.reactor(
            solver_of(h2o2), np.array([T0]), ATM, gas.Y[None], t, None, None, U, wall
        )
        off.append(abs(found.T[-1, 0] - true))
    assert max(off) < 0.02 and true < 700.0
    t = np.array([0.0, 1.0])  # in which it loses more heat than it has
    found = combred.reactor(
        solver_of(h2o2), np.array([T0]), ATM, gas.Y[None] * 0.9995, t, None, None, U, wall
    )
    assert found.T[-1, 0] == pytest.approx(true, abs=0.5) and found.Y[0].sum() == pytest.approx(1.0)


def test_a_fast_flow_is_told(solver_of, h2o2, fresh):
    """The throat of a nozzle, in which the end of a step is beside its place."""
    with pytest.warns(UserWarning, match="kinetic energy"):
        combred.plug_flow(
            solver_of(h2o2),
            np.array([1100.0, 1200.0]),
            ATM,
            fresh,
            np.linspace(0.0, 0.1, 6),
            60.0,
            [1.0, 1e-6, 1.0, 1.0, 1.0, 1.0],
        )


class Duct:
    """d(T, Y, t)/dx of one plug flow reactor, by Cantera's rates."""

    def __init__(self, gas, flow: float, area, pressure, U: float, wall: float):
        self.gas, self.flow, self.area, self.pressure = gas, flow, area, pressure
        self.U, self.wall = U, wall

    def __call__(self, x, y):
        gas = self.gas
        gas.set_unnormalized_mass_fractions(y[1:-1])
        gas.TP = y[0], self.pressure(x)
        rho, w = gas.density, gas.net_production_rates
        dt = rho * self.area(x) / self.flow
        dp_dt = (self.pressure(x + 1e-7) - self.pressure(x - 1e-7)) / 2e-7 / dt
        heat = dp_dt - self.U * (y[0] - self.wall) - gas.partial_molar_enthalpies @ w
        return dt * np.array([heat / (rho * gas.cp), *w * gas.molecular_weights / rho, 1.0])


@pytest.mark.parametrize(
    ("area", "pressure", "U"),
    [([1.0, 1.0], [1.0, 1.0], 0.0), ([1.0, 2.0], [1.0, 1.0], 2e4), ([2.0, 1.0], [1.0, 0.8], 0.0)],
    ids=["plain", "diffuser with a cold wall", "nozzle"],
)
@pytest.mark.filterwarnings("ignore:the velocity")
def test_plug_flow_is_cantera_s(solver_of, h2o2, fresh, area, pressure, U):
    """Ignition in a duct of .1 m, of two gases at once: T, Y, p, velocity and time at each x."""
    x, T, u = np.linspace(0.0, 0.1, 41), np.array([1150.0, 1100.0]), np.array([60.0, 80.0])
    A, p = (np.interp(x, [0.0, 0.1], ends) for ends in (area, pressure))
    found = combred.plug_flow(
        solver_of(h2o2), T, ATM, fresh, x, u, A, p * ATM, U, 400.0, tolerance=TIGHT
    )
    gas = h2o2.solution(transport=False)
    for i in range(2):
        gas.TPY = T[i], ATM, fresh[i]
        along = (lambda s, y=y: np.interp(s, x, y) for y in (A, p * ATM))
        right = Duct(gas, gas.density * u[i] * A[0], *along, U, 400.0)
        begin = [T[i], *fresh[i], 0.0]
        true = solve_ivp(right, (0, 0.1), begin, "BDF", x, rtol=1e-8, atol=1e-14, max_step=2e-4).y
        assert true[0].max() > T[i] + 400.0
        assert np.allclose(found.T[:, i], true[0], atol=2e-3 * np.ptp(true[0]))
        assert np.allclose(found.Y[:, i], true[1:-1].T, atol=1e-3)
        assert np.allclose(found.t[:, i], true[-1], rtol=5e-4)
        assert np.allclose(found.p[:, i], p * ATM, rtol=1e-3)
    flow = density(h2o2, (found.T, found.p, found.Y)) * found.velocity * A[:, None]
    assert np.allclose(flow, flow[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("volume", "changed", "words"),
    [
        (False, {"volume": [1.0, 0.5]}, "volume=True"),
        (True, {"pressure": [ATM, ATM]}, "volume=False"),
        (False, {"pressure": [2 * ATM, ATM]}, "first pressure"),
        (False, {"pressure": [ATM, -1.0]}, "positive"),
        (False, {"pressure": [ATM] * 3}, r"give \(2,\)"),
        (False, {"t": [0.0, 0.0]}, "t has to be"),
        (False, {"t": [0.0, np.inf]}, "t has to be finite"),
        (True, {"T": [400.0, np.nan]}, "row 1"),
        (False, {"Y": np.ones((2, 3))}, "10 species"),
    ],
)
def test_other_profiles_are_refused(solver_of, h2o2, fresh, volume, changed, words):
    given = {"T": [400.0, 500.0], "p": ATM, "Y": fresh, "t": [0.0, 1e-3]} | changed
    with pytest.raises(ValueError, match=words):
        combred.reactor(solver_of(h2o2, volume), **given)
    with pytest.raises(ValueError, match="take a solver without enthalpy"):
        combred.reactor(solver_of(h2o2, True, True), **given)
