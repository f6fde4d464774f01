"""The fused surrogate, compiled ahead of time: no GPU is needed.

Compiled in a process of its own, in which Triton's interpreter is off.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="pip install combred[cuda]")

# Mechanism, hidden widths, precision, compute capability, whether the closure error is wanted; and
# the largest spill that is accepted, in bytes a thread: a little more than Triton 3.9 needs. With
# the closure error, the raw prediction of the network is spilled. The widths are those of reduced
# networks of methane. One small case is compiled everywhere, the others, of some 10 s each, where
# there is a GPU that runs them.
SMALL = [("h2o2.yaml", [64, 32], "bf16x3", 90, True, 0)]
LARGE = [
    ("drm19.yaml", [207, 114, 72], "tf32", 80, False, 384),
    ("drm19.yaml", [207, 114, 72], "bf16x3", 90, True, 1024),
    ("drm19.yaml", [400, 400, 400], "bf16x3", 90, False, 768),
]
SHARED = {80: 166_912, 90: 232_448}  # bytes that a program can have, of an A100 and of an H200
INSTRUCTION = {80: "mma.sync", 90: "wgmma.mma_async"}


@pytest.mark.parametrize(
    ("name", "hidden", "precision", "arch", "closure_error", "spill"),
    SMALL + [pytest.param(*case, marks=pytest.mark.cuda) for case in LARGE],
)
def test_networks_compile(name, hidden, precision, arch, closure_error, spill, tmp_path):
    found = in_own_process(tmp_path, name, hidden, precision, arch, closure_error)
    # Of 255 registers; where ptxas gives up it takes 32.
    assert found["registers"] > 64 and found["spill_bytes"] <= spill, found
    assert found["shared"] <= SHARED[arch], found
    assert found["matrix_units"]  # and not products one by one


def in_own_process(folder: Path, *case) -> dict:
    """Registers and spilled bytes of a thread, shared bytes of a program, seconds to compile."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder)}
    environment.pop("TRITON_INTERPRET", None)
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(case)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def surrogate_of(name: str, hidden: list[int]):
    """An untrained surrogate of the state alone."""
    from combred.chemistry.mechanism import load_mechanism
    from combred.surrogate.network import Network
    from combred.surrogate.surrogate import Surrogate
    from combred.surrogate.transform import BOXCOX, FLOOR, POWER, StateTransform

    mechanism = load_mechanism(name)
    transform = StateTransform(mechanism.n_species, BOXCOX, FLOOR, POWER)
    network = Network([transform.n_inputs, *hidden, transform.n_outputs])
    return Surrogate(mechanism, transform, network)


def network(name: str, hidden: list[int], precision: str, arch: int, closure_error: bool) -> dict:
    """The kernel of a whole surrogate, with the closure error of each state, or without."""
    from combred.kernels.inference.fused_surrogate import FusedSurrogate, advance_kernel

    fused = FusedSurrogate(surrogate_of(name, hidden), precision)
    weights = "*bf16" if precision.startswith("bf16") else "*fp32"
    tables = ["*fp64", "*fp32", "*fp32", weights, weights, "*fp32"]
    blocking = fused.blocking
    constants = {
        **fused.constants, "LIMITS": fused.limits if closure_error else None,
        "B": blocking.states, "AT_ONCE": blocking.at_once,
    }  # fmt: skip
    return compiled(
        advance_kernel, ["*fp64"] * 3 + ["i32"] + tables, constants, arch, blocking.warps,
        blocking.stages,
    )  # fmt: skip


def compiled(kernel, kinds: list[str], constants: dict, arch: int, warps: int, stages: int) -> dict:
    """What a kernel needs; its first arguments have the types `kinds`, as Triton writes them."""
    import time

    import triton
    from compiling import report
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = dict(zip(kernel.arg_names, kinds, strict=False))
    types |= {name: "constexpr" for name in constants}
    tables = [(i,) for i in range(kinds.index("i32") + 1, len(kinds))]  # whole tensors
    begun = time.perf_counter()
    made = triton.compile(
        ASTSource(kernel, types, constants, {at: [["tt.divisibility", 16]] for at in tables}),
        target=GPUTarget("cuda", arch, 32),
        options={
            "num_warps": warps,
            "num_stages": stages,
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
    print(json.dumps(network(*json.loads(sys.argv[1]))))
