"""The grouping kernels, compiled ahead of time for compute capabilities 8.0 and 9.0, without a GPU.

They are compiled in a process of their own, in which Triton's interpreter is off: this file is its
script.
"""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="pip install combred[cuda]")

pytestmark = pytest.mark.slow
ARCHES = [80, 90]
# The type of each argument as Triton writes it, "*fp32" for a pointer, with ":16" where it is
# divisible by 16, as pointers to whole tensors are.
TILES = {
    "single": "*fp32:16", "exact": "*fp64:16", "limit": "*fp64:16", "opened": "*i32:16",
    "bits": "*i32:16", "degree": "*i32:16", "n_words": "i32", "depth": "i32:16", "rounding": "fp32",
}  # fmt: skip
RUN = dict.fromkeys(
    ["bits", "opened", "degree", "best", "votes", "main", "left", "arrived"], "*i32:16"
) | {"n": "i32:16", "n_words": "i32"}
# The module, the types, and the constants and options that the module launches the kernel with.
KERNELS = {
    "write_tiles": ("adjacency", TILES, ["TILE", "DEPTH", "SWATH"],
                    {"num_warps": "WARPS", "num_stages": "STAGES"}),
    "run": ("rounds", RUN, ["ROWS", "WORDS", "COUNTED", "CLAIMED"],
            {"num_warps": "WARPS", "maxnreg": "REGISTERS"}),
}  # fmt: skip


def resources(name: str, arch: int) -> dict:
    """The `target` of a kernel, `registers` of a thread, `spilled` and `shared` bytes."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module, types, constants, options = KERNELS[name]
    source = importlib.import_module(f"combred.kernels.grouping.{module}")
    kernel = getattr(source, name)
    whole = [argument for argument, kind in types.items() if kind.endswith(":16")]
    divisible = {(kernel.arg_names.index(one),): [["tt.divisibility", 16]] for one in whole}
    plain = {argument: kind.split(":")[0] for argument, kind in types.items()}
    made = triton.compile(
        ASTSource(
            kernel, plain | dict.fromkeys(constants, "constexpr"),
            {constant: getattr(source, constant) for constant in constants}, divisible,
        ),
        target=GPUTarget("cuda", arch, 32),
        options={option: getattr(source, size) for option, size in options.items()}
        | {"enable_fp_fusion": True},  # which silences a warning of Triton 3.9
    )  # fmt: skip
    path = Path(os.environ["TRITON_CACHE_DIR"]) / f"{name}-{arch}.cubin"
    path.write_bytes(made.asm["cubin"])
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    told = subprocess.run([tool, "-res-usage", path], capture_output=True, text=True, check=True)
    used = {key: int(n) for key, n in re.findall(r"(REG|STACK|LOCAL):(\d+)", told.stdout)}
    return {
        "target": re.search(r"\.target (\w+)", made.asm["ptx"])[1], "registers": used["REG"],
        "spilled": used["STACK"] + used["LOCAL"], "shared": made.metadata.shared,
    }  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, dict]:
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", KERNELS)
def test_it_compiles_without_spills(made, name, arch):
    found = made[f"{name} {arch}"]
    assert found["target"].startswith(f"sm_{arch}") and found["spilled"] == 0
    assert 0 < found["registers"] <= 255
    assert found["shared"] <= 48 << 10  # what any program has without asking for more


if __name__ == "__main__":
    print(json.dumps({f"{n} {arch}": resources(n, arch) for n in KERNELS for arch in ARCHES}))
