"""The compilation of networks, and of the library that the export writes, beside the validation.

Takes the surrogates of a run; fills the cache of `combred.native.builder`. The validation advances
its cases on one core, and nine tenths of the exported library do not depend on the network or on
its measured errors.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from combred.native.builder import build, compile_ahead
from combred.pipeline.console import console
from combred.processes.workers import open_pool
from combred.surrogates.library.generator import generate, is_compiled
from combred.surrogates.model.surrogate import Surrogate

LOWEST = 19  # priority of the compilers: what else runs comes first


@contextmanager
def compiling_ahead(surrogates: Sequence[Surrogate]) -> Iterator[None]:
    """A context beside which compilers run: of each surrogate, and of what the export of the last
    needs. Its end waits for them. An exception in it ends them. Their own errors are not raised:
    whoever asks for a library meets and tells them."""
    sources = [generate(one) for one in surrogates if is_compiled(one)]
    if not sources:
        yield
        return
    with tempfile.TemporaryDirectory() as scratch, open_pool(1, os.nice, LOWEST) as pool:
        for files in sources:
            pool.submit(build, files)
        ahead = pool.submit(compile_ahead, sources[-1], Path(scratch))
        yield
        console.begin("compiling the library of the export")
        ahead.exception()
