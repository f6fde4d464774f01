"""The verdict and the warnings at the head of a report."""

import json
import re
import shutil

from run_folder import CASES, numbers_of, read_page

from combred.report import blocks
from combred.report.folder import read_folder
from combred.report.verdict import alarms, sentence
from combred.report.writing import write_report


def test_verdict_names_size_and_errors(whole, drm19):
    result, said = numbers_of(whole, 2), sentence(read_folder(whole, drm19))
    assert "-".join(map(str, result["widths"])) in said
    for value in (result["delay_error"]["median"], result["delay_error"]["worst"]):
        assert blocks.percent(value) in said
    assert result["worst_case"] in said and "6,802,800" in said
    assert not alarms(read_folder(whole, drm19))


def test_a_case_that_does_not_ignite_is_named_first(single, h2o2):
    case = str(CASES[1])
    text = (single / "report.html").read_text()
    alarm = re.search(r'<p class="alarm">(.*?)</p>', text, flags=re.S).group(1)
    assert "1 of 4 cases" in alarm and case in alarm
    assert text.index(alarm) < text.index("<h2>")
    said = sentence(read_folder(single, h2o2))
    assert "1 of 4 cases does not ignite" in said and "inf" not in said
    page = read_page(single)
    assert page.row("cases that ignite") == ["3 of 4"]
    assert page.row("delay error, worst") == ["no ignition"]
    assert "nan" not in re.sub(r'base64,[^"]*', "", text)


def test_reaction_rates_are_named_where_they_are_evaluated(whole, drm19, tmp_path, rendered):
    named = "quasi-steady-state step from the mechanism's reaction rates"
    assert named not in (whole / "report.md").read_text()
    folder = shutil.copytree(whole, tmp_path / "run")
    validation = json.loads((folder / "validation.json").read_text())
    for result in validation["stages"].values():
        result["widths"][0] += 39  # as with network.kinetics
    (folder / "validation.json").write_text(json.dumps(validation))
    write_report(folder, drm19)
    assert named in (folder / "report.md").read_text()
