"""The fused surrogate, compiled ahead of time for the models that combred ships: no GPU is needed.

Compiled in a process of its own, in which Triton's interpreter is off.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="pip install combred[cuda]")

# Model, precision, compute capability, whether the closure error is wanted; and the largest spill
# that is accepted, in bytes a thread: a little more than Triton 3.9 needs. With reaction rates, Y,
# the enthalpies and the rates of the first evaluation are spilled while the reactions are computed;
# with the closure error, the raw prediction of the network. One model of each kind, capability and
# precision is compiled everywhere (10 s, and 30 s with rates), the others where there is a GPU that
# runs them.
CASES = [
    ("drm19-39k", "tf32", 80, False, 384),
    ("drm19-kinetics-336k", "bf16x3", 90, True, 2048),
]
MORE = [
    ("drm19-39k", "bf16x3", 90, False, 64),
    ("drm19-118k", "bf16x3", 90, False, 0),
    ("drm19-kinetics-38k", "bf16x3", 90, False, 1280),
    ("drm19-kinetics-38k", "tf32", 80, False, 1792),
]
SHARED = {80: 166_912, 90: 232_448}  # bytes that a program can have, of an A100 and of an H200
INSTRUCTION = {80: "mma.sync", 90: "wgmma.mma_async"}


@pytest.mark.parametrize(
    ("name", "precision", "arch", "closure_error", "spill"),
    CASES + [pytest.param(*case, marks=pytest.mark.cuda) for case in MORE],
)
def test_shipped_models_compile(name, precision, arch, closure_error, spill, tmp_path):
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    done = subprocess.run(
        [sys.executable, __file__, json.dumps([name, precision, arch, closure_error])],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # Of 255 registers; where ptxas gives up it takes 32.
    assert found["registers"] > 128 and found["spill_bytes"] <= spill, found
    assert found["shared"] <= SHARED[arch], found
    assert found["matrix_units"]  # and not products one by one


def compiled(name: str, precision: str, arch: int, closure_error: bool = False) -> dict:
    """Registers and spilled bytes of a thread, shared bytes of a program, seconds to compile; with
    the closure error of each state, or without."""
    import time

    import triton
    from compiling import report
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import combred
    from combred.kernels.inference.fused_surrogate import FusedSurrogate, advance_kernel

    fused = FusedSurrogate(combred.load(name), precision)
    weights = "*bf16" if precision.startswith("bf16") else "*fp32"
    tables = ["*fp64", "*fp32", "*fp32", "*fp32", "*fp32", weights, weights, "*fp32"]
    kinds = ["*fp64"] * 3 + ["i32"] + tables
    blocking = fused.blocking
    constants = {
        **fused.constants, "LIMITS": fused.limits if closure_error else None,
        "B": blocking.states, "AT_ONCE": blocking.at_once,
    }  # fmt: skip
    types = dict(zip(advance_kernel.arg_names, kinds, strict=False))
    types |= {name: "constexpr" for name in constants}
    tables = [(i,) for i in range(kinds.index("i32") + 1, len(kinds))]
    begun = time.perf_counter()
    made = triton.compile(
        ASTSource(
            advance_kernel, types, constants, {at: [["tt.divisibility", 16]] for at in tables}
        ),
        target=GPUTarget("cuda", arch, 32),
        options={
            "num_warps": blocking.warps,
            "num_stages": blocking.stages,
            "enable_fp_fusion": True,  # silences a warning of Triton 3.9
        },
    )
    return {
        **report(made.asm["cubin"]),
        "shared": made.metadata.shared,
        "matrix_units": INSTRUCTION[arch] in made.asm["ptx"],
        "seconds": round(time.perf_counter() - begun, 1),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(compiled(*json.loads(sys.argv[1]))))
