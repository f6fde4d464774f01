"""A surrogate on a GPU: the generated code as CUDA C++, compiled by NVRTC, launched by cuda.core.

Takes a `Surrogate`; gives a `CudaSurrogate`, which advances states that lie on the device. The
arithmetic is that of the library for a CPU (source/), one state a thread. Needs the extra `cuda`.
"""

import hashlib
import logging
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import require_columns, states_of, steps_of
from combred.native.builder import cache_folder
from combred.native.damage import sealed, unsealed
from combred.native.generator import generate
from combred.native.single_file import join
from combred.records import write_bytes
from combred.surrogate.surrogate import Surrogate

log = logging.getLogger(__name__)

THREADS = 128  # of a block, as __launch_bounds__ of source/kernel.cu says
BLOCKS = 4  # a multiprocessor: each thread takes one state after another
KERNEL = "combred_kernel"


def compile_cuda(
    surrogate: Surrogate,
    mechanism: Mechanism | None = None,
    bf16: bool = False,
    device: torch.device | str = "cuda",
) -> "CudaSurrogate":
    """Write a surrogate as CUDA C++, compile it for a device and load it; half a minute, once.

    surrogate: one that corrects QSS steps; mechanism, bf16: see `generate`. Raises ValueError
    for a network of the state alone, RuntimeError, with the remedy, where there is no CUDA device
    or cuda.core is not installed.
    """
    source = join(generate(surrogate, mechanism, bf16=bf16), "kernel.cu")
    longest = Surrogate.MOST * surrogate.dt_range[1]
    return CudaSurrogate(source, len(surrogate.species), longest, torch.device(device))


def cuda_core() -> Any:
    """The module cuda.core. Raises RuntimeError, with the remedy, where it is not installed."""
    try:
        import cuda.core
    except ImportError as error:
        raise RuntimeError(
            f"cuda.core compiles a surrogate for a GPU, and cannot be imported ({error}): install "
            "it with `pip install combred[cuda]`"
        ) from error
    return cuda.core


def cubin(source: str, arch: str) -> bytes:
    """CUDA C++ compiled for an architecture, as "sm_90"; from the cache if it was compiled before.
    Raises RuntimeError where cuda.core is not installed or the compiler fails."""
    core = cuda_core()
    digest = hashlib.sha256(f"{core.__version__}\0{arch}\0{source}".encode()).hexdigest()[:24]
    cached = cache_folder() / f"{digest}.cubin"
    if cached.is_file():
        try:
            return unsealed(cached.read_bytes())
        except ValueError as error:
            log.warning("%s is damaged, %s. It is compiled again.", cached, error)
    options = core.ProgramOptions(arch=arch, std="c++17", ftz=True)
    compiled = bytes(core.Program(source, "c++", options).compile("cubin").code)
    cached.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(cached, sealed(compiled))
    return compiled


class _Stream:
    """A stream of torch for cuda.core."""

    def __init__(self, stream: torch.cuda.Stream):
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream.cuda_stream


class CudaSurrogate:
    """A surrogate on one CUDA device. `advance` makes it an `Advance` (see
    `combred.chemistry.reactor`); `integrate` takes states on the device, in torch's stream.

    n: 2 + n_species, the columns of a state; longest: the largest dt [s]; device: where states lie.
    """

    TOLERANCE = Surrogate.TOLERANCE

    def __init__(self, source: str, n_species: int, longest: float, device: torch.device):
        if not torch.cuda.is_available():
            raise RuntimeError(
                "torch finds no CUDA device: take combred.native.compile, which needs none"
            )
        self.n, self.longest = 2 + n_species, longest
        self.device = torch.device("cuda", device.index or 0)
        self._core = cuda_core()
        torch.empty(0, device=self.device)  # the context of torch, which cuda.core then shares
        place = self._core.Device(self.device.index)
        place.set_current()
        code = self._core.ObjectCode.from_cubin(cubin(source, f"sm_{place.arch}"))
        self._kernel = code.get_kernel(KERNEL)
        processors = torch.cuda.get_device_properties(self.device).multi_processor_count
        self._blocks = BLOCKS * processors

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K], p (n,) [Pa], Y (n, n_species) [-] -> T (n,) [K] and Y after dt [s], a float
        or (n,), within the default tolerance; numpy arrays. Raises ValueError as `integrate`."""
        state = torch.as_tensor(states_of(T, p, Y), device=self.device)
        later = self.integrate(state, torch.as_tensor(steps_of(dt, len(state))))[0].cpu().numpy()
        return later[:, 0], later[:, 2:]

    def integrate(
        self,
        state: Tensor,
        dt: float | Tensor,
        tolerance: float = TOLERANCE,
        max_steps: int = 0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States dt later within a tolerance, as `Surrogate.integrate` gives them.

        state (n, 2 + n_species), float64, on the device: [T, p, Y]; dt [s]: a float or (n,);
        max_steps: the largest number of steps of a state, 0 for no limit. Returns states, error
        ratios and numbers of steps, as `NativeSurrogate.integrate` does.
        Raises ValueError for other shapes, for dt or a tolerance that is not positive and finite,
        and for a negative max_steps.
        """
        require_columns(tuple(state.shape), self.n)
        n = len(state)
        steps = torch.as_tensor(dt, dtype=torch.float64, device=self.device)
        if steps.ndim > 1 or (steps.ndim == 1 and len(steps) != n):
            raise ValueError(f"dt is a number or has shape ({n},), not {tuple(steps.shape)}")
        if not bool(((steps > 0.0) & (steps <= self.longest)).all()):
            raise ValueError(
                f"a time step is not positive and finite, or more than {self.longest:g} s: divide "
                "it"
            )
        if not 0.0 < tolerance < math.inf or not 0 <= max_steps < 2**63:
            raise ValueError("the tolerance is positive and finite, and max_steps is not negative")
        later = state.to(self.device, torch.float64, copy=True).contiguous()
        error = torch.empty(n, dtype=torch.float64, device=self.device)
        evaluations = torch.empty(n, dtype=torch.int64, device=self.device)
        if n > 0:
            self._launch(later, steps.contiguous(), tolerance, max_steps, error, evaluations)
        return later, error, evaluations

    def _launch(
        self, later: Tensor, steps: Tensor, tolerance: float, max_steps: int, error: Tensor,
        evaluations: Tensor,
    ) -> None:  # fmt: skip
        taken = torch.zeros(1, dtype=torch.int64, device=self.device)
        blocks = min(self._blocks, -(-len(later) // THREADS))
        config = self._core.LaunchConfig(grid=blocks, block=THREADS)
        stream = _Stream(torch.cuda.current_stream(self.device))
        self._core.launch(
            stream, config, self._kernel, np.uint64(len(later)), later.data_ptr(),
            steps.data_ptr(), np.uint64(steps.ndim), np.float64(tolerance), np.int64(max_steps),
            error.data_ptr(), evaluations.data_ptr(), taken.data_ptr(),
        )  # fmt: skip
