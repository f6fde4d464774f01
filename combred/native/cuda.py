"""A library on a GPU: the generated code as CUDA C++, compiled by NVRTC, launched by cuda.core.

Takes a `Mechanism`, and what is added to its solver; gives a `CudaLibrary`, which advances states
that lie on the device. The arithmetic is that of the library for a CPU (source/), one state a
thread. Needs the extra `cuda`.
"""

import hashlib
import logging
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import (
    Real,
    Rows,
    Tolerance,
    require_columns,
    require_tolerance,
    states_of,
    steps_of,
)
from combred.chemistry.stepper import Solution, Stepper
from combred.files.records import COMPILED, cache_folder, require_own, write_files
from combred.native.damage import sealed, unsealed
from combred.native.extension import Extension, library_files
from combred.native.identity import HAS_NETWORK
from combred.native.single_file import join
from combred.native.solver.generator import LONGEST_DT, TOLERANCE

log = logging.getLogger(__name__)

THREADS = 128  # of a block, as __launch_bounds__ of source/kernel.cu says
BLOCKS = 4  # a multiprocessor: each thread takes one state after another
KERNEL, NETWORK = "combred_kernel", "combred_network"


def compile_cuda(
    mechanism: Mechanism, extension: Extension | None, device: torch.device | str = "cuda"
) -> "CudaLibrary":
    """The solver of a mechanism, and what is added to it, as CUDA C++, compiled for a device and
    loaded; half a minute, once.

    Raises ValueError for rates that are not known, RuntimeError, with the remedy, where there is no
    CUDA device or cuda.core is not installed.
    """
    source = join(library_files(mechanism, extension), "kernel.cu")
    tolerance = extension.identity.tolerance if extension else TOLERANCE
    return CudaLibrary(source, mechanism.n_species, tolerance, torch.device(device))


def cuda_core() -> Any:
    """The module cuda.core. Raises RuntimeError, with the remedy, where it is not installed."""
    try:
        import cuda.core
    except ImportError as error:
        raise RuntimeError(
            f"cuda.core compiles for a GPU, and cannot be imported ({error}): install "
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
        require_own(cached)
        try:
            return unsealed(cached.read_bytes())
        except ValueError as error:
            log.warning("%s is damaged, %s. It is compiled again.", cached, error)
    options = core.ProgramOptions(arch=arch, std="c++17", ftz=True)
    compiled = bytes(core.Program(source, "c++", options).compile("cubin").code)
    with suppress(OSError):  # a full cache only costs time
        write_files({cached: sealed(compiled)}, COMPILED)
    return compiled


class _Stream:
    """A stream of torch for cuda.core."""

    def __init__(self, stream: torch.cuda.Stream):
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream.cuda_stream


class CudaLibrary(Stepper):
    """A library on one CUDA device: a `Stepper` of numpy arrays; called with states
    that lie on the device, it works in torch's stream.

    n: 2 + n_species, the columns of a state; tolerance: that of `advance`; device: where states
    lie.
    """

    def __init__(self, source: str, n_species: int, tolerance: float, device: torch.device):
        if not torch.cuda.is_available():
            raise RuntimeError(
                "torch finds no CUDA device: take combred.native.compile, which needs none"
            )
        self.n, self.tolerance = 2 + n_species, tolerance
        self.device = torch.device("cuda", device.index or 0)
        self._core = cuda_core()
        torch.empty(0, device=self.device)  # the context of torch, which cuda.core then shares
        place = self._core.Device(self.device.index)
        place.set_current()
        code = self._core.ObjectCode.from_cubin(cubin(source, f"sm_{place.arch}"))
        self._kernel = code.get_kernel(KERNEL)
        self._network = code.get_kernel(NETWORK) if HAS_NETWORK in source else None
        processors = torch.cuda.get_device_properties(self.device).multi_processor_count
        self._blocks = BLOCKS * processors

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Stepper.attempt`."""
        state = torch.as_tensor(states_of(T, p, Y), device=self.device)
        steps = torch.as_tensor(steps_of(dt, len(state)))
        found = self(state, steps, tolerance, max_steps)
        later, error, tried = (x.cpu().numpy() for x in found)
        return Solution(later[:, 0], later[:, 1], later[:, 2:], error, tried)

    def __call__(
        self,
        state: Tensor,
        dt: float | Tensor,
        tolerance: float | None = None,
        max_steps: int = 0,
        volume: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States dt later within a tolerance.

        state (n, 2 + n_species), float64, on the device: [T, p, Y]; dt [s]: a float or (n,);
        tolerance: None for that of `advance`; max_steps: the largest number of steps of a state, 0
        for the usual limit; volume: at constant volume. Returns states, error ratios
        and numbers of steps, as `combred.native.library.Library` does.
        Raises ValueError for other shapes, for dt or a tolerance that is not positive and finite,
        and for a negative max_steps.
        """
        require_columns(tuple(state.shape), self.n)
        n = len(state)
        steps = torch.as_tensor(dt, dtype=torch.float64, device=self.device)
        if steps.ndim > 1 or (steps.ndim == 1 and len(steps) != n):
            raise ValueError(f"dt is a number or has shape ({n},), not {tuple(steps.shape)}")
        if not bool(((steps > 0.0) & (steps <= LONGEST_DT)).all()):
            raise ValueError(
                f"a time step is not positive and finite, or more than {LONGEST_DT:g} s"
            )
        chosen = self.tolerance if tolerance is None else require_tolerance(tolerance)
        if not 0 <= max_steps < 2**63:
            raise ValueError(f"max_steps is from 0 to 2^63 - 1, not {max_steps}")
        later = state.to(self.device, torch.float64, copy=True).contiguous()
        steps = steps.contiguous()
        error = torch.empty(n, dtype=torch.float64, device=self.device)
        tried = torch.empty(n, dtype=torch.int64, device=self.device)
        if n > 0:
            given = np.uint64(n), later.data_ptr(), steps.data_ptr(), np.uint64(steps.ndim)
            told = error.data_ptr(), tried.data_ptr()
            # How many rows network and solver have taken, how many are left to it, and which.
            rows = torch.zeros(n + 3, dtype=torch.int64, device=self.device)
            first, next_, count, left = (rows[i:].data_ptr() for i in range(4))
            before = self._network is not None and not volume
            if before:
                self._launch(
                    self._network, n, *given, np.float64(chosen), *told, first, left, count
                )
            options = np.float64(chosen), np.int64(max_steps), np.int64(volume)
            which = left if before else 0
            self._launch(self._kernel, n, *given, *options, *told, next_, which, count)
        return later, error, tried

    def _launch(self, kernel: Any, n: int, *arguments: Any) -> None:
        blocks = min(self._blocks, -(-n // THREADS))
        config = self._core.LaunchConfig(grid=blocks, block=THREADS)
        stream = _Stream(torch.cuda.current_stream(self.device))
        self._core.launch(stream, config, kernel, *arguments)
