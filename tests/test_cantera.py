"""The doors to Cantera: a `SolutionArray` in and out, and a reactor beside a `ReactorNet`."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest
from compiled_program import compile_quickly

import combred
from combred.native.solver import multipliers

FUEL, AIR = "H2:1", "O2:1, N2:3.76"
TIMES = np.array([2e-5, 5e-5, 6e-5, 1e-4, 1e-3, 1e-2])  # s; it ignites after 4e-5 s


@pytest.fixture(scope="module", params=[False, True], ids=["pressure", "volume"])
def solver(request):
    return combred.solver("h2o2.yaml", volume=request.param)


def start(T: float = 1200.0) -> ct.Solution:
    gas = ct.Solution("h2o2.yaml")
    gas.set_equivalence_ratio(1.0, FUEL, AIR)
    gas.TP = T, 2 * ct.one_atm
    return gas


def test_a_reactor_follows_cantera_s(solver):
    """At the default tolerance of 0.001 of the change in each of the steps, and near the ignition
    a little later or earlier."""
    of = ct.IdealGasReactor if solver.volume else ct.IdealGasConstPressureReactor
    exact = start()
    net = ct.ReactorNet([of(exact, clone=False)])
    net.rtol, net.atol = 1e-10, 1e-18
    mine = combred.cantera.Reactor(start(), solver)
    for time in TIMES:
        net.advance(time)
        assert mine.advance(time) == mine.time == time
        assert mine.phase.T == pytest.approx(exact.T, rel=2e-3)
        assert mine.phase.P == pytest.approx(exact.P, rel=2e-3)
        assert np.allclose(mine.phase.Y, exact.Y, rtol=0, atol=2e-4)
    kept = (mine.phase.density, start().density) if solver.volume else (mine.phase.P, start().P)
    assert kept[0] == pytest.approx(kept[1], rel=1e-12)
    energy = "int_energy_mass" if solver.volume else "enthalpy_mass"
    assert getattr(mine.phase, energy) == pytest.approx(getattr(start(), energy), abs=1.0)  # J/kg


def test_a_reactor_with_a_profile_is_that_of_combred_reactor(solver):
    """Whatever times it is asked for; between the times of the profile it goes on."""
    t, factor = np.array([0.0, 4e-5, 1e-4]), np.array([1.0, 1.2, 1.1])
    name = "volume" if solver.volume else "pressure"
    values = factor * (1.0 if solver.volume else start().P)
    given = {name: values, "heat_transfer": 5e3, "T_wall": 400.0}
    gas = start()
    exact = combred.reactor(solver, np.array([gas.T]), gas.P, gas.Y[None], t, **given)
    mine = combred.cantera.Reactor(gas, solver, t=t, **given)
    for time, row in ((3e-5, None), (t[1], 1), (9e-5, None), (t[2], 2)):
        assert mine.advance(time) == time
        if row:
            assert gas.T == pytest.approx(exact.T[row, 0], rel=2e-3)
            assert gas.P == pytest.approx(exact.p[row, 0], rel=2e-3)
    with pytest.raises(ValueError, match="the profile is from 0 to 0.0001 s"):
        mine.advance(2e-4)
    with pytest.raises(ValueError, match="give t with pressure or volume"):
        combred.cantera.Reactor(start(), solver, **{name: values})


def test_a_time_that_has_passed_is_refused_and_now_does_nothing():
    mine = combred.cantera.Reactor(start(), combred.solver("h2o2.yaml"))
    mine.advance(1e-4)
    T = mine.phase.T
    assert mine.advance(1e-4) == 1e-4 and mine.phase.T == T
    with pytest.raises(ValueError, match=r"5e-05 s has passed: the reactor is at 0.0001 s"):
        mine.advance(5e-5)


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1,)])
def test_a_solution_array_of_any_shape(solver, shape):
    gas = start()
    states = ct.SolutionArray(gas, shape)
    T = np.linspace(1000.0, 1500.0, int(np.prod(shape))).reshape(shape)
    states.TPX = T, 1e5, gas.X
    later = combred.cantera.advance(solver, states, 1e-4)
    assert later.shape == shape and np.array_equal(states.T, T)  # one state: in another phase
    many = T.size
    found = solver.advance(T.reshape(many), 1e5, states.Y.reshape(many, -1), 1e-4)
    assert np.allclose(later.T.reshape(many), found[0], rtol=1e-12)
    assert np.allclose(later.Y.reshape(many, -1), found[1], rtol=1e-12, atol=1e-15)
    kept = "density" if solver.volume else "P"
    assert np.allclose(getattr(later, kept), getattr(states, kept), rtol=1e-12)
    each = np.full(shape, 1e-4)
    assert np.array_equal(combred.cantera.advance(solver, states, each).T, later.T)


def test_one_state_keeps_the_basis_of_its_phase(solver):
    gas = start()
    gas.basis = "molar"
    states = ct.SolutionArray(gas, 1)
    later = combred.cantera.advance(solver, states, 1e-9)
    assert later._phase.name == gas.name and later.density == pytest.approx(states.density, 1e-3)
    assert later.P == pytest.approx(states.P, rel=1e-3)


def test_weights_that_cantera_does_not_copy_are_told():
    gas = ct.Solution(
        yaml="""
phases:
- name: gas
  thermo: ideal-gas
  elements: [{heavy: [O]}, {default: [H, N, Ar]}]
  species: [{h2o2.yaml/species: all}]
  kinetics: gas
  reactions: [h2o2.yaml/reactions]
heavy: [{symbol: O, atomic-weight: 17.999}]
"""
    )
    with pytest.raises(ValueError, match="have atomic weights of their own, .* more than one"):
        combred.cantera._new(ct.SolutionArray(gas, 1), (1,))
    assert combred.cantera._new(ct.SolutionArray(gas, 2), (2,))._phase is gas


def test_time_steps_of_another_shape_and_times_without_end_are_refused():
    """(3, 2) has as many values as (2, 3), in another order."""
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(start(), (2, 3))
    for shape in ((3, 2), (6,), (3,), (1, 1)):
        with pytest.raises(ValueError, match=r"dt has shape .* an array of the shape \(2, 3\)"):
            combred.cantera.advance(solver, states, np.full(shape, 1e-6))
    mine = combred.cantera.Reactor(start(), solver)
    with pytest.raises(ValueError, match="time = inf s: an end has to be one finite number"):
        mine.advance(np.inf)
    assert mine.time == 0.0


def test_other_species_are_refused():
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(ct.Solution("gri30.yaml"), 2)
    with pytest.raises(ValueError, match=r"the phase has the species .* solver.mechanism.solution"):
        combred.cantera.advance(solver, states, 1e-6)
    with pytest.raises(ValueError, match="the phase has the species"):
        combred.cantera.Reactor(ct.Solution("gri30.yaml"), combred.CVODE(solver.mechanism))


def test_of_no_states_there_are_no_results():
    solver, none = combred.solver("h2o2.yaml"), ct.SolutionArray(start(), (2, 0))
    assert combred.cantera.advance(solver, none, 1e-6).shape == (2, 0)
    assert combred.cantera.ignition_delay(solver, none).shape == (2, 0)
    assert combred.cantera.psr(solver, none, 1e-3).shape == (2, 0)


def test_a_phase_without_the_multipliers_of_the_solver_is_told_which_to_set():
    solver = SimpleNamespace(factors=np.full(start().n_reactions, 1.5))  # of with_multipliers
    with pytest.raises(ValueError, match=r"gas.set_multiplier\(1.5, 0\)"):
        combred.cantera.with_multipliers(solver, start())


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """A file whose phase has multipliers, as Cantera has written it, and its mechanism."""
    gas, path = start(), tmp_path_factory.mktemp("slower") / "slower.yaml"
    gas.set_multiplier(0.3, 0)
    gas.set_multiplier(0.0, 5)
    gas.set_multiplier(2.5, 10)
    gas.write_yaml(str(path))
    return str(path), combred.load_mechanism(str(path))


def test_multipliers_of_a_file_are_taken_once(slower):
    """Those of a phase are Cantera's: they replace the file's, where a solver has factors on it."""
    file, mechanism = slower
    gas, own = ct.Solution(file), mechanism.multipliers
    assert own[[0, 5, 10]].tolist() == [0.3, 0.0, 2.5] and (own != 1.0).sum() == 3
    assert combred.load_mechanism(gas).sha256 == mechanism.sha256
    assert mechanism.sha256 != combred.load_mechanism("h2o2.yaml").sha256
    solver = SimpleNamespace(mechanism=mechanism)
    assert combred.cantera.with_multipliers(solver, gas) is solver
    with_factors = SimpleNamespace(mechanism=mechanism, factors=np.full(len(own), 2.0))
    for i, factor in enumerate(own):
        gas.set_multiplier(2.0 * factor, i)
    assert combred.cantera.with_multipliers(with_factors, gas) is with_factors
    with pytest.raises(ValueError, match=r"gas.set_multiplier\(0.3, 0\)"):
        combred.cantera.with_multipliers(solver, gas)
    with pytest.raises(ValueError, match="is not that of its file"):
        combred.load_mechanism(gas)


def test_a_reactor_of_a_file_with_multipliers_follows_cantera_s(slower, monkeypatch):
    """With its multipliers, and with others, which the phase is given; within five times the
    tolerance of the rise of T."""
    file, mechanism = slower
    compile_quickly(monkeypatch)
    solver = combred.solver(mechanism)
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O0", in_one=False))
    before = start().T
    for factors in ({}, {0: 1.0, 10: 0.7}):
        gas, exact = ct.Solution(file), ct.Solution(file)
        for phase in (gas, exact):
            phase.TPY = start().TPY
            for i, factor in factors.items():
                phase.set_multiplier(factor, i)
        combred.cantera.Reactor(gas, solver).advance(1e-4)
        ct.ReactorNet([ct.IdealGasConstPressureReactor(exact, clone=False)]).advance(1e-4)
        assert exact.T > before + 10.0
        assert abs(gas.T - exact.T) < 5e-3 * abs(exact.T - before)
    gas.set_multiplier(0.5, 5)
    with pytest.raises(ValueError, match="but no others where its file has 0"):
        combred.cantera.Reactor(gas, solver)
    library = combred.native.load(solver.library.path)
    combred.cantera.Reactor(ct.Solution(file), library)
    with pytest.raises(ValueError, match="not those of the solver's|which this solver does not"):
        combred.cantera.Reactor(start(), library)


def test_cvode_and_a_loaded_library_have_the_same_door():
    solver, states = combred.solver("h2o2.yaml"), ct.SolutionArray(start(), 3)
    known = combred.cantera.advance(solver, states, 1e-4)
    exact = combred.cantera.advance(combred.CVODE(solver.mechanism), states, 1e-4)
    assert np.allclose(known.T, exact.T, rtol=1e-3)
    again = combred.cantera.advance(combred.native.load(solver.library.path), states, 1e-4)
    assert np.array_equal(again.T, known.T)


def changed(kind: str) -> ct.Solution:
    """The phase of `start` with a change in memory that its species' names do not tell."""
    gas = start()
    if kind == "multiplier":
        gas.set_multiplier(0.0, 5)
    if kind == "rate":
        reaction = gas.reaction(2)
        reaction.rate = ct.ArrheniusRate(3.9e1, 2.7, 2.6e7)
        gas.modify_reaction(2, reaction)
    if kind == "polynomial":
        species = gas.species(5)
        old, coeffs = species.thermo, species.thermo.coeffs
        coeffs[6] += 1.0  # h/R [K]
        species.thermo = ct.NasaPoly2(old.min_temp, old.max_temp, old.reference_pressure, coeffs)
        gas.modify_species(5, species)
    if kind == "reactions":
        parts = {"species": gas.species(), "reactions": gas.reactions()[1:]}
        return ct.Solution(thermo="ideal-gas", kinetics="gas", **parts)
    if kind == "efficiencies":  # which rate constants do not hold
        first = gas.reaction(0)
        body = ct.ThirdBody(efficiencies={"AR": 0.83, "H2": 2.4, "H2O": 15.3})
        first = ct.Reaction(first.reactants, first.products, first.rate, third_body=body)
        parts = {"species": gas.species(), "reactions": [first, *gas.reactions()[1:]]}
        return ct.Solution(thermo="ideal-gas", kinetics="gas", **parts)
    return gas


KINDS = "rate", "polynomial", "reactions", "efficiencies"
DOORS = "solver", "library", "CVODE"


@pytest.mark.parametrize(
    "kind, door",
    [*itertools.product(KINDS, DOORS), ("multiplier", "library"), ("multiplier", "CVODE")],
)
def test_a_phase_that_was_changed_in_memory_is_refused(kind, door):
    """The solver has the rates of its mechanism's file, times the multipliers of the phase."""
    solver, gas = combred.solver("h2o2.yaml"), changed(kind)
    doors = {"library": lambda: combred.native.load(solver.library.path), "solver": lambda: solver}
    one = doors.get(door, lambda: combred.CVODE(solver.mechanism))()
    told = (
        "multiplier 0.0, which this solver does not" if kind == "multiplier" else "not those of the"
    )
    with pytest.raises(ValueError, match=told):
        combred.cantera.advance(one, ct.SolutionArray(gas, 2), 1e-6)
    with pytest.raises(ValueError, match=told):
        combred.cantera.Reactor(gas, one)


def test_reactors_in_threads_have_the_multipliers_of_their_phases(quick_factors, monkeypatch):
    """Phases are compared with one reference, which takes their multipliers in turn."""
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O1", in_one=False))
    solver = combred.solver("h2o2.yaml")

    def delay(factor: float) -> float:
        gas = start()
        gas.set_multiplier(factor)
        combred.cantera.Reactor(gas, solver).advance(5e-5)
        return gas.T

    factors = [1.0, 1.5, 2.0] * 20
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(delay, factors))
    assert found == found[:3] * 20 and len(set(found)) == 3


def test_multipliers_of_a_phase_hold_at_each_call(quick_factors, monkeypatch):
    """CVODE's with the same multipliers, within five times the tolerance of the rise of T."""
    solver, gas, other = combred.solver("h2o2.yaml"), start(), start()
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O1", in_one=False))
    mine = combred.cantera.Reactor(gas, solver)
    truth = ct.ReactorNet([ct.IdealGasConstPressureReactor(other, clone=False)])
    before, reached = gas.T, []
    for end, factor in ((4e-5, 1.0), (7e-5, 0.5), (1e-4, 1.0)):
        for phase in (gas, other):
            phase.set_multiplier(factor)
        mine.advance(end)
        truth.reinitialize()
        truth.advance(end)
        reached.append(gas.T)
        assert abs(gas.T - other.T) < 5e-3 * abs(other.T - before)
    assert reached[-1] > before + 500.0


def test_a_phase_is_left_as_it_was_and_rates_are_compared_at_each_call(tmp_path):
    solver, gas = combred.solver("h2o2.yaml"), start()
    before = gas.state.copy()
    mine = combred.cantera.Reactor(gas, solver)
    assert np.array_equal(gas.state, before)
    assert mine.advance(1e-6) == 1e-6
    own, other = gas.reaction(2), changed("rate").reaction(2)
    gas.modify_reaction(2, other)
    with pytest.raises(ValueError, match="not those of the solver's mechanism"):
        mine.advance(2e-6)
    gas.modify_reaction(2, own)
    gas.write_yaml(str(tmp_path / "written.yaml"))  # by Cantera, in other units
    combred.cantera.Reactor(ct.Solution(str(tmp_path / "written.yaml")), solver)


def test_a_solver_is_pickled_and_says_what_it_is(solver):
    other = pickle.loads(pickle.dumps(solver.with_sources(combred.Sources(heating=1e9))))
    assert other.sources.heating == 1e9
    other = other.with_sources(None)
    states = (np.array([1400.0]), ct.one_atm, start().Y[None], 1e-5)
    for one, two in zip(other.advance(*states), solver.advance(*states), strict=True):
        assert np.array_equal(one, two)
    assert "h2o2.yaml: 10 species, at constant" in repr(other) and other.volume == solver.volume
