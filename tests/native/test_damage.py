"""A library of which a bit has changed is refused, or its answers are those of before."""

import numpy as np
import pytest

from combred.native import NativeSurrogate
from combred.native.damage import require_whole, sealed

hydrogen = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
SEAL = len(sealed(b""))  # bytes of the checksum and its mark, behind the library


@hydrogen
def test_two_hundred_flipped_bits(compiled, path, tmp_path):
    """Ten of them in the mark itself, without which nothing is compared."""
    rng, whole = np.random.default_rng(0), compiled.library.path.read_bytes()
    given = path.T, path.p, path.Y, 1e-6
    known, refused = compiled.integrate(*given).T, 0
    places = [*rng.integers(len(whole), size=190), *(len(whole) - 1 - rng.integers(SEAL, size=10))]
    for i, place in enumerate(places):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        file = tmp_path / f"{i}.so"
        file.write_bytes(flipped)
        try:
            native = NativeSurrogate(file)
        except ValueError as error:
            assert "is damaged" in str(error)
            refused += 1
            continue
        assert place >= len(whole) - SEAL
        assert np.array_equal(native.integrate(*given).T, known)
    assert refused >= 190


@hydrogen
@pytest.mark.parametrize("share", [0.0001, 0.3, 0.9, 0.999])
def test_a_library_cut_short_is_refused(compiled, tmp_path, share):
    whole = compiled.library.path.read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="is damaged.*combred.native.export"):
        require_whole(tmp_path / "cut.so")


@hydrogen
def test_a_library_without_its_mark_is_taken(compiled, path, tmp_path):
    """As `strip`, or the command at the head of surrogate.cpp, leaves it."""
    file = tmp_path / "stripped.so"
    file.write_bytes(compiled.library.path.read_bytes()[:-SEAL])
    given = path.T, path.p, path.Y, 1e-6
    known, found = (x.integrate(*given).T for x in (compiled, NativeSurrogate(file)))
    assert np.array_equal(known, found)


@hydrogen
def test_a_process_loads_a_library_once(compiled, tmp_path):
    """The system's loader would give the first one again, without a word."""
    file = tmp_path / "library.so"
    file.write_bytes(compiled.library.path.read_bytes())
    NativeSurrogate(file)
    NativeSurrogate(file)
    (tmp_path / "new").write_bytes(sealed(compiled.library.path.read_bytes()))
    (tmp_path / "new").replace(file)
    with pytest.raises(ValueError, match="has changed since.*write the new one to another path"):
        NativeSurrogate(file)


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(10)])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "other.so").write_bytes(content)
    with pytest.raises(ValueError, match="combred.native.export"):
        NativeSurrogate(tmp_path / "other.so")
