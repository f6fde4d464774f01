"""The documentation's parts that rot: links and generated tables. CI runs the gallery."""

import json
import re
import shlex
from pathlib import Path

import pytest

import combred
from benchmarks import provenance
from combred.config.command import keys, resolve
from docs import tables

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / name / "README.md" for name in ("coupling", "data")),
]
CURRENT = [page for page in PAGES if page.parent == DOCS and page.name != "tried.md"]
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as GitHub and MyST write them, and its labels."""
    text = FENCE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_point_at_files_and_headings_that_exist(page):
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        file = page if not target else (page.parent / target).resolve()
        if "://" not in target:
            assert file.exists() and (not anchor or anchor in anchors(file)), link


def test_the_rooms_of_contributing_are_those_of_the_package():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"^\| `combred/(\w+)/`", text, re.MULTILINE))
    rooms = {path.name for path in (ROOT / "combred").iterdir() if path.is_dir()}
    assert named == rooms - {"__pycache__"}


def commands() -> list[str]:
    """Arguments of the pipeline that the pages show, in fences and as code in sentences."""
    text = "\n".join(page.read_text().replace("\\\n", " ") for page in CURRENT)
    fences = re.findall(r"^python -m combred\.pipeline ([^#\n]+)", text, re.MULTILINE)
    spans = re.findall(r"`(\"?[a-z.A-Z0_]+=[^`]+)`", FENCE.sub("", text))
    return sorted({line.strip() for line in (*fences, *spans)})


@pytest.mark.parametrize("arguments", commands())
def test_shown_commands_are_understood(arguments):
    words = [word for word in shlex.split(arguments) if word != "--help"]
    if any(word.partition("=")[0] not in keys() for word in words):
        others = r"(key|accept|method|implementation|TRITON_INTERPRET)="
        assert re.match(others, words[0]), "no such setting"
    elif not re.search(r"=(NAME|N)\b", arguments):
        if words == ["network.kinetics=false"]:  # named in a sentence
            words.append("sampling.dt=[1e-6,1e-6]")
        assert resolve(words)


@pytest.mark.parametrize("page", [*CURRENT, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_settings_and_tolerances_named_in_the_text_are_those_of_the_code(page):
    sections = "|".join({key.rpartition(".")[0] for key in keys()} - {""})
    named = re.findall(rf"(?<![\w./])((?:{sections})\.(?!json|h5|py|md|hpp)\w+)", page.read_text())
    assert not {key for key in named if key not in keys()}
    named = re.findall(r"`Surrogate\.TOLERANCE`, (\d[\d.e-]*\d)", page.read_text())
    assert set(named) <= {f"{combred.Surrogate.TOLERANCE:g}"}


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    return {name: make() for name, make in tables.TABLES.items()}


def test_the_pages_have_the_tables_of_the_code_and_of_the_results(printed, monkeypatch):
    monkeypatch.setattr(tables, "TABLES", {name: lambda n=name: printed[n] for name in printed})
    for page in tables.PAGES:
        assert tables.fill(page.read_text()) == page.read_text(), "python -m docs.tables writes it"
    shown = {name for page in PAGES for _, name, _ in tables.MARKED.findall(page.read_text())}
    assert shown == set(printed)


def test_tables_are_whole(printed):
    for name, text in printed.items():
        assert text.strip() and tables.results.MISSING not in text, name
        assert "nan" not in text.lower().split() and "None" not in text, name
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            cells = {len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1 and len(block.splitlines()) > 2, name


def test_a_table_names_the_commits_of_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(tables.results, "RESULTS", tmp_path)
    codes = [
        {"commit": c, "date": d, "script": "flames"} for c, d in (("b", "2026"), ("a", "2025"))
    ]
    rows = [{"bad": 0.1, provenance.KEY: code} for code in codes]
    (tmp_path / "one.json").write_text(json.dumps({"machine": "M", "models": {"x": rows}}))
    assert tables.results.source("one.json", "flames").endswith(
        "; M; commit a of 2025, commit b of 2026.\n"
    )
    assert tables.results.read("one.json", "models") == {"x": [{"bad": 0.1}, {"bad": 0.1}]}
    assert tables.results.outdated("one.json").startswith("one.json: 2 of 2 parts, a of 2025")
