"""The grouping kernels, compiled ahead of time for compute capabilities 8.0 and 9.0."""

import re

import pytest
from compiling import Kernel, compiled

pytest.importorskip("triton", reason="pip install combred[cuda]")

ARCHES = [80, 90]
TILES = {
    "single": "*fp32:16", "exact": "*fp64:16", "limit": "*fp64:16", "opened": "*i32:16",
    "bits": "*i32:16", "degree": "*i32:16", "n_words": "i32", "depth": "i32:16", "rounding": "fp32",
}  # fmt: skip
RUN = dict.fromkeys(
    ["bits", "opened", "degree", "best", "votes", "main", "left", "arrived"], "*i32:16"
) | {"n": "i32:16", "n_words": "i32"}
LAUNCHED = {"write_tiles": ("adjacency", TILES), "run": ("rounds", RUN)}
SIZES = {"write_tiles": ["TILE", "DEPTH", "SWATH"], "run": ["ROWS", "WORDS", "COUNTED", "CLAIMED"]}
KERNELS = {}
for arch in ARCHES:
    for name, (module, signature) in LAUNCHED.items():
        KERNELS[name, arch] = Kernel(
            f"combred.kernels.grouping.{module}", name, signature,
            {size: size for size in SIZES[name]}, arch, "WARPS",
            "STAGES" if module == "adjacency" else 3, "REGISTERS" if name == "run" else None,
        )  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, int], dict]:
    return dict(zip(KERNELS, compiled(list(KERNELS.values())), strict=True))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", LAUNCHED)
def test_it_compiles_without_spills(made, name, arch):
    found = made[name, arch]
    assert f".target sm_{arch}" in found["ptx"]
    assert found["spill_bytes"] == 0
    assert 0 < found["registers"] <= 255
    assert found["shared"] <= 48 << 10  # what any program has without asking for more


@pytest.mark.parametrize("arch", ARCHES)
def test_programs_that_wait_for_each_other_are_resident_together(made, arch):
    found = made["run", arch]
    sizes = found["sizes"]
    assert found["registers"] <= sizes["REGISTERS"]  # so the cap at the launch costs nothing
    threads = 32 * sizes["WARPS"] * sizes["PROGRAMS"]
    assert sizes["REGISTERS"] * threads <= 1 << 16  # what a multiprocessor has
    assert found["shared"] * sizes["PROGRAMS"] <= 48 << 10
    # Values written before a wait are visible after it: release and acquire on the counter.
    for order in ("release", "acquire"):
        assert len(re.findall(rf"global\.gpu\.{order}", found["ptx"])) == 3


@pytest.mark.parametrize("arch", ARCHES)
def test_cosines_have_the_accuracy_of_float32(made, arch):
    # Multiply-adds of all tensor core instructions of a program, in one DEPTH of components.
    found = made["write_tiles", arch]
    shape = r"mma(?:_async)?\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\S*tf32"
    # An instruction is one of a warp, or on Hopper (wgmma) of a group of four.
    warps = found["sizes"]["WARPS"] // (4 if "wgmma" in found["ptx"] else 1)
    done = sum(int(m) * int(n) * int(k) * warps for m, n, k in re.findall(shape, found["ptx"]))
    tile, depth = found["sizes"]["TILE"], found["sizes"]["DEPTH"]
    assert done == 3 * tile * tile * depth
    assert re.search(r"mma\S*f64\.f64", found["ptx"])  # pairs within rounding of the threshold


@pytest.mark.parametrize("name", LAUNCHED)
def test_bits_and_no_floats_are_written(made, name):
    # Pointers to floats are the rows and the threshold; the matrix of pairs is one of words.
    signature = LAUNCHED[name][1]
    floats = [argument for argument, kind in signature.items() if kind.startswith("*fp")]
    assert set(floats) <= {"single", "exact", "limit"}
    assert signature.get("bits", "*i32:16") == "*i32:16"
    for arch in ARCHES:
        ptx = made[name, arch]["ptx"]
        stored = set(re.findall(r"st\.global\S*", ptx))
        assert all(re.search(r"\.[bu]32$", kind) for kind in stored), stored
