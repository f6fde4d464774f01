"""Perfectly stirred reactors against Cantera's networks of reactors."""

import cantera as ct
import numpy as np
import pytest

import combred
from combred.reactors import stirred
from combred.reactors.wall import density

ATM, WALL = ct.one_atm, 500.0
LOSS = 2e4  # W/(m3 K)


@pytest.fixture(scope="module")
def fresh(h2o2) -> np.ndarray:
    return h2o2.mixture("H2:1", "O2:1, N2:3.76", 0.7)


def network(mechanism, inflow, state, tau: float, heat_transfer: float = 0.0):
    """Cantera's reactor of the inflow T, p, Y, filled with a state T, Y, and its network."""
    gas, p = mechanism.solution(transport=False), inflow[1]
    gas.TPY = inflow
    inlet, outlet = ct.Reservoir(gas, clone=True), ct.Reservoir(gas, clone=True)
    gas.TPY = WALL, p, inflow[2]
    around = ct.Reservoir(gas, clone=True)
    gas.TPY = state[0], p, state[1]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    parts = [ct.MassFlowController(inlet, reactor), ct.MassFlowController(reactor, outlet)]
    for flow in parts:
        flow.mass_flow_rate = reactor.mass / tau
    parts.append(ct.Wall(reactor, around, A=reactor.volume, U=heat_transfer))
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-9, 1e-18
    return reactor, net, parts


@pytest.mark.parametrize("loss", [0.0, LOSS])
def test_steady_states_are_cantera_s(solver_of, h2o2, fresh, loss):
    """Of residence times that burn and that extinguish, beside an inflow of its own; Cantera's
    reactor begins in the burnt gas, in its own time, of the volume that the steady state has."""
    tau = np.array([1e-5, 3e-4, 1e-3, 1e-2])
    T0, p = np.array([300.0, 300.0, 600.0, 300.0]), np.array([1.0, 1.0, 5.0, 1.0]) * ATM
    T, Y = combred.psr(solver_of(h2o2), T0, p, fresh, tau, loss, WALL)
    burns = T > 1000.0
    assert burns.any() and not burns.all()
    for i in range(len(tau)):
        reactor, net, kept = network(h2o2, (T0[i], p[i], fresh), (T[i], Y[i]), tau[i], loss)
        if not loss:  # otherwise the volume would be another
            gas = reactor.phase if hasattr(reactor, "phase") else reactor.thermo
            gas.equilibrate("HP")
            reactor.syncState()
            for flow in kept[:2]:
                flow.mass_flow_rate = reactor.mass / tau[i]
        net.initial_time = 0.0
        net.reinitialize()
        net.advance(100.0 * tau[i])
        assert reactor.T == pytest.approx(T[i], rel=2e-6)
        assert np.allclose(reactor.Y, Y[i], rtol=1e-4, atol=1e-9)


def test_a_reactor_burns_wherever_its_curve_does(solver_of, drm19):
    """Methane that begins at equilibrium goes out up to three times the residence time of
    extinction; Cantera's reactor that burns already burns on."""
    fresh, solver = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0), solver_of(drm19)
    end = combred.extinction_curve(solver, 300.0, ATM, fresh, 4).residence_time[-1]
    tau = end * np.array([0.95, 1.2, 4.0])
    T, Y = combred.psr(solver, 300.0, ATM, fresh, tau)
    assert T[0] < 400.0 and T[1] < T[2]
    short = combred.extinction_curve(solver, 300.0, ATM, fresh, 4, longest=tau[1])
    assert short.T[0] == pytest.approx(T[1]) and short.residence_time[-1] == pytest.approx(end)
    reactor, net, kept = network(drm19, (300.0, ATM, fresh), (T[1], Y[1]), tau[1])
    net.advance(100.0 * tau[1])
    assert reactor.T == pytest.approx(T[1], rel=1e-5) and reactor.T > 1400.0


def test_the_inflow_of_extinguished_reactors_is_burnt_once(solver_of, h2o2, monkeypatch):
    """And a burning state is looked for at the longest residence time alone: none is at shorter
    ones. Each of twelve reactors had six equilibria and six paths."""
    lean, paths, followed = h2o2.mixture("H2:1", "O2:1, N2:3.76", 0.08), [], stirred._followed
    monkeypatch.setattr(stirred, "_followed", lambda *a: paths.append(len(a[1])) or followed(*a))
    burnt, equilibrium = [], stirred.equilibrium
    monkeypatch.setattr(stirred, "equilibrium", lambda *a: burnt.append(1) or equilibrium(*a))
    tau = np.geomspace(1e-6, 1e-5, 12)
    T, Y = combred.psr(solver_of(h2o2), 300.0, ATM, lean, tau)
    assert np.allclose(T, 300.0, atol=0.1) and np.allclose(Y, lean, atol=1e-6)
    assert len(burnt) == 1 and paths == [12, *[1] * stirred.TRIES]


def test_the_curve_ends_where_cantera_s_reactor_goes_out(solver_of, h2o2, fresh):
    """Its last residence time is the smallest: Cantera's reactor burns at 1.01 of it, and not at
    .99. All points are steady states of `psr`, from the longest residence time on."""
    curve = combred.extinction_curve(solver_of(h2o2), 300.0, ATM, fresh, 12, 1e-2)
    tau, T = curve.residence_time, curve.T
    assert len(tau) == 12 and tau[0] == 1e-2
    assert (np.diff(tau) < 0.0).all() and (np.diff(T) < 0.0).all()
    steady, Y = combred.psr(solver_of(h2o2), 300.0, ATM, fresh, tau[:-1])
    assert np.allclose(steady, T[:-1], atol=1e-3) and np.allclose(Y, curve.Y[:-1], atol=1e-7)
    way = np.hypot(np.diff(T) / 100.0, np.diff(np.log(tau)))
    assert way.max() < 1.3 * way.min()
    ends = []
    for share in (1.01, 0.99):
        near = T[-1] + 40.0, curve.Y[-2]
        reactor, net, kept = network(h2o2, (300.0, ATM, fresh), near, share * tau[-1])
        net.advance(3000.0 * tau[-1])
        ends.append(reactor.T)
    assert ends[0] > T[-1] - 100.0 and ends[1] < 400.0


def test_with_heat_loss_the_curve_bends_back_at_long_residence_times(solver_of, h2o2, fresh):
    """T is largest between the longest residence time and extinction, and energy is balanced."""
    curve = combred.extinction_curve(solver_of(h2o2), 300.0, ATM, fresh, 30, 1e-2, LOSS, WALL)
    assert 0 < curve.T.argmax() < 29
    gas, state = h2o2.solution(), (curve.T, np.full(30, ATM), curve.Y)
    gas.TPY = 300.0, ATM, fresh
    lost = LOSS * (curve.T - WALL) / density(h2o2, state) * curve.residence_time
    for i in range(30):
        h_in = gas.enthalpy_mass
        gas.TPY = curve.T[i], ATM, curve.Y[i]
        assert gas.enthalpy_mass == pytest.approx(h_in - lost[i], abs=1e-4 * abs(lost[i]))
        gas.TPY = 300.0, ATM, fresh


def test_cantera_s_arrays_of_inflows_and_residence_times(solver_of, h2o2, fresh):
    inflow, tau = ct.SolutionArray(h2o2.solution(), (2, 1)), np.array([3e-4, 1e-3, 1e-2])
    inflow.TPY = np.array([[300.0], [600.0]]), ATM, fresh
    found = combred.cantera.psr(solver_of(h2o2), inflow, tau)
    assert found.shape == (2, 3)
    for i, T0 in enumerate((300.0, 600.0)):
        T, Y = combred.psr(solver_of(h2o2), T0, ATM, fresh, tau)
        assert np.allclose(found.T[i], T) and np.allclose(found.Y[i], Y, atol=1e-8)
    one = ct.SolutionArray(h2o2.solution(), 1)
    one.TPY = 300.0, ATM, fresh
    assert np.allclose(combred.cantera.psr(solver_of(h2o2), one, tau).T, found.T[0])
    assert one.T == 300.0
    U = np.array([[0.0], [1e3]])
    cooled = combred.cantera.psr(solver_of(h2o2), inflow, tau[1:], heat_transfer=U)
    assert np.allclose(cooled.T[0], found.T[0, 1:]) and np.all(cooled.T[1] < found.T[1, 1:] - 1.0)
    with pytest.raises(ValueError, match="numpy broadcasts"):
        combred.cantera.psr(solver_of(h2o2), inflow[0], np.ones((2, 3)), heat_transfer=np.ones(2))
    with pytest.raises(ValueError, match="SolutionArray"):
        combred.cantera.psr(solver_of(h2o2), h2o2.solution(), tau)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"residence_time": 0.0}, "positive"),
        ({"residence_time": [[1e-3]]}, "one for all, or n of each"),
        ({"T": [300.0, 400.0], "residence_time": [1e-3, 1e-2, 1e-1]}, "one for all"),
        ({"T": 20.0}, "T is not from 100"),
        ({"Y": [0.5, 0.5]}, "there are 10 species, and Y has 2 columns"),
        ({"heat_transfer": -1.0}, "from 0 to 1e"),
        ({"residence_time": []}, "at least one"),
    ],
)
def test_other_inflows_are_refused(solver_of, h2o2, fresh, changed, words):
    given = {"T": 300.0, "p": ATM, "Y": fresh, "residence_time": 1e-3} | changed
    with pytest.raises(ValueError, match=words):
        combred.psr(solver_of(h2o2), **given)


def test_other_reactors_are_refused(solver_of, h2o2, fresh):
    with pytest.raises(ValueError, match="volume=False"):
        combred.psr(solver_of(h2o2, True), 300.0, ATM, fresh, 1e-3)
    with pytest.raises(ValueError, match="whole number"):
        combred.extinction_curve(solver_of(h2o2), 300.0, ATM, fresh, points=2.5)
    with pytest.raises(ValueError, match="does not burn"):
        combred.extinction_curve(solver_of(h2o2), 300.0, ATM, fresh, longest=1e-6)
