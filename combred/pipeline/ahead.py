"""The compilation of the library that the export writes, while the validation runs.

Takes the surrogate that is to be exported; fills the cache of `combred.native.builder`. The
validation advances its cases on one core, and nine tenths of the library do not depend on the
network or on its measured errors.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from combred.native.builder import compile_ahead
from combred.pipeline.console import console
from combred.processes.workers import open_pool
from combred.surrogates.library.generator import generate, is_compiled
from combred.surrogates.model.surrogate import Surrogate

LOWEST = 19  # priority of the compilers: what else runs comes first


@contextmanager
def compiling_ahead(surrogate: Surrogate) -> Iterator[None]:
    """A context beside which compilers run; its end waits for them. An exception in it ends them.
    Their own errors are not raised: the export meets and tells them."""
    if not is_compiled(surrogate):
        yield
        return
    with tempfile.TemporaryDirectory() as scratch, open_pool(1, os.nice, LOWEST) as pool:
        ahead = pool.submit(compile_ahead, generate(surrogate), Path(scratch))
        yield
        console.begin("compiling the library of the export")
        ahead.exception()
