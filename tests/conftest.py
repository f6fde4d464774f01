"""The order of the tests, and how they are run; their fixtures: shared_fixtures.py.

Test files import helpers by their names alone from this folder and from those of `HELPERS`, and
`benchmarks`, `coupling` and `examples`, which are not installed, from the repository's root.
"""

import os
import signal
import sys
from pathlib import Path

import pytest

# Every core has a process of pytest: more threads of OpenBLAS and OpenMP would wait for each other.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
HELPERS = "kernels/grouping native/solver pipeline reduction report robustness surrogates/dataset"
TESTS = Path(__file__).parent
sys.path[:0] = map(str, [TESTS, TESTS.parent, *(TESTS / folder for folder in HELPERS.split())])
EARLY = {"native", "coupling", "skeletal", "pipeline", "check", "test_imports.py"}


def pytest_configure(config):
    """Fixtures, which import torch and Cantera, are loaded where tests run, not by the process that
    hands them out. Processes of pytest-xdist take files in their order, not those of few tests,
    which may take longest, last. A shell starts what runs in its background deaf to Ctrl-C, which
    processes inherit; tests send it to processes that they start."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", 0):
        config.pluginmanager.import_plugin("shared_fixtures")
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Skip the tests that need a GPU where there is none. What compiles C++, and long fixtures,
    come first: at the end both processes of pytest-xdist have small files."""
    import torch

    items.sort(key=lambda item: EARLY.isdisjoint(item.path.parts))
    for item in items:
        if item.get_closest_marker("cuda") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
