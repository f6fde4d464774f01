"""The report: one page with the numbers of the files in the run folder, and what is missing; its
sections on reductions, on settings and states, and on the use of the network."""

import base64
import json
import re
import shutil

import numpy as np
import pytest
import torch
from run_folder import (
    AIR,
    CASES,
    DT,
    THREE,
    make_run,
    number,
    numbers_of,
    parent,
    read_page,
    text_of,
)

from combred.files.records import write_json
from combred.report import blocks
from combred.report.folder import Folder
from combred.report.reduction import reduction_section
from combred.report.usage import PYTHON, error_estimate
from combred.report.writing import write_report
from combred.surrogate.storage import save_surrogate


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


def test_files_that_do_not_belong_together_are_named(tmp_path, h2o2, rendered):
    """Weights changed since they were validated; settings and records lost."""
    folder = make_run(tmp_path / "run", h2o2, [row[:1] for row in THREE[:2]], CASES[:1])
    for name in ("reduce.json", "settings.json", "train.json"):
        (folder / name).unlink()
    other = parent(h2o2, [24, 12])
    save_surrogate(folder / "stage1.safetensors", other, h2o2)
    write_json(folder / "export.json", {"stage": 0})
    write_report(folder, h2o2)
    text = (folder / "report.html").read_text()
    assert "weights of stage 1 in this folder are not those" in text
    assert "exported file holds stage 0; this report is about stage 1" in text
    assert "no reduce.json" in text


def test_states_and_network_of_the_training_are_named(whole, drm19, tmp_path, rendered):
    page = read_page(whole)
    assert page.row("network") == ["sees the state alone; one dt"]
    assert page.row("time step dt of the states") == ["1e-06\u00a0s"]
    assert page.row("states sampled") == [
        "1200 premixed ignitions, and flames (counted below): T0 900 to 2300 K, phi 0.25 to 4, p "
        "0.3 to 60 atm"
    ]
    folder = shutil.copytree(whole, tmp_path / "run")
    settings = json.loads((folder / "settings.json").read_text())
    # Settings of earlier versions, which the report does not need.
    settings["segments"] = {"steps": 8, "ignitions": 500}
    settings["retraining"]["rollout_share"] = 0.2
    settings["network"]["kinetics"] = True
    settings["sampling"] |= {"sampler": "flow", "dt": [1e-8, 1e-5]}
    (folder / "settings.json").write_text(json.dumps(settings))
    write_report(folder, drm19)
    page = read_page(folder)
    assert page.row("network")[0].startswith("corrects quasi-steady-state (QSS) steps")
    assert page.row("states sampled")[0].startswith("mixtures, ignitions and mixing layers of a")
    assert page.row("time step dt of the states") == ["1e-08 to 1e-05\u00a0s"]


def test_every_stage_is_told_with_its_size(whole):
    _, *rows = next(t for t in read_page(whole).tables if t[0][0] == "stage")
    assert [row[0] for row in rows] == ["0", "1", "2"]
    full = numbers_of(whole, 0)["weights"]
    for stage, row in enumerate(rows):
        result = numbers_of(whole, stage)
        assert row[2] == "-".join(map(str, result["widths"]))
        assert number(row[3]) == pytest.approx(100 * result["weights"] / full, abs=0.051)
    assert rows[1][1].startswith("condensation of layer 1 at 0.999, largest group 2")


def test_a_reduction_of_all_layers_is_told_by_its_method(whole, drm19):
    folder = Folder(whole, drm19)
    record = {"method": "brain_surgeon", "parameters": 0.1, "compensation": "least_squares"}
    folder.reductions = {1: record}
    table = reduction_section(folder).blocks[-1]
    how, left = table.rows[1][1].replace("\u00a0", " "), table.rows[1][-1]
    assert how == "brain surgeon, asked 10.0 % of the parameters; least squares" and left == "–"
    folder.reductions = {}
    said = reduction_section(folder).blocks[0].body
    assert "no reduce.json" in said


def test_nothing_reduced_has_no_section(single, h2o2):
    assert reduction_section(Folder(single, h2o2)) is None


def test_the_error_estimate_is_explained_for_each_kind_of_network(whole):
    shown = text_of(whole)
    assert "It takes dt = 1e-06 s alone." in shown and "infinite outside the training" in shown
    assert "a program that calls surrogate.pt" in shown and read_page(whole).row("dt [s]")
    card = {"dt": [1e-8, 1e-5], "network": {"kinetics": True}, "tolerance": 0.03}
    told = error_estimate(card).replace(blocks.NBSP, " ")
    assert "any dt from 1e-08 to 1e-05 s, the range of the training" in told
    assert "divided by the tolerance, 3.00 % of the change" in told


def test_python_lines_of_the_report_run(whole, drm19, monkeypatch):
    monkeypatch.chdir(whole)
    names = {"T": 1600.0, "p": 101325.0, "Y": drm19.mixture("CH4:1", AIR, 1.0)}
    exec(PYTHON, names)
    assert names["later"].shape == (1, 23) and names["rate"].shape == (1, 21)
    assert names["trusted"].dtype == torch.bool and names["card"]["dt"] == [DT, DT]


@pytest.mark.parametrize(
    ("fraction", "written"),
    [(0.40509, "40.5 %"), (0.0834, "8.34 %"), (0.000612, "0.06 %"), (4e-6, "0.0004 %")]
    + [(0.0, "0.00 %"), (np.nan, "–"), (None, "–"), (np.inf, blocks.NO_IGNITION)],
)
def test_percent(fraction, written):
    assert blocks.percent(fraction).replace(blocks.NBSP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"), [(617.69, "618"), (5.839, "5.84"), (0.28871, "0.289"), (0, "0")]
)
def test_significant(value, written):
    assert blocks.significant(value) == written
