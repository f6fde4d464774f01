"""Damage in files of torch: each flipped bit is found, or changes nothing."""

import io
import struct
import zipfile

import pytest
import torch

from combred.files.torch_archive import damage_in


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


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
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
            if damage_in(io.BytesIO(flipped)) is not None:
                refused += 1
                continue
            try:
                found = load(io.BytesIO(flipped))
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
        assert damage_in(io.BytesIO(flipped)) == name
        entry += 46 + sum(struct.unpack_from("<3H", whole, entry + 28))  # name, extra, comment


def test_a_missing_file_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        damage_in(tmp_path / "none.pt")
