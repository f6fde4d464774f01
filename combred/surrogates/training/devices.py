"""The device of a training, and the numerical precision."""

from pathlib import Path

import torch


def open_device() -> torch.device:
    """The device: CUDA if available, else CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fastest_precision(device: torch.device) -> tuple[str, str]:
    """The precision, "bf16" where the hardware has bf16 arithmetic, else "float32", and the reason
    for it, to be printed."""
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bf16", "the GPU has bf16 matrix units"
        return "float32", "the GPU has no bf16 matrix units"
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "avx512_bf16" in flags or "amx_bf16" in flags:
        return "bf16", "the CPU multiplies bf16"
    return "float32", "the CPU has no bf16 arithmetic"
