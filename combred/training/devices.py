"""The device of a training, the processes of torchrun, and the numerical precision."""

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch


@dataclass(frozen=True)
class Device:
    """The torch device of this process; its rank and the number of processes (`world`) of
    torchrun; the precision of the hidden layers in a training, "float32" or "bf16"."""

    device: torch.device
    rank: int = 0
    world: int = 1
    precision: str = "float32"

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0


def open_device() -> Device:
    """The device: CUDA if available, else CPU. Joins the process group if torchrun started this
    process."""
    world = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun, not by users
    cuda = torch.cuda.is_available()
    if world == 1:
        device = torch.device("cuda" if cuda else "cpu")
        return Device(device, precision=fastest_precision(device)[0])
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local)
    if not torch.distributed.is_initialized():
        # The other processes wait for hours while the first one samples and validates.
        backend, patience = "nccl" if cuda else "gloo", timedelta(days=7)
        torch.distributed.init_process_group(backend, timeout=patience)
    device = torch.device(f"cuda:{local}" if cuda else "cpu")
    return Device(device, rank, world, fastest_precision(device)[0])


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
