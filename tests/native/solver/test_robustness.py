"""Any states whatsoever: each is advanced to a finite state near CVODE's, or left as it was and
told; whatever a state is, its neighbours' answers are the same bits.

The C interface with odd arguments, and the floating-point environment of the caller.
"""

import ctypes
import ctypes.util
import platform
from concurrent.futures import ThreadPoolExecutor

import cantera as ct
import numpy as np
import pytest
from cantera_truth import cvode_later, ignition_rows, random_rows
from compiled_program import ONE_STATE, compile_quickly

import combred
from combred.native import library
from combred.native.interface import NOT_ADVANCED, Options, Report
from combred.native.solver import Solver
from combred.native.solver.sharing import blocks_of

DT = 1e-6
FLOAT, DOUBLE = 1e-3, 1e-6  # tolerances
TOLERANCES = pytest.mark.parametrize("tolerance", [FLOAT, DOUBLE], ids=["float", "double"])
REACTORS = pytest.mark.parametrize("volume", [False, True], ids=["pressure", "volume"])
OK, NULL, STRIDE, BAD_DT, OPTIONS, WORKSPACE = range(6)


@pytest.fixture(scope="module")
def burning(drm19):
    """60 states T, p, Y of an ignition of methane."""
    return ignition_rows(drm19, 60, "CH4:1", 1500.0, 1e5)


def assert_advanced_or_told(mechanism, T, p, Y, found) -> np.ndarray:
    """The contract of `Solver.integrate` for any state; returns which were advanced."""
    advanced = np.isfinite(found.error)
    assert np.all(np.isinf(found.error) | (found.error <= 1.0)) and not np.any(found.error < 0.0)
    for before, after in ((T, found.T), (p, found.p), (Y, found.Y)):
        same = np.ascontiguousarray(before[~advanced]).tobytes()
        assert np.ascontiguousarray(after[~advanced]).tobytes() == same
    T_next, Y_next = found.T[advanced], found.Y[advanced]
    assert np.all((T_next >= 50.0) & (T_next <= 9000.0))
    assert np.all(found.p[advanced] > 0.0) and np.isfinite(found.p[advanced]).all()
    # A sum within 1e-14 of 1 is not rounding's alone, and kept as it is.
    assert np.all(Y_next >= 0.0) and np.all(np.abs(Y_next.sum(axis=1) - 1.0) <= 1.2e-14)
    return advanced


def same(a, b, rows=slice(None)) -> bool:
    """Whether two `Solution`s are the same bits; rows: those of a that b has."""
    return all(
        np.ascontiguousarray(getattr(a, name)[rows]).tobytes()
        == np.ascontiguousarray(getattr(b, name)).tobytes()
        for name in ("T", "p", "Y", "error", "steps")
    )


ODD = {
    "T": [np.nan, np.inf, -np.inf, 0.0, 27.0, -5.0, 99.9, 6001.0, 7000.0, 1e308, 5e-324],
    "p": [np.nan, np.inf, -np.inf, 0.0, -1e5, 1e31, 1e308],
    "Y": [np.nan, np.inf, -np.inf, -1.0, -1e-3, -2e-6, 1.5, 1e300],
}


@REACTORS
@TOLERANCES
def test_states_that_are_none_are_left_as_they_were(drm19, solver_of, burning, tolerance, volume):
    odd = [(k, x) for k, name in ((0, "T"), (1, "p"), (7, "Y")) for x in ODD[name]]
    states = np.tile(np.column_stack(burning)[30], (len(odd) + 5, 1))
    for row, (column, value) in zip(states, odd, strict=False):
        row[column] = value
    states[-5:, 2:] *= np.array([0.0, 0.5, 0.998, 1.002, 2.0])[:, None]  # the sum of Y
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    solver = solver_of(drm19, volume)
    found = solver.attempt(T, p, Y, DT, tolerance)
    assert not assert_advanced_or_told(drm19, T, p, Y, found).any()
    assert not found.steps.any()


@TOLERANCES
def test_random_garbage(drm19, solver_of, burning, tolerance):
    """1 to 3 numbers of each state are odd, or hardly."""
    rng, n = np.random.default_rng(5), 2000
    values = [*ODD["T"], *ODD["p"], -1e-6, -1e-7, -1e-300, 1e-300, 1e-30, 1.0, 150.0, 5900.0, 1e-5]
    states = np.column_stack(burning)[rng.integers(0, 60, n)]
    for _ in range(3):
        rows, columns = np.arange(n), rng.integers(0, states.shape[1], n)
        odd = np.where(rng.random(n) < 0.5, rng.choice(values, n), states[rows, columns])
        states[rows, columns] = odd
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    solver = solver_of(drm19)
    found = solver.attempt(T, p, Y, DT, tolerance)
    with np.errstate(invalid="ignore"):
        valid = (T >= 100.0) & (T <= 6000.0) & (p > 0.0) & (p < 1e30) & (Y.min(axis=1) >= -1e-6)
        valid &= np.abs(Y.sum(axis=1) - 1.0) < 1e-3
        common = valid & (p > 1.0) & (p < 1e8)
    advanced = assert_advanced_or_told(drm19, T, p, Y, found)
    assert 100 < valid.sum() < n - 100
    assert advanced[common].all() and not advanced[~valid].any()


@TOLERANCES
def test_hard_states_are_near_cvode_s(drm19, solver_of, tolerance):
    """Cold fuel, equilibrium at 4000 K, low and high pressure, traces, over time steps of 1e-9 to
    1e-3 s; each species pure, where third bodies that exclude it are rounding alone."""
    gas = drm19.solution()
    rows = [(T, 1e5, Y, 1e-8) for T in (1500.0, 3000.0) for Y in np.eye(drm19.n_species)]
    pure = len(rows)
    for composition, T, p, dt in (
        ("CH4:1", 250.0, 1e5, 1e-3),  # cold fuel
        ("CH4:1, O2:2, N2:7.52", 300.0, 1e5, 1e-3),  # cold mixture
        ("CH4:1, O2:2, N2:7.52", 300.0, 2e7, 1e-3),
        ("O2:1, N2:3.76", 2500.0, 1e5, 1e-3),  # hot air
        ("H2:1", 3000.0, 1e5, 1e-4),  # dissociation
        ("CO2:1", 3500.0, 1e6, 1e-5),
        ("H:1", 1000.0, 1e5, 1e-6),  # recombination of pure radicals
        ("H:1, O:1", 2000.0, 1e5, 1e-6),
        ("CH4:1, O2:2, N2:7.52", 1500.0, 1.0, 1e-3),  # 1 Pa
        ("CH4:1, O2:2, N2:7.52", 1500.0, 2e7, 1e-6),  # 200 bar, ignites on the way
        ("CH4:1, O2:2, N2:7.52, H:1e-4", 900.0, 1e6, 1e-9),
        ("C2H4:1, O2:1", 1800.0, 1e6, 1e-5),  # rich
        ("AR:1", 1000.0, 1e5, 1.0),  # nothing happens
    ):
        gas.TPX = T, p, composition
        rows.append((T, p, gas.Y, dt))
    gas.TPX = 4000.0, 1e5, "CH4:1, O2:2, N2:7.52"
    gas.equilibrate("TP")
    rows.append((gas.T, gas.P, gas.Y, 1e-3))
    for trace in (1e-30, 1e-300, 5e-324):
        gas.TPX = 1400.0, 1e5, "CH4:1, O2:2, N2:7.52"
        rows.append((gas.T, gas.P, gas.Y + trace * (gas.Y == 0.0), 1e-5))
    T, p, Y, dt = (np.array(x) for x in zip(*rows, strict=True))
    found = solver_of(drm19).attempt(T, p, Y, dt, tolerance)
    assert assert_advanced_or_told(drm19, T, p, Y, found).all()
    true_T, _, true_Y = cvode_later(drm19, False, T, p, Y, dt)
    off_T = np.abs(found.T - true_T) / (np.abs(true_T - T) + 1.0)
    off_Y = np.abs(found.Y - true_Y).max(axis=1) / (np.abs(true_Y - Y).max(axis=1) + 1e-5)
    off = np.maximum(off_T, off_Y) / tolerance
    assert off[:pure].max() <= 5.0 and off.max() <= 10.0  # errors of some 10 to 100 steps add up
    assert np.abs(found.Y - Y)[:pure].max() > 0.1  # radicals recombine


@TOLERANCES
def test_a_gas_that_becomes_too_hot_is_told_soon(drm19, solver_of, tolerance):
    """Hot gas of random composition; T may leave the range on its way, and not at its end."""
    rng, n = np.random.default_rng(0), 600
    T, p = rng.uniform(3000.0, 4000.0, n), 10.0 ** rng.uniform(0.0, 7.3, n)
    raw = rng.exponential(1.0, (n, drm19.n_species)) ** rng.uniform(0.5, 8.0, (n, 1))
    Y = raw / raw.sum(axis=1, keepdims=True)
    found = solver_of(drm19).attempt(T, p, Y, 1e-3, tolerance)
    lost = np.flatnonzero(~assert_advanced_or_told(drm19, T, p, Y, found))
    assert 2 < len(lost) < 30 and found.steps[lost].max() < 1000  # in floats, and in doubles
    true_T, _, _ = cvode_later(drm19, False, *(x[lost[:5]] for x in (T, p, Y)), np.full(5, 1e-3))
    assert true_T.min() > 5990.0  # K: within the tolerance
    with pytest.raises(ValueError, match="or T had left 100 to 6000 K"):
        solver_of(drm19).integrate(T, p, Y, 1e-3, tolerance)


@REACTORS
@TOLERANCES
@pytest.mark.parametrize("dt", [5e-324, 1e-300, 1e-40, 1e-12, 1e-2, 1.0, 1e3])
def test_very_short_and_very_long_time_steps(drm19, solver_of, burning, tolerance, volume, dt):
    """In the shortest nothing happens, and the longest end in equilibrium."""
    T, p, Y = (x[::6] for x in burning)
    found = solver_of(drm19, volume).attempt(T, p, Y, dt, tolerance)
    assert assert_advanced_or_told(drm19, T, p, Y, found).all()
    if dt <= 1e-12:
        # K and of Y: a radical that lives 1e-9 s changes by a thousandth of some 1e-3.
        assert np.abs(found.T - T).max() < 1e-3 and np.abs(found.Y - Y).max() < 1e-6
        return
    gas = drm19.solution()
    for i in range(len(T)):
        gas.set_unnormalized_mass_fractions(Y[i])
        gas.TP = T[i], p[i]
        gas.equilibrate("UV" if volume else "HP")
        # K: CO burns out slowly, in more than 0.01 s; and the tolerance of the last steps.
        assert abs(found.T[i] - gas.T) < (30.0 if dt < 0.1 else 1.0)


def test_too_few_steps_leave_the_state(drm19, solver_of, burning):
    solver = solver_of(drm19)
    T, p, Y = burning
    whole = solver.attempt(T, p, Y, 1e-4, DOUBLE)
    assert whole.steps.max() > 20 > 5 > whole.steps.min()
    found = solver.attempt(T, p, Y, 1e-4, DOUBLE, max_steps=20)
    advanced = assert_advanced_or_told(drm19, T, p, Y, found)
    assert np.array_equal(advanced, whole.steps <= 20)
    assert np.array_equal(found.steps, np.minimum(whole.steps, 20))
    assert np.array_equal(found.Y[advanced], whole.Y[advanced])
    said = rf"{(~advanced).sum()} of 60 states .*: after 20 steps it had not reached dt = 0\.0001 s"
    with pytest.raises(ValueError, match=said):
        solver.integrate(T, p, Y, 1e-4, DOUBLE, max_steps=20)


# Four steps of methane (Jones & Lindstedt, Combust. Flame 73 (1988) 233), of orders below 1.
GLOBAL = """\
units: {length: cm, quantity: mol, activation-energy: cal/mol}
phases:
- name: gas
  thermo: ideal-gas
  elements: [C, H, O, N]
  species: [{gri30.yaml/species: [CH4, O2, H2O, N2, CO, CO2, H2]}]
  kinetics: gas
reactions:
- equation: 2 CH4 + O2 => 2 CO + 4 H2
  rate-constant: {A: 3.91e+13, b: 0.0, Ea: 3.0e+4}
  orders: {CH4: 0.5, O2: 1.25}
- equation: CH4 + H2O <=> CO + 3 H2
  rate-constant: {A: 3.0e+11, b: 0.0, Ea: 3.0e+4}
- equation: 2 H2 + O2 => 2 H2O
  rate-constant: {A: 6.045e+18, b: -1.0, Ea: 4.0e+4}
  orders: {H2: 0.25, O2: 1.5}
- equation: CO + H2O <=> CO2 + H2
  rate-constant: {A: 2.75e+12, b: 0.0, Ea: 2.0e+4}
"""


def test_a_species_of_a_low_order_is_used_up(mechanism_of, tmp_path, monkeypatch):
    """Where c^m has no bounded derivative a species is gone in a finite time: CVODE fails, or
    leaves negative mass fractions."""
    compile_quickly(monkeypatch, "-O1", ONE_STATE)
    mechanism = mechanism_of(GLOBAL)
    solver, rng, n = Solver(mechanism, folder=tmp_path), np.random.default_rng(0), 100
    T, p = rng.uniform(900.0, 2500.0, n), 101325.0 * 10.0 ** rng.uniform(-0.5, 1.5, n)
    phi = rng.uniform(0.3, 2.0, n)
    Y = np.array([mechanism.mixture("CH4:1", "O2:1, N2:3.76", one) for one in phi])
    burnt, half = solver.attempt(T, p, Y, 1e-4), rng.uniform(size=(n, 1))
    Y = half * Y + (1.0 - half) * burnt.Y
    for dt in (1e-7, 1e-5, 1e-3):
        found, exact = (solver.attempt(T, p, Y, dt, t) for t in (1e-3, 1e-7))
        assert np.isfinite(burnt.error).all() and np.isfinite(exact.error).all()
        assert np.all(found.error <= 1.0) and found.Y.min() >= 0.0
        # As of other mechanisms: test_accuracy.LIMITS.
        assert np.abs(found.T - exact.T).max() < 0.03 * np.abs(exact.T - T).max() + 0.03


# CO of methane in global steps (Westbrook & Dryer, Combust. Sci. Technol. 27 (1981) 31).
CARBON_MONOXIDE = """\
units: {length: cm, quantity: mol, activation-energy: cal/mol}
phases:
- name: gas
  thermo: ideal-gas
  species: [{gri30.yaml/species: [O2, H2O, N2, CO, CO2]}]
  kinetics: gas
reactions:
- equation: CO + 0.5 O2 => CO2
  rate-constant: {A: 3.98e+14, b: 0.0, Ea: 4.0e+4}
  orders: {CO: 1.0, H2O: 0.5, O2: 0.25}
  nonreactant-orders: true
- equation: CO2 => CO + 0.5 O2
  rate-constant: {A: 5.0e+8, b: 0.0, Ea: 4.0e+4}
"""


def test_a_scarce_species_of_a_low_order_counts(mechanism_of, tmp_path, monkeypatch):
    """O2 in rich burnt gas, of 5e-12 kmol/m3."""
    compile_quickly(monkeypatch, "-O1", ONE_STATE)
    mechanism = mechanism_of(CARBON_MONOXIDE)
    gas, solver = mechanism.solution(transport=False), Solver(mechanism, folder=tmp_path)
    gas.TPX = 1600.0, 2e6, "CO:1, O2:0.3, H2O:1, N2:2"
    found = solver.integrate([gas.T], [gas.P], [gas.Y], 0.1, tolerance=1e-7)
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-22
    net.advance(0.1)
    assert found.T[0] == pytest.approx(gas.T, abs=0.01)
    assert found.Y[0] == pytest.approx(gas.Y, rel=1e-3)


def test_states_that_floats_give_up_are_done_in_doubles(drm19, solver_of, burning):
    """Each with max_steps anew; more of them than the workspace holds at once."""
    solver = solver_of(drm19)
    T, p, Y = burning
    whole = solver.attempt(T, p, Y, 1e-4, FLOAT)
    found = solver.attempt(T, p, Y, 1e-4, FLOAT, max_steps=30)
    advanced = assert_advanced_or_told(drm19, T, p, Y, found)
    given_up = whole.steps > 30
    again = advanced & given_up
    assert again.sum() > 10 and (~given_up).sum() > 10
    assert np.array_equal(found.Y[~given_up], whole.Y[~given_up])
    assert np.all(found.steps[again] > 30) and np.all(found.steps <= 60)
    # Both are within a few times the tolerance of the truth.
    assert np.abs(found.T - whole.T)[again].max() < 10.0 * FLOAT * np.abs(whole.T - T).max()
    many = [np.tile(x, (50,) + (1,) * (x.ndim - 1)) for x in burning]
    assert given_up.sum() * 50 > 1024
    rows = np.arange(3000) % 60
    assert same(found, solver.attempt(*many, 1e-4, FLOAT, max_steps=30), rows)


@REACTORS
@TOLERANCES
@pytest.mark.parametrize("n", [0, 2, 7, 8, 9, 15, 16, 17, 1000])
def test_a_state_has_the_same_answer_in_any_batch(drm19, solver_of, burning, tolerance, volume, n):
    """Easy, hard and odd states, each with its own time step, in any order and with itself:
    bit for bit, also of blocks on both sides of the 1000 K where polynomials change. (Alone:
    test_alone.py.)"""
    rng = np.random.default_rng(n)
    pick = rng.integers(0, 60, n)
    T, p, Y = (x[pick].copy() for x in burning)
    T *= rng.uniform(0.5, 1.05, n)
    p *= 10 ** rng.uniform(-1.0, 1.3, n)
    bad = rng.random(n) < 0.1
    T[bad] = rng.choice([np.nan, 27.0, 1e308], bad.sum())
    Y[rng.random(n) < 0.05] = np.nan
    dt = 10 ** rng.uniform(-9.0, -5.0, n)
    solver = solver_of(drm19, volume)
    found = solver.attempt(T, p, Y, dt, tolerance)
    assert len(found.T) == n
    order = rng.permutation(n)
    moved = solver.attempt(T[order], p[order], Y[order], dt[order], tolerance)
    assert same(found, moved, order)
    for i in order[:60]:
        two = [i, i]
        assert same(found, solver.attempt(T[two], p[two], Y[two], float(dt[i]), tolerance), two)


@TOLERANCES
def test_polynomials_of_all_types_round_alike_in_any_batch(every_thermo, solver_of, tolerance):
    """A block whose T lie in one region of all polynomials has code of its own."""
    T, p, Y = random_rows(every_thermo, 100, seed=0)
    solver = solver_of(every_thermo)
    found = solver.attempt(T, 0.1 * p, Y, 1e-8, tolerance)
    net, _ = solver.rates(T, p, Y)
    for i in range(100):
        two = [i, i]
        assert same(found, solver.attempt(T[two], 0.1 * p[two], Y[two], 1e-8, tolerance), two)
        one = slice(i, i + 1)
        assert np.array_equal(solver.rates(T[one], p[one], Y[one])[0][0], net[i])


@REACTORS
@TOLERANCES
def test_what_the_workspace_holds_does_not_matter(every_kind, solver_of, tolerance, volume):
    """Numbers that are read before they are written are those of the call before."""
    T, p, Y = random_rows(every_kind, 20, seed=1)
    solver, found = solver_of(every_kind, volume), []
    place, bytes_ = solver.library._workspace()
    for content in (0, 255, 75):  # zero; NaN; 1e7 in floats, 4e57 in doubles
        ctypes.memset(place, content, bytes_)
        found.append(solver.attempt(T, p, Y, 1e-7, tolerance, max_steps=50))
    assert same(found[0], found[1]) and same(found[0], found[2])


@TOLERANCES
def test_the_order_of_the_states_does_not_matter(drm19, solver_of, burning, monkeypatch, tolerance):
    """A call begins with the states that took most steps in a call before; more of them than it
    remembers. The call before had other states, then the same ones."""
    monkeypatch.setattr(library, "FIRST_ROWS", 10_000)
    states = [np.tile(x, (40,) + (1,) * (x.ndim - 1)) for x in burning]
    states[0] *= np.linspace(0.7, 1.0, 2400)
    one, other = solver_of(drm19), Solver(drm19)
    known = one.attempt(*states, DT, tolerance)
    assert len(np.unique(known.steps)) > 5
    other.attempt(*(x[::-1] for x in states), 10 * DT, tolerance)
    for _ in range(2):
        assert same(known, other.attempt(*states, DT, tolerance))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 32])
@pytest.mark.parametrize("n", [1, 2, 3, 33, 34, 65, 289])
def test_no_block_of_a_longer_call_has_one_row(n, size):
    """Blocks are of about a size, in order, and have all rows."""
    blocks, left = [], n
    while left:
        blocks.append(library.block_of(left, size))
        left -= blocks[-1]
    assert sum(blocks) == n and max(blocks) <= max(size, 2) + 1
    assert min(blocks) >= min(n, 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 33, 289])
@pytest.mark.parametrize("parts", [4, 8, 1000])
def test_no_thread_has_a_block_of_one_row(n, parts):
    rows = [np.arange(n)[block] for block in blocks_of(n, parts)]
    assert np.array_equal(np.concatenate(rows), np.arange(n))
    assert 1 <= len(rows) <= parts and (n == 0 or min(map(len, rows)) >= min(n, 2))


@REACTORS
def test_the_bits_do_not_depend_on_how_a_call_is_cut(
    drm19, solver_of, burning, monkeypatch, volume
):
    """Of blocks of every size: the last would be one row, which alone in a call has other bits."""
    solver, states = solver_of(drm19, volume), [x[:33] for x in burning]
    monkeypatch.setattr(library, "FIRST_ROWS", 100)  # one block
    known = solver.attempt(*states, 10 * DT, FLOAT)
    alone = [solver.attempt(*(x[i : i + 1] for x in states), 10 * DT, FLOAT) for i in range(33)]
    assert not all(same(known, one, slice(i, i + 1)) for i, one in enumerate(alone))
    until = states[0] + 10.0
    times = solver.time_to(*states, until, 1e-3, FLOAT)
    monkeypatch.setattr(library, "SECONDS", 0.0)  # blocks do not grow with the clock
    for size in (2, 4, 8, 16, 32):
        monkeypatch.setattr(library, "FIRST_ROWS", size)
        for _ in range(2):
            assert same(known, solver.attempt(*states, 10 * DT, FLOAT))
            assert np.array_equal(times, solver.time_to(*states, until, 1e-3, FLOAT))
        shared = solver.integrate(*states, 10 * DT, FLOAT, threads=3)
        assert same(known, shared)


@TOLERANCES
def test_threads_share_a_solver(drm19, solver_of, burning, tolerance):
    solver = solver_of(drm19)
    states = [np.tile(x, (8,) + (1,) * (x.ndim - 1)) for x in burning]
    before = [x.copy() for x in states]
    known = solver.attempt(*states, DT, tolerance)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: solver.attempt(*states, DT, tolerance), range(8)))
    assert all(same(one, known) for one in found)
    assert all(map(np.array_equal, before, states))  # the arrays of the caller are not changed


@TOLERANCES
def test_advance_on_threads_gives_the_same_bits(drm19, solver_of, burning, tolerance):
    """Of more and of fewer states than blocks; a row that is no state is named as without."""
    solver, few = solver_of(drm19), [x[:2] for x in burning]
    dt = np.geomspace(0.1 * DT, 10.0 * DT, len(burning[0]))
    for states, steps in ((burning, dt), (few, DT), ([x[:0] for x in burning], DT)):
        known = solver.advance(*states, steps, tolerance)
        found = solver.advance(*states, steps, tolerance, threads=3)
        assert all(map(np.array_equal, known, found))
    one = solver.integrate(*burning, dt, tolerance, max_steps=10**6, threads=3)
    assert np.array_equal(one.steps, solver.integrate(*burning, dt, tolerance).steps)
    T, p, Y = burning
    with pytest.raises(ValueError, match=r"row 41\)"):
        solver.advance(np.where(np.arange(60) == 41, 20.0, T), p, Y, dt, tolerance, threads=3)
    with pytest.raises(ValueError, match="threads=0"):
        solver.advance(*burning, DT, threads=0)
    with pytest.raises(ValueError, match="threads do not share sources"):
        solver.with_sources(combred.Sources(heating=1.0)).advance(*burning, DT, threads=2)


@pytest.mark.parametrize("dt", [0.0, -1e-6, np.nan, np.inf, 1e31, 1e300])
def test_a_time_step_that_is_none_is_refused(drm19, solver_of, burning, dt):
    """Also one that float32 does not hold."""
    with pytest.raises(ValueError, match="positive and finite"):
        solver_of(drm19).advance(*burning, dt)
    with pytest.raises(ValueError, match="positive and finite"):
        solver_of(drm19).advance(*burning, np.where(np.arange(60) == 33, dt, DT))


def test_other_arguments_that_are_none_are_refused(drm19, solver_of, burning):
    solver = solver_of(drm19)
    T, p, Y = burning
    for tolerance in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="tolerance"):
            solver.attempt(T, p, Y, DT, tolerance)
    for wrong in (-1, 2**63):
        with pytest.raises(ValueError, match="max_steps is from 0"):
            solver.attempt(T, p, Y, DT, max_steps=wrong)
    with pytest.raises(ValueError, match=r"Y has 20 columns.*shape \(n, 23\)"):
        solver.attempt(T, p, Y[:, 1:], DT)


@pytest.fixture(scope="module")
def call(drm19, solver_of):
    """`combred_advance` with other arguments than usual: returns its status."""
    library = solver_of(drm19).library

    def run(rows, **changes) -> int:
        n = len(rows)
        dt, (place, size) = np.full(max(n, 1), DT), library._workspace()
        known = {
            "n": n, "states": rows.ctypes.data, "dt": dt.ctypes.data, "stride": 1,
            "options": None, "report": None, "workspace": place, "size": size,
        }  # fmt: skip
        return library._advance(*(known | changes).values())

    return run


def test_every_wrong_call_has_a_status(call, burning):
    states = np.column_stack(burning)[:3].copy()
    before = states.copy()
    assert call(states, states=None) == call(states, dt=None) == NULL
    assert call(states, workspace=None) == NULL
    assert call(states, stride=2) == STRIDE
    for wrong in (
        Options(0.0, 0, 0), Options(np.nan, 0, 0), Options(np.inf, 0, 0), Options(0.01, -1, 0),
        Options(0.01, 0, 5), Options(0.01, 0, -1),
    ):  # fmt: skip
        assert call(states, options=ctypes.addressof(wrong)) == OPTIONS
    assert call(states, size=100) == WORKSPACE
    for dt in (0.0, -1.0, np.nan, np.inf):
        one = ctypes.c_double(dt)
        assert call(states, dt=ctypes.addressof(one), stride=0) == BAD_DT
    assert np.array_equal(states, before)
    assert call(states, n=0, states=None, dt=None, workspace=None) == OK


def test_rows_that_are_not_advanced_are_counted_and_left(call, burning):
    """In floats, in doubles, and with too few steps for all but the easiest; the others are
    advanced, and nothing is told to who does not ask."""
    for tolerance, max_steps in ((1e-3, 0), (1e-6, 0), (1e-6, 3)):
        states = np.column_stack(burning)
        states[5, 0], states[9, 4], states[40, 1] = 27.0, np.nan, -1.0
        before, error = states.copy(), np.empty(len(states))
        options, report = Options(tolerance, max_steps, 0), Report(error.ctypes.data, None, 77)
        given = {"options": ctypes.addressof(options)}
        assert call(states, **given, report=ctypes.addressof(report)) == NOT_ADVANCED
        lost = np.isinf(error)
        assert lost[[5, 9, 40]].all() and report.not_advanced == lost.sum()
        assert lost.sum() == 3 if not max_steps else 3 < lost.sum() < 60
        assert np.array_equal(states[lost], before[lost], equal_nan=True)
        assert (states[~lost] != before[~lost]).any()
        again = before.copy()
        assert call(again, **given) == NOT_ADVANCED
        assert np.array_equal(again, states, equal_nan=True)
        report = Report(None, None, 77)
        assert call(again[:5], report=ctypes.addressof(report)) == OK and report.not_advanced == 0


def test_no_options_are_the_default_ones(drm19, solver_of, call, burning):
    states = np.column_stack(burning)
    known = solver_of(drm19).attempt(*burning, DT, 1e-3)
    dt = ctypes.c_double(DT)
    assert call(states, dt=ctypes.addressof(dt), stride=0) == OK
    assert np.array_equal(states, np.column_stack([known.T, known.p, known.Y]))


@TOLERANCES
@pytest.mark.parametrize("offset", [1, 8, 24])
def test_any_alignment(drm19, solver_of, call, burning, offset, tolerance):
    """Of the states, the time steps and the workspace, and nothing beyond them is written."""
    library = solver_of(drm19).library
    known = solver_of(drm19).attempt(*burning, DT, tolerance)
    states, dt = np.column_stack(burning), np.full(60, DT)

    def placed(content):
        memory = np.full(content.nbytes + 64, 0xAB, dtype=np.uint8)
        memory[offset : offset + content.nbytes] = np.frombuffer(content.tobytes(), np.uint8)
        return memory

    memory = {
        "states": placed(states),
        "dt": placed(dt),
        "workspace": placed(np.zeros(library._workspace_size(), dtype=np.uint8)),
    }
    options = Options(tolerance, 0, 0)
    status = call(
        states, options=ctypes.addressof(options), size=library._workspace_size(),
        **{name: block.ctypes.data + offset for name, block in memory.items()},
    )  # fmt: skip
    assert status == OK
    expected = {"states": np.column_stack([known.T, known.p, known.Y]), "dt": dt}
    for name, content in expected.items():
        assert memory[name][offset : offset + content.nbytes].tobytes() == content.tobytes()
    for block in memory.values():
        assert np.all(block[:offset] == 0xAB) and np.all(block[offset - 64 :] == 0xAB)


def test_subnormals_of_the_caller_survive(drm19, solver_of, burning):
    """They are zero inside a call alone."""
    solver = solver_of(drm19)
    for tolerance in (FLOAT, DOUBLE):
        solver.attempt(*burning, DT, tolerance)
        solver.rates(*burning)
        assert np.array([1e-310, 2e-310]).sum() > 0.0
        assert np.float32(1e-30) * np.float32(1e-10) > 0.0


def test_the_floating_point_environment_of_the_caller_survives(drm19, solver_of, call, burning):
    """OpenFOAM traps division by zero, invalid operations and overflow. In a new process it would
    die; here traps are off in each call and on again after it, and no flag is raised. The answers
    are those of rounding to nearest."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    if not hasattr(libm, "feenableexcept"):
        pytest.skip("traps are set by functions of glibc")
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of the traps are those of x86")
    traps, upward, every = 0x01 | 0x04 | 0x08, 0x800, 0x3D
    solver, library = solver_of(drm19), solver_of(drm19).library
    states = np.tile(np.column_stack(burning), (2, 1))
    states[::7, 0], states[3::7, 4] = np.nan, 0.0
    n, place = len(states), library._workspace()
    net, destruction = np.empty((2, n, drm19.n_species))
    jacobian, seconds = np.empty((1 + drm19.n_species,) * 2), np.empty(n)
    known = [*library.rates(states), solver.jacobian(*(x[5] for x in burning))]
    one = np.column_stack(burning)[5]
    thermo = [ctypes.c_size_t(n), *(ctypes.c_void_p(x.ctypes.data) for x in (states, seconds))]
    options = [Options(FLOAT, 0, 0), Options(DOUBLE, 0, 1)]
    calls = [
        *(lambda o=o: call(states.copy(), options=ctypes.addressof(o)) for o in options),
        lambda: library._rates(
            n, states.ctypes.data, net.ctypes.data, destruction.ctypes.data, *place
        ),
        lambda: library._jacobian(one.ctypes.data, 0, jacobian.ctypes.data, *place),
        lambda: library._time_scale(n, states.ctypes.data, seconds.ctypes.data, *place),
        lambda: library.calls.combred_enthalpy(*thermo),
        lambda: library.calls.combred_temperature(*thermo),
    ]
    rounding = libm.fegetround()
    told = []
    for run in calls:
        try:
            libm.feclearexcept(every)
            libm.fesetround(upward)
            libm.feenableexcept(traps)
            status, trapped = run(), libm.fegetexcept()
            told.append((status, trapped, libm.fetestexcept(traps), libm.fegetround()))
        finally:
            libm.fedisableexcept(every)
            libm.fesetround(rounding)
    statuses = [NOT_ADVANCED, NOT_ADVANCED, OK, OK, OK, OK, NOT_ADVANCED]
    assert told == [(status, traps, 0, upward) for status in statuses]
    assert all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(known, (net, destruction, jacobian), strict=True)
    )
