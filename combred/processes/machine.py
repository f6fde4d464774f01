"""The machine that a time was measured on.

Imports nothing of combred.
"""

import os
import platform
from pathlib import Path

# The widest vectors that all of these flags of the processor allow, as torch names them.
VECTORS = {"AVX512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "AVX2": {"avx2", "fma"}}


def machine() -> str:
    """The processor's name, its widest vectors, which times depend on, and its number of cores."""
    info = Path("/proc/cpuinfo")
    found: dict[str, str] = {}
    for line in info.read_text().splitlines() if info.exists() else []:
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    flags = set(found.get("flags", "").split())
    vectors = next((name for name, needed in VECTORS.items() if needed <= flags), "DEFAULT")
    name = found.get("model name") or platform.processor()
    return f"{name} ({vectors}), {os.cpu_count()} cores"
