"""The Python blocks of the first pages, run in their order, as a reader would type them."""

import re
from pathlib import Path

import numpy as np
import pytest
from compiled_program import ONE_STATE, quick_compiler

from combred.native import builder, extension
from combred.native.solver import generator, library, matrix

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory):
    """Compilers are quick, and eliminations by tables. All pages share what they compile."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "PIECES", {"all": 15})
        patch.setattr(matrix, "LARGE", 2)
        for module in (library, extension):
            patch.setattr(module, "files_of", generator.generate)  # not the text of before
        patch.setenv("CXX", quick_compiler(folder, "-O0", ONE_STATE))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["README.md", "docs/solver.md", "docs/start.md", "docs/reactors.md"]
)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    blocks = BLOCK.findall((ROOT / page).read_text())
    # Not those of a reader's own network or run.
    others = "network, x[", '("runs/', "are yours"
    runnable = [block for block in blocks if not any(word in block for word in others)]
    names = {}
    monkeypatch.chdir(tmp_path)
    exec("\n".join(runnable), names)
    assert np.isfinite(names["T1"]).all()
