"""The Python blocks of the first pages, run in their order, as a reader would type them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_program import IN_ONE, ONE_STATE, quick_compiler

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Compilers are quick. All pages share what they compile."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", quick_compiler(folder, "-O0", ONE_STATE))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/solver.md", "docs/start.md"])
def test_the_blocks_of_a_page_run(page, tmp_path, quick):
    blocks = BLOCK.findall((ROOT / page).read_text())
    # Not those of a reader's own network or run.
    runnable = [block for block in blocks if "network, x[" not in block and '("runs/' not in block]
    assert runnable
    code = "\n".join([IN_ONE, *runnable, "import numpy; assert numpy.isfinite(T1).all()"])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
