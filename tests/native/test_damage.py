"""A library of which a bit has changed is refused, or its answers are those of before."""

import shutil
import subprocess

import numpy as np
import pytest

from combred.command import main
from combred.native import NativeSurrogate
from combred.native.compilers import find_compiler
from combred.native.damage import defines, require_whole, sealed
from combred.native.library import load_built

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


@hydrogen
@pytest.mark.parametrize("content", [b"no library", b""])
def test_a_library_that_was_compiled_and_cannot_be_loaded_is_compiled_again(
    compiled, tmp_path, content
):
    library = tmp_path / "library.so"
    library.write_bytes(sealed(content))

    def build():
        if not library.is_file():
            shutil.copy(compiled.library.path, library)
        return library

    assert load_built(build).species == compiled.library.species


HARMFUL = """#include <cstdio>
extern "C" int combred_interface();
const char *text = "combred_interface";
extern "C" int uses() { return combred_interface(); }
__attribute__((constructor)) static void harm() { fclose(fopen("HARM", "w")); }
"""


@hydrogen
def test_a_library_of_others_is_not_run_to_see_what_it_is(compiled, tmp_path, capsys):
    harm, source, library = (tmp_path / name for name in ("harm", "a.cpp", "a.so"))
    source.write_text(HARMFUL.replace("HARM", str(harm)))
    subprocess.run([*find_compiler(), "-shared", "-fPIC", source, "-o", library], check=True)
    assert main(["check", str(library)]) == 2
    assert "not a library of combred" in " ".join(capsys.readouterr().out.split())
    assert not harm.exists()
    assert defines(library, "uses") and defines(compiled.library.path, "combred_interface")


@hydrogen
def test_a_damaged_table_of_symbols_is_no_traceback(compiled, tmp_path):
    rng, whole = np.random.default_rng(0), compiled.library.path.read_bytes()
    table, file = int.from_bytes(whole[40:48], "little"), tmp_path / "a.so"
    for length in (64, 80, len(whole)):
        for place in (*range(40, 64), *(table + rng.integers(64 * 20, size=20))):
            damaged = bytearray(whole[:length])
            damaged[min(place, length - 1)] = rng.integers(256)
            file.write_bytes(damaged)
            assert defines(file, "combred_interface") in (True, False)
