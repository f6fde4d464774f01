"""The machine that a time was measured on.

Imports nothing of combred.
"""

import os
import platform
from pathlib import Path

INFO = Path("/proc/cpuinfo")
# The widest vectors that all of these flags of the processor allow, as torch names them.
VECTORS = {"AVX512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "AVX2": {"avx2", "fma"}}
# AMD's generations by family and model, as in Linux (arch/x86/kernel/cpu/amd.c): names such as
# "AMD EPYC", of a virtual machine, do not tell them.
ZEN = {
    (25, "Zen 3"): [*range(0x00, 0x10), *range(0x20, 0x30), *range(0x40, 0x60)],
    (25, "Zen 4"): [*range(0x10, 0x20), *range(0x60, 0x80), *range(0xA0, 0xB0)],
    (26, "Zen 5"): [*range(0x00, 0x30), *range(0x40, 0x50), *range(0x60, 0x80)],
}


def machine() -> str:
    """The processor's name and generation, its widest vectors, which times depend on, and its
    number of cores."""
    found: dict[str, str] = {}
    for line in INFO.read_text().splitlines() if INFO.exists() else []:
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    flags = set(found.get("flags", "").split())
    vectors = next((name for name, needed in VECTORS.items() if needed <= flags), "DEFAULT")
    name = found.get("model name") or platform.processor()
    return f"{name}{_generation(found)} ({vectors}), {os.cpu_count()} cores"


def _generation(found: dict[str, str]) -> str:
    """The generation of a processor, or its family and model, after its name; "" if not known."""
    family, model = found.get("cpu family", ""), found.get("model", "")
    if not (family.isdigit() and model.isdigit()):
        return ""
    if found.get("vendor_id") == "AuthenticAMD":
        for (of, generation), models in ZEN.items():
            if int(family) == of and int(model) in models:
                return f", {generation}"
    return f", family {family} model {model}"
