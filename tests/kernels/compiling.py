"""Triton kernels compiled ahead of time, without a GPU, and the resources that they need.

    from compiling import Kernel, compiled
    module = "combred.kernels.grouping.adjacency"
    compiled([Kernel(module, "write_tiles", {"bits": "*i32:16", ...}, ...)])

They are compiled in a process of their own, in which Triton's interpreter is off.
"""

import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel as it is launched.

    signature: the type of each argument as Triton writes it, "*fp32" for a pointer, with ":16" if
    the argument is divisible by 16, as pointers to whole tensors are. constants: the constexprs.
    These and num_warps, num_stages, maxnreg may be names of constants of the module, so that the
    compiled kernel is the one that is launched. arch: the compute capability, 80 or 90.
    """

    module: str
    function: str
    signature: dict[str, str]
    constants: dict[str, int | bool | str]
    arch: int
    num_warps: int | str
    num_stages: int | str
    maxnreg: int | str | None = None


def compiled(kernels: list[Kernel]) -> list[dict]:
    """Of each kernel: `registers` of a thread, `spill_bytes`, `shared` bytes of a program, its
    `ptx`, and `sizes`, the integer constants of its module.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        environment.pop("TRITON_INTERPRET", None)
        done = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps([dataclasses.asdict(kernel) for kernel in kernels]),
            capture_output=True,
            text=True,
            env=environment,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def resources(of: Kernel) -> dict:
    """One element of `compiled`, compiled in this process."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {name: kind.split(":")[0] for name, kind in of.signature.items()}
    types |= {name: "constexpr" for name in of.constants}
    source = importlib.import_module(of.module)
    kernel = getattr(source, of.function)
    sizes = {name: size for name, size in vars(source).items() if isinstance(size, int)}
    constants = {name: sizes.get(size, size) for name, size in of.constants.items()}
    divisible = {
        (kernel.arg_names.index(name),): [["tt.divisibility", 16]]
        for name, kind in of.signature.items()
        if kind.endswith(":16")
    }
    options = {
        name: sizes.get(getattr(of, name), getattr(of, name))
        for name in ("num_warps", "num_stages", "maxnreg")
    }
    made = triton.compile(
        ASTSource(kernel, types, constants, divisible),
        target=GPUTarget("cuda", of.arch, 32),
        options=options | {"enable_fp_fusion": True},  # which silences a warning of Triton 3.9
    )
    used = report(made.asm["cubin"])
    return {**used, "shared": made.metadata.shared, "ptx": made.asm["ptx"], "sizes": sizes}


def report(binary: bytes) -> dict:
    """Registers of a kernel and bytes of its stack, which are those that were spilled."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = [tool, "-res-usage", file.name]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {name: int(n) for name, n in re.findall(r"(REG|STACK|LOCAL):(\d+)", output)}
    return {"registers": found["REG"], "spill_bytes": found["STACK"] + found["LOCAL"]}


if __name__ == "__main__":
    print(json.dumps([resources(Kernel(**kernel)) for kernel in json.load(sys.stdin)]))
