"""The report of a run: one page with the numbers of the files in the run folder, and what is
missing; how the network was made, and its limits."""

import base64
import json
import re

import pytest
from run_folder import CARD, DT, SETTINGS, THREE, Page, make_run

from combred.files.records import write_json
from combred.report.folder import Folder
from combred.report.provenance import limit_section
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


def test_cases_are_told_in_atmospheres(tmp_path, drm19):
    cases = [(1700.0, p, 1.0) for p in (30398.0, 101325.0, 2026500.0)]
    folder = Folder(make_run(tmp_path / "run", drm19, [[0.01, 0.02, 0.03]], cases), drm19)
    assert folder.cases.replace("\u00a0", " ").endswith("p 0.3, 1 and 20 atm")


def test_states_and_network_of_the_training_are_named(whole, drm19):
    page = Page(whole / "report.html")
    assert page.row("network") == ["sees the state alone; one dt"]
    assert page.row("time step dt of the states") == ["1e-06 s"]
    assert page.row("states sampled") == [
        "1200 premixed ignitions, and flames: T0 900 to 2300 K, phi 0.25 to 4, p 0.3 to 60 atm"
    ]
    assert page.row("ignition") == ["1,200"] and page.row("retraining stage 2") == ["30 s"]
    settings = json.loads(json.dumps(SETTINGS))
    settings["segments"] = {"steps": 8}  # of an earlier version, which the report does not need
    settings["network"]["kinetics"] = True
    settings["sampling"] |= {"sampler": "flow", "dt": [1e-8, 1e-5]}
    write_json(whole / "settings.json", settings)
    write_report(whole, drm19)
    page = Page(whole / "report.html")
    assert page.row("network")[0].startswith("corrects quasi-steady-state (QSS) steps")
    assert page.row("states sampled")[0].startswith("mixtures, ignitions and mixing layers of a")
    assert page.row("time step dt of the states") == ["1e-08 to 1e-05 s"]


@pytest.mark.parametrize(
    "kinetics, dt, said",
    [
        (False, [DT, DT], ["takes dt = 1e-06 s", "elements and enthalpy", "outside the range of"]),
        (
            True,
            [1e-8, 1e-5],
            ["takes dt = 1e-08 to 1e-05 s", "the tolerance, 3.00 % of the change"],
        ),
    ],
)
def test_the_error_ratio_is_explained_for_each_kind_of_network(whole, drm19, kinetics, dt, said):
    folder = Folder(whole, drm19)
    folder.card = CARD | {"network": {"kinetics": kinetics}, "dt": dt, "tolerance": 0.03}
    _, trust = limit_section(folder).blocks
    said = [*said, "T = 300 to 2500 K and p = 1 atm"]
    assert all(words in trust.body.replace("\u00a0", " ") for words in said)
