"""The grouping kernels, compiled ahead of time for compute capabilities 8.0 and 9.0."""

import pytest
from compiling import Kernel, compiled

pytest.importorskip("triton", reason="pip install combred[cuda]")

pytestmark = pytest.mark.slow
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
