"""A compiled surrogate against the torch definition: one step, many steps, odd states.

The definition rounds logarithms to float32 before the exponential; the library adds them, and
makes the quasi-steady steps, in float32. How much rounding matters is seen by the definition
itself, with its rates in float64: the library may differ by twenty times as much.
"""

import copy

import numpy as np
import pytest
import torch
from rate_kinds import random_states

from combred.native import NativeSurrogate, build, generate

SIZES = (0, 1, 15, 16, 17, 4096)


def one_step(native, states, dt):
    """The states after one step of any error, and its estimate: infinite only where the state is
    not valid or the closure fails."""
    later, error, steps = native.integrate(states, dt, tolerance=1e200, max_steps=1)
    assert np.all(steps == 1)
    return later, error * 1e200


@pytest.mark.parametrize("kind", ["burning", "random"])
@pytest.mark.parametrize("dt", [1e-9, 1e-7, 1e-6, 1e-5])
def test_one_step_differs_by_rounding_alone(request, compiled, correcting, mechanism, kind, dt):
    if kind == "burning":
        states = request.getfixturevalue("burning")
    else:
        states = np.column_stack(random_states(mechanism, 1000, seed=3))
    compare_one_step(compiled, correcting, states, dt)


@pytest.mark.parametrize("dt", [1e-9, 1e-7, 1e-5])
def test_one_step_of_other_exponents_and_all_types_of_rates(compiled_kinds, of_kinds, kinds, dt):
    states = np.column_stack(random_states(kinds, 1000, seed=3))
    compare_one_step(compiled_kinds, of_kinds, states, dt)


def rounded_to_bf16(surrogate):
    """A copy whose hidden layers multiply numbers that are rounded to bf16."""
    copied = copy.deepcopy(surrogate)
    for layer in copied.network.layers[1:-1]:
        layer.weight.copy_(layer.weight.bfloat16())
        layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].bfloat16().float(),))
    return copied


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
def test_products_of_bf16(correcting, mechanism, burning, tmp_path):
    """An odd number of inputs (29), and outputs that fill no tile (17)."""
    compiled = NativeSurrogate(build(generate(correcting, mechanism, bf16=True), tmp_path))
    compare_one_step(compiled, rounded_to_bf16(correcting), burning, 1e-6)


def compare_one_step(compiled, correcting, states, dt):
    precise = copy.deepcopy(correcting)
    precise.transform.qss.kinetics.to(torch.float64)
    steps = torch.full((len(states),), dt, dtype=torch.float64)
    known, estimate = (x.numpy() for x in correcting.step(torch.tensor(states), steps, steps))
    exact, of_exact = (x.numpy() for x in precise.step(torch.tensor(states), steps, steps))
    found, error = one_step(compiled, states, dt)
    good = np.isfinite(estimate) & np.isfinite(of_exact)
    # The closure of the library ends with a linear step: it succeeds for a few states more.
    assert good.mean() > 0.2 and np.isfinite(error[np.isfinite(estimate)]).all()
    assert np.isfinite(error).mean() < np.isfinite(estimate).mean() + 0.05

    def spread(a, b):
        T, Y = np.abs(a - b)[:, 0], np.abs(a - b)[:, 2:].max(axis=1)
        return [np.quantile(x[good], share) for x in (T, Y) for share in (0.5, 0.99)]

    least = [1e-4, 1e-2, 1e-7, 1e-6]  # K and of Y: where rates in float64 change less
    for off, rounding, floor in zip(spread(found, known), spread(exact, known), least, strict=True):
        assert off <= 20.0 * rounding + floor
    clear = good & np.isfinite(error) & (estimate > 1e-3)
    assert np.quantile(np.abs(error[clear] / estimate[clear] - 1.0), 0.99) < 0.03


@pytest.mark.parametrize("dt", [1e-9, 1e-7, 1e-6, 1e-5])
def test_integration_over_any_time_step(compiled, correcting, burning, reference, dt):
    """Differences are those of one step, times the number of steps; measured: 0.1 K, 4e-6. Where
    rounding decides whether a step is accepted, they are as large as the tolerance."""
    states = burning[:: {1e-6: 4, 1e-5: 41}.get(dt, 1)]
    states = states[compiled.integrate(states, dt)[2] <= 60]  # torch takes 10 ms a step
    later, error, steps = reference(correcting, states, dt)
    found, found_error, found_steps = compiled.integrate(states, dt)
    assert np.array_equal(found[:, 1], later[:, 1])
    assert np.mean(found_steps == steps) > 0.9 and np.abs(found_steps - steps).max() <= 3
    same = found_steps == steps
    assert np.quantile(np.abs(found - later)[same, 0], 0.999) < 0.2
    assert np.quantile(np.abs(found - later)[same, 2:], 0.999) < 1e-5
    assert np.abs(found - later)[:, 0].max() < 2.0
    assert np.abs(found - later)[:, 2:].max() < 1e-4
    clear = np.abs(error - 1.0) > 0.01
    assert np.array_equal(found_error[clear] <= 1.0, error[clear] <= 1.0)


@pytest.mark.parametrize("mechanism", ["drm19.yaml"], indirect=True, scope="session")
def test_a_millisecond_is_hundreds_of_steps(compiled, correcting, path, reference):
    """Rounding grows where the gas ignites on the way: T rises by some 10 K in a step. It also
    decides, where a step was cut almost in vain, whether it is cut again: 8 % of the steps,
    1.4 K of a rise of 1500 K."""
    states = path.state.numpy()[::20]
    later, error, steps = reference(correcting, states, 1e-3)
    found, found_error, found_steps = compiled.integrate(states, 1e-3)
    assert steps.min() >= 100
    assert np.abs(found_steps / steps - 1.0).max() < 0.15
    assert np.abs(found - later)[:, 0].max() < 5.0
    assert np.abs(found - later)[:, 2:].max() < 5e-4


@pytest.mark.parametrize("size", SIZES)
def test_a_state_has_the_same_answer_in_any_batch(compiled, burning, size):
    """Hard states among easy ones, each with its own time step: bit for bit."""
    rng = np.random.default_rng(size)
    pick = rng.integers(0, len(burning), size)
    states, dt = burning[pick], 10.0 ** rng.uniform(-9.0, -5.5, size)
    later, error, steps = compiled.integrate(states, dt)
    assert later.shape == states.shape and error.shape == steps.shape == (size,)
    for i in rng.permutation(size)[:40]:
        alone = compiled.integrate(states[i : i + 1], dt[i])
        assert np.array_equal(alone[0][0], later[i])
        assert alone[1][0] == error[i] and alone[2][0] == steps[i]


def test_elements_and_enthalpy_are_conserved(compiled, mechanism, burning):
    found, error, _ = compiled.integrate(burning, 1e-5)
    good = np.isfinite(error)
    assert good.mean() > 0.95
    before, after = burning[good], found[good]
    assert np.abs((after - before)[:, 2:] @ mechanism.elements.T).max() < 2e-8  # 1e-9 a step
    assert np.abs(after[:, 2:].sum(axis=1) - 1.0).max() < 2e-8
    assert after[:, 2:].min() >= 0.0
    gas = mechanism.solution()
    h = []
    for T, p, *Y in [*before[::50], *after[::50]]:
        gas.set_unnormalized_mass_fractions(Y)
        gas.TP = T, p
        h.append(gas.enthalpy_mass)
    half = len(h) // 2
    change = np.array(h[half:]) - np.array(h[:half])
    assert np.abs(change).max() < 1e-6 * np.abs(h).max() + 0.5  # J/kg, of some 1e6


@pytest.fixture
def odd(path) -> np.ndarray:
    """States that are not valid, or hardly; the last is valid."""
    states = np.tile(path.state.numpy()[30], (15, 1))
    states[0, 0] = states[1, 1] = states[2, 5] = np.nan
    states[3, 0] = states[4, 1] = states[5, 4] = np.inf
    states[6, 0], states[7, 1], states[8, 5], states[9, 5] = -5.0, -1e5, -1e-3, -1e-10
    states[10, 2:] *= 1.01
    states[11, 2:] = 0.0
    states[12, 0] = 0.0
    states[13, 5] = -np.inf
    return states


def test_odd_states_have_the_answers_of_torch(compiled, correcting, odd, reference):
    later, error, steps = reference(correcting, odd, 1e-6)
    found, found_error, found_steps = compiled.integrate(odd, 1e-6)
    assert np.array_equal(np.isinf(found_error), np.isinf(error)) and np.isinf(error).sum() >= 13
    assert np.array_equal(found_steps, steps)
    assert np.array_equal(np.isnan(found), np.isnan(later))
    with np.errstate(invalid="ignore"):  # infinite p
        off = np.abs(np.where(np.isfinite(later), found - later, 0.0))
    # Of the states at 0 and -5 K, 7e-6: the rates at the lowest T that the polynomials take cancel.
    assert off[:, 0].max() < 0.01 and off[:, 2:].max() < 2e-5


def test_an_odd_state_does_not_change_its_neighbours(compiled, odd):
    found = compiled.integrate(odd, 1e-6)
    alone = compiled.integrate(odd[14:], 1e-6)
    # A block in which all T lie on one side of T_mid has polynomials that are compiled apart from
    # those of a mixed block: the last bit of T may differ.
    assert np.allclose(found[0][14], alone[0][0], rtol=1e-14, atol=0)
    assert found[1][14] == alone[1][0] and found[2][14] == alone[2][0]


def test_states_from_cold_to_very_hot(compiled, correcting, path, reference):
    states = path.state.numpy()[::4]
    for T in (50.0, 250.0, 999.9, 1000.0, 3500.0, 6000.0):
        states[:, 0] = T
        later, error, _ = reference(correcting, states, 1e-8)
        found, found_error, _ = compiled.integrate(states, 1e-8)
        assert np.array_equal(np.isfinite(found_error), np.isfinite(error))
        assert np.abs(found - later)[:, 0].max() < 0.02


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
def test_without_the_matrix_unit(correcting, mechanism, burning, tmp_path):
    """In float, as on a CPU that has none."""
    files = generate(correcting, mechanism)
    compiled = NativeSurrogate(build(files, tmp_path, ("-DCOMBRED_NO_MATRIX",)))
    compare_one_step(compiled, correcting, burning, 1e-6)
