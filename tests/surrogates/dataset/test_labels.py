"""Labels of states of one's own beside CVODE: right ones pass, and wrong ones that conserve
elements and enthalpy are refused with the row and the cause."""

import cantera as ct
import h5py
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE
from combred.experiments.labelled import Block
from combred.surrogates.dataset.labels import ACCEPTED, chosen_rows, require_labels
from combred.surrogates.dataset.schema import StateFileError, state_attributes
from combred.surrogates.dataset.table import open_states
from combred.surrogates.dataset.writer import write_states

DT, ROWS = 4e-6, 20
LOOSE = 1e-6, 1e-12  # tolerances of CVODE of labels by others


@pytest.fixture(scope="module")
def columns(drm19) -> dict[str, np.ndarray]:
    """Three ignitions of methane and air, of ROWS steps each, and the states DT later."""
    cvode, n = CVODE(drm19, *LOOSE), 3 * ROWS
    T, p = np.repeat([1500.0, 1700.0, 1900.0], ROWS), np.full(n, ct.one_atm)
    Y = np.tile(drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0), (n, 1))
    for i in range(1, ROWS):
        now = np.arange(3) * ROWS + i
        T[now], Y[now] = cvode.advance(T[now - 1], p[now], Y[now - 1], 5 * DT)
    T_next, Y_next = cvode.advance(T, p, Y, DT)
    return {"T": T, "p": p, "Y": Y, "dt": np.full(n, DT), "T_next": T_next, "Y_next": Y_next}


@pytest.fixture
def checked(tmp_path, drm19, columns):
    """Writes the columns with a change, and compares their labels."""

    def check(change: dict, prepare=lambda file: None) -> None:
        given = {name: change.get(name, column) for name, column in columns.items()}
        n, path = len(given["T"]), tmp_path / "states.h5"
        block = Block(**given, source=np.zeros(n, "i4"), sampler=np.zeros(n, "u1"))
        write_states(path, state_attributes(drm19, {}), [block])
        with h5py.File(path, "r") as sealed:
            content, attributes = {name: sealed[name][...] for name in sealed}, dict(sealed.attrs)
        with h5py.File(path, "w") as file:  # as others write it
            for name, column in content.items():
                file[name] = column
            file.attrs.update(attributes)
            prepare(file)
        require_labels(open_states(path, drm19), drm19)

    return check


def stored_as(kind: str, *names: str):
    def change(file: h5py.File) -> None:
        for name in names:
            column = file.pop(name)[...]
            file[name] = column.astype(kind)

    return change


def in_order(order: np.ndarray):
    """The columns of Y and their names in another order."""

    def change(file: h5py.File) -> None:
        for name in ("Y", "Y_next"):
            file[name][...] = file[name][...][:, order]
        file.attrs["species"] = np.asarray(file.attrs["species"])[order]

    return change


def test_right_labels_of_other_tolerances_and_types_pass(checked, drm19, columns):
    checked({})
    checked({}, stored_as("f4", "T", "Y", "T_next", "Y_next", "p", "dt"))
    checked({}, stored_as(">f8", "T", "Y", "T_next", "Y_next"))


def test_rows_that_do_not_react_among_others_are_compared(checked, drm19, columns):
    """All but five are cold gas without radicals: a wrong label of these five is told."""
    inert = np.arange(len(columns["T"])) < len(columns["T"]) - 5
    cold = {"T": 300.0, "T_next": 300.0, "Y": columns["Y"][0], "Y_next": columns["Y"][0]}
    change = {name: columns[name].copy() for name in cold}
    for name, value in cold.items():
        change[name][inert] = value
    checked(change)
    with pytest.raises(StateFileError, match="the labels of 5 of 60 rows .*is the state itself"):
        checked(change | {"T_next": change["T"], "Y_next": change["Y"]})


def test_columns_are_taken_by_their_names(checked, drm19, columns, tmp_path):
    order = np.random.default_rng(0).permutation(drm19.n_species)
    checked({}, in_order(order))
    read = open_states(tmp_path / "states.h5", drm19).read(0, 5)
    assert np.array_equal(read.Y, columns["Y"][:5])
    assert np.array_equal(read.Y_next, columns["Y_next"][:5])


def exchanged(columns, mechanism, *pair: str) -> dict[str, np.ndarray]:
    i, k = map(mechanism.index, pair)
    order = np.arange(mechanism.n_species)
    order[[i, k]] = k, i
    return {name: columns[name][:, order] for name in ("Y", "Y_next")}


def advanced(columns, mechanism, **change) -> dict[str, np.ndarray]:
    of = columns | change
    T, Y = CVODE(mechanism, *LOOSE).advance(of["T"], of["p"], of["Y"], of["dt"])
    return {"T_next": T, "Y_next": Y}


WRONG = {
    "p in bar": (lambda c, _: {"p": c["p"] / 1e5}, "right for p = 1.01325 bar: give p in Pa"),
    "p in atm": (lambda c, _: {"p": c["p"] / ct.one_atm}, "right for p = 1 (bar|atm)"),
    "p in kPa": (lambda c, _: {"p": c["p"] / 1e3}, "right for p = 101.325 kPa"),
    "the state": (lambda c, _: {"T_next": c["T"], "Y_next": c["Y"]}, "is the state itself"),
    "10 dt": (lambda c, m: advanced(c, m, dt=10 * c["dt"]), "right for 10 times this dt"),
    "dt in us": (lambda c, _: {"dt": c["dt"] * 1e2}, "right for 0.01 times this dt"),
    "isomers": (lambda c, m: exchanged(c, m, "CH2", "CH2(S)"), r"of CH2(\(S\))?, and has"),
    "another mixture": (lambda c, _: {"T_next": c["T_next"][::-1]}, "Look at the units"),
    "a rate": (lambda c, m: advanced(c, m, p=1.1 * c["p"]), "Look at the units"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_labels_are_refused_with_row_and_cause(what, checked, drm19, columns):
    change, said = WRONG[what]
    with pytest.raises(StateFileError, match=rf"rows are not those of drm19.*{said}") as told:
        checked(change(columns, drm19))
    text = str(told.value)
    assert "\n" not in text and len(text) < 900 and " row " in text and "T_next" in text


def test_one_wrong_row_of_few_is_named(checked, columns):
    T_next = columns["T_next"].copy()
    change = abs(T_next[31] - columns["T"][31]) + 1.0
    T_next[31] += 2.0 * ACCEPTED * change
    with pytest.raises(StateFileError, match=r"the labels of 1 of \d+ rows .* row 31 \("):
        checked({"T_next": T_next})


@pytest.mark.parametrize(
    ("kind", "names"),
    [("f2", ("Y", "Y_next")), ("f2", ("T", "T_next")), ("i4", ("T",)), ("i8", ("T_next",))],
)
def test_numbers_that_round_the_change_away_are_refused(kind, names, checked):
    with pytest.raises(StateFileError, match=f"has {names[0]} as (float16|int..), which rounds"):
        checked({}, stored_as(kind, *names))


def test_a_file_in_which_nothing_reacts_tells_nothing(checked, columns):
    inert = np.full(len(columns["T"]), True)
    Y = np.zeros_like(columns["Y"])
    Y[:, -1] = 1.0  # AR or N2 alone
    with pytest.raises(StateFileError, match="none of .* rows reacts within its dt"):
        checked({"T": np.full(len(inert), 300.0), "Y": Y, "Y_next": Y} | {
            "T_next": np.full(len(inert), 300.0)})  # fmt: skip


def test_small_changes_are_compared_by_their_own_size(checked, drm19, columns):
    """In a nanosecond no state changes by the floors of the comparison, 1 K and 1e-5."""
    dt = np.full(len(columns["T"]), 1e-9)
    right = advanced(columns, drm19, dt=dt)
    checked({"dt": dt} | right)
    with pytest.raises(StateFileError, match="is the state itself"):
        checked({"dt": dt, "T_next": columns["T"], "Y_next": columns["Y"]})


def test_the_rows_are_spread_over_the_file_and_its_temperatures(tmp_path, drm19, columns):
    """The hottest row is one of them, wherever it is."""
    many = {
        name: np.tile(column, (30,) + (1,) * (column.ndim - 1)) for name, column in columns.items()
    }
    n, path = len(many["T"]), tmp_path / "states.h5"
    many["T"] = many["T"] + np.random.default_rng(0).random(n)
    many["T"][817] = 2900.0
    block = Block(**many, source=np.zeros(n, "i4"), sampler=np.zeros(n, "u1"))
    write_states(path, state_attributes(drm19, {}), [block])
    rows = chosen_rows(open_states(path, drm19))
    assert {0, n - 1, 817, int(many["T"].argmin())} <= {*rows} and 60 <= len(rows) <= 64
    assert np.array_equal(rows, chosen_rows(open_states(path, drm19)))
