"""The page of a check."""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from combred.check.checking import write_record
from combred.files.records import read_record
from combred.report.blocks import Code, Note, Picture, Section, Table, Text
from combred.report.check import write_check
from combred.report.pages import write_page
from combred.report.style import literal

LOOK = {"T": [300.0, 400.0, 1500.0, 2000.0], "Y": {"OH": [0.0, 1e-3, 4e-3, 1e-3]}}
CURVES = [{"x": [0.0, 1e-3, 2e-3, 3e-3], **LOOK}] * 2


def case(error):
    row = {"T0": 1200.0, "p": 1e5, "phi": 1.0, "delay": 1e-4}
    return row | {"errors": {"0.01": 2e-3, "0.001": error}}


@pytest.fixture
def record():
    """The numbers of a check, all within their limits, without a counterflow flame."""
    row = {"unit": "1", "right": True, "skipped": ""}
    flame = {"profile_T_error": 0.5, "peak_errors": {"OH": 1e-4}, "speed_error": 1e-4}
    return {
        "inputs": {
            "mechanism": "gas.yaml", "phase": "gas", "sha256": "ab" * 32, "size": 1.0,
            "version": "0",
            "conditions": {"fuel": "H2:1", "oxidizer": "O2:1", "T0": [900.0, 2000.0],
                           "p": [50662.5, 4053000.0], "phi": [0.3, 3.0]},
        },
        "about": {"species": 10, "reactions": 29, "rates": {"Plog": 2}, "build_seconds": 3.0},
        "seconds": {"stirred reactors": 1.0}, "machine": "a machine",
        "times": [{"dt": 1e-6, "seconds": 1e-6, "steps": 5.0, "cvode_seconds": 5e-4}],
        "verdict": [
            {**row, "what": "ignition delay", "worst": 5e-4, "limit": 1e-3},
            {**row, "what": "counterflow flame: peak T", "worst": None, "limit": 1.0, "unit": "K",
             "skipped": "gas.yaml has no transport data"},
        ],
        "parts": {
            "ignitions, dt 1e-06 s": [case(5e-4), case(-1e-4)],
            "states of flows": {"rows": 99, "labels": 1e-7, "bad": 0, "failed": 0,
                                "errors": {"0.5": 1e-6, "0.99": 1e-4, "1": 1e-3}},
            "stirred reactors": {
                "cases": [{"case": "1 atm", "errors": {"T": {"largest": 1e-6}}}] * 2,
                "curves": [{"t": [0.0, 1.0], "T": [9.0, 8.0], "reference": [9.0, 7.9]}] * 2,
            },
            "premixed flame": {"errors": {**flame, "thickness_error": 2e-3}, "curves": CURVES},
            "counterflow flame": {"skipped": "gas.yaml has no transport data"},
        },
    }  # fmt: skip


def page(folder, record):
    write_record(folder / "check.json", record)
    return re.sub(r"\s+", " ", write_check(folder).read_text())


def test_the_page_says_what_was_found(tmp_path, record):
    text = page(tmp_path, record)
    assert "All 1 comparisons are within their limits" in text and "0.05 %" in text
    assert "1 could not be made" in text
    assert "No counterflow flame was compared: gas.yaml has no transport data." in text
    assert "500 × faster than Cantera's CVODE" in text.replace("\u00a0", " ").replace("&#39;", "'")
    assert "0.5 to 40 atm" in text and "2 Plog" in text
    assert text.count("data:image/png;base64,") == 2 and 'src="data:' in text
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"delays.png", "flows.png"}


def test_what_is_above_a_limit_heads_the_page(tmp_path, record):
    record["verdict"][0] |= {"worst": None, "right": False}
    record["parts"]["ignitions, dt 1e-06 s"][0]["errors"]["0.001"] = None
    text = page(tmp_path, record)
    assert "1 of 1 comparisons exceed their limit.</strong> 1 could not be made." in text
    assert re.search(r'class="alarm"><strong>ignition delay</strong>: <strong>no result', text)


HOSTILE = "<img src=x onerror=alert(1)></title></script>\"'`a` {{ 7 * 7 }} $\\frac$"


class Tags(HTMLParser):
    """The tags of a page, and their attributes that call something."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.calls = Counter(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.calls += [name for name, _ in attributes if name.startswith("on")]


def test_no_text_of_the_numbers_becomes_part_of_the_page(tmp_path, record):
    """Names of mechanisms, phases, species, fuels, machines, and what was said of a part."""
    record["inputs"] |= dict.fromkeys(("mechanism", "phase", "sha256", "version"), HOSTILE)
    record["inputs"]["conditions"] |= {"fuel": HOSTILE, "oxidizer": HOSTILE}
    record["about"]["rates"], record["machine"] = {HOSTILE: 2}, HOSTILE
    for row in record["verdict"]:
        row["what"] = HOSTILE
    record["parts"]["counterflow flame"]["skipped"] = HOSTILE
    record["parts"]["stirred reactors"]["cases"][0]["case"] = HOSTILE
    flame = record["parts"]["premixed flame"]
    flame["errors"]["peak_errors"] = {HOSTILE: 1e-4}
    flame["curves"] = [{"x": [0.0, 1e-3, 2e-3, 3e-3], "T": LOOK["T"],
                        "Y": {HOSTILE: LOOK["Y"]["OH"]}}] * 2  # fmt: skip
    text = page(tmp_path, record)
    found = Tags(text)
    assert found.tags["img"] == 2 and found.tags["title"] == 1 and found.tags["script"] == 0
    assert not found.calls
    assert "&lt;img src=x" in text and "{{ 7 * 7 }}" in text


def test_no_text_of_any_block_becomes_part_of_a_page(tmp_path):
    """Those of the report of a run are the same blocks."""
    figure = Figure()
    figure.subplots().set_title(literal(HOSTILE))
    table = Table([HOSTILE] * 2, [[HOSTILE], [HOSTILE] * 2], HOSTILE, HOSTILE)
    blocks = [
        Text(HOSTILE), Note(HOSTILE), Note(HOSTILE, alarm=True), Code(HOSTILE), table,
        Picture("picture", figure, HOSTILE, HOSTILE, HOSTILE),
    ]  # fmt: skip
    names = ("title", "run", "what", "sentence", "further")
    content = dict.fromkeys(names, HOSTILE) | {"alarms": blocks[1:3], "head": blocks}
    write_page(tmp_path / "a.html", content | {"sections": [Section(HOSTILE, blocks)]})
    found = Tags((tmp_path / "a.html").read_text())
    assert found.tags["img"] == 2 and found.tags["title"] == 1 and found.tags["script"] == 0
    assert not found.calls


def test_an_unfinished_check_has_no_page(tmp_path, record):
    del record["verdict"]
    write_record(tmp_path / "check.json", record)
    assert read_record(tmp_path / "check.json")
    with pytest.raises(ValueError, match="not finished"):
        write_check(tmp_path)
