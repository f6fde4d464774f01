"""The report: one page with the numbers of the files in the run folder, and what is missing."""

import base64
import re

import pytest
from run_folder import read_page, text_of

from combred.files.records import write_json
from combred.report.writing import write_report


def test_report_is_one_file(whole):
    page = read_page(whole)
    outside = [a for _, a in page.tags if re.match("https?:|//", a.get("src", a.get("href", "")))]
    assert not outside and not page.all("link") and not page.all("script")
    assert "url(" not in (whole / "report.html").read_text()
    images = [a["src"].partition(",") for a in page.all("img")]
    assert len(images) == len(list((whole / "figures").glob("*.png"))) == 1
    for kind, _, data in images:
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_every_figure_has_a_caption_and_the_file_of_its_numbers(whole):
    text = (whole / "report.html").read_text()
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.S)
    assert len(figures) == 1
    assert all("Numbers: " in f and re.search(r'alt="[^"]{10,}"', f) for f in figures)
    assert text.count("<table>") <= text.count("Numbers: ") - len(figures)


def test_a_picture_and_the_comparison_stand_before_the_sections(whole):
    page = (whole / "report.html").read_text()
    head = page[: page.index("<section")]
    assert head.count("<figure>") == head.count("<table>") == 1
    assert re.findall("<h2>(.*?)</h2>", page) == [
        "Ignition", "Reduction", "How it was made", "Use and limits",
    ]  # fmt: skip


def test_a_run_without_reductions_states_and_card_says_what_is_missing(single):
    text = text_of(single)
    assert "no sample.json" in text and "no surrogate.json" in text and "Reduction" not in text
    assert {path.stem for path in (single / "figures").glob("*.png")} == {"delays"}


def test_missing_validation_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match=r"combred\.pipeline only=validate"):
        write_report(tmp_path, h2o2)
    write_json(tmp_path / "validation.json", {"stages": {}})  # without those of the solver
    with pytest.raises(FileNotFoundError, match="validation.json"):
        write_report(tmp_path, h2o2)
