"""Damage in files of torch: each flipped bit is found, or changes nothing."""

import io
import re
import struct
import zipfile

import pytest
import torch

from combred.torch_archive import damage_in


@pytest.fixture(scope="module")
def whole():
    """The bytes of a file of torch.save with one tensor."""
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(3.0)}, buffer)
    return buffer.getvalue()


def test_a_whole_file_has_no_damage(whole):
    assert damage_in(io.BytesIO(whole)) is None


def test_a_missing_file_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        damage_in(tmp_path / "none.pt")


def test_a_part_that_is_marked_as_a_folder_is_damaged(whole):
    with zipfile.ZipFile(io.BytesIO(whole)) as parts:
        entry, names = parts.start_dir, [part.filename for part in parts.infolist()]
    for name in names:
        flipped = bytearray(whole)
        flipped[entry + 38] ^= 0x10  # the attributes: 4 bytes, then the offset, then the name
        assert damage_in(io.BytesIO(flipped)) == name
        entry += 46 + sum(struct.unpack_from("<3H", whole, entry + 28))  # name, extra, comment


def test_each_flipped_bit_outside_the_padding_is_damage_or_changes_nothing(whole):
    known = torch.load(io.BytesIO(whole))
    refused = 0
    for place in range(len(whole)):
        if re.fullmatch(b"Z+", whole[max(0, place - 3) : place + 3]):
            continue  # what torch.save puts between the parts, so that each begins at a multiple
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            if damage_in(io.BytesIO(flipped)) is not None:
                refused += 1
                continue
            try:
                found = torch.load(io.BytesIO(flipped))
            except (RuntimeError, ValueError):
                refused += 1
                continue
            assert torch.equal(found["x"], known["x"])
    assert refused > 4000
