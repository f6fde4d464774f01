"""The documentation's parts that rot: links, generated tables, gallery scripts, docstrings."""

import ast
import importlib.util
import json
import math
import re
import shlex
from pathlib import Path

import pytest

import combred
from benchmarks import kept
from combred import config
from combred.config.fields import written
from docs import docstrings, tables

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / name / "README.md" for name in ("coupling", "data")),
]
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -- links -----------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as GitHub and MyST write them, and its labels."""
    text = FENCE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_point_at_files_and_headings_that_exist(page):
    broken = []
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = page if not target else (page.parent / target).resolve()
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert not broken


def test_every_generated_table_is_on_a_page():
    marked = {name for page in PAGES for _, name, _ in tables.MARKED.findall(page.read_text())}
    assert marked == set(tables.TABLES)


# -- findings --------------------------------------------------------------------------------------

FINDINGS = re.findall(r"^- (.*(?:\n  .*)*)", (DOCS / "findings.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("finding", FINDINGS, ids=range(len(FINDINGS)))
def test_a_finding_is_a_question_with_an_answer_and_its_date(finding):
    assert re.match(r"\*\*[^*]+\?\*\* \S", finding)
    assert re.search(r"\b\d\d?(st|nd|rd|th)\b|\b\d{4}-\d\d-\d\d\b", finding)


# -- commands and settings -------------------------------------------------------------------------

CURRENT = [page for page in PAGES if page.parent == DOCS and page.name != "findings.md"]
SECTIONS = "|".join(
    section for section in tables.settings.sections() if section != tables.settings.GENERAL
)


def commands() -> list[str]:
    """Arguments of the pipeline that the pages show, in fences and as code in sentences."""
    text = "\n".join(page.read_text().replace("\\\n", " ") for page in CURRENT)
    fences = re.findall(r"^python -m combred\.pipeline ([^#\n]+)", text, re.MULTILINE)
    spans = re.findall(r"`(\"?[a-z.A-Z0_]+=[^`]+)`", FENCE.sub("", text))
    return sorted({line.strip() for line in (*fences, *spans)})


@pytest.mark.parametrize("arguments", commands())
def test_shown_commands_are_understood(arguments):
    words = [word for word in shlex.split(arguments) if word != "--help"]
    if any(word.partition("=")[0] not in config.keys() for word in words):
        assert re.match(r"(key|method|implementation|TRITON_INTERPRET)=", words[0]), (
            "no such setting"
        )
    elif not re.search(r"=(NAME|N)\b", arguments):
        if words == ["network.kinetics=false"]:  # named in a sentence
            words.append("sampling.dt=[1e-6,1e-6]")
        config.resolve(words)


@pytest.mark.parametrize("page", [*CURRENT, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_settings_named_in_the_text_exist(page):
    named = re.findall(rf"(?<![\w./])((?:{SECTIONS})\.(?!json|h5|py|md|hpp)\w+)", page.read_text())
    assert not {key for key in named if key not in config.keys()}


# -- tables ----------------------------------------------------------------------------------------


def cells(line: str) -> int:
    """The number of cells of a line of a Markdown table."""
    return len(re.split(r"(?<!\\)\|", line.strip())) - 2


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_are_whole(name):
    text = tables.TABLES[name]()
    for block in re.split(r"\n\n+", text.strip()) if text.strip() else ():
        lines = block.splitlines()
        if lines[0].startswith("|"):
            assert len(lines) > 2
            assert {cells(line) for line in lines} == {cells(lines[0])}
    assert "nan" not in text.lower().split() and "None" not in text


def test_every_setting_is_on_the_settings_page():
    text, defaults = tables.settings.settings_table(), config.resolve([])
    for key, item in config.keys().items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
        assert tables.markdown.plain(item.metadata["help"]) in row
        assert tables.markdown.code(written(config.value_of(defaults, key))) in row


def test_every_profile_and_what_it_changes_is_on_the_settings_page():
    text = tables.settings.profiles_table()
    for profile in config.PROFILES:
        assert f"### profile={profile}\n" in text
    smoke = text.split("### profile=smoke\n")[1].split("###")[0]
    states = config.resolve(["profile=smoke"]).sampling.states
    assert states != config.resolve([]).sampling.states
    assert f"| `sampling.states` | `{states}` |" in smoke


def models_of(file: str) -> set[str]:
    """The models that a file of results has."""
    results = tables.results.read(file)
    if "rows" in results:
        return {row["model"] for row in results["rows"]}
    by_case = {"flames.json": "models", "times.json": "times", "work_precision.json": "lines"}
    by_case["ignition_work.json"] = "dt"
    if file in by_case:
        return {name for entries in results.get(by_case[file], {}).values() for name in entries}
    return set(results.get("models", {}))


RESULT_FILES = {
    "delays": "accuracy.json",
    "burnt": "accuracy.json",
    "flames": "flames.json",
    "times": "times.json",
    "ignitions": "ignitions.json",
    "flow-states": "flow_states.json",
    "flow-accepted": "flow_states.json",
    "flow-around": "flow_states.json",
    "flow-errors": "flow_states.json",
    "ignition-work": "ignition_work.json",
    "precision": "work_precision.json",
    "orders": "work_precision.json",
    "counterflow": "counterflow.json",
}


def test_the_table_of_models_names_every_shipped_model():
    assert all(f"`{model}`" in tables.models.models_table() for model in combred.models())


@pytest.mark.parametrize("name", RESULT_FILES)
def test_result_tables_name_every_measured_model_that_ships_and_no_other(name):
    measured, text = models_of(RESULT_FILES[name]), tables.TABLES[name]()
    assert all(f"`{model}`" in text for model in measured & set(combred.models()))
    assert not any(f"`{model}`" in text for model in measured - set(combred.models()))


@pytest.mark.parametrize("name", [*RESULT_FILES, "each-flame", "convergence"])
def test_a_missing_file_gives_a_sentence_and_no_table(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tables.results, "RESULTS", tmp_path)
    monkeypatch.setattr(tables.precision, "FIGURE", tmp_path / "none.png")
    assert tables.TABLES[name]() == tables.results.MISSING
    assert tables.readme.headline().strip() == tables.precision.precision_figure().strip() == ""


def test_a_measured_number_stands_in_its_table():
    (row,) = (r for r in tables.results.read("accuracy.json")["rows"] if r["model"] == "drm19-full")
    errors = row["delay"]["1300 K"]
    shown = f"{100 * errors['mean']:.2f} / {100 * errors['worst']:.2f} %"
    (line,) = (li for li in tables.models.delay_table().splitlines() if "`drm19-full`" in li)
    assert line.split(" | ")[3] == shown


def row_of(text: str, *starts: str) -> list[str]:
    """The cells of the one line of a Markdown table that begins with these cells."""
    (line,) = (li for li in text.splitlines() if li.startswith(f"| {' | '.join(starts)} |"))
    return line.strip("| ").split(" | ")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Files of results as the benchmarks of surrogates of any dt write them: of a model that ships
    and of one that does not."""

    def flow(solved: float) -> dict:
        row = {"solved": solved, "bad": 0.002, "accepted_components": 0.9}
        row |= {"accepted_states": 0.7, "largest_T_error": 12.34}
        return {kind: {"1e-08": row, "1e-06": row} for kind in ("counterflow", "ignitions")}

    def ignition(error: float | None) -> dict:
        errors = {"delay_errors": [0.004, error], "p": [50662.5, 4053000.0]}
        mean = worst = math.nan if error is None else 0.02
        found = {"mean": mean, "worst": worst, "last_T_error": 3.0, "solved": 0.11}
        return {"1e-07": found | errors, "5e-06": found | errors}

    def line(tolerance: float) -> dict:
        row = {"tolerance": tolerance, "seconds": 5e-6, "solved": 0.25}
        return row | {"rms": 0.001, "q99": 0.01}

    cvode = {"tolerance": 1e-6, "seconds": 2e-4, "rms": 1e-5, "q99": 1e-4}
    default = combred.Surrogate.TOLERANCE
    alone = {"tolerance": default, "seconds": 1e-6, "rms": 5e-4, "q99": 1e-3}
    lines = {"combred.solver": [alone], "CVODE": [cvode], "old": [line(0.1)]}
    lines["drm19-38k"] = [line(0.3), line(0.1), line(default)]
    step = {"tolerance": default, "mean": 1e-4, "worst": 2e-4, "failed": 0, "seconds": 2e-6}
    orders = {name: {"trained": 1.5, "random": 2.0, "zero": 2.01} for name in ("old", "drm19-38k")}
    flame = {"air_T": 300.0, "strain": 100.0, "peak_T_error": 0.25, "profile_T_error": 1.5}
    strained = {"flames": [flame | {"peak_errors": {"OH": 0.012}}], "extinction": 451.2}
    strained |= {"extinction_error": -0.004}
    files = {
        "counterflow.json": {"models": {"old": strained, "drm19-38k": strained}},
        "flow_states.json": {
            "models": {"old": flow(0.9), "drm19-38k": flow(0.01)},
            "around": {"old": flow(0.9), "drm19-38k": flow(0.01)},
        },
        "ignitions.json": {
            "models": {"old": ignition(None), "solver": ignition(0.0), "drm19-38k": ignition(-0.03)}
        },
        "work_precision.json": {"lines": {"1e-06": lines}, "orders": orders},
        "ignition_work.json": {"dt": {"1e-06": {"old": [step], "drm19-38k": [step]}}},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps({"machine": "a machine"} | content))
    card = {"network": {"kinetics": True, "weights": 37184}, "mechanism": "drm19.yaml"}
    cards = {name: card for name in ("drm19-38k", "drm19-11k")}
    monkeypatch.setattr(combred, "models", lambda: cards, raising=False)
    monkeypatch.setattr(tables.results, "RESULTS", tmp_path)
    return files


def test_results_of_surrogates_of_any_dt_stand_in_their_tables(results):
    flow = tables.steps.flow_states_table()
    assert row_of(flow, "`drm19-38k`: solved / undetected")[1:] == ["1e-8 s", "1e-6 s"]
    assert row_of(flow, "counterflow")[1:] == ["1.0 / 0.2 %"] * 2
    assert row_of(tables.steps.around_table(), "counterflow")[1:] == ["1.0 / 0.2 %"]
    assert row_of(tables.steps.flow_accepted_table(), "ignitions")[1] == "90.0 / 70.0 %"
    assert row_of(tables.steps.flow_errors_table(), "`drm19-38k`")[1:] == ["12.3 K"] * 2
    ignition = row_of(tables.steps.ignitions_table(), "`drm19-38k`", "5e-6 s (2)")
    assert ignition[2:] == ["2.000 / 2.000 %", "3.0 K", "11.0 %"]
    assert row_of(tables.steps.ignitions_table(), "**solver**", "5e-6 s (2)")[3] == "3.0 K"
    precision = tables.precision.precision_table()
    surrogate = row_of(precision, "`drm19-38k`", "0.1")
    assert surrogate[2:] == ["5.0 us", "0.100 / 1.000 %", "25.0 %"]
    assert row_of(precision, "CVODE")[4] == "-"
    assert row_of(tables.precision.ignition_work_table(), "`drm19-38k`")[2] == "2.0 us, 0.010 %"
    assert row_of(tables.precision.orders_table(), "`drm19-38k`")[1:] == ["1.50", "2.00", "2.01"]
    counterflow = tables.steps.counterflow_table()
    at_100 = row_of(counterflow, "`drm19-38k`", "300 K, 100 1/s")
    assert at_100[2:] == ["0.25 K", "1.5 K", "OH 1.2 %"]
    assert row_of(counterflow, "`drm19-38k`", "extinction")[2] == "451 1/s (-0.4 %)"
    for name in ("flow-states", "ignitions", "precision", "counterflow"):
        assert "a machine" in tables.TABLES[name]()
    for name in RESULT_FILES:
        assert "`old`" not in tables.TABLES[name](), name


def test_the_first_page_gives_the_worst_case_and_the_range(results):
    text = tables.readme.headline()
    assert "within 3.00 % of CVODE's (1.70 % on average), in 4 cases from 0.5 to 40 atm" in text
    assert "1e-7 s to 5e-6 s" in text and "the solver advances 1.0 %" in text
    assert "a state takes 5.0 us, with an error of 1e-3 in T; the solver alone takes 1.0 us" in text


def test_the_readme_has_the_tables_of_the_results(results):
    text = tables.fill("<!-- table: readme-models -->\n\n| |\n<!-- end -->\nend\n")
    told = row_of(tables.readme.solvers_table(), "`drm19-38k`, 25 % of the states by the solver")
    assert told[1:] == [f"{combred.Surrogate.TOLERANCE:g}", "5.0 us", "1e-3"]
    told = row_of(text, "`drm19-38k`, 37,184 weights")
    assert told[1:] == ["0.01 / 0.02 %", "-", "0.2 %", "2.0 us"]
    assert text.endswith("end\n") and tables.fill(text) == text


def write_results(name: str, content: dict) -> None:
    """A file of results, which `read` then finds."""
    (tables.results.RESULTS / name).write_text(json.dumps(content))


def test_numbers_of_other_code_are_named_below_every_table_that_shows_them(results):
    current = kept.stamp("ignitions.py", "drm19-38k")
    code = current[kept.KEY] | {"digest": "0", "version": "0.1", "date": "2025-01-02"}
    gone = {kept.KEY: code | {"of": ["old"]}}  # does not ship: no row, and so no warning
    models = {name: dict(rows) for name, rows in results["ignitions.json"]["models"].items()}
    for name, made in {"old": gone, "solver": current, "drm19-38k": current}.items():
        models[name] |= made
    write_results("ignitions.json", {"machine": "a machine", "models": models})
    fresh = tables.TABLES["ignitions"]()
    assert tables.results.STALE not in fresh and "digest" not in fresh
    models["drm19-38k"][kept.KEY] = code
    write_results("ignitions.json", {"machine": "a machine, too", "models": models})
    said = "`ignitions.json` (drm19-38k; version 0.1, 2025-01-02)"
    told = tables.TABLES["ignitions"]()
    assert told.endswith(f"\n\n**{tables.results.STALE}:** {said}.\n")
    assert tables.results.told_stale("ignitions.json") == said
    headline = tables.TABLES["headline"]()
    unknown = "`flow_states.json` (version not recorded)"
    assert headline.rstrip().endswith(
        f":** {unknown}; {said}; `work_precision.json` (version not recorded)."
    )
    page = tables.fill("<!-- table: ignitions -->\n\n<!-- end -->\n")
    assert said in page and tables.fill(page) == page


def test_a_stale_part_is_told_by_the_tables_of_that_part_alone(results):
    made = kept.stamp("flow_states.py", "drm19-38k")
    old = {kept.KEY: made[kept.KEY] | {"digest": "0"}}
    of = results["flow_states.json"]
    parts = {part: {"drm19-38k": of[part]["drm19-38k"]} for part in ("models", "around")}
    parts["models"]["drm19-38k"] = parts["models"]["drm19-38k"] | made
    parts["around"]["drm19-38k"] = parts["around"]["drm19-38k"] | old
    write_results("flow_states.json", {"machine": "a machine"} | parts)
    assert "flow_states.json` (" not in tables.TABLES["flow-errors"]()
    assert "`flow_states.json` (version" in tables.TABLES["flow-around"]()


@pytest.mark.parametrize("page", tables.PAGES, ids=name_of)
def test_the_tables_of_a_page_are_those_of_the_results(page):
    text = page.read_text()
    assert tables.fill(text) == text, "python -m docs.tables writes them"


@pytest.mark.parametrize("page", [*CURRENT, ROOT / "README.md"], ids=name_of)
def test_pages_name_the_default_tolerance_of_the_code(page):
    named = re.findall(r"`Surrogate\.TOLERANCE`, (\d[\d.e-]*\d)", page.read_text())
    assert set(named) <= {f"{combred.Surrogate.TOLERANCE:g}"}


def test_a_case_that_does_not_ignite_is_told(results):
    results["ignitions.json"]["models"]["drm19-38k"] = results["ignitions.json"]["models"]["old"]
    (tables.results.RESULTS / "ignitions.json").write_text(
        json.dumps({"machine": "a machine"} | results["ignitions.json"])
    )
    told = row_of(tables.steps.ignitions_table(), "`drm19-38k`", "1e-7 s (2)")
    assert told[2] == "1 of 2 do not ignite"
    assert "Ignition delays" not in tables.readme.headline()


# -- gallery ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_gallery_scripts_are_short_and_end_in_a_picture(script):
    text = script.read_text()
    assert len(text.splitlines()) < 120
    assert text.startswith('"""\n') and text.endswith("plt.show()\n")


def exists(module: str, name: str) -> bool:
    """Whether `from module import name` works."""
    found = importlib.import_module(module)
    return hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_gallery_scripts_import_public_names_alone(script):
    tree = ast.parse(script.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("combred"):
            for alias in node.names:
                assert "._" not in f"{node.module}.{alias.name}" and exists(node.module, alias.name)
        if isinstance(node, ast.Import):
            assert all(a.name == "combred" or "combred" not in a.name for a in node.names)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "combred":
                assert node.attr in combred.__all__


# -- docstrings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("One `a*b`, |v| and x_.", "One \\ ``a*b``\\ , \\|v\\| and x\\_."),
        ("It solves\n\n    a = b\n\nthen stops.", "It solves\n\n::\n\n    a = b\n\nthen stops."),
        ("Two:\n\n- one\n  more\n- two", "Two:\n\n- one more\n\n- two"),
    ],
)
def test_docstrings_become_restructured_text(text, expected):
    assert "\n".join(docstrings.to_rst(text.split("\n"))).strip() == expected


def test_the_rooms_of_contributing_are_those_of_the_package():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"^\| `combred/(\w+)/`", text, re.MULTILINE))
    rooms = {path.name for path in (ROOT / "combred").iterdir() if path.is_dir()}
    assert named == rooms - {"__pycache__"}
