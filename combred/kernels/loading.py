"""Whether the Triton kernels can run, and what to say where they cannot.

Asked by the operations of `combred.kernels` before they import a module of kernels. Triton is not
imported with combred, nor CUDA initialised: only a call that might use them does so.
"""

import importlib
import logging
import os

import torch

logger = logging.getLogger(__name__)

LEAST = (8, 0)  # compute capability: asynchronous copies, and float64 and tf32 matrix products
OLDEST = (3, 5)  # of Triton: matrix products of float64
SWITCHED_ON = ("1", "true", "on", "yes", "y")  # as Triton reads TRITON_INTERPRET

_logged: set[tuple[str, str]] = set()


def unavailable(device: torch.device) -> str | None:
    """Why Triton kernels cannot run on tensors of `device`; None where they can.

    They run on CUDA devices of compute capability 8.0 and more, and, slowly, on a CPU under
    Triton's interpreter, which TRITON_INTERPRET=1 switches on.
    """
    try:
        triton = importlib.import_module("triton")
    except ModuleNotFoundError as error:
        if error.name != "triton":
            return f"Triton does not load: {error}"
        return "Triton is not installed: pip install combred[cuda]"
    except (ImportError, OSError, RuntimeError) as error:  # of a broken or unfit installation
        return f"Triton does not load: {type(error).__name__}: {error}"
    if tuple(map(int, triton.__version__.split(".")[:2])) < OLDEST:
        needed = ".".join(map(str, OLDEST))
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
    if capability < LEAST:
        found, least = (".".join(map(str, pair)) for pair in (capability, LEAST))
        return f"{device} has compute capability {found}; the kernels need {least}"
    return None


def interpreted() -> bool:
    """Whether Triton's interpreter is switched on; kernels ask when their module is imported."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in SWITCHED_ON


def fall_back(operation: str, reason: str, to: str = "its CPU implementation") -> None:
    """Log, once for every operation and reason, that the slower implementation is taken."""
    if (operation, reason) not in _logged:
        _logged.add((operation, reason))
        logger.warning("%s falls back to %s: %s", operation, to, reason)
