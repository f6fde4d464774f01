"""The report of a run: one page with the numbers of the files in the run folder, and what is
missing; how the network was made, and its limits."""

import base64
import re

import pytest
from run_folder import THREE, Page, make_run

from combred.files.records import write_json
from combred.report.run import write_report


def test_the_report_is_one_file_with_its_figures(tmp_path, drm19):
    folder = make_run(tmp_path / "run", drm19, THREE)
    write_report(folder, drm19)
    page = Page(folder / "report.html")
    outside = [a for _, a in page.tags if re.match("https?:|//", a.get("src", a.get("href", "")))]
    assert not outside and not page.all("link") and not page.all("script")
    assert "url(" not in page.source
    images = [a["src"].partition(",") for a in page.all("img")]
    assert len(images) == len(list((folder / "figures").glob("*.png"))) == 1
    for kind, _, data in images:
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_every_block_names_the_file_of_its_numbers(whole):
    page = Page(whole / "report.html")
    head = page.source[: page.source.index("<section")]
    assert head.count("<table>") == 1
    assert re.findall("<h2>(.*?)</h2>", page.source) == [
        "Ignition", "Reduction", "How it was made", "Limits",
    ]  # fmt: skip
    blocks = page.source.count("<table>") + page.source.count("<figure>")
    assert page.source.count("Numbers: ") == blocks
    assert all(len(a["alt"]) > 10 for a in page.all("img"))


def test_a_run_without_reductions_states_and_card_says_what_is_missing(single):
    page = Page(single / "report.html")
    assert "no sample.json" in page.text and "no surrogate.json" in page.text
    assert "Reduction" not in page.text


def test_missing_validation_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match=r"combred\.pipeline only=validate"):
        write_report(tmp_path, h2o2)
    write_json(tmp_path / "validation.json", {"stages": {}})  # without those of the solver
    with pytest.raises(FileNotFoundError, match="validation.json"):
        write_report(tmp_path, h2o2)
