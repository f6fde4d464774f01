"""The surrogate: conservation by the closure, for any state and any network; one step."""

import re

import numpy as np
import pytest
import torch
from one_step import steps

from combred.native import scripted
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.network import Network

DT = 1e-6


def element_error(mechanism, out: torch.Tensor, Y: np.ndarray) -> float:
    return np.abs((out[:, 2:].numpy() - Y) @ mechanism.elements.T).max()


def after_transport(path) -> tuple[torch.Tensor, np.ndarray]:
    """The path with errors as a transport step leaves them, and the normalized mass fractions."""
    rng = np.random.default_rng(0)
    Y = path.Y * (1.0 + 1e-4)
    Y = np.where(Y < 1e-12, -1e-6 * rng.random(Y.shape), Y)
    clean = Y.clip(0.0) / Y.clip(0.0).sum(axis=1, keepdims=True)
    return torch.tensor(np.column_stack([path.T, path.p, Y])), clean


def test_a_network_of_other_widths_is_refused(mechanism, transform):
    n = 2 + mechanism.n_species
    with pytest.raises(
        ValueError,
        match=rf"maps {n} inputs to {n} outputs, of the change of {n} variables.*widths "
        rf"\[{n}, 8, {n - 1}\]",
    ):
        make_surrogate(mechanism, transform, Network([n, 8, n - 1]))


@torch.no_grad()
def test_the_closure_conserves_elements_mass_and_enthalpy(mechanism, path, surrogate):
    out = surrogate(path.state, path.steps)
    moved = np.abs(out[:, 2:].numpy() - path.Y).max()
    assert moved > 1e-5  # the network predicts a change
    assert element_error(mechanism, out, path.Y) < 1e-10  # negligible after 1e4 steps
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-10
    assert (out[:, 2:] >= 0.0).all()
    assert torch.equal(out[:, 1], path.state[:, 1])  # pressure
    gas = mechanism.solution()
    for before, after in zip(path.state.numpy(), out.numpy(), strict=True):
        gas.TPY = before[0], before[1], before[2:]
        h, cp = gas.enthalpy_mass, gas.cp_mass
        gas.TPY = after[0], after[1], after[2:]
        assert abs(gas.enthalpy_mass - h) < 1e-6 * cp  # 1e-6 K, as Thermo.temperature promises


@torch.no_grad()
@pytest.mark.parametrize("n", [0, 1, 7])
def test_any_number_of_states_is_advanced_each_by_itself(path, surrogate, n):
    """A state's answer and its error depend on no other state of the batch."""
    dt = path.steps
    if surrogate.kinetics:  # steps of other lengths
        dt = dt * torch.logspace(-2, 0, len(dt), dtype=torch.float64)
    given = path.state[20 : 20 + n], dt[20 : 20 + n]
    out, error = surrogate.next_state_and_error(*given)
    assert out.shape == given[0].shape and out.dtype == torch.float64
    # float32 products in blocks of other sizes: 1e-7 of a change of a few K and some 1e-3.
    expected, errors = (x[20 : 20 + n] for x in surrogate.next_state_and_error(path.state, dt))
    assert torch.allclose(out, expected, rtol=1e-6, atol=1e-8)
    assert torch.allclose(error, errors, rtol=1e-2, atol=1e-6)
    assert surrogate.trust(*given).shape == (n,)
    assert surrogate.source(*given).shape == (n, path.Y.shape[1])


@torch.no_grad()
def test_states_with_transport_errors_are_normalized(mechanism, path, surrogate):
    state, clean = after_transport(path)
    assert state[:, 2:].min() < 0.0
    out = surrogate(state, steps(state))
    assert torch.isfinite(out).all()
    assert (out[:, 2:] >= 0.0).all()
    assert (out[:, 2:].sum(dim=1) - 1.0).abs().max() < 1e-10
    assert element_error(mechanism, out, clean) < 1e-10
    tidy = surrogate(torch.tensor(np.column_stack([path.T, path.p, clean])), path.steps)
    # Roundings of the sum may change the last float32 digit of the network's input.
    assert torch.allclose(out, tidy, rtol=1e-6, atol=1e-8)


@torch.no_grad()
def test_a_network_output_of_zero_gives_the_quasi_steady_state_step(
    mechanism, path, qss_transform, make_network
):
    network = make_network([qss_transform.n_inputs, 8, qss_transform.n_outputs], output=0.0)
    out = make_surrogate(mechanism, qss_transform, network)(path.state, path.steps)
    Y = path.state[:, 2:]
    change = qss_transform.qss(path.state[:, 0], path.state[:, 1], Y, path.steps)[0]
    F = qss_transform.boxcox(Y)[:, ~mechanism.inert] + change[:, 1:]
    expected, found = qss_transform.boxcox.inverse(F), out[:, 2:][:, ~mechanism.inert]
    # The closure changes abundant species by a few per cent, since the step does not conserve.
    assert torch.allclose(found, expected, rtol=0.2, atol=1e-9)
    # Where T changes, the result is closer to CVODE than the initial state is.
    steep = torch.tensor(np.abs(path.T_next - path.T) > 1.0)
    left = (out[steep, 0] - torch.tensor(path.T_next)[steep]).abs().sum()
    assert left < 0.5 * (path.state[steep, 0] - torch.tensor(path.T_next)[steep]).abs().sum()


@torch.no_grad()
def test_source_is_the_mean_rate_of_change(path, surrogate):
    expected = (surrogate(path.state, path.steps)[:, 2:] - path.state[:, 2:]) / DT
    # The state is first scaled to sum 1: rounding of Y over dt.
    found = surrogate.source(path.state, path.steps)
    assert torch.allclose(found, expected, rtol=0, atol=1e-14 / DT)


@torch.no_grad()
def test_advance_is_the_step_where_it_is_trusted(path, surrogate):
    keep = surrogate.trust(path.state, path.steps).numpy()
    assert keep.any()
    out = surrogate(path.state[keep], path.steps[keep]).numpy()
    for dt in (path.dt, path.steps[keep].numpy()):
        T, Y = surrogate.advance(path.T[keep], path.p[keep], path.Y[keep], dt)
        assert np.array_equal(T, out[:, 0]) and np.array_equal(Y, out[:, 2:])


def test_advance_names_the_states_that_it_refuses(path, surrogate):
    T = path.T.copy()
    T[7:] = np.nan
    trusted = surrogate.trust(path.state, path.steps).numpy()
    rows = np.append(np.flatnonzero(~trusted[:7]), range(7, 60))
    said = (
        f"{len(rows)} of 60 states cannot be advanced (rows {', '.join(map(str, rows[:5]))}, ...)"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        surrogate.advance(T, path.p, path.Y, DT)
    with pytest.raises(ValueError, match=r"1 of 1 states .*\(row 0\).*not finite"):
        surrogate.advance(T[7:8], path.p[:1], path.Y[:1], DT)
    no = int(np.flatnonzero(~trusted)[0])
    one = path.T[no : no + 1], path.p[0], path.Y[no : no + 1], DT
    with pytest.raises(ValueError, match="not trusted.*" + re.escape(surrogate.remedy)):
        surrogate.advance(*one)


def test_integrate_tells_the_error_over_the_tolerance(path, surrogate):
    ratio = surrogate.next_state_and_error(path.state, path.steps)[1].detach().numpy()
    looser = 2.0 * np.nanmax(ratio[np.isfinite(ratio)]) * surrogate.TOLERANCE
    keep = np.isfinite(ratio)
    found = surrogate.integrate(path.T[keep], path.p[0], path.Y[keep], DT, tolerance=looser)
    assert np.allclose(found.error, ratio[keep] * surrogate.TOLERANCE / looser) and keep.any()
    assert np.array_equal(found.p, path.p[keep]) and not found.steps.any()
    T, Y = surrogate.advance(path.T[keep], path.p[0], path.Y[keep], DT, looser)
    assert np.array_equal(T, found.T) and np.array_equal(Y, found.Y)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="tolerance"):
            surrogate.advance(path.T, path.p, path.Y, DT, wrong)


@torch.no_grad()
def test_a_network_of_the_state_alone_refuses_other_time_steps(path, unchanging):
    assert unchanging.dt_range == (DT, DT)
    for wrong in (2e-6, 1.00001e-6, [*[DT] * 59, 2e-7]):
        with pytest.raises(ValueError, match=r"by dt = 1e-06 s alone.* dt = (2e-06|1\.0|2e-07)"):
            unchanging.advance(path.T, path.p, path.Y, wrong)
    one_rounding = DT * (1.0 + 1e-12)  # as of a time step that a flow solver has summed up
    T, _ = unchanging.advance(path.T, path.p, path.Y, one_rounding)
    assert np.array_equal(T, unchanging.advance(path.T, path.p, path.Y, DT)[0])


@torch.no_grad()
def test_time_steps_of_another_shape_or_value_are_refused(path, surrogate):
    for call in (surrogate, surrogate.source, surrogate.trust, surrogate.next_state_and_error):
        for wrong in (path.steps[:-1], path.steps[:, None], path.steps.float()):
            with pytest.raises(ValueError, match=r"time steps of 60 states are float64 of shape"):
                call(path.state, wrong)
        for value in (0.0, -1e-6, np.nan, np.inf):
            wrong = path.steps.clone()
            wrong[7] = value
            with pytest.raises(ValueError, match="time steps are positive and finite"):
                call(path.state, wrong)


def test_advance_answers_and_refuses_as_torchscript_does(path, surrogate, optimized):
    keep = surrogate.trust(path.state, path.steps).numpy()
    T, p, Y = path.T[keep], path.p[keep].astype("f4"), path.Y[keep]
    known = surrogate.advance(T, p, Y, DT)
    for call in (surrogate, scripted(surrogate)):
        with pytest.raises(ValueError, match=r"^states are float64 of shape \(n, [^\n]*$"):
            call.advance(T, p, np.column_stack([Y, T]), DT)
        with pytest.raises(ValueError, match=r"^p has the shape [^\n]*$"):
            call.advance(T, p[:-1], Y, DT)
        found = call.advance(T.tolist(), p, Y, DT)
        assert np.array_equal(found[0], call.advance(T, p, Y, DT)[0])
        # Freezing may reorder operations; the network is float32.
        assert np.allclose(found[0], known[0], rtol=1e-6)
        assert np.allclose(found[1], known[1], rtol=1e-4, atol=1e-10)
