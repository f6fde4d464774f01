"""The report: one page with the numbers of the files in the run folder, and what is missing."""

import base64
import re

import pytest
from run_folder import (
    read_page,
)

from combred.files.records import write_json
from combred.report.writing import write_report


def test_report_is_one_file(whole):
    page = read_page(whole)
    outside = [a for _, a in page.tags if re.match("https?:|//", a.get("src", a.get("href", "")))]
    assert not outside and not page.all("link") and not page.all("script")
    assert "url(" not in (whole / "report.html").read_text()
    images = [a["src"].partition(",") for a in page.all("img")]
    assert len(images) == len(list((whole / "figures").glob("*.png"))) == 8
    for kind, _, data in images:
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_every_figure_has_a_caption_and_the_file_of_its_numbers(whole):
    text = (whole / "report.html").read_text()
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.S)
    assert len(figures) == 8
    assert all("Numbers: " in f and re.search(r'alt="[^"]{10,}"', f) for f in figures)
    assert text.count("<table>") <= text.count("Numbers: ") - len(figures)


def test_markdown_has_the_same_tables_and_figures(whole):
    text = (whole / "report.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(links) == 8 and all((whole / link).is_file() for link in links)
    lines = text.replace("`", "").splitlines()
    for table in read_page(whole).tables:
        for row in table:
            words = f"**{row[0]}**" if len(row) == 1 else " | ".join(row)
            assert any(words in line for line in lines), words
    for above, line in zip(lines, lines[1:], strict=False):
        if re.fullmatch(r"\|([:-]+\|)+", line):
            assert above.count("|") == line.count("|")


def test_missing_validation_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match=r"combred\.pipeline only=validate"):
        write_report(tmp_path, h2o2)
    write_json(tmp_path / "validation.json", {"inputs": {}})
    with pytest.raises(FileNotFoundError, match="validation.json"):
        write_report(tmp_path, h2o2)
