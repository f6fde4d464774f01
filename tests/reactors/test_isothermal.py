"""Isothermal reactors, and those with a temperature over time: against Cantera without its energy
equation, and rates integrated by Radau."""

import pickle

import cantera as ct
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import combred

ATM = ct.one_atm
TIGHT = 1e-6  # tolerance, of which errors of Y are a share


@pytest.fixture(scope="module")
def diluted(h2o2) -> np.ndarray:
    return h2o2.mixture("H2:1", "O2:1, AR:20", 0.5)


def network(gas, kind=ct.IdealGasConstPressureReactor, tau: float = 0.0):
    """Cantera's isothermal reactor of a phase, which flows through it in tau [s], and its
    network."""
    inlet, outlet = ct.Reservoir(gas, clone=True), ct.Reservoir(gas, clone=True)
    reactor = kind(gas, clone=False, energy="off")
    parts = []
    if tau:
        parts = [ct.MassFlowController(inlet, reactor), ct.MassFlowController(reactor, outlet)]
        for flow in parts:
            flow.mass_flow_rate = reactor.mass / tau
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-18
    return reactor, net, parts


@pytest.mark.parametrize("volume", [False, True], ids=["pressure", "volume"])
def test_a_closed_reactor_is_cantera_s_without_energy(solver_of, drm19, volume):
    """Methane and air at 1500 K to equilibrium: Y to the tolerance times their change, which is
    0.2; T to the last bit, p by the moles. One state, and several."""
    Y, t = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0), np.array([0.0, 1e-4, 1e-3, 1e-2])
    gas = drm19.solution(transport=False)
    gas.TPY = 1500.0, ATM, Y
    kind = ct.IdealGasReactor if volume else ct.IdealGasConstPressureReactor
    reactor, net, _ = network(gas, kind)
    true = []
    for end in t[1:]:
        net.advance(end)
        true.append([gas.P, *reactor.Y])
    for n, tolerance in ((1, 1e-3), (40, 1e-3), (3, TIGHT)):
        start = np.full(n, 1500.0), ATM, np.tile(Y, (n, 1))
        path = combred.reactor(
            solver_of(drm19, volume), *start, t, tolerance=tolerance, isothermal=True
        )
        assert (path.T == 1500.0).all()
        states = np.concatenate([path.p[1:, :, None], path.Y[1:]], axis=2)
        off = abs(states - np.array(true)[:, None])
        assert (off[:, :, 0] / ATM).max() < tolerance and off[:, :, 1:].max() < 0.2 * tolerance
    assert (abs(path.p / ATM - 1.0).max() > 1e-3) == volume


def test_a_perfectly_stirred_reactor_is_cantera_s_without_energy(solver_of, h2o2, diluted):
    """Nearly unburnt, burning, and where radicals multiply for a thousand residence times."""
    slow = h2o2.mixture("H2:1", "O2:1, AR:20", 2.5)
    T, p = np.array([1000.0, 1000.0, 953.8]), np.array([ATM, ATM, 600.0])
    tau, Y = np.array([1e-5, 1e-2, 0.0234]), np.array([diluted, diluted, slow])
    T1, Y1 = combred.psr(solver_of(h2o2), T, p, Y, tau, isothermal=True)
    assert (T1 == T).all()
    for i in range(3):
        gas = h2o2.solution(transport=False)
        gas.TPY = T[i], p[i], Y[i]
        reactor, net, flows = network(gas, tau=tau[i])
        net.advance(3000.0 * tau[i])
        change = abs(reactor.Y - Y[i]).max()
        assert (change > 1e-4) == (i > 0) and abs(reactor.Y - Y1[i]).max() < 1e-6 * change + 1e-14
    isothermal = combred.psr(solver_of(h2o2, False, False, True), T, p, Y, tau)
    assert np.array_equal(isothermal[1], Y1)
    inflow = ct.SolutionArray(h2o2.solution(), 1)
    inflow.TPY = T[1], ATM, diluted
    states = combred.cantera.psr(solver_of(h2o2), inflow, tau[:2], isothermal=True)
    assert np.allclose(states.Y, Y1[:2], atol=1e-12) and np.allclose(states.T, 1000.0)


def rates_over(gas, Y, T, p, end: float) -> np.ndarray:
    """Y at the time `end` of a closed reactor of T(t), p(t)."""

    def slope(t, y):
        gas.set_unnormalized_mass_fractions(y)
        gas.TP = T(t), p(t)
        return gas.net_production_rates * gas.molecular_weights / gas.density

    return solve_ivp(slope, (0.0, end), Y, "Radau", rtol=1e-8, atol=1e-14).y[:, -1]


def test_temperatures_over_time_and_along_a_duct(solver_of, h2o2, diluted):
    """T falls, then rises; with p as well, and from an isothermal solver. A duct with the same T
    over time at its end."""
    t, T = np.array([0.0, 5e-4, 2e-3]), np.array([1100.0, 1000.0, 1150.0])
    gas = h2o2.solution(transport=False)
    for p in (np.full(3, ATM), ATM * np.array([1.0, 1.5, 1.2])):
        path = combred.reactor(
            solver_of(h2o2), T[:1], ATM, diluted[None], t, p, temperature=T, tolerance=TIGHT
        )
        Y = rates_over(
            gas, diluted, lambda s: np.interp(s, t, T), lambda s, p=p: np.interp(s, t, p), t[-1]
        )
        assert np.allclose(path.T[:, 0], T, rtol=1e-14) and np.allclose(path.p[:, 0], p)
        assert abs(path.Y[-1, 0] - Y).max() < 1e-6
    gas.TPY = T[0], ATM, diluted
    door = combred.cantera.Reactor(gas, solver_of(h2o2), t=t, temperature=T, pressure=p)
    door.advance(3e-4)
    assert gas.T == pytest.approx(1040.0, rel=1e-12)
    door.advance(t[-1])
    assert gas.T == pytest.approx(1150.0) and abs(gas.Y - Y).max() < 1e-4

    x, along = np.linspace(0.0, 0.02, 5), np.array([1100.0, 1075.0, 1050.0, 1025.0, 1000.0])
    duct = combred.plug_flow(
        solver_of(h2o2), T[:1], ATM, diluted[None], x, 20.0, temperature=along, tolerance=TIGHT
    )
    assert np.allclose(duct.T[:, 0], along, rtol=1e-4)
    path = combred.reactor(
        solver_of(h2o2, False, False, True), T[:1], ATM, diluted[None], duct.t[:, 0],
        temperature=duct.T, tolerance=TIGHT,
    )  # fmt: skip
    # The duct's T is linear in x, of which x is not in t: u changes by 10 %.
    assert abs(path.Y[-1] - duct.Y[-1]).max() < 2e-3 * abs(path.Y[-1] - diluted).max()
    level = combred.plug_flow(
        solver_of(h2o2), T[:1], ATM, diluted[None], x, 20.0, isothermal=True, tolerance=TIGHT
    )
    assert (level.T == 1100.0).all()
    Y = rates_over(gas, diluted, lambda _: 1100.0, lambda _: ATM, level.t[-1, 0])
    assert abs(level.Y[-1, 0] - Y).max() < 1e-6


def test_a_wall_of_any_heat_transfer_ends_at_its_temperature(solver_of, h2o2, diluted):
    """From adiabatic to isothermal: steady states conserve energy with the wall, and a closed
    reactor and a duct become isothermal ones as U grows."""
    U, tau = np.array([1e4, 1e6, 1e8, 1e12]), 1e-3
    solver, gas = solver_of(h2o2), h2o2.solution(transport=False)
    T, Y = combred.psr(solver, 1000.0, ATM, diluted, tau, U, 1000.0)
    gas.TPY = 1000.0, ATM, diluted
    h_in = gas.h
    for i in range(4):
        gas.TPY = T[i], ATM, Y[i]
        lost = U[i] * (T[i] - 1000.0) / gas.density * tau
        assert h_in - gas.h == pytest.approx(lost, rel=1e-6, abs=1.0)  # J/kg, of T to 1e-3 K
    assert T[0] > 1200.0 and (np.diff(T) < 0.0).all() and T[-1] < 1000.001
    level = combred.psr(solver, 1000.0, ATM, diluted, tau, isothermal=True)[1]
    assert abs(Y[-1] - level).max() < 1e-8  # T is 1e-4 K higher
    start, t = (np.array([1000.0]), ATM, diluted[None]), np.array([0.0, 3e-4, 1e-2])
    true = combred.reactor(solver, *start, t, isothermal=True).Y
    off = [
        abs(combred.reactor(solver, *start, t, None, None, u, 1000.0).Y - true).max()
        for u in (1e6, 1e8, 1e12)
    ]
    assert off[0] > 10.0 * off[1] and off[2] < 2e-5  # the tolerance times the change
    x = np.array([0.0, 0.01, 0.02])
    duct = combred.plug_flow(solver, *start, x, 20.0, heat_transfer=1e12, T_wall=1000.0)
    level = combred.plug_flow(solver, *start, x, 20.0, isothermal=True)
    assert abs(duct.Y - level.Y).max() < 1e-4 and abs(duct.T - 1000.0).max() < 0.01


def test_what_needs_energy_is_refused(solver_of, h2o2, diluted):
    solver, T, Y = solver_of(h2o2, False, False, True), np.array([1000.0]), diluted[None]
    given = solver, T, ATM, Y
    for call, words in (
        (lambda: combred.ignition_delay(*given), "rise of T"),
        (lambda: combred.ignition_delay(*given, "peak OH"), "rise of T"),
        (lambda: combred.ignition_sensitivity(*given), "rise of T"),
        (lambda: solver.time_to(T, ATM, Y, T + 1.0, 1.0), "waits for a temperature"),
        (lambda: combred.extinction_curve(solver, 1000.0, ATM, diluted), "balance of energy"),
        (lambda: combred.judge(solver), "conserve energy"),
        (lambda: combred.psr(*given, 1e-3, heat_transfer=1.0), "leave heat_transfer out"),
        (lambda: solver.with_sources(combred.Sources(heating=1.0)).advance(*given[1:], 1e-6),
         "leave heating out"),
        (lambda: solver_of(h2o2).with_sources(combred.Sources(dT_dt=1.0)).advance(*given[1:], 1e-6),
         "with isothermal=True"),
        (lambda: combred.reactor(*given, [0.0, 1.0], temperature=[900.0, 1000.0]),
         r"first temperature is 900, and T 1000 \(row 0\)"),
        (lambda: combred.reactor(*given, [0.0, 1.0], temperature=[1000.0, 7000.0]), "to 6000 K"),
        (lambda: combred.reactor(solver_of(h2o2), *given[1:], [0.0, 1.0], None, None, 1.0, 50.0),
         "T_wall has to be from 100"),
        (lambda: combred.psr(solver_of(h2o2), *given[1:], 1e-3, heat_transfer=1e100),
         "from 0 to 1e.30: for gas as warm as its wall give isothermal=True"),
        (lambda: combred.solver(h2o2, volume=True, enthalpy=True, isothermal=True), "enthalpy"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            call()


def test_an_isothermal_solver_is_pickled_loaded_and_has_derivatives(solver_of, h2o2, diluted):
    solver, given = solver_of(h2o2, False, False, True), (np.array([1100.0]), ATM, diluted[None])
    Y = solver.advance(*given, 1e-4)[1]
    loaded = combred.native.load(solver.library.path, isothermal=True)
    for copy in (pickle.loads(pickle.dumps(solver)), loaded):
        assert np.array_equal(copy.advance(*given, 1e-4)[1], Y)
    assert "constant T and pressure" in repr(solver)
    step = solver.jacobian(1100.0, ATM, diluted)
    adiabatic = solver_of(h2o2).jacobian(1100.0, ATM, diluted)
    assert not step[0].any() and np.array_equal(step[1:], adiabatic[1:])
