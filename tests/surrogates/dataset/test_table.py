"""A state file that is read, refused with the remedy, and held out in part."""

import h5py
import numpy as np
import pytest
from random_blocks import ROWS, block, written

from combred.files.hdf5 import seal
from combred.surrogates.dataset.schema import UNITS, StateFileError
from combred.surrogates.dataset.table import StateTable, open_states


def test_rows_are_read_as_they_were_written(file, h2o2):
    table = open_states(file, h2o2)
    expected = [block(i).columns() for i in range(3)]
    got = table.read(0, table.rows).columns()
    for name in UNITS:
        assert np.array_equal(got[name], np.concatenate([e[name] for e in expected]))
    assert table.rows == 10
    assert np.array_equal(table.sources, got["source"])
    assert np.array_equal(table.samplers, got["sampler"])


def test_numbers_of_float32_and_attributes_of_bytes_are_read(file, h2o2):
    with h5py.File(file, "r+") as stored:
        replaced("T", data=stored["T"][...].astype("f4"))(stored)
        stored["p"].attrs["units"] = np.bytes_("Pa")
        stored.attrs["species"] = np.array(h2o2.species_names, dtype="S8")
    seal(file)
    assert open_states(file, h2o2).read(0, 10).T.dtype == np.float64


@pytest.mark.parametrize("rows", [2, 100])
def test_chunks_of_a_mask_are_its_rows_in_order(file, h2o2, rows):
    table = open_states(file, h2o2)
    keep = np.array([0, 0, 1, 0, 0, 1, 1, 1, 0, 1], dtype=bool)
    got = np.concatenate([chunk.T for chunk in table.chunks(rows, keep)])
    assert np.array_equal(got, table.read(0, 10).T[keep])


def test_a_missing_file_and_those_of_others_are_told(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match=r"no states at .*none\.h5: sample them first"):
        open_states(tmp_path / "none.h5", h2o2)
    (tmp_path / "text.h5").write_text("T p Y\n")
    with pytest.raises(StateFileError, match="cannot be read"):
        open_states(tmp_path / "text.h5", h2o2)
    with h5py.File(tmp_path / "foreign.h5", "w") as foreign:
        foreign["T"] = np.ones(3)
    with pytest.raises(StateFileError, match=r"missing: p, Y.*surrogates/dataset/schema.py"):
        open_states(tmp_path / "foreign.h5", h2o2)


def replaced(name: str, **how):
    """Puts another dataset in the place of one."""

    def change(stored: h5py.File) -> None:
        del stored[name]
        stored.create_dataset(name, **how)

    return change


def linked(name: str, link):
    """Puts a link in the place of a dataset."""

    def change(stored: h5py.File) -> None:
        del stored[name]
        stored[name] = link

    return change


def virtual(stored: h5py.File) -> None:
    layout = h5py.VirtualLayout((10,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "T", shape=(10,))
    del stored["T"]
    stored.create_virtual_dataset("T", layout)


def given(name: str, value, of: str = "/"):
    """Sets an attribute."""
    return lambda stored: stored[of].attrs.__setitem__(name, value)


def earlier(stored: h5py.File, format: int) -> None:
    """dt was one for all rows, an attribute."""
    given("format", format)(stored)
    del stored["dt"]


def itself(stored: h5py.File) -> None:
    stored["self"] = stored["/"]
    given("rows", "x")(stored)


HUGE = {"shape": (1 << 40,), "dtype": "f8", "chunks": (1024,), "compression": "gzip"}
PASSWORDS = {"external": [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]}
FOREIGN = {
    "an external link": (linked("T", h5py.ExternalLink("other.h5", "T")), "'T' is a link"),
    "a soft link": (linked("T", h5py.SoftLink("/p")), "'T' is a link"),
    "a dangling link": (linked("T", h5py.SoftLink("/none")), "'T' is a link"),
    "bytes of other files": (replaced("T", shape=(10,), dtype="f8", **PASSWORDS), "in other files"),
    "datasets of other files": (virtual, "in other files"),
    "a text": (replaced("T", data=np.array([b"x"] * 10)), "'T' holds no numbers"),
    "words": (replaced("T", data=["x"] * 10, dtype=h5py.string_dtype()), "'T' holds no numbers"),
    "complex numbers": (replaced("T", shape=(10,), dtype="c16"), "'T' holds no numbers"),
    "records": (replaced("T", shape=(10,), dtype=[("a", "f8")]), "'T' holds no numbers"),
    "a type": (linked("T", np.dtype("f8")), "'T' holds no numbers"),
    "a group": (lambda stored: (stored.pop("T"), stored.create_group("T")), "missing: T"),
    "nothing": (replaced("T", data=h5py.Empty("f8")), "'T' holds no numbers"),
    "halves of a kind": (replaced("sampler", data=np.full(10, 0.5)), "attribute `samplers`"),
    "numbers as format": (given("format", [3, 3]), "not a combred state file of format 3"),
    "2^40 rows": (replaced("source", **HUGE), "1099511627776,. numbers in a file of"),
    "format 1": (lambda s: earlier(s, 1), "format: 1; .*dt.*sample the states again"),
    "format 2": (lambda s: earlier(s, 2), "format: 2; .*dt.*sample the states again"),
    "one species": (given("species", ["OH"]), "has species .*OH.*needs .*H2"),
    "a volume": (given("reactor", "adiabatic, constant volume"), "has reactor .*constant volume"),
    "atmospheres": (given("units", "atm", of="p"), "units of p .*atm.*Pa"),
    "no count": (lambda stored: stored.attrs.__delitem__("rows"), "Move it away"),
    "another count": (given("rows", -5), "should have -5 rows"),
    "a word as count": (given("rows", "10"), "rows 10 of type str, and this is a whole number"),
    "a real as count": (given("rows", 10.0), "rows 10.0 of type float64, and this is a whole"),
    "numbers as count": (given("rows", [10, 10]), "of type ndarray, and this is a whole number"),
    "itself": (itself, "rows x of type str"),
    "a word as format": (given("format", "3"), "a whole number .its format: 3, a str; "),
    "a real as format": (given("format", 3.0), "not a combred state file of format 3"),
    "no species": (lambda stored: stored.attrs.__delitem__("species"), "has no attribute species"),
    "species as one word": (given("species", "H2"), "has species .*H2.*needs .*H2"),
    "species as numbers": (given("species", np.arange(10)), "has species .*0.*needs .*H2"),
    "a species twice": (given("species", ["H2", *"ABCDEFGH", "H2"]), "has species .*needs .*H2"),
    "halves": (replaced("Y", shape=(10, 10), dtype="f2"), "has Y as float16, which rounds"),
    "whole kelvin": (replaced("T", shape=(10,), dtype="i8"), "has T as int64, which rounds"),
    "one number": (replaced("T", data=1000.0), "should have 10 rows"),
    "one column": (replaced("Y", shape=(10,), dtype="f8"), "h2o2.yaml has 10 species"),
    "other species": (replaced("Y_next", shape=(10, 9), dtype="f8"), "h2o2.yaml has 10 species"),
    "an unknown kind": (lambda s: s["sampler"].__setitem__(0, 99), "attribute `samplers`"),
    "one kind": (given("samplers", "x"), "attribute `samplers`"),
    "no settings": (given("sampling", "{"), "attributes that cannot be read"),
    "a word as seed": (
        lambda stored: (given("sampling", "{}")(stored), given("seed", "x")(stored)),
        "attributes that cannot be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_whose_numbers_are_not_in_it_or_no_states_is_refused(what, file, h2o2, tmp_path):
    change, said = FOREIGN[what]
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["T"] = np.full(10, 1e9)
    with h5py.File(file, "r+") as stored:
        change(stored)
    seal(file)
    with pytest.raises(StateFileError, match=said) as told:
        open_states(file, h2o2)
    assert "\n" not in str(told.value) and len(str(told.value)) < 900


@pytest.mark.parametrize(
    ("number", "remedy"), [(11, "has it open for writing: close it"), (37, "has no locks: copy it")]
)
def test_a_file_that_cannot_be_locked_is_not_to_be_moved_away(
    file, h2o2, monkeypatch, number, remedy
):
    """What HDF5 says of a file that another process has opened with r+, and without locks."""
    table = open_states(file, h2o2)

    def refuse(*_):
        reason = f"Unable to synchronously open file (unable to lock file, errno = {number}, ...)"
        raise BlockingIOError(number, reason)

    monkeypatch.setattr(h5py, "File", refuse)
    for read in (lambda: open_states(file, h2o2), lambda: table.read(0, 3)):
        with pytest.raises(StateFileError, match=remedy) as told:
            read()
        assert "Move it away" not in str(told.value)


def test_numbers_that_are_linked_in_after_the_opening_are_not_read(file, h2o2):
    table = open_states(file, h2o2)
    with h5py.File(file, "r+") as stored:
        linked("T", h5py.SoftLink("/p"))(stored)
    with pytest.raises(StateFileError, match="differs from what was written"):
        table.read(0, 10)
    seal(file)
    with pytest.raises(StateFileError, match="'T' is a link"):
        table.read(0, 10)


def test_a_damaged_chunk_is_refused_when_it_is_read(file, h2o2):
    with h5py.File(file, "r") as stored:
        offset = stored["Y"].id.get_chunk_info(0).byte_offset
    with file.open("r+b") as raw:
        raw.seek(offset)
        raw.write(b"\xff" * 64)
    with pytest.raises(StateFileError, match="differs from what was written.*Move it away"):
        open_states(file, h2o2)
    seal(file)  # as if it had been written so
    table = open_states(file, h2o2)
    with pytest.raises(StateFileError, match="Move it away"):
        table.read(0, table.rows)


def test_states_of_another_mechanism_are_refused(file, drm19):
    with pytest.raises(StateFileError, match=r"h2o2.*drm19.*Give the mechanism h2o2.yaml"):
        open_states(file, drm19)


def test_a_file_in_which_every_row_failed_is_refused(tmp_path, attributes, h2o2):
    with pytest.raises(StateFileError, match="other ranges of T0, p, phi or dt"):
        open_states(written(tmp_path / "states.h5", attributes, failed=ROWS), h2o2)


@pytest.mark.parametrize(
    "name, value",
    [
        ("T", np.nan), ("T", -300.0), ("p", 0.0), ("p", np.inf), ("Y", np.nan), ("Y", -1e-3),
        ("dt", 0.0), ("dt", -1e-6), ("dt", np.inf),
        ("T_next", np.nan), ("T_next", 0.0), ("Y_next", np.nan), ("Y_next", -1e-3),
        ("Y", 0.5), ("Y_next", 0.1002),  # of ten species each
    ],
)  # fmt: skip
def test_a_value_that_is_not_physical_is_named_with_its_row(file, h2o2, name, value):
    with h5py.File(file, "r+") as stored:
        stored[name][7, ...] = value
    seal(file)
    table = open_states(file, h2o2)
    assert len(table.read(0, 7)) == 7  # the rows before it are good
    with pytest.raises(StateFileError, match=rf"{name} of row 7 .*(Remove|move)"):
        list(table.chunks(4))


def table_of(ignitions: int, flames: int = 0, rows: int = 30) -> StateTable:
    """Trajectories of `rows` rows each, a third of them exact, perturbed and relaxed; shuffled."""
    sources = np.repeat(np.arange(ignitions + flames), rows)
    samplers = np.tile(np.arange(rows) % 3, ignitions + flames) + 3 * (sources >= ignitions)
    order = np.random.default_rng(0).permutation(len(sources))
    return StateTable("nowhere", len(order), {}, sources[order], samplers[order].astype("u1"))


@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.5])
def test_trajectories_are_held_out_as_a_whole(fraction):
    table = table_of(ignitions=60, flames=20)
    out = table.held_out(fraction, seed=0)
    held = np.unique(table.sources[out])
    assert not set(held) & set(table.sources[~out])
    # That fraction of the ignitions, and of the flames.
    assert (held < 60).sum() == 60 * fraction
    assert (held >= 60).sum() == 20 * fraction


def test_the_held_out_rows_depend_on_the_seed_alone():
    table = table_of(ignitions=60)
    first = table.held_out(0.2, seed=0)
    assert np.array_equal(first, table.held_out(0.2, seed=0))
    assert not np.array_equal(first, table.held_out(0.2, seed=1))


@pytest.mark.parametrize("fraction", [0.001, 0.999])
@pytest.mark.parametrize("ignitions, flames", [(2, 0), (3, 0), (2, 1)])
def test_one_trajectory_at_least_is_held_out_and_one_is_not(fraction, ignitions, flames):
    out = table_of(ignitions, flames).held_out(fraction, seed=0)
    assert out.any() and not out.all()


def test_states_are_drawn_once_and_from_the_given_rows(file, h2o2):
    table = open_states(file, h2o2)
    keep = table.sources == 1
    expected = block(1).state()
    drawn = table.draw(keep, 3, seed=0).state()
    assert len(np.unique(drawn, axis=0)) == 3
    assert all((row == expected).all(axis=1).any() for row in drawn)
    assert np.array_equal(table.draw(keep, 100, seed=0).state(), expected)
    assert np.array_equal(table.draw(keep, 3, seed=0).state(), drawn)
