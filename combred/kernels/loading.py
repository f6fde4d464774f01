"""Whether the Triton kernels can run, and the message where they cannot.

The operations of `combred.kernels` ask here before they import a module of kernels. Importing
combred neither imports Triton nor initialises CUDA: only a call that might use them does.
"""

import importlib
import logging
import os

import torch

logger = logging.getLogger(__name__)

MIN_CAPABILITY = (8, 0)  # for asynchronous copies, and float64 and tf32 matrix products
MIN_TRITON = (3, 5)  # for matrix products of float64
SWITCHED_ON = ("1", "true", "on", "yes", "y")  # as Triton reads TRITON_INTERPRET

_logged: set[tuple[str, str]] = set()


def unavailable(device: torch.device) -> str | None:
    """The reason why Triton kernels cannot run on tensors of `device`, or None if they can.

    They run on CUDA devices of compute capability 8.0 and more. With TRITON_INTERPRET=1 they are
    interpreted on a CPU, which is slow.
    """
    try:
        triton = importlib.import_module("triton")
    except ModuleNotFoundError as error:
        if error.name != "triton":
            return f"Triton does not load: {error}"
        return "Triton is not installed: pip install combred[cuda]"
    except (ImportError, OSError, RuntimeError) as error:  # a broken installation
        return f"Triton does not load: {type(error).__name__}: {error}"
    if tuple(map(int, triton.__version__.split(".")[:2])) < MIN_TRITON:
        needed = ".".join(map(str, MIN_TRITON))
        return f"Triton {triton.__version__} is older than {needed}: pip install combred[cuda]"
    if interpreted():
        return None
    if device.type != "cuda":
        return (
            f"Triton kernels run on CUDA devices, and the tensors are on {device}: move them, or "
            "set TRITON_INTERPRET=1 to have the kernels interpreted on a CPU"
        )
    if torch.version.hip is not None:
        return "the kernels are made for CUDA, and this is a ROCm build of torch"
    capability = torch.cuda.get_device_capability(device)
    if capability < MIN_CAPABILITY:
        found, least = (".".join(map(str, pair)) for pair in (capability, MIN_CAPABILITY))
        return f"{device} has compute capability {found}; the kernels need {least}"
    return None


def interpreted() -> bool:
    """Whether Triton's interpreter is switched on; a module of kernels asks when it is imported."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in SWITCHED_ON


def fall_back(operation: str, reason: str) -> None:
    """Log once, for each operation and reason, that the implementation for CPUs is used."""
    if (operation, reason) not in _logged:
        _logged.add((operation, reason))
        logger.warning("%s falls back to its CPU implementation: %s", operation, reason)
