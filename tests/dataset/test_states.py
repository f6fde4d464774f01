"""The state file: written, resumed after an interruption, read, and refused with the remedy."""

import h5py
import numpy as np
import pytest

from combred.dataset.states import (
    SAMPLERS,
    UNITS,
    Block,
    StateFileError,
    StateTable,
    StateWriter,
    open_states,
    state_attributes,
)
from combred.hdf5 import seal

ROWS = [3, 5, 2]  # rows of each block


def block(index: int, failed: int = 0) -> Block:
    """Block `index` of random rows for h2o2 (10 species); the first `failed` have no label."""
    n, rng = ROWS[index], np.random.default_rng(index)
    T, p = rng.uniform(1e3, 2e3, n), rng.uniform(9e4, 1.1e5, n)
    Y, Y_next = rng.dirichlet(np.ones(10), n), rng.dirichlet(np.ones(10), n)
    T_next, dt = T + 1.0, 10 ** rng.uniform(-8, -5, n)
    T_next[:failed], Y_next[:failed] = np.nan, np.nan
    return Block(T, p, Y, dt, T_next, Y_next, np.full(n, index, "i4"), np.full(n, index, "u1"))


@pytest.fixture
def attributes(h2o2):
    return state_attributes(h2o2, {"seed": 0})


@pytest.fixture
def file(tmp_path, attributes):
    """A finished file of the three blocks."""
    return written(tmp_path / "states.h5", attributes)


def written(path, attributes, failed=(0, 0, 0)):
    writer = StateWriter(path, attributes, ROWS, 10)
    for i in range(3):
        writer.write(i, block(i, failed[i]))
    writer.finish()
    return path


def all_columns(path) -> dict[str, np.ndarray]:
    with h5py.File(path, "r") as stored:
        return {name: stored[name][...] for name in [*UNITS, "failed"]}


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


# -- written and read ------------------------------------------------------------------------------


def test_rows_are_read_as_they_were_written(file, h2o2):
    table = open_states(file, h2o2)
    expected = [block(i).columns() for i in range(3)]
    got = table.read(0, table.rows).columns()
    for name in UNITS:
        assert np.array_equal(got[name], np.concatenate([e[name] for e in expected]))
    assert table.rows == 10
    assert np.array_equal(table.sources, got["source"])
    assert np.array_equal(table.samplers, got["sampler"])


@pytest.mark.parametrize("rows", [1, 3, 10, 100])
def test_chunks_are_all_rows_in_order(file, h2o2, rows):
    table = open_states(file, h2o2)
    chunks = list(table.chunks(rows))
    assert max(len(c) for c in chunks) <= rows
    assert np.array_equal(np.concatenate([c.T for c in chunks]), table.read(0, 10).T)


def test_every_dataset_has_its_unit(file):
    with h5py.File(file, "r") as stored:
        assert {name: stored[name].attrs["units"] for name in UNITS} == UNITS


def test_rows_without_a_label_are_stored_apart(tmp_path, attributes, h2o2):
    file = written(tmp_path / "states.h5", attributes, failed=(1, 2, 0))
    table = open_states(file, h2o2)
    assert table.rows == 7
    assert np.isfinite(table.read(0, 7).T_next).all()
    states = [block(i) for i in (0, 1, 1)]
    expected = [np.hstack([b.T[j], b.p[j], b.Y[j]]) for b, j in zip(states, (0, 0, 1), strict=True)]
    assert np.array_equal(all_columns(file)["failed"], expected)


# -- resumed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [0], [2, 0]])
def test_an_interrupted_writer_is_resumed_to_the_same_file(tmp_path, attributes, file, before):
    path = tmp_path / "killed.h5"
    first = StateWriter(path, attributes, ROWS, 10)
    for i in before:
        first.write(i, block(i))
    del first
    second = StateWriter(path, attributes, ROWS, 10)
    assert second.done().tolist() == [i in before for i in range(3)]
    assert not path.exists()
    for i in range(3):
        if i not in before:
            second.write(i, block(i))
    second.finish()
    assert same(all_columns(path), all_columns(file))
    assert not second.partial.exists()


def test_a_block_that_was_written_in_part_is_not_done(tmp_path, attributes, monkeypatch):
    writer = StateWriter(tmp_path / "killed.h5", attributes, ROWS, 10)
    monkeypatch.setattr(h5py.File, "flush", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        writer.write(1, block(1))
    monkeypatch.undo()
    assert not StateWriter(tmp_path / "killed.h5", attributes, ROWS, 10).done().any()


def test_a_working_file_of_other_settings_is_refused(tmp_path, attributes):
    StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)
    with pytest.raises(StateFileError, match=r"seed is 0 there and 1 here.*move it away.*run=NAME"):
        StateWriter(tmp_path / "states.h5", {**attributes, "seed": 1}, ROWS, 10)


def test_a_damaged_working_file_is_refused(tmp_path, attributes):
    writer = StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)
    writer.partial.write_bytes(writer.partial.read_bytes()[:1000])
    with pytest.raises(StateFileError, match="Move it away"):
        StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)


# -- refused ---------------------------------------------------------------------------------------


def test_a_missing_file_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match="only=sample"):
        open_states(tmp_path / "none.h5", h2o2)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_truncated_file_is_refused(file, h2o2, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(StateFileError, match="Move it away"):
        open_states(file, h2o2)


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


def test_a_file_that_is_not_hdf5_is_refused(tmp_path, h2o2):
    (tmp_path / "text.h5").write_text("T p Y\n")
    with pytest.raises(StateFileError, match="cannot be read"):
        open_states(tmp_path / "text.h5", h2o2)


def test_hdf5_of_another_schema_is_refused(tmp_path, h2o2):
    with h5py.File(tmp_path / "foreign.h5", "w") as foreign:
        foreign["T"] = np.ones(3)
    with pytest.raises(StateFileError, match=r"missing: p, Y.*combred/dataset/states.py"):
        open_states(tmp_path / "foreign.h5", h2o2)


def test_an_unfinished_file_is_refused(file, h2o2):
    with h5py.File(file, "r+") as stored:
        del stored.attrs["rows"]
    seal(file)
    with pytest.raises(StateFileError, match="Move it away"):
        open_states(file, h2o2)


def test_states_of_another_mechanism_are_refused(file, drm19):
    with pytest.raises(StateFileError, match=r"h2o2.yaml.*drm19.yaml.*mechanism=h2o2.yaml"):
        open_states(file, drm19)


@pytest.mark.parametrize("older", [1, 2])
def test_a_file_of_an_earlier_format_is_refused(file, h2o2, older):
    with h5py.File(file, "r+") as stored:
        stored.attrs["format"] = older
        del stored["dt"]  # one for all rows, an attribute
    seal(file)
    with pytest.raises(StateFileError, match=rf"format: {older}; .*missing: dt.*run=NAME"):
        open_states(file, h2o2)


def test_a_file_in_which_every_row_failed_is_refused(tmp_path, attributes, h2o2):
    with pytest.raises(StateFileError, match="[Mm]ove|sampling"):
        open_states(written(tmp_path / "states.h5", attributes, failed=ROWS), h2o2)


@pytest.mark.parametrize(
    "name, value",
    [
        ("T", np.nan), ("T", -300.0), ("p", 0.0), ("p", np.inf), ("Y", np.nan), ("Y", -1e-3),
        ("dt", 0.0), ("dt", -1e-6), ("dt", np.inf),
        ("T_next", np.nan), ("T_next", 0.0), ("Y_next", np.nan), ("Y_next", -1e-3),
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


# -- held out --------------------------------------------------------------------------------------


def table_of(ignitions: int, flames: int = 0, rows: int = 30) -> StateTable:
    """Trajectories of `rows` rows each, a third of them exact, perturbed and relaxed; shuffled."""
    sources = np.repeat(np.arange(ignitions + flames), rows)
    samplers = np.tile(np.arange(rows) % 3, ignitions + flames) + 3 * (sources >= ignitions)
    order = np.random.default_rng(0).permutation(len(sources))
    return StateTable("nowhere", len(order), {}, sources[order], samplers[order].astype("u1"))


def test_usual_rows_and_rows_of_flames_have_these_samplers():
    every = np.arange(len(SAMPLERS), dtype="u1")
    table = StateTable("nowhere", len(every), {}, np.zeros(len(every), int), every)
    usual = [SAMPLERS[i] for i in np.flatnonzero(table.usual)]
    assert usual == ["ignition", "flame", "flow ignition"]
    of_flames = [SAMPLERS[i] for i in np.flatnonzero(table.of_flames)]
    assert of_flames == ["flame", "flame perturbed", "flame relaxed"]


def test_premixed_trajectories_have_a_third_of_usual_rows():
    table = table_of(ignitions=2, flames=3)
    assert table.usual.sum() == 50 and table.of_flames.sum() == 90


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


def test_drawn_rows_keep_their_time_steps_and_labels(file, h2o2):
    table = open_states(file, h2o2)
    drawn = table.draw(table.sources != 0, 4, seed=0)
    every = table.read(0, 10)
    which = np.isin(every.T, drawn.T)  # every row has its own T
    assert len(drawn) == which.sum() == 4 and not (which & (table.sources == 0)).any()
    for name, column in every.columns().items():
        assert np.array_equal(drawn.columns()[name], column[which]), name


def test_no_row_may_be_drawn(file, h2o2):
    table = open_states(file, h2o2)
    assert table.draw(np.zeros(10, bool), 3, seed=0).state().shape == (0, 12)


def test_joined_blocks_have_all_rows_in_order():
    joined = Block.join([block(i) for i in range(3)])
    assert len(joined) == sum(ROWS)
    for name, column in joined.columns().items():
        assert np.array_equal(column, np.concatenate([block(i).columns()[name] for i in range(3)]))


@pytest.mark.parametrize("rows", [2, 100])
def test_chunks_of_a_mask_are_its_rows_in_order(file, h2o2, rows):
    table = open_states(file, h2o2)
    keep = np.array([0, 0, 1, 0, 0, 1, 1, 1, 0, 1], dtype=bool)
    got = np.concatenate([chunk.T for chunk in table.chunks(rows, keep)])
    assert np.array_equal(got, table.read(0, 10).T[keep])
