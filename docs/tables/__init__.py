"""Tables of the pages and of the READMEs that are made from the code and from measured results.

    python -m docs.tables

Takes `combred.config`, the cards of the shipped models and benchmarks/results/*.json; fills the
places in Markdown pages that comments mark, `<!-- table: NAME -->` to `<!-- end -->`. No number is
typed in. Where a file is missing, a sentence takes the place of its tables (`MISSING`); a model
that does not ship has no row. The line below a
table names the commit of its measurement; `python -m docs.tables --stale` lists older results.
"""

import re
from collections.abc import Callable
from pathlib import Path

from . import (
    flames,
    flow_step,
    flows,
    models,
    precision,
    reduction,
    results,
    settings,
    skeletal,
    solver,
    steps,
)

OF = flames, flow_step, flows, models, precision, reduction, settings, skeletal, solver, steps
TABLES: dict[str, Callable[[], str]] = {
    name: results.filled(make) for page in OF for name, make in page.TABLES.items()
}
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n\n).*?(<!-- end -->)", re.DOTALL)
DOCS = Path(__file__).parents[1]
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md", DOCS.parent / "coupling/README.md"]


def fill(text: str) -> str:
    """A page of Markdown with its tables as code and results have them."""
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]().rstrip()}\n{found[3]}", text)
