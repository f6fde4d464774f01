"""States as arrays: what is taken, what is refused, and what a refusal says of the rows."""

import re

import numpy as np
import pytest
import torch

from combred.chemistry.states import (
    is_state,
    require_real,
    require_tolerance,
    states_of,
    steps_of,
    wrong_with,
)

GOOD = 1500.0, 101325.0, np.full(4, 0.25)


def test_time_steps_are_one_for_all_or_one_for_each():
    assert np.array_equal(steps_of(1e-6, 3), [1e-6] * 3) and steps_of(1e-6, 0).shape == (0,)
    assert steps_of(np.float32(0.5), 2).dtype == steps_of([1, 2], 2).dtype == np.float64
    given = np.array([1e-6, 2e-6])
    assert np.array_equal(steps_of(given, 2), given) and steps_of(given, 2) is not given


@pytest.mark.parametrize("dt", [np.full(2, 1e-6), np.full((3, 1), 1e-6), np.full(1, 1e-6)])
def test_time_steps_of_another_shape_are_refused(dt):
    with pytest.raises(ValueError, match=r"dt has shape .*there are 3 states.*an array \(3,\)"):
        steps_of(dt, 3)


@pytest.mark.parametrize(
    "dt", [1e-6 + 0j, "1e-6", np.timedelta64(1, "us"), [1e-6, None, 1e-6], {}, [[1e-6], 1e-6, 1e-6]]
)
def test_time_steps_that_are_not_real_numbers_are_refused(dt):
    with pytest.raises(ValueError, match="dt (has to be real|is not an array of) numbers"):
        steps_of(dt, 3)


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("values", [MASKED, [MASKED, MASKED], [MASKED[1], 1.0]])
def test_masked_values_are_refused_and_masks_of_nothing_are_not(values):
    for name, read in (
        ("dt", lambda: steps_of(values, 2)),
        ("T", lambda: require_real("T", values)),
    ):
        with pytest.raises(ValueError, match=f"{name} has masked values: give the states without"):
            read()
    assert np.array_equal(require_real("T", np.ma.array([1.0, 2.0])), [1.0, 2.0])


@pytest.mark.parametrize("values", [True, [True], [1.0, False], [[1.0, True]], np.ones(2, bool)])
def test_truth_values_are_no_numbers(values, h2o2):
    for name, read in (
        ("dt", lambda: steps_of(values, 2)),
        ("T", lambda: states_of(values, 1e5, np.full((2, 4), 0.25))),
        ("phi", lambda: h2o2.mixture("H2:1", "O2:1", values)),
    ):
        with pytest.raises(ValueError, match=f"{name} has to be real .* of type bool"):
            read()
    with pytest.raises(ValueError, match="tolerance has to be (real|positive)"):
        require_tolerance(values)
    with pytest.raises(ValueError, match="tolerance has to be real numbers"):
        require_tolerance(10**400)


def test_a_tensor_that_has_no_array_is_told_with_the_call_that_gives_one():
    for tensor in (
        torch.ones(2, requires_grad=True),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2, device="meta"),
    ):
        with pytest.raises(ValueError, match=r"dt cannot be read .* dt.detach\(\).cpu\(\)"):
            steps_of(tensor, 2)


def test_states_of_any_real_type_and_layout_are_the_same():
    T, p, Y = np.array([300.0, 1500.0]), np.full(2, 131072.0), np.full((2, 4), 0.25)
    known = np.column_stack([T, p, Y])
    for kind in ("f4", ">f8", "g", "i4"):
        assert np.array_equal(states_of(T.astype(kind), p.astype(kind), Y), known)
    frozen = np.asfortranarray(Y)
    frozen.flags.writeable = False
    for given in (Y.tolist(), frozen, np.repeat(Y, 2, 0)[::2], Y.astype("f4")):
        found = states_of(T.tolist(), p, given)
        assert np.array_equal(found, known) and found.flags.c_contiguous
        assert found.dtype == np.float64 and not np.shares_memory(found, given)
    assert states_of([], [], np.empty((0, 4))).shape == (0, 6)
    assert np.array_equal(states_of(T, 131072.0, Y), known)  # one pressure, of all states


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("T", (), "(n,)"), ("T", (2, 1), "(n,)"), ("p", (1,), "(2,), as T is, or one number"),
        ("Y", (), "(2, n_species)"), ("Y", (2, 4, 1), "(2, n_species)"),
        ("Y", (1, 4), "(2, n_species)"), ("Y", (1, 2, 4), "(2, n_species)"),
    ],
)  # fmt: skip
def test_states_of_another_shape_are_refused(name, shape, expected):
    known = {"T": np.full(2, 1500.0), "p": np.full(2, 1e5), "Y": np.full((2, 4), 0.25)}
    told = f"{name} has the shape {shape}: it has to be {expected}"
    with pytest.raises(ValueError, match=re.escape(told)):
        states_of(**known | {name: np.ones(shape)})


@pytest.mark.parametrize("values", ["x", [1500.0, None], [1.0, 1j], np.full(2, "1500"), [[1.0], 2]])
def test_states_that_are_not_real_numbers_are_refused(values):
    with pytest.raises(ValueError, match="T (has to be real|is not an array of) numbers"):
        states_of(values, np.full(2, 1e5), np.full((2, 4), 0.25))


def test_one_composition_is_that_of_all_states():
    """Also where there are as many states as species."""
    T, Y = np.array([1000.0, 1100.0, 1200.0, 1300.0]), np.array([0.1, 0.2, 0.3, 0.4])
    assert np.array_equal(states_of(T, 1e5, Y), states_of(T, 1e5, np.tile(Y, (4, 1))))
    assert np.array_equal(states_of(T[:1], 1e5, Y.tolist()), states_of(T[:1], 1e5, Y[None]))


def test_of_one_state_the_shape_to_give_is_told():
    with pytest.raises(ValueError, match=r"of one state give \[T\], p and Y"):
        states_of(*GOOD)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("T", 27.0, "was it in °C?"), ("T", -5.0, "was it in °C?"), ("T", 2e4, "rows T, p, Y?"),
        ("T", np.nan, "not finite"), ("p", 0.0, "p is not positive"), ("p", 1e31, "too large"),
        ("p", np.inf, "not finite"), ("Y", np.full(4, 0.1), "the sum of Y is not 1"),
        ("Y", np.array([1.1, -0.1, 0.0, 0.0]), "Y[1] is -0.1, below -1e-06"),
        ("Y", np.array([1.0, np.nan, 0.0, 0.0]), "Y[1] is nan, not finite"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_state_is_told(name, value, said):
    state = dict(zip("TpY", GOOD, strict=True)) | {name: value}
    assert said in wrong_with(**state)
    assert not is_state(np.array([[state["T"], state["p"], *state["Y"]]])).any()


def test_a_valid_state_is_one_at_its_limits_too():
    assert wrong_with(*GOOD) == ""
    for T, p, Y in ((100.0, 1.0, GOOD[2]), (6000.0, 1e29, np.array([1 + 9e-4, -1e-6, 0, 0]))):
        assert wrong_with(T, p, Y) == "" and is_state(np.array([[T, p, *Y]])).all()
