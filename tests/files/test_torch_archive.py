"""Damage in files of torch: each flipped bit is found, or changes nothing."""

import io
import struct
import zipfile

import pytest
import torch

from combred.files.torch_archive import (
    UNPACKED,
    reaching_out,
    read_parts,
    require_own_parts,
    written_anew,
)

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")


class Shift(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("x", torch.arange(3.0))

    def forward(self):
        return self.x + 1.0


def saved():
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(3.0)}, buffer)
    return buffer.getvalue(), lambda file: torch.load(file)["x"]


def scripted():
    """Some of its parts are compressed."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Shift()), buffer)
    return buffer.getvalue(), lambda file: torch.jit.load(file)()


@pytest.mark.parametrize("make", [saved, scripted])
def test_a_flipped_bit_of_the_directory_is_damage_or_changes_nothing(make):
    """Every third: the directory, at the end of the file, is what no checksum covers."""
    whole, load = make()
    known, refused = load(io.BytesIO(whole)), 0
    with zipfile.ZipFile(io.BytesIO(whole)) as parts:
        directory = parts.start_dir
    for place in range(directory, len(whole)):
        for bit in range(place % 3, 8, 3):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            try:
                found = load(written_anew(read_parts(io.BytesIO(flipped))))
            except (RuntimeError, ValueError):
                refused += 1
                continue
            assert torch.equal(found, known)
    assert refused > (4 / 3) * (len(whole) - directory)


def test_a_part_that_is_marked_as_a_folder_is_damaged():
    whole, _ = saved()
    with zipfile.ZipFile(io.BytesIO(whole)) as parts:
        entry, names = parts.start_dir, [part.filename for part in parts.infolist()]
    for name in names:
        flipped = bytearray(whole)
        flipped[entry + 38] ^= 0x10  # the attributes: 4 bytes, then the offset, then the name
        with pytest.raises(ValueError, match=f"{name} is marked as a folder"):
            read_parts(io.BytesIO(flipped))
        entry += 46 + sum(struct.unpack_from("<3H", whole, entry + 28))  # name, extra, comment


def test_a_missing_file_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_parts(tmp_path / "none.pt")


@pytest.mark.parametrize("make", [saved, scripted])
def test_an_archive_written_anew_has_the_same_content_and_the_parts_of_torch(make):
    whole, load = make()
    parts = read_parts(io.BytesIO(whole))
    require_own_parts(parts)
    assert torch.equal(load(written_anew(parts)), load(io.BytesIO(whole)))
    assert read_parts(written_anew(parts)) == parts


def appended(archive: bytes, parts: dict[str, bytes]) -> io.BytesIO:
    file = io.BytesIO(archive)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as writer:
        for name, content in parts.items():
            writer.writestr(name, content)
    return file


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("spelled", ["archive/data.pkl", "archive/DATA.pkl", "Archive/data.pkl"])
def test_a_name_that_an_archive_holds_twice_is_refused(spelled):
    """torch reads the first of them, without regard to capitals; Python the last of equal ones."""
    with pytest.raises(ValueError, match=f"it has the part {spelled} twice"):
        read_parts(appended(saved()[0], {spelled: b"x"}))


def test_bytes_that_are_no_part_are_not_handed_on():
    """Before and behind an archive, and another archive in front of it."""
    other = io.BytesIO()
    torch.save({"x": torch.zeros(3)}, other)
    whole, load = saved()
    for content in (b"PK" + whole, whole + b"PK\3\4", other.getvalue() + whole):
        found = load(written_anew(read_parts(io.BytesIO(content))))
        assert torch.equal(found, torch.arange(3.0))


@pytest.mark.parametrize(
    "name", ["archive/CODE/__torch__.py", "archive/model.json", "other/version", "a", "archive/x/"]
)
def test_a_part_that_torch_does_not_write_is_refused(name):
    """torch would read the first of these as code."""
    parts = read_parts(io.BytesIO(scripted()[0]))
    parts = {part: content for part, content in parts.items() if "/code/" not in part}
    with pytest.raises(ValueError, match="which torch does not write|parts of 2 archives"):
        require_own_parts(parts | {name: b""})


def test_parts_that_stand_for_far_more_than_the_file_are_refused():
    many = {f"archive/data/{i}": bytes(2**20) for i in range(9, 10 + UNPACKED // 2**20)}
    with pytest.raises(ValueError, match="its parts stand for"):
        read_parts(appended(saved()[0], many))


# Calls of a method called save, which does nothing, and words of their kind.
CALLS = (
    "self.save(x)", "(self).save(x, )", "self . # text\n save(x)", "self.\\\n save(x)",
    'getattr(self, "save")(x)', 'getattr(self, "sa" "ve")(x)', 'getattr(self, "\\163ave")(x)',
    "getattr(self, 'save')(x)", 'getattr((self), "save")(x)', 'getattr # text "0")\n(self, "save")',
    "g = getattr\n    return g(self, x)", "ops.foreign.save(x)", "ops . foreign.keep(x)",
    "o = ops\n    return o.foreign.keep(x)", 'getattr(ops, "foreign").keep(x)',
    "rpc_async(x)", "torch.from_file(x)", "__torch__.torch.classes.foreign.Keep(x)",
    "c = __torch__.torch . classes\n    return c.foreign.Keep(x)",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_code_that_reaches_out_is_told(call):
    code = f"def forward(self, x):\n    return {call}\n"
    assert reaching_out({"archive/code/__torch__.py": code.encode()})


@pytest.mark.parametrize("between", [".", "\n"])
def test_a_compiled_class_in_a_pickle_is_told(between):
    """The name of a class is its module and, after a line, its name; torch joins them."""
    pickled = f"c__torch__.torch{between}classes.foreign.Keep\n".encode()
    assert reaching_out({"archive/data.pkl": pickled})


@pytest.mark.parametrize(
    "call",
    ["torch.add(x, 1)", "ops.aten.add(x, 1)", "ops.prim.dtype(x)", "saved(x)", "self.saves(x)"]
    + ['getattr(self, "0")(x)', 'raise("save it")'],
)
def test_code_of_torch_alone_is_not(call):
    code = f"def forward(self, x):\n    return {call}\n"
    assert not reaching_out({"archive/code/__torch__.py": code.encode()})
